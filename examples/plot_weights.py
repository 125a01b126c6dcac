"""
Rows, classes and measurements that count for more
==================================================

Three things are called weights. ``sample_weight`` says how often a row is there,
``class_weight`` how often a class, and ``y_std`` how well a target was measured. They
answer different questions; see :doc:`/guide/weights`.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVC, RVR
from relvec.data import noisy_sinc, two_mixtures

# %%
# **Known noise.** On the left an instrument of ten times the precision was at hand.
# With ``y_std`` its rows count for what they are worth. A ``sample_weight`` of 100 in
# its place would claim that there are a hundred measurements of each, all with the same
# noise as the others.

rng = np.random.default_rng(0)
X, _ = noisy_sinc(60)
std = np.where(X[:, 0] < 0, 0.03, 0.3)
y = np.sinc(X[:, 0] / np.pi) + std * rng.standard_normal(60)
line = np.linspace(-10, 10, 400)[:, None]
truth = np.sinc(line[:, 0] / np.pi)
fits = {
    "RVR().fit(X, y)": RVR().fit(X, y),
    "RVR().fit(X, y, y_std=std)": RVR().fit(X, y, y_std=std),
}
fig, axes = plt.subplots(1, 2, figsize=(9, 3.2), sharey=True, layout="constrained")
for ax, (title, model) in zip(axes, fits.items(), strict=True):
    functions = model.sample_posterior(line, 200, random_state=0)
    low, high = np.quantile(functions, [0.025, 0.975], axis=0)
    ax.fill_between(line[:, 0], low, high, color="C0", alpha=0.2, lw=0)
    ax.errorbar(X[:, 0], y, std, fmt=".", color="0.5", ms=4, lw=0.7)
    ax.plot(line, truth, "--", color="C3", lw=1)
    ax.plot(line, model.predict(line), color="C0")
    error = np.sqrt(np.mean((model.predict(line) - truth) ** 2))
    ax.set_title(f"{title}\nerror {error:.3f}", fontsize=10)
plt.show()

# %%
# **Rows that stand for several.** A weight of three is the row three times, to the last
# digit of the evidence.

counts = rng.integers(0, 4, len(X))
weighted = RVR(gamma=1 / 3**2).fit(X, y, sample_weight=counts)
repeated = RVR(gamma=1 / 3**2).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
print(f"log evidence: {weighted.log_evidence_:.6f}, {repeated.log_evidence_:.6f}")

# %%
# **Rare classes.** One row in eleven is of the second class, and to miss one of them
# costs four times as much as a false alarm. Two ways to say so: weigh the class four
# times, or leave the weights out and decide for it from a probability of 1/5 on. The
# decisions are much alike. The second way has probabilities that are right for the data
# as they are, and other costs can be had without another fit.

X, y = two_mixtures(500, seed=1)
rows = np.concatenate([np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:25]])
X, y = X[rows], y[rows]
plain = RVC(gamma=1 / 0.5**2).fit(X, y)
weighted = RVC(gamma=1 / 0.5**2, class_weight={1: 4}).fit(X, y)
panels = {
    "no weights, from 1/2": (plain, 1 / 2),
    "no weights, from 1/5": (plain, 1 / 5),
    "class_weight={1: 4}, from 1/2": (weighted, 1 / 2),
}
sides = np.linspace(-1.4, 1.1, 120), np.linspace(-0.4, 1.3, 120)
grid = np.stack(np.meshgrid(*sides), axis=-1)
X_new, y_new = two_mixtures(4000, seed=2)
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), sharey=True, layout="constrained")
for ax, (title, (model, threshold)) in zip(axes, panels.items(), strict=True):
    probability = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(120, 120)
    shades = {"levels": [0, threshold, 1], "colors": ["C0", "C1"], "alpha": 0.3}
    ax.contourf(*sides, probability, **shades)
    for label in (0, 1):
        ax.plot(*X[y == label].T, ".", color=f"C{label}", ms=5)
    found = model.predict_proba(X_new)[:, 1] > threshold
    hits, alarms = (np.mean(found[y_new == label]) for label in (1, 0))
    ax.set_title(f"{title}\nfinds {hits:.0%}, false alarms {alarms:.0%}", fontsize=10)
plt.show()
