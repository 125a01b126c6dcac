"""
Which source of data is worth how much
======================================

Rows often come from several sources: sensors of different kinds, words beside numbers.
Give each source a kernel of its own. ``kernel_learning="weights"`` mixes them into one
kernel, and the weights tell how much of each is needed. That is multiple kernel
learning, by the evidence. See :doc:`/guide/kernels`.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVC, RVR
from relvec.kernels import Gaussian, Linear

# %%
# Three instruments with two channels each. The first tells the function's curved part,
# the second a straight one, the third nothing.

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (200, 6))
curved = np.sin(2 * X[:, 0]) * np.cos(X[:, 1])
sources = {
    "first, curved": Gaussian(1.0, columns=[0, 1]),
    "second, linear": Linear(columns=[2, 3]),
    "third, curved": Gaussian(1.0, columns=[4, 5]),
}
kernels = list(sources.values())

# %%
# As the share of the second instrument in the target grows, so does the weight of its
# kernel. The third gets little, and not nothing: the evidence lets some noise in, so
# that a small weight is no proof that a source matters.

shares = np.linspace(0, 1, 5)
weights = []
for share in shares:
    y = (1 - share) * curved + share * X[:, 2] + 0.1 * rng.standard_normal(200)
    model = RVR(kernels, kernel_learning="weights", tol=1e-2).fit(X, y)
    weights.append(model.kernel_weights_)
fig, ax = plt.subplots(figsize=(6, 3.6), layout="constrained")
ax.stackplot(shares, np.transpose(weights), labels=sources, colors=["C0", "C1", "C3"])
ax.set(xlabel="share of the second instrument", ylabel="weights of the kernels")
ax.set(xlim=(0, 1), ylim=(0, 1))
ax.legend(loc="lower left", fontsize=9)
plt.show()

# %%
# Classes are no different. Without ``kernel_learning`` a list is one dictionary, in
# which every function has one of the kernels, and ``relevance_kernel_`` says which.

labels = np.where(curved + 0.2 * rng.standard_normal(200) > 0, "up", "down")
mixed = RVC(kernels, kernel_learning="weights", tol=1e-2).fit(X, labels)
print(
    "weights:", dict(zip(sources, mixed.kernel_weights_.round(2).tolist(), strict=True))
)
listed = RVC(kernels).fit(X, labels)
counts = np.bincount(listed.relevance_kernel_, minlength=3).tolist()
print("vectors:", dict(zip(sources, counts, strict=True)))
