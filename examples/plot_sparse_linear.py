"""
A sparse linear model
=====================

With ``kernel=None`` the features themselves are the dictionary, and
:class:`~relvec.RVR` becomes sparse linear regression: no penalty to choose and
exact zeros, the place of scikit-learn's ``ARDRegression``. Here ten of 100
correlated features matter, with weights from 0.3 to 10.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import ARDRegression, LassoCV

from relvec import RVR

rng = np.random.default_rng(0)
n_samples, n_features, n_relevant = 200, 100, 10
truth = np.zeros(n_features)
chosen = rng.choice(n_features, n_relevant, replace=False)
truth[chosen] = rng.choice([-1, 1], n_relevant) * np.geomspace(0.3, 10, n_relevant)
X = rng.standard_normal((n_samples, n_features))
for feature in range(1, n_features):
    X[:, feature] = 0.9 * X[:, feature - 1] + np.sqrt(0.19) * X[:, feature]
y = X @ truth + 0.5 * rng.standard_normal(n_samples)

models = {
    "RVR(kernel=None)": RVR(kernel=None),
    "ARDRegression": ARDRegression(),
    "LassoCV": LassoCV(cv=5),
}
for name, model in models.items():
    started = time.perf_counter()
    model.fit(X, y)
    seconds = time.perf_counter() - started
    missed = np.count_nonzero(model.coef_[chosen] == 0)
    error = np.linalg.norm(model.coef_ - truth)
    print(
        f"{name:17}{np.count_nonzero(model.coef_):3} features, {missed} missed, "
        f"distance from the truth {error:.2f}, {seconds:.2f} s"
    )

# %%
# All three find the ten and are about equally close to the true weights; ``RVR``
# needs the fewest features. It does keep some that do not matter, with weights near
# zero: a column of noise raises the evidence about one time in three. See
# :doc:`/limits`.
#
# ``relevance_`` holds the numbers of the features in the model, ``coef_`` the weights
# of all features.

fig, axes = plt.subplots(3, figsize=(7, 5.6), sharex=True, layout="constrained")
for ax, (name, model) in zip(axes, models.items(), strict=True):
    nonzero = np.flatnonzero(model.coef_)
    ax.axhline(0, color="0.8", lw=0.8, zorder=0)
    ax.vlines(nonzero, 0, model.coef_[nonzero], color="C0", lw=2, label="estimate")
    ax.plot(chosen, truth[chosen], "o", mfc="none", mec="C3", label="truth")
    ax.set(ylabel="weight", title=f"{name}: {len(nonzero)} features")
axes[0].legend(frameon=False, ncols=2, loc="upper right")
axes[-1].set_xlabel("feature")
plt.show()
