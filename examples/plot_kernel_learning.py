"""
Learning the kernel
===================

A curve that is fast on the left and slow on the right has no single length scale. The
fit can learn the best one for all vectors, or one for each; and where there are several
features, one for each of these, so that features without influence fade. See
:doc:`/guide/kernel_learning`.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR
from relvec.kernels import Gaussian

rng = np.random.default_rng(0)
x = np.linspace(1, 10, 150)[:, None]
y = np.sin(40 / x[:, 0]) + 0.1 * rng.standard_normal(150)
line = np.linspace(1, 10, 1000)[:, None]
truth = np.sin(40 / line[:, 0])

models = {
    "ℓ = 0.5 for all": RVR(Gaussian(0.5)),
    "one ℓ, learned": RVR(kernel_learning="width"),
    "one ℓ for each vector": RVR(kernel_learning="adaptive"),
}
titles = []
for name, model in models.items():
    model.fit(x, y)
    error = np.sqrt(np.mean((model.predict(line) - truth) ** 2))
    titles.append(f"{name}: {len(model.relevance_)} vectors, error {error:.2f}")
    print(f"{titles[-1]:50} noise {np.sqrt(model.noise_variance_):.2f}")

# %%
# The first width suits the right side. It is too wide for the left, and takes what it
# misses there for noise. The learned one follows the left side, and some of the noise
# on the right, with many of the rows as vectors. With a width for each vector both
# sides are fitted, with few vectors. Bars reach from ℓ left of a vector to ℓ right.

fig, axes = plt.subplots(3, figsize=(7.5, 7.5), sharex=True, layout="constrained")
colours = ["C2", "C1", "C0"]
for axis, model, title, colour in zip(
    axes, models.values(), titles, colours, strict=True
):
    axis.plot(x, y, ".", color="0.75", ms=4, label="data")
    axis.plot(line, truth, "--", color="0.3", lw=0.8, label="true function")
    axis.plot(line, model.predict(line), color=colour, lw=1.6, label="mean")
    centres = model.relevance_vectors_[:, 0]
    scales = getattr(model, "length_scales_", np.full(len(centres), 0.5))
    order = np.argsort(centres)
    level = -1.6 - 0.11 * (np.arange(len(centres)) % 10)
    ends = (centres - scales)[order], (centres + scales)[order]
    axis.hlines(level, *ends, color=colour, lw=1.4)
    axis.plot(centres[order], level, "o", color=colour, ms=3)
    axis.set(title=title, xlim=(0.8, 10.2), ylim=(-2.8, 1.5), yticks=[-1, 0, 1])
axes[0].legend(frameon=False, fontsize=9, ncols=3, loc="upper right")
axes[2].set_xlabel("x")
plt.show()

# %%
# Friedman's function of five features, with five more that do nothing: a wave of the
# first two, a parabola of the third, straight lines along the fourth and the fifth.
# ``feature_relevance_`` tells how much of the model's gradient is along each; ticks are
# what it would be of the true function.

X = rng.uniform(size=(300, 10))
wave, bend = np.pi * X[:, 0] * X[:, 1], X[:, 2] - 0.5
target = 10 * np.sin(wave) + 20 * bend**2 + 10 * X[:, 3] + 5 * X[:, 4]
target += rng.standard_normal(300)
gradients = np.zeros((300, 10))
gradients[:, :2] = 10 * np.pi * X[:, 1::-1] * np.cos(wave)[:, None]
gradients[:, 2:5] = np.column_stack([40 * bend, np.full(300, 10), np.full(300, 5)])
true = X.var(axis=0) * np.mean(gradients**2, axis=0)

fig, axis = plt.subplots(figsize=(7.5, 3.2), layout="constrained")
for shift, mode, colour in ((-0.2, "width", "C1"), (0.2, "ard", "C0")):
    model = RVR(kernel_learning=mode).fit(X, target)
    label = f'"{mode}": {len(model.relevance_)} vectors'
    place = np.arange(1, 11) + shift
    axis.bar(place, model.feature_relevance_, 0.4, color=colour, label=label)
    print(f"{label:22} noise {np.sqrt(model.noise_variance_):.2f}, where 1 is right")
ends = np.arange(1, 11) - 0.45, np.arange(1, 11) + 0.45
axis.hlines(true / true.sum(), *ends, color="0.2", lw=1.2, label="true function")
axis.set(
    xlabel="feature", ylabel="relevance", title="Ten features, of which five matter"
)
axis.set_xticks(range(1, 11))
axis.legend(frameon=False)
plt.show()
