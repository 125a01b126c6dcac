"""
Feature selection by information gain
=====================================

Section 1.3 of Shah's note chooses features by what each of them alone tells of the
target, its information gain or mutual information. With scikit-learn's estimate of it
that is a pipeline. Beside it, ``kernel_learning="ard"`` learns a length scale for each
feature during the fit of a relevance vector machine: features that do not matter get
long ones.
"""

from functools import partial

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.feature_selection import SelectKBest, mutual_info_regression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from relvec import LSSVR, RVR

# Five of fifteen features matter.
X, y = make_friedman1(400, n_features=15, noise=1.0, random_state=0)
X_test, truth = make_friedman1(2000, n_features=15, noise=0.0, random_state=1)

information = partial(mutual_info_regression, random_state=0)
chosen = GridSearchCV(
    make_pipeline(SelectKBest(information), LSSVR(tune="loo")),
    {"selectkbest__k": [2, 3, 4, 5, 6, 8, 15]},
    scoring="neg_mean_squared_error",
).fit(X, y)
models = {
    "LS-SVM, all features": LSSVR(tune="loo").fit(X, y),
    "LS-SVM, most information": chosen,
    "RVM, one width": RVR(kernel_learning="width").fit(X, y),
    "RVM, ARD": RVR(kernel_learning="ard").fit(X, y),
}
for name, model in models.items():
    rmse = np.sqrt(np.mean((model.predict(X_test) - truth) ** 2))
    print(f"{name:26} RMSE {rmse:.2f}")

# %%
# Information gain looks at one feature at a time, so a feature that matters only
# together with another, or as a parabola about the middle of its range, can be missed;
# how many to keep is a matter for cross-validation. Length scales are learned together,
# and tell how much each feature bends the function.

ard = models["RVM, ARD"]
selection = chosen.best_estimator_[0]
fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.2), layout="constrained")
colours = np.where(selection.get_support(), "C0", "0.7")
left.bar(np.arange(1, 16), selection.scores_, color=colours)
left.set(title="Information gain (kept: blue)", ylabel="nats")
right.bar(np.arange(1, 16), ard.feature_relevance_, color="C3")
right.set(title="Relevance by ARD")
for ax in (left, right):
    ax.set(xlabel="feature", xticks=np.arange(1, 16, 2))
plt.show()
