"""
A picture of each kind
======================

:mod:`relvec.plots` draws fitted models by displays like those of scikit-learn. Each is
made by its ``from_estimator`` and keeps what it has drawn as attributes. See
:doc:`/guide/plots`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import load_diabetes, load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from relvec import RVC, RVR, BottomUp
from relvec.data import noisy_sinc, two_mixtures
from relvec.plots import (
    EvidenceTraceDisplay,
    FeatureRelevanceDisplay,
    LengthScalesDisplay,
    PredictiveIntervalDisplay,
    RelevanceDisplay,
    StabilityDisplay,
)

# %%
# Intervals of a regression: over one feature a band, with the relevance vectors circled
# (left); of several features predictions against observations (right).

X, y = noisy_sinc(100, seed=0)
sinc = RVR().fit(X, y)
X_sugar, y_sugar = load_diabetes(return_X_y=True, as_frame=True)
sugar = make_pipeline(StandardScaler(), RVR(kernel_learning="ard"))
sugar.fit(X_sugar[:200], y_sugar[:200])
rest = X_sugar[200:300], y_sugar[200:300]

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
PredictiveIntervalDisplay.from_estimator(sinc, X, y, coverage=0.95, ax=left)
PredictiveIntervalDisplay.from_estimator(sugar, *rest, ax=right)
plt.show()

# %%
# Maps of two features, of two classes and of three. Solid lines are where classes are
# equally probable, dashed ones where one of two has three quarters.

X_two, y_two = two_mixtures(150, seed=0)
X_iris, y_iris = load_iris(return_X_y=True)
petals = X_iris[:, 2:]

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
two = RVC(gamma=2.0).fit(X_two, y_two)
RelevanceDisplay.from_estimator(two, X_two, y_two, ax=left)
three = RVC().fit(petals, y_iris)
RelevanceDisplay.from_estimator(three, petals, y_iris, ax=right)
plt.show()

# %%
# What was learned of the kernel. A feature may have a short length scale and still mean
# little, if the function hardly moves along it.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
LengthScalesDisplay.from_estimator(sugar, ax=left)
FeatureRelevanceDisplay.from_estimator(sugar, ax=right)
plt.show()

# %%
# How two searches went, one of them in the axes of the other.

greedy = RVR(gamma=1 / 9, solver=BottomUp(schedule="greedy")).fit(X, y)
batch = RVR(gamma=1 / 9).fit(X, y)
trace = EvidenceTraceDisplay.from_estimator(greedy, name="greedy")
EvidenceTraceDisplay.from_estimator(batch, name="batch", ax=trace.axes_)
plt.show()

# %%
# Which rows stay vectors if others are left out, and, by scikit-learn's own display,
# whether probabilities come true on rows that the model has not seen.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
shown = StabilityDisplay.from_estimator(
    RVC(gamma=2.0), X_two, y_two, cv=5, n_repeats=2, ax=left
)
CalibrationDisplay.from_estimator(two, *two_mixtures(2000, seed=1), n_bins=8, ax=right)
plt.show()

often = np.sum(shown.stability.frequency > 0.5)
ever = np.sum(shown.stability.counts > 0)
print(f"ever a vector: {ever} of {len(X_two)} rows; in most of their fits: {often}")
