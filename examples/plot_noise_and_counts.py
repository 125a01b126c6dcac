"""
Noise that varies, and counts
=============================

The bars of :class:`~relvec.RVR` have one noise for all rows by default. Two other
choices of ``noise`` are for targets that vary more in some places than in others:
``"heteroscedastic"``, where the variance has a sparse model of its own, and
``"poisson"`` for counts, whose variance grows with their mean.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR

rng = np.random.default_rng(4)
time = np.sort(rng.uniform(0, 60, 133))
blow = -110 * np.exp(-0.5 * ((time - 21) / 4.5) ** 2)
rebound = 40 * np.exp(-0.5 * ((time - 32) / 5) ** 2)
deviation = np.where(time < 13, 1.5, np.where(time < 40, 25.0, 12.0))
head = blow + rebound + deviation * rng.standard_normal(133)

constant = RVR().fit(time[:, None], head)
varying = RVR(noise="heteroscedastic").fit(time[:, None], head)

# %%
# Data like those of a motorcycle crash test: nothing happens at first, and hardly
# anything is measured; then the head is thrown about. One noise for all is far too
# much in the beginning.

line = np.linspace(0, 60, 301)[:, None]
fig, axes = plt.subplots(
    1, 2, figsize=(8, 3.4), sharex=True, sharey=True, layout="constrained"
)
titles = ('noise="gaussian"', 'noise="heteroscedastic"')
for axis, title, model in zip(axes, titles, (constant, varying), strict=True):
    lower, upper = model.predict_interval(line, coverage=0.9)
    axis.fill_between(line[:, 0], lower, upper, color="C0", alpha=0.2, lw=0)
    axis.plot(line, model.predict(line), color="C0", lw=2)
    axis.plot(time, head, ".", color="0.4", ms=4)
    axis.set(title=title, xlabel="time", ylim=(-190, 120))
plt.show()

# %%
# The model of the noise is a model like any other, and sparse: a handful of vectors
# say how its variance goes with time.

noise = varying.model_.noise_model
print(f"vectors of the mean: {len(varying.relevance_)}, of the noise: ", end="")
print(len(noise.indices))
for at in (5.0, 25.0, 55.0):
    std = np.sqrt(noise.values(np.array([[at]]))[0, 0])
    print(f"standard deviation at {at:2.0f}: {std:5.1f}")

# %%
# Counts are not negative, and few of them vary little. Their rate is modelled by its
# logarithm; bounds are whole numbers.

hours = rng.uniform(0, 24, 300)
rate = 1 + 12 * np.exp(-((hours - 17) ** 2) / 8) + 4 * np.exp(-((hours - 9) ** 2) / 4)
calls = rng.poisson(rate)
counts = RVR(noise="poisson").fit(hours[:, None], calls)

day = np.linspace(0, 24, 241)[:, None]
lower, upper = counts.predict_interval(day, coverage=0.9)
fig, axis = plt.subplots(figsize=(7, 3.4), layout="constrained")
axis.fill_between(
    day[:, 0], lower, upper, step="mid", color="C1", alpha=0.25, lw=0, label="90 %"
)
axis.plot(day, counts.predict(day), color="C1", lw=2, label="rate")
axis.plot(hours, calls, ".", color="0.4", ms=4, label="calls")
axis.legend(frameon=False, fontsize=9)
axis.set(xlabel="hour", ylabel="calls", ylim=(-0.5, None), xlim=(0, 24))
plt.show()

inside = np.mean(
    (counts.predict_interval(hours[:, None])[0] <= calls)
    & (calls <= counts.predict_interval(hours[:, None])[1])
)
print(f"within their bounds: {inside:.0%}, vectors: {len(counts.relevance_)}")
