"""
How a fit proceeds
==================

The sequential algorithm adds, re-estimates and deletes one basis function at a
time, and now and then re-estimates the noise. ``history_`` keeps what each step
came to; the evidence never falls on the way.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR
from relvec.data import noisy_sinc

X, y = noisy_sinc(200, noise=0.1, seed=0)
model = RVR(gamma=1 / 3**2).fit(X, y)

history = model.history_
print("status:     ", model.status_.name)
print("steps:      ", model.n_iter_)
print("lowest rise:", np.diff(history["log_evidence"]).min())

# %%
# ``gamma`` is the effective number of parameters: how many weights the data, rather
# than the prior, determine. The constant has a weight too but is not counted as a
# vector, so ``gamma`` may exceed ``n_vectors`` by one.

fig, axes = plt.subplots(3, figsize=(7, 6), sharex=True, layout="constrained")
steps = history["iteration"]

axes[0].plot(steps, history["log_evidence"], color="C0")
axes[0].axhline(model.log_evidence_, color="0.6", lw=0.8, zorder=0)
axes[0].set(ylabel="log evidence", title="One fit, step by step", xscale="log")

axes[1].step(steps, history["n_vectors"], where="post", label="relevance vectors")
axes[1].plot(steps, history["gamma"], color="C1", label="effective parameters")
axes[1].legend(frameon=False)
axes[1].set(ylabel="number", ylim=(0, None))

axes[2].step(steps, history["noise_std"], where="post")
axes[2].axhline(0.1, color="C3", ls="--", lw=1.2, label="true noise")
axes[2].legend(frameon=False)
axes[2].set(xlabel="step", ylabel="noise", ylim=(0, 0.15))
plt.show()

# %%
# Most of the evidence is found in the first few steps. The long tail refines prior
# precisions: a larger ``tol`` cuts it short, and changes the prediction little.

line = np.linspace(-10, 10, 401)[:, None]
for tol in (1e-4, 1e-2, 1e-1):
    loose = RVR(gamma=1 / 3**2, tol=tol).fit(X, y)
    change = np.abs(loose.predict(line) - model.predict(line)).max()
    print(
        f"tol={tol:<6g} {loose.n_iter_:4} steps, evidence "
        f"{loose.log_evidence_:.3f}, largest change of the mean {change:.4f}"
    )
