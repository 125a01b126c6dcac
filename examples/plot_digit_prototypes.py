"""
Prototypes of digits
====================

Relevance vectors are training rows, so that a classifier of pictures can show what it
goes by. Here :class:`~relvec.RVC` learns ten classes of handwritten digits, 8 × 8
pixels each, and keeps a few dozen of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

from relvec import RVC

X, y = load_digits(return_X_y=True)
X = X / 16
X_train, X_test, y_train, y_test = train_test_split(X, y, random_state=0, stratify=y)
model = RVC(gamma="scale").fit(X_train, y_train)
svc = SVC(gamma="scale").fit(X_train, y_train)
print(
    f"RVC: {len(model.relevance_)} vectors, accuracy {model.score(X_test, y_test):.1%}"
)
print(f"SVC: {len(svc.support_)} vectors, accuracy {svc.score(X_test, y_test):.1%}")

# %%
# All classes share the same vectors; each vector has a weight for each class. They are
# drawn in the order of their own class. Nobody has told the model to keep some of every
# digit: what is needed stays. Most are plain specimens. Support vectors, many times as
# many, are the hard cases at the margin.

order = np.argsort(y_train[model.relevance_], kind="stable")
kept = model.relevance_[order]
columns = 10
fig, axes = plt.subplots(
    -(-len(kept) // columns), columns, figsize=(7.5, 3.6), layout="constrained"
)
for ax in axes.flat:
    ax.axis("off")
for ax, row in zip(axes.flat, kept, strict=False):
    ax.imshow(X_train[row].reshape(8, 8), cmap="gray_r")
    ax.set_title(y_train[row], fontsize=9, pad=2)
plt.show()

# %%
# How sure it is of each picture is a probability. Those of least certainty among new
# digits are those that people would hesitate about, too.

probabilities = model.predict_proba(X_test)
unsure = np.argsort(probabilities.max(axis=1))[:8]
fig, axes = plt.subplots(
    2, 8, figsize=(8.4, 3), height_ratios=[1.4, 1], layout="constrained"
)
for (picture, bars), row in zip(axes.T, unsure, strict=True):
    picture.imshow(X_test[row].reshape(8, 8), cmap="gray_r")
    picture.set_title(f"a {y_test[row]}", fontsize=9)
    picture.axis("off")
    colors = np.where(np.arange(10) == y_test[row], "C0", "0.7")
    bars.bar(range(10), probabilities[row], color=colors)
    bars.set(ylim=(0, 1), xticks=range(0, 10, 2), yticks=[])
    bars.tick_params(labelsize=7)
fig.suptitle("The eight digits it is least sure of", fontsize=10)
plt.show()
