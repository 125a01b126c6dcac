"""
Intervals, and whether they hold
================================

An interval of 90 % should hold 90 % of new targets. Whether it does is a matter of the
noise: the model's own intervals take it for Gaussian, those by rows left out
(``calibration="loo"``) let the training rows say how wide an interval has to be. See
:doc:`/guide/regression`.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR

rng = np.random.default_rng(0)
kinds = {
    "Gaussian": rng.standard_normal,
    "heavy tails": lambda size: rng.standard_t(3, size) / np.sqrt(3),
    "skewed": lambda size: rng.exponential(1.0, size) - 1,
}
levels = np.array([0.5, 0.6, 0.7, 0.8, 0.9, 0.95])


def draw(n, noise):
    """A wave with noise of one kind, of the same standard deviation."""
    x = rng.uniform(0, 10, n)
    return x[:, None], np.sin(x) + 0.3 * noise(n)


# %%
# For each kind of noise one model of 400 rows, and 4000 new rows to count. Points on
# the diagonal hold what they promise; above it intervals are wider than they need be.
# The lower row has the widths.

fig, axes = plt.subplots(
    2, 3, figsize=(9, 5), sharex=True, sharey="row", layout="constrained"
)
for (upper_ax, lower_ax), (name, noise) in zip(axes.T, kinds.items(), strict=True):
    model = RVR().fit(*draw(400, noise))
    X_new, y_new = draw(4000, noise)
    for calibration, label in ((None, "the model's own"), ("loo", "by rows left out")):
        settings = {} if calibration is None else {"calibration": calibration}
        bounds = [model.predict_interval(X_new, coverage=c, **settings) for c in levels]
        held = [np.mean((low < y_new) & (y_new < high)) for low, high in bounds]
        width = [np.mean(high - low) for low, high in bounds]
        upper_ax.plot(levels, held, "o-", ms=4, label=label)
        lower_ax.plot(levels, width, "o-", ms=4)
    upper_ax.plot(levels, levels, color="0.5", lw=1, zorder=0)
    upper_ax.set_title(f"noise: {name}")
    lower_ax.set_xlabel("promised")
axes[0, 0].set_ylabel("held of new targets")
axes[1, 0].set_ylabel("mean width")
axes[0, 0].legend(frameon=False, fontsize=9)
plt.show()

# %%
# With Gaussian noise nothing is to be gained. With heavy tails, and with skewed noise,
# most targets are nearer than a Gaussian of the same variance has it, so that its
# intervals hold more than they promise; rows left out know the right width for every
# level, and it is smaller. They are symmetric all the same. For bounds that are not,
# and for a promise that holds whatever the model is, there is MAPIE.
