"""
Error bars of a regression
==========================

:class:`~relvec.RVR` estimates the noise from the data and returns the standard
deviation of every prediction. The band of two standard deviations holds about
95 % of new targets where there are data, and widens where there are none: this
example leaves a gap to show it.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR
from relvec.data import noisy_sinc

X, y = noisy_sinc(150, noise=0.1, seed=3)
kept = (X[:, 0] < 2) | (X[:, 0] > 7)
X, y = X[kept], y[kept]
model = RVR(gamma=1 / 2**2).fit(X, y)

print(f"relevance vectors: {len(model.relevance_)} of {len(X)} rows")
print(f"estimated noise:   {np.sqrt(model.noise_variance_):.3f} (true: 0.100)")

# %%
# The error bars add two things: the noise, which is the same everywhere, and the
# uncertainty of the function. The latter is that of the weights, as far as
# ``uncertainty="plain"`` goes; by default a Gaussian process about the model takes
# over where rows tell it nothing.

line = np.linspace(-14, 14, 561)[:, None]
mean, std = model.predict(line, return_std=True)
truth = np.sinc(line[:, 0] / np.pi)
plain = RVR(gamma=1 / 2**2, uncertainty="plain").fit(X, y)
_, plain_std = plain.predict(line, return_std=True)

fig, (top, bottom) = plt.subplots(
    2, figsize=(7, 5.4), sharex=True, height_ratios=[3, 1], layout="constrained"
)
top.fill_between(
    line[:, 0], mean - 2 * std, mean + 2 * std, color="C0", alpha=0.2, lw=0
)
top.plot(line, truth, "--", color="C3", lw=1.2, label="true function")
top.plot(line, mean, color="C0", lw=2, label="mean ± 2 std")
top.plot(X, y, ".", color="0.5", ms=4, label="data")
rows = model.relevance_
top.plot(X[rows], y[rows], "o", ms=10, mfc="none", mec="k", label="relevance vectors")
top.legend(frameon=False, fontsize=9)
bottom.plot(line, std, color="C0", label="augmented")
bottom.plot(line, plain_std, color="C1", label="plain")
bottom.legend(frameon=False, fontsize=9, ncols=2, loc="upper left")
bottom.set(xlabel="x", ylabel="std", ylim=(0, None), xlim=(-14, 14))
top.set(ylabel="y", title="Noisy sinc, no data between 2 and 7")
plt.show()

# %%
# In the gap, and outside the data, the plain bars hold less of the truth than they
# promise: a Gaussian basis function vanishes away from its centre and takes its
# uncertainty with it, so that only the noise is left. How the process is found is in
# :doc:`/theory/surroundings`.

inside = (np.abs(line[:, 0]) <= 10) & ((line[:, 0] < 2) | (line[:, 0] > 7))
rng = np.random.default_rng(0)
targets = truth + 0.1 * rng.standard_normal((2000, len(truth)))
for name, bars in (("augmented", std), ("plain", plain_std)):
    covered = np.abs(targets - mean) < 2 * bars
    print(
        f"{name}: new targets within two standard deviations, at the data "
        f"{covered[:, inside].mean():.1%}, elsewhere {covered[:, ~inside].mean():.1%}"
    )
