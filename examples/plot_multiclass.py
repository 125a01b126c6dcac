"""
Several classes
===============

:class:`RVC <relvec.RVC>` is one model for all classes: a few rows, each with a weight
for every class, and probabilities that sum to one.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap, to_rgb

from relvec import RVC

COLOURS = ("C0", "C1", "C2", "C4")


def four_arms(n_rows, seed):
    """Four classes that wind around each other, at random angles and radii."""
    rng = np.random.default_rng(seed)
    y = rng.integers(4, size=n_rows)
    radius = rng.uniform(0.3, 2.2, n_rows)
    angle = np.pi / 2 * y + 0.9 * radius + rng.normal(0, 0.3, n_rows)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


X, y = four_arms(300, seed=0)
X_test, y_test = four_arms(5000, seed=1)
model = RVC(gamma=1.0).fit(X, y)
print(
    f"{len(model.relevance_)} relevance vectors with {model.dual_coef_.shape[0]} "
    f"weights each, {100 * model.score(X_test, y_test):.1f} % of test rows correct"
)

# %%
# Left, the most probable class, the paler the less certain, with lines where two
# classes are equally probable. The circled rows are all that the model consists of.
# Right, the probabilities along the circle: they pass into each other where the arms
# meet. Far away all functions vanish; without a constant that tells classes apart,
# all four are equally probable there.

side = np.linspace(-3.4, 3.4, 201)
plane = np.stack(np.meshgrid(side, side), axis=-1)
p = model.predict_proba(plane.reshape(-1, 2))
certainty = (4 * p.max(axis=1, keepdims=True) - 1) / 3
full = np.array([to_rgb(colour) for colour in COLOURS])[p.argmax(axis=1)]
shades = 1 - 0.6 * certainty * (1 - full)

fig, (left, right) = plt.subplots(
    1, 2, figsize=(9, 4.3), layout="constrained", width_ratios=(1, 1.1)
)
extent = (side[0], side[-1], side[0], side[-1])
left.imshow(shades.reshape(201, 201, 3), origin="lower", extent=extent)
for c in range(4):
    margin = p[:, c] - np.delete(p, c, axis=1).max(axis=1)
    lines = margin.reshape(201, 201)
    left.contour(side, side, lines, levels=[0], colors="0.3", linewidths=0.7)
left.scatter(*X.T, c=y, cmap=ListedColormap(COLOURS), s=9)
circles = {"facecolors": "none", "edgecolors": "k", "s": 70, "linewidths": 1.3}
left.scatter(*model.relevance_vectors_.T, **circles)
circle = np.linspace(0, 2 * np.pi, 361)
around = 1.5 * np.column_stack([np.cos(circle), np.sin(circle)])
left.plot(*around.T, color="k", linewidth=0.8, linestyle="dotted")
left.set(title="Regions and relevance vectors", xlabel="$x_1$", ylabel="$x_2$")

for name, line, colour in zip(
    model.classes_, model.predict_proba(around).T, COLOURS, strict=True
):
    right.plot(np.degrees(circle), line, color=colour, label=f"class {name}")
right.set(title="Around the dotted circle", xlabel="angle", ylabel="probability")
right.set(xticks=range(0, 361, 90), ylim=(0, 1.02))
right.legend(frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.13))
plt.show()
