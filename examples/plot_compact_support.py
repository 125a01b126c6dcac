"""
A kernel of finite support
==========================

Beyond its support :class:`~relvec.kernels.CompactMatern` is zero, so that along a long
record nearly all kernel values are. ``design="auto"`` then holds the others only. Here
are 20 000 rows with 10 000 of them as centres; one value in a hundred is not zero. See
:doc:`/guide/large_data`, and :doc:`/theory/kernels` for where such kernels suit.
"""

import logging
import sys
import time

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR
from relvec.kernels import CompactMatern

rng = np.random.default_rng(0)
pulses = np.sort(rng.uniform(0, 1000, 20))


def truth(x):
    after = x - pulses
    return np.sin(x[:, 0] / 20) + np.where(after > 0, np.exp(-after / 4), 0).sum(axis=1)


x = np.sort(rng.uniform(0, 1000, (20_000, 1)), axis=0)
y = truth(x) + 0.3 * rng.standard_normal(len(x))

# %%
# With ``verbose=1`` the fit says how it holds the dictionary. A value takes 12 bytes
# with its place: 24 MB in all, where the array would take 1.6 GB.

logging.basicConfig(stream=sys.stdout, format="%(message)s")
kernel = CompactMatern(4.0, nu=1.5, support=5.0)
started = time.perf_counter()
model = RVR(kernel, verbose=1).fit(x, y)
seconds = time.perf_counter() - started
print(f"\n{len(model.relevance_)} relevance vectors in {seconds:.1f} s")
print(f"estimated noise {np.sqrt(model.noise_variance_):.3f} (true: 0.3)")
error = np.sqrt(np.mean((model.predict(x) - truth(x)) ** 2))
print(f"root mean square error of the mean: {error:.3f}")

# %%
# The whole record, and a part of it. Functions of this support carry the slow wave as
# well, but it takes many of them, and each brings a kink along.

fig, axes = plt.subplots(2, figsize=(7.5, 5.4), layout="constrained")
for ax, (low, high) in zip(axes, ((0, 1000), (585, 685)), strict=True):
    seen = (x[:, 0] >= low) & (x[:, 0] <= high)
    line = np.linspace(low, high, 1001)[:, None]
    ax.plot(x[seen][::5], y[seen][::5], ".", color="0.8", ms=2, label="every fifth row")
    ax.plot(line, truth(line), "--", color="C3", lw=1, label="true function")
    ax.plot(line, model.predict(line), color="C0", lw=1.4, label="mean")
    ax.set(xlim=(low, high), ylabel="y")
inside = (model.relevance_vectors_[:, 0] > low) & (
    model.relevance_vectors_[:, 0] < high
)
vectors = model.relevance_vectors_[inside]
ax.plot(vectors, model.predict(vectors), "o", mfc="none", mec="k", label="vectors")
ax.legend(frameon=False, fontsize=9, ncols=2, loc="lower right")
ax.set(xlabel="x", ylim=(-2.2, None))
axes[0].set_title(f"20 000 rows, {len(model.relevance_)} relevance vectors")
plt.show()
