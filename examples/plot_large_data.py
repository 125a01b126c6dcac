"""
Twenty thousand rows from a file
================================

Twenty thousand rows have 400 million pairs: 3.2 GB of kernel values that are never
held. :func:`relvec.data.scan` reads the rows a block at a time, and some rows and
candidates are searched first. See :doc:`/guide/large_data`.
"""

import logging
import sys
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR
from relvec.data import scan


def truth(X):
    return np.sinc(np.hypot(X[:, 0], X[:, 1]) / np.pi)


rng = np.random.default_rng(0)
X = rng.uniform(-10, 10, (20_000, 2))
y = truth(X) + 0.1 * rng.standard_normal(len(X))
folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "rows.npy")
np.save(path, np.column_stack([X, y]))

# %%
# The last column of the file is the target. With ``verbose=1`` the fit says how it
# holds the dictionary.

logging.basicConfig(stream=sys.stdout, format="%(message)s")
blocks = scan(path, target=-1)
started = time.perf_counter()
model = RVR(gamma=1 / 2.5**2, verbose=1).fit(blocks)
seconds = time.perf_counter() - started
print(f"\n{len(model.relevance_)} relevance vectors in {seconds:.1f} s")
print(f"estimated noise {np.sqrt(model.noise_variance_):.4f} (true: 0.1)")
folder.cleanup()

# %%
# A few dozen rows carry the model. ``relevance_`` holds their numbers in the file.

side = np.linspace(-10, 10, 201)
plane = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
mean = model.predict(plane)
error = mean - truth(plane)
print(f"root mean square error of the mean: {np.sqrt(np.mean(error**2)):.4f}")

fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 3.8), layout="constrained")
shared = {"extent": (-10, 10, -10, 10), "origin": "lower", "aspect": "auto"}
image = left.imshow(mean.reshape(201, 201), cmap="viridis", **shared)
left.plot(*X[model.relevance_].T, "o", ms=6, mfc="none", mec="w", mew=1.2)
left.set(title="Mean and relevance vectors", xlabel="$x_1$", ylabel="$x_2$")
fig.colorbar(image, ax=left)
image = right.imshow(
    error.reshape(201, 201), cmap="RdBu", vmin=-0.05, vmax=0.05, **shared
)
right.set(title="Mean less truth (noise: 0.1)", xlabel="$x_1$")
fig.colorbar(image, ax=right)
plt.show()

# %%
# Which design suits depends on the number of rows. As long as the matrix is small it
# is as fast as anything; beyond, ``design="auto"`` looks at parts of it.


def seconds_to_fit(design, n):
    started = time.perf_counter()
    RVR(gamma=1 / 2.5**2, design=design).fit(X[:n], y[:n])
    return time.perf_counter() - started


sizes = {"dense": (500, 1000, 2000, 3000), "auto": (500, 1000, 2000, 4000, 8000)}
fig, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for design, marker in (("dense", "s"), ("auto", "o")):
    times = [seconds_to_fit(design, n) for n in sizes[design]]
    ax.loglog(sizes[design], times, marker=marker, label=f'design="{design}"')
ax.loglog([20_000], [seconds], "*", ms=11, color="C1", label="from the file")
ax.set(xlabel="rows", ylabel="seconds", title="Time to fit")
ax.legend(frameon=False)
plt.show()
