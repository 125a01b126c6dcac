"""
Support vectors, least squares and relevance vectors
====================================================

Section 4 of Shah's note on least-squares support vector machines puts a relevance
vector machine beside a support vector machine on two problems: noisy sinc and Ripley's
mixtures. Here are all four relatives: ``SVR`` and ``SVC``, the least-squares machine,
which keeps every row, the same pruned to twice as many functions as there are relevance
vectors, and the relevance vector machine itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import SVC, SVR

from relvec import LSSVC, LSSVR, RVC, RVR
from relvec.data import noisy_sinc, two_mixtures

X, y = noisy_sinc(100, noise=0.1, seed=0)
X_test = np.linspace(-10, 10, 1001)[:, None]
truth = np.sinc(X_test[:, 0] / np.pi)

gamma = 1 / 3**2  # width 3, as in the note
relevance = RVR(gamma=gamma).fit(X, y)
models = {
    "SVM": SVR(gamma=gamma, C=1.0, epsilon=0.1).fit(X, y),
    "LS-SVM": LSSVR(gamma=gamma, C=10.0).fit(X, y),
    "pruned": LSSVR(gamma=gamma, C=10.0, n_support=2 * len(relevance.relevance_)).fit(
        X, y
    ),
    "RVM": relevance,
}


def vectors(model):
    """Rows that a model keeps."""
    rows = getattr(model, "relevance_", getattr(model, "support_", None))
    return np.sort(rows)


fig, axes = plt.subplots(2, 2, figsize=(8.4, 5.2), layout="constrained", sharex=True)
for ax, (name, model) in zip(axes.flat, models.items(), strict=True):
    rows = vectors(model)
    rmse = np.sqrt(np.mean((model.predict(X_test) - truth) ** 2))
    print(f"{name:7} {len(rows):4} vectors, RMSE {rmse:.3f}")
    ax.plot(X, y, ".", color="0.6", markersize=4)
    ax.plot(X_test, truth, "k:", linewidth=1)
    ax.plot(X_test, model.predict(X_test), "C0")
    ax.plot(X[rows], y[rows], "o", mfc="none", color="C3", markersize=7)
    ax.set(title=f"{name}: {len(rows)} vectors, RMSE {rmse:.3f}")
plt.show()

# %%
# Pruning takes the functions of least weight first and keeps all rows as data. The
# other way to a sparse least-squares machine is to take relevance vectors as its
# landmarks. A relevance vector machine finds how many it needs by itself.

sparse = LSSVR(gamma=gamma, C=10.0, method="nystrom", landmarks="relevance").fit(X, y)
rmse = np.sqrt(np.mean((sparse.predict(X_test) - truth) ** 2))
print(f"LS-SVM on relevance vectors: {len(sparse.support_)} vectors, RMSE {rmse:.3f}")

# %%
# Two classes
# -----------
# With squared errors of targets ±1, f is an estimate of 2p − 1. Its zero is where both
# classes are as probable, and probabilities follow from values that rows left out have.

X, y = two_mixtures(250, seed=0)
X_test, y_test = two_mixtures(5000, seed=1)
gamma = 1 / 0.5**2
relevance = RVC(gamma=gamma).fit(X, y)
classifiers = {
    "SVM": SVC(gamma=gamma).fit(X, y),
    "LS-SVM": LSSVC(gamma=gamma).fit(X, y),
    "pruned": LSSVC(gamma=gamma, n_support=2 * len(relevance.relevance_)).fit(X, y),
    "RVM": relevance,
}
sides = np.linspace(-1.6, 1.4, 121), np.linspace(-0.6, 1.4, 101)
plane = np.stack(np.meshgrid(*sides), axis=-1)

fig, axes = plt.subplots(2, 2, figsize=(8.4, 6), layout="constrained")
for ax, (name, model) in zip(axes.flat, classifiers.items(), strict=True):
    rows = vectors(model)
    error = 1 - model.score(X_test, y_test)
    print(f"{name:7} {len(rows):4} vectors, error {error:.1%}")
    values = model.decision_function(plane.reshape(-1, 2)).reshape(plane.shape[:2])
    ax.contour(*sides, values, levels=[0], colors="k")
    ax.scatter(*X.T, c=y, cmap="coolwarm", s=8)
    ax.scatter(*X[rows].T, s=36, facecolors="none", edgecolors="k", linewidths=0.7)
    ax.set(title=f"{name}: {len(rows)} vectors, error {error:.1%}")
plt.show()
