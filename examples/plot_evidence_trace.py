"""
How a fit proceeds
==================

The sequential algorithm adds, re-estimates and deletes one basis function at a
time, and now and then re-estimates the noise. ``BottomUp(schedule="greedy")`` runs it
as the paper has it; by default a step is a whole round, in which a *batch* of functions
joins and all precisions and the noise are re-estimated together. ``history_`` keeps
what each step came to; but for rounding the evidence never falls on the way.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR, BottomUp
from relvec.data import noisy_sinc

X, y = noisy_sinc(200, noise=0.1, seed=0)
solver = BottomUp(schedule="greedy")
greedy = RVR(gamma=1 / 3**2, solver=solver).fit(X, y)
batches = RVR(gamma=1 / 3**2).fit(X, y)

for name, model in (("greedy", greedy), ("batch", batches)):
    rise = np.diff(model.history_["log_evidence"]).min()
    print(
        f"{name:7}{model.status_.name.lower()} after {model.n_iter_} steps, evidence "
        f"{model.log_evidence_:.2f}, lowest rise {rise:.1e}"
    )

# %%
# ``gamma`` is the effective number of parameters: how many weights the data, rather
# than the prior, determine. The constant has a weight too but is not counted as a
# vector, so ``gamma`` may exceed ``n_vectors`` by one.

fig, axes = plt.subplots(3, figsize=(7, 6), sharex=True, layout="constrained")
history = greedy.history_
steps = history["iteration"]

axes[0].plot(steps, history["log_evidence"], color="C0", label="greedy")
rounds = batches.history_["iteration"], batches.history_["log_evidence"]
axes[0].plot(*rounds, ".-", color="C2", label="batch")
axes[0].legend(frameon=False)
axes[0].set(ylabel="log evidence", title="One fit, step by step", xscale="log")

axes[1].step(steps, history["n_vectors"], where="post", label="relevance vectors")
axes[1].plot(steps, history["gamma"], color="C1", label="effective parameters")
axes[1].legend(frameon=False, title="greedy")
axes[1].set(ylabel="number", ylim=(0, None))

axes[2].step(steps, history["noise_std"], where="post")
axes[2].axhline(0.1, color="C3", ls="--", lw=1.2, label="true noise")
axes[2].legend(frameon=False)
axes[2].set(xlabel="step", ylabel="noise", ylim=(0, 0.15))
plt.show()

# %%
# Most of the evidence is found in the first few steps. The long tail refines prior
# precisions: a larger ``tol`` cuts it short, and changes the prediction little. The
# default has no such tail, because Newton's method moves all precisions together.

line = np.linspace(-10, 10, 401)[:, None]
for tol in (1e-4, 1e-2, 1e-1):
    loose = RVR(gamma=1 / 3**2, solver=solver, tol=tol).fit(X, y)
    change = np.abs(loose.predict(line) - greedy.predict(line)).max()
    print(
        f"tol={tol:<6g} {loose.n_iter_:4} steps, evidence "
        f"{loose.log_evidence_:.3f}, largest change of the mean {change:.4f}"
    )
