"""
Several outputs
===============

Targets of several columns are one model: all outputs have the same relevance vectors
and one learned width, each has weights and a noise of its own. Here three sensors see
the same process in units of their own, one of them hardly through its noise. See
:doc:`/guide/regression`.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR

rng = np.random.default_rng(0)
x = np.sort(rng.uniform(0, 10, (120, 1)), axis=0)
line = np.linspace(0, 10, 400)[:, None]
unit, noise = np.array([1.0, 100.0, 1e-3]), np.array([0.05, 0.2, 0.6])


def sensors(t):
    return np.column_stack([np.sin(t), np.sin(t) * np.exp(-t / 5), np.cos(t / 2)])


y = unit * (sensors(x[:, 0]) + noise * rng.standard_normal((120, 3)))
model = RVR().fit(x, y)
mean, std = model.predict(line, return_std=True)

print(f"relevance vectors: {len(model.relevance_)}, of all outputs")
print("noise, in units:  ", (np.sqrt(model.noise_variance_) / unit).round(2))

# %%
# Units do not matter, and error bars are those of each output.

fig, axes = plt.subplots(3, figsize=(7, 6), sharex=True, layout="constrained")
truth = unit * sensors(line[:, 0])
for c, axis in enumerate(axes):
    low, high = mean[:, c] - 2 * std[:, c], mean[:, c] + 2 * std[:, c]
    axis.fill_between(line[:, 0], low, high, color="C0", alpha=0.2, lw=0)
    axis.plot(line, truth[:, c], "--", color="C3", lw=1.2, label="true function")
    axis.plot(line, mean[:, c], color="C0", lw=2, label="mean ± 2 std")
    axis.plot(x, y[:, c], ".", color="0.5", ms=4)
    rows = model.relevance_
    axis.plot(x[rows], y[rows, c], "o", ms=9, mfc="none", mec="k", label="vectors")
    axis.set(ylabel=f"output {c}")
axes[0].legend(frameon=False, fontsize=9, ncols=3)
axes[-1].set(xlabel="x", xlim=(0, 10))
plt.show()

# %%
# A model of each output by itself finds vectors of its own, more in all.

apart = RVR(outputs="independent").fit(x, y)
sizes = [len(one.indices) for one in apart.model_.models]
print(f"relevance vectors of models apart: {sizes}")
