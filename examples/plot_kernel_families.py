"""
Shapes of kernels
=================

What each kernel of :mod:`relvec.kernels` looks like as a function of x, with its centre
at z = 1. A model is a sum of a few such functions. The formulae are in
:doc:`/guide/kernels`.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec.kernels import (
    CompactMatern,
    Gaussian,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Periodic,
    Polynomial,
    RationalQuadratic,
    Sigmoid,
)

families = {
    "Gaussian": {f"ℓ = {scale}": Gaussian(scale) for scale in (0.5, 1, 2)},
    "Matern, ℓ = 1": {f"ν = {nu}": Matern(nu=nu) for nu in (0.5, 1.5, 5)},
    "CompactMatern, ν = 2.5": {
        f"support {radius}": CompactMatern(nu=2.5, support=radius)
        for radius in (1, 2, 4)
    },
    "InverseMultiquadric": {f"η = {e}": InverseMultiquadric(e) for e in (0.3, 1, 3)},
    "RationalQuadratic": {
        f"α = {alpha}": RationalQuadratic(alpha=alpha) for alpha in (0.2, 1, 10)
    },
    "Laplacian": {f"ℓ = {scale}": Laplacian(scale) for scale in (0.5, 1, 2)},
    "Periodic, period 4": {f"ℓ = {ell}": Periodic(ell, 4) for ell in (0.5, 1, 2)},
    "Linear and Polynomial": {"xz": Linear()}
    | {f"(0.3xz + 1)$^{d}$": Polynomial(d, 0.3, 1) for d in (2, 3)},
    "Sigmoid": {
        "tanh(xz/2)": Sigmoid(0.5),
        "tanh(xz)": Sigmoid(),
        "tanh(3xz − 3)": Sigmoid(3, -3),
    },
}

x = np.linspace(-4, 4, 801)[:, None]
centre = np.array([[1.0]])
fig, axes = plt.subplots(3, 3, figsize=(9, 7.5), sharex=True, layout="constrained")
for ax, (name, kernels) in zip(axes.flat, families.items(), strict=True):
    for label, kernel in kernels.items():
        values = kernel(x, centre)
        values = values.toarray() if kernel.compact else values
        ax.plot(x, values, lw=1.6, label=label)
    ax.axvline(1, color="0.85", lw=0.8, zorder=0)
    ax.set_title(name, fontsize=11)
    ax.margins(y=0.12)
    ax.legend(frameon=False, fontsize=8, loc="upper left", handlelength=1)
axes[2, 0].set_ylim(0, 1.55)
for ax in axes[-1]:
    ax.set_xlabel("x")
plt.show()

# %%
# The Laplacian, the Matérn kernel with ν = 1/2 and the compact kernel have a kink at
# their centre, whatever their width. In a few dimensions that does no harm. In many, it
# lets every row explain itself: see :doc:`/theory/kernels`.
