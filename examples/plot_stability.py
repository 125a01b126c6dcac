"""
Which prototypes stay
=====================

The relevance vectors of a classifier are examples of its classes. Are they the same
ones if the model is fitted to other rows of the same problem?
:func:`~relvec.inspection.relevance_stability` fits it again and again, each time
without a tenth of the rows, and counts how often each row is a relevance vector, after
section VIII-F of Psorakis, Damoulas and Girolami (2010). See
:doc:`/guide/classification`.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

from relvec import RVC
from relvec.inspection import relevance_stability
from relvec.plots import StabilityDisplay

X, y = load_wine(return_X_y=True)
X = scale(X)

# %%
# Three kinds of wine. One model for all of them, and one for each against the rest; ten
# folds, once:

models = {"one model": "mrvm1", "one against the rest": "ovr"}
found = {
    name: relevance_stability(RVC(multi_class=mode, tol=1e-2), X, y, n_repeats=1)
    for name, mode in models.items()
}
for name, stability in found.items():
    often = np.sum(stability.frequency > 0.5)
    ever = np.sum(stability.counts > 0)
    print(f"{name:22}{ever:3} rows are ever a vector, {often} in most fits")

# %%
# Every bar is a row, and dashed lines stand between the kinds of wine. A high bar is a
# prototype; many low ones are rows that stand in for each other.

fig, axes = plt.subplots(2, figsize=(7.5, 5), sharex=True, layout="constrained")
for ax, (name, stability) in zip(axes, found.items(), strict=True):
    StabilityDisplay(stability=stability).plot(ax)
    ax.set(title=name, xlabel="", ylabel="times a vector")
axes[-1].set_xlabel("row")
plt.show()
