"""
Rows on a cluster
=================

A Dask array is fitted where it is: functions travel to its chunks, and small triangles
of sums come back. The call is the same as for an array in memory, and so is the model.
Here the cluster is one worker with two threads in this process, so that the example
runs anywhere; with ``Client("scheduler:8786")`` the same lines run on a real one. See
:doc:`/guide/cluster`.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from dask.distributed import Client

from relvec import RVR

# %%
# Half of the rows are of one kind and half of another: the chunks need not be alike.
# Each is made by the worker, when it is needed; none of them is ever here.


def chunk(seed, rows=3000):
    """Rows of a chunk, with their targets in the last column."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-10, 0, (rows, 2)) if seed % 2 else rng.uniform(0, 10, (rows, 2))
    truth = np.sinc(np.hypot(X[:, 0], X[:, 1]) / np.pi)
    return np.column_stack([X, truth + 0.1 * rng.standard_normal(rows)])


client = Client(
    processes=False, n_workers=1, threads_per_worker=2, dashboard_address=None
)
seeds = da.arange(8, chunks=1)
table = seeds.map_blocks(
    lambda block: chunk(int(block[0])),
    chunks=((3000,) * 8, (3,)),
    new_axis=1,
    dtype=float,
).persist()
X, y = table[:, :2], table[:, 2]
print(X)

model = RVR().fit(X, y)
print(f"{len(model.relevance_)} vectors, noise {np.sqrt(model.noise_variance_):.3f}")

# %%
# Predictions of a Dask array are lazy, and computed by the workers; of an array in
# memory they are an array. The fitted model is an ordinary one: save it, send it, use
# it without Dask.

predicted = model.predict(X)
print(predicted)
error = da.sqrt(((predicted - y) ** 2).mean()).compute()
print(f"error on all {len(y):,} rows: {error:.3f}")

grid = np.stack(np.meshgrid(*2 * [np.linspace(-10, 10, 81)]), axis=-1).reshape(-1, 2)
mean, std = model.predict(grid, return_std=True)
client.close()

fig, axes = plt.subplots(1, 2, figsize=(8.6, 3.8), layout="constrained")
panels = zip(axes, (mean, std), ("mean", "standard deviation"), strict=True)
for ax, values, title in panels:
    shade = ax.pcolormesh(
        *grid.reshape(81, 81, 2).transpose(2, 0, 1), values.reshape(81, 81)
    )
    fig.colorbar(shade, ax=ax, shrink=0.7)
    ax.plot(*model.relevance_vectors_.T, "o", ms=5, mfc="none", mec="w", mew=0.8)
    ax.set(title=title, xlabel="first feature", ylabel="second feature", aspect="equal")
plt.show()

# %%
# Two quarters of the plane have no rows. The error bars there say so.
