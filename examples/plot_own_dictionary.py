"""
A dictionary of your own
========================

:func:`~relvec.sparse_bayes` takes any matrix of basis functions, one per column.
There may be more columns than rows, and they need not come from a kernel. Here a
spectrum is taken apart with peaks of three widths and a polynomial background.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import sparse_bayes


def peak(x, centre, width):
    return np.exp(-0.5 * ((x - centre) / width) ** 2)


rng = np.random.default_rng(2)
x = np.linspace(0, 1, 150)
background = 2 - 1.5 * x
spectrum = background + peak(x, 0.25, 0.015) + 0.8 * peak(x, 0.6, 0.06)
spectrum += 1.2 * peak(x, 0.66, 0.015)
y = spectrum + 0.1 * rng.standard_normal(len(x))

# %%
# Columns of any scale may stand side by side: the result does not depend on it.
# Nothing is centred, so the constant is a column like the others.

atoms = [("constant", np.ones_like(x)), ("slope", x), ("curvature", x**2)]
for width in (0.015, 0.03, 0.06):
    for centre in np.linspace(0, 1, 101):
        name = f"peak at {centre:.2f}, width {width}"
        atoms.append((name, peak(x, centre, width)))
names = [name for name, _ in atoms]
Phi = np.column_stack([values for _, values in atoms])

found = sparse_bayes(Phi, y)
print(
    f"{Phi.shape[0]} rows, {Phi.shape[1]} columns, {len(found.relevant)} in the model"
)
print(f"estimated noise {np.sqrt(found.noise_variance):.3f} (true: 0.100)\n")

# %%
# ``covariance`` says how well the weights are known. These columns are more than
# three standard deviations from zero:

stds = np.sqrt(np.diag(found.covariance))
for column, weight, std in zip(found.relevant, found.weights, stds, strict=True):
    if abs(weight) > 3 * std:
        print(f"{names[column]:26} {weight:6.2f} ± {std:.2f}")

# %%
# ``predict`` returns the mean and the variance of Φw, without the noise.

mean, variance = found.predict(Phi)
band = 2 * np.sqrt(variance)
fig, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.fill_between(x, mean - band, mean + band, color="C0", alpha=0.25, lw=0)
ax.plot(x, y, ".", color="0.6", ms=5, label="data")
ax.plot(x, spectrum, "--", color="C3", lw=1.2, label="true spectrum")
ax.plot(x, mean, color="C0", lw=1.8, label="mean ± 2 std")
ax.set(xlabel="x", ylabel="y", title="Peaks on a background", ylim=(0, None))
ax.legend(frameon=False, loc="lower left")
plt.show()
