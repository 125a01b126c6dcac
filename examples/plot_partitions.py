"""
Divide and conquer
==================

Three algorithms fit a relevance vector machine by parts of the rows: split & merge,
incremental and working set (Ben-Shimon 2006). Each goes on with the relevance vectors
of the sets before. See :doc:`/guide/cluster`.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR, Incremental, SplitMerge, WorkingSet
from relvec.data import noisy_sinc

X, y = noisy_sinc(2000, seed=0)
truth = np.sinc(X[:, 0] / np.pi)

# %%
# Partitions of 50 rows. ``polish=False`` is the thesis: the model is that of the last
# set. ``partition_history_`` tells how many rows each set had, and how many vectors it
# was left with.

algorithms = {
    "split & merge": SplitMerge(polish=False),
    "incremental": Incremental(polish=False),
    "working set": WorkingSet(polish=False),
}
models = {
    name: RVR(gamma=1 / 9, partition=settings, partition_size=50).fit(X, y)
    for name, settings in algorithms.items()
}
models["no partitions"] = RVR(gamma=1 / 9).fit(X, y)
for name, model in models.items():
    error = np.sqrt(np.mean((model.predict(X) - truth) ** 2))
    print(f"{name:>14}: {len(model.relevance_)} vectors, error {error:.4f}")

# %%
# Forty partitions become one set in six stages, or join what was found one by one.

fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.6), layout="constrained")
for name in algorithms:
    left.plot(models[name].partition_history_["n_rows"], ".-", ms=4, lw=0.8, label=name)
left.set(title="Rows of every set", xlabel="set", ylim=(0, None))
left.legend(frameon=False)
order = np.argsort(X[:, 0])
right.plot(X[:, 0], y, ".", ms=1.5, color="0.8")
right.plot(X[order, 0], models["working set"].predict(X[order]), "C2")
kept = models["working set"].relevance_
right.plot(X[kept, 0], y[kept], "o", ms=8, mfc="none", mec="k")
right.set(title="Working set and its vectors", xlabel="$x$")
plt.show()

# %%
# The same rows in blocks, as they would come from a file or a cluster. Nothing of their
# number is held: rows that are drawn find functions, and sums over all rows weigh them.

from relvec.data import scan

blocks = scan(X, target=y, block_rows=500)
model = RVR(partition="sample", partition_size=400).fit(blocks)
error = np.sqrt(np.mean((model.predict(X) - truth) ** 2))
print(f"{len(model.relevance_)} vectors, error {error:.4f}")
