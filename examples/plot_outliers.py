"""
Targets with outliers
=====================

Gaussian noise has no place for a target that is far off: a fit has to bend the
function towards it, or to take everything for noise. With ``noise="student-t"`` the
noise has heavy tails, and such rows count for little.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR
from relvec.data import noisy_sinc

X, y = noisy_sinc(150, noise=0.1, seed=3)
rng = np.random.default_rng(0)
outliers = rng.choice(150, 15, replace=False)
y[outliers] += rng.choice([-1, 1], 15) * rng.uniform(1, 4, 15)

# %%
# One target in ten is off by ten to forty standard deviations of the noise.

models = {
    "Gaussian noise": RVR().fit(X, y),
    "Student-t noise": RVR(noise="student-t").fit(X, y),
}
line = np.linspace(-10, 10, 401)[:, None]
truth = np.sinc(line[:, 0] / np.pi)
for name, model in models.items():
    error = np.sqrt(np.mean((model.predict(line) - truth) ** 2))
    print(f"{name}: error {error:.3f}, {len(model.relevance_)} relevance vectors")

fig, axes = plt.subplots(2, figsize=(7, 6.4), sharex=True, layout="constrained")
for axis, (name, model) in zip(axes, models.items(), strict=True):
    lower, upper = model.predict_interval(line, coverage=0.8)
    axis.fill_between(line[:, 0], lower, upper, color="C0", alpha=0.2, lw=0)
    axis.plot(line, truth, "--", color="C3", lw=1.2, label="true function")
    axis.plot(
        line, model.predict(line), color="C0", lw=2, label="mean, 80 % of targets"
    )
    axis.plot(X, y, ".", color="0.5", ms=4, label="data")
    axis.set(ylabel="y", title=name, ylim=(-2.5, 3.5))
axes[0].legend(frameon=False, fontsize=9, ncols=3, loc="upper left")
axes[1].set(xlabel="x", xlim=(-10, 10))
plt.show()

# %%
# How heavy the tails are is estimated: 2.2 degrees of freedom are the fewest, for many
# gross outliers, and 100 are as good as Gaussian noise, which is what is found without
# any. Standard deviations include the tails, so intervals say more of most targets.

_, clean = noisy_sinc(150, noise=0.1, seed=3)
for name, targets in (("with outliers", y), ("without", clean)):
    model = RVR(noise="student-t").fit(X, targets)
    lower, upper = model.predict_interval([[5.0]], coverage=0.8)
    print(
        f"{name}: {model.degrees_of_freedom_:.1f} degrees of freedom, standard "
        f"deviation {np.sqrt(model.noise_variance_):.2f}, "
        f"half of the interval {(upper - lower)[0] / 2:.2f}"
    )

# %%
# How it is fitted, by Gaussian fits with weights of rows, is in :doc:`/theory/noise`.
