"""
Probabilities that know their uncertainty
=========================================

:meth:`RVC.predict_proba <relvec.RVC.predict_proba>` integrates the sigmoid over the
posterior of the weights: the *moderated* probability. Putting the mean weights into
the sigmoid, the *plug-in* probability, claims more than few data can support.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.special import expit
from sklearn.metrics import log_loss

from relvec import RVC
from relvec.data import two_mixtures

X, y = two_mixtures(60, seed=2)
X_test, y_test = two_mixtures(20_000, seed=100)
gaussian = RVC("rbf", gamma=1 / 0.5**2).fit(X, y)
linear = RVC("linear").fit(X, y)


def plug_in_log_odds(model, rows):
    """Log odds of class 1 at the posterior mean of the weights."""
    mean, _ = model.model_.latent(rows)
    return mean[:, 0]


for name, model in (("Gaussian", gaussian), ("linear", linear)):
    moderated = log_loss(y_test, model.predict_proba(X_test))
    plug_in = log_loss(y_test, expit(plug_in_log_odds(model, X_test)))
    print(f"{name} kernel: log loss {moderated:.3f} moderated, {plug_in:.3f} plug-in")

# %%
# Both agree on where the classes are equally probable, and so on every decision, but
# not on how soon to be sure (left). What happens far away depends on the kernel
# (right): for a linear one the plug-in log odds grow without end and the moderated
# ones level off; Gaussian functions vanish, and both return to the constant.

sides = np.linspace(-1.5, 1.3, 281), np.linspace(-0.7, 1.7, 241)
plane = np.stack(np.meshgrid(*sides), axis=-1)
fig, (left, right) = plt.subplots(1, 2, figsize=(8.4, 4), layout="constrained")
for log_odds, colour, style in (
    (plug_in_log_odds(gaussian, plane.reshape(-1, 2)), "C1", "dashed"),
    (gaussian.decision_function(plane.reshape(-1, 2)), "k", "solid"),
):
    values = expit(log_odds).reshape(plane.shape[:2])
    lines = {"colors": colour, "linestyles": style, "linewidths": 1.2}
    left.contour(*sides, values, levels=[0.05, 0.5, 0.95], **lines)
left.scatter(*X.T, c=y, cmap="coolwarm", s=14, zorder=3)
left.set(title="5, 50 and 95 %, Gaussian kernel", xlabel="$x_1$", ylabel="$x_2$")

up = np.column_stack([np.full(301, 0.3), np.linspace(0.5, 4, 301)])
for name, model, colour in (("linear", linear, "C2"), ("Gaussian", gaussian, "C0")):
    right.plot(up[:, 1], plug_in_log_odds(model, up), "--", color=colour)
    right.plot(up[:, 1], model.decision_function(up), color=colour, label=name)
right.axvspan(0.5, X[:, 1].max(), color="0.92", zorder=0, label="data")
right.set(title="Along $x_1 = 0.3$", xlabel="$x_2$", ylabel="log odds", ylim=(-1, 25))
right.plot([], [], "k-", label="moderated")
right.plot([], [], "k--", label="plug-in")
right.legend(frameon=False, loc="center right", fontsize=9)
plt.show()
