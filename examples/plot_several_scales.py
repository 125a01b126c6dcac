"""
Several kernels at once
=======================

A curve that is fast in one place and slow in another has no single kernel width. A list
of kernels lets every row be the centre of a function of each: one dictionary, of which
the evidence keeps what it needs. ``relevance_kernel_`` says which kernel each relevance
vector has. See :doc:`/guide/kernels`.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR
from relvec.kernels import Gaussian

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(1.5, 10, (300, 1)), axis=0)
y = np.sin(40 / x[:, 0]) + 0.1 * rng.standard_normal(300)
line = np.linspace(1.5, 10, 1000)[:, None]
truth = np.sin(40 / line[:, 0])

# %%
# Each width alone, and the three together. The widest alone fits badly, and its columns
# are so nearly dependent that a search to the default tolerance would creep:

scales = [0.1, 0.4, 1.6]
kernels = [Gaussian(scale) for scale in scales]
fits = {f"ℓ = {k.length_scale}": RVR(k, tol=1e-2).fit(x, y) for k in kernels}
fits["all three"] = model = RVR(kernels, tol=1e-2).fit(x, y)
for name, fit in fits.items():
    error = np.sqrt(np.mean((fit.predict(line) - truth) ** 2))
    print(
        f"{name:10}{len(fit.relevance_):4} vectors   noise "
        f"{np.sqrt(fit.noise_variance_):.2f}   error {error:.2f}   log evidence "
        f"{fit.log_evidence_:7.1f}"
    )

# %%
# Narrow functions are in the model everywhere, but the large ones are on the left,
# where the curve is fast. Those on the right follow the noise a little; see
# :doc:`/limits`. Below, each function is a bar from ℓ left of its centre to ℓ right.

place, size = model.relevance_vectors_[:, 0], np.abs(model.dual_coef_)
for name, half in (("left", place < 4), ("right", place >= 4)):
    narrow = half & (model.relevance_kernel_ == 0)
    print(f"{name:5} of 4: median weight of ℓ = 0.1 is {np.median(size[narrow]):.2f}")

fig, (top, bottom) = plt.subplots(
    2, figsize=(7.5, 5), sharex=True, height_ratios=[3, 1], layout="constrained"
)
top.plot(x, y, ".", color="0.7", ms=4, label="data")
top.plot(line, truth, "--", color="0.3", lw=1, label="true function")
top.plot(line, model.predict(line), color="C0", lw=1.6, label="mean")
for number, (kernel, colour) in enumerate(
    zip(kernels, ["C3", "C1", "C2"], strict=True)
):
    mine = model.relevance_kernel_ == number
    centres = model.relevance_vectors_[mine, 0]
    label = f"ℓ = {kernel.length_scale}: {mine.sum()} vectors"
    height = model.predict(centres[:, None])
    top.plot(centres, height, "o", mfc="none", mec=colour, ms=8, label=label)
    level, reach = np.full(len(centres), number), kernel.length_scale
    bottom.errorbar(centres, level, xerr=reach, fmt="o", color=colour, ms=4, capsize=3)
top.set(ylabel="y", title="sin(40/x): one dictionary of three widths", ylim=(-1.4, 2.1))
top.legend(frameon=False, fontsize=9, ncols=3, loc="upper right")
bottom.set(xlabel="x", ylim=(-0.6, 2.6))
bottom.set_yticks(range(3), [f"ℓ = {scale}" for scale in scales])
plt.show()
