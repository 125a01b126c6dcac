"""
Nothing to tune
===============

``RVR()`` learns the width of its kernel, or one for each feature, and corrects its
error bars by rows that it predicts without themselves. Here it is fitted to four sets
of rows that have nothing in common, beside a width that is far too narrow for them.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR

rng = np.random.default_rng(0)


def season(n):
    """A wave with a trend."""
    x = rng.uniform(0, 10, n)
    return x, np.sin(2 * x) + x / 5 + 0.2 * rng.standard_normal(n)


def steps(n):
    """Plateaus."""
    x = rng.uniform(0, 10, n)
    return x, np.floor(x / 2.5) + 0.2 * rng.standard_normal(n)


def noise(n):
    """Nothing to be learned."""
    return rng.uniform(0, 10, n), rng.standard_normal(n)


problems = {
    "a season, 200 rows": season(200),
    "steps, 200 rows": steps(200),
    "a season, 12 rows": season(12),
    "pure noise, 100 rows": noise(100),
}

# %%
# The upper row is the default, the lower one a kernel as narrow as the distances
# between rows. Such a kernel explains every row by itself, noise or not, so that no
# residual is left to estimate the noise from. Rows that are left out know better: the
# bands of both rows hold what they promise.

line = np.linspace(0, 10, 400)[:, None]
fig, axes = plt.subplots(
    2, 4, figsize=(10, 5), sharex=True, sharey="col", layout="constrained"
)
for column, (name, (x, y)) in zip(axes.T, problems.items(), strict=True):
    for ax, gamma in zip(column, ("learn", 30.0), strict=True):
        model = RVR(gamma=gamma).fit(x[:, None], y)
        lower, upper = model.predict_interval(line, coverage=0.9)
        ax.fill_between(line[:, 0], lower, upper, color="C0", alpha=0.2, lw=0)
        ax.plot(line, model.predict(line), color="C0", lw=1.5)
        ax.plot(x, y, ".", color="0.5", ms=3)
        ax.set_title(f"{name}\n{len(model.relevance_)} vectors", fontsize=9)
axes[0, 0].set_ylabel("RVR()")
axes[1, 0].set_ylabel("RVR(gamma=30)")
plt.show()

# %%
# What was learned is in ``kernel_``. Of several features those that do not matter get a
# length scale so long that the kernel does not see them.

X = rng.standard_normal((300, 6))
y = np.sin(2 * X[:, 0]) + X[:, 1] / 2 + 0.1 * rng.standard_normal(300)
model = RVR().fit(X, y)
print("length scales:", model.kernel_.length_scale.round(1))
print("relevance:    ", model.feature_relevance_.round(2))
