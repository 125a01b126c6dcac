"""
MacKay, EM and the variational solver
=====================================

The first relevance vector machines begin with all functions in the model and let most
of them fade out. MacKay's updates take long steps; those of EM are short, but never
descend. The variational solver takes the same steps as EM towards another goal, a lower
bound of the marginal likelihood with nothing but means of the precisions in it.

This is the comparison of figure 2 of Yuan et al. (2009), with the default solver beside
it, which begins with no function at all.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from relvec import RVR, TopDown
from relvec.data import noisy_sinc

X, y = noisy_sinc(150, noise=0.1, seed=0)
alone = {"initial_precision": 1 / 150, "polish": False}
solvers = {
    "MacKay": TopDown("mackay", **alone),
    "EM": TopDown("em", prune=1e6, **alone),
    "EM, fading functions leave": TopDown("em", **alone),
    "sequential": "sequential",
}
models = {}
warnings.simplefilter("ignore", ConvergenceWarning)  # EM is stopped on its way
for name, solver in solvers.items():
    model = RVR(gamma=1 / 3**2, solver=solver, max_iter=1500, tol=1e-5)
    models[name] = model.fit(X, y)
    print(
        f"{name:27}{model.n_iter_:5} steps, {len(model.relevance_):3} vectors, "
        f"evidence {model.log_evidence_:.2f}, {model.status_.name.lower()}"
    )

# %%
# The paper's words are that MacKay's form is "highly effective on pruning": after a few
# dozen steps most functions are gone. EM by itself reaches nearly the same evidence
# with nearly all functions still in: a precision on its way to infinity grows by a
# constant in every step. So relvec lets functions leave that EM is known to drive out,
# those with q² ≤ s, as soon as they hardly matter.

fig, axes = plt.subplots(2, figsize=(7, 6), sharex=True, layout="constrained")
best = max(model.log_evidence_ for model in models.values())
for name, model in models.items():
    history = model.history_
    axes[0].plot(history["iteration"], best - history["log_evidence"], label=name)
    axes[1].plot(history["iteration"], history["n_vectors"], label=name)
axes[0].set(ylabel="nats below the best", xscale="log", yscale="log", ylim=(1e-2, 1e3))
axes[0].legend(frameon=False, fontsize="small")
axes[0].set_title("Steps of four solvers")
axes[1].set(xlabel="step", ylabel="vectors", yscale="log")
plt.show()

# %%
# A top-down solver ends at a maximum of its own, where some functions are alike and
# none is missed. Without ``polish=False`` the sequential search goes on from there. The
# variational solver is not polished, since it maximises something else. It knows how
# uncertain the noise is: with few rows its intervals are wider.

few = noisy_sinc(12, noise=0.1, seed=3)
line = np.linspace(-10, 10, 201)[:, None]
for solver in ("mackay", "variational"):
    model = RVR(gamma=1 / 3**2, solver=solver, tol=1e-3).fit(*few)
    lower, upper = model.predict_interval(line, coverage=0.9)
    print(
        f"{solver:12} mean width of 90 % intervals {np.mean(upper - lower):.2f}, "
        f"degrees of freedom {model.degrees_of_freedom_:.0f}"
    )
