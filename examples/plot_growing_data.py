"""
Rows that arrive over time, and fits that must end in time
==========================================================

``partial_fit`` adds rows to a model without keeping them, ``warm_start`` begins a fit
where the last one ended, and ``max_seconds`` ends a fit when time is up, with a model
that is usable. See :doc:`/guide/large_data`.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from relvec import RVR

rng = np.random.default_rng(0)


def day(n=40):
    """What a sensor has measured in a day."""
    x = rng.uniform(0, 10, (n, 1))
    return x, np.sin(2 * x[:, 0]) * np.exp(-x[:, 0] / 5) + 0.2 * rng.standard_normal(n)


# %%
# **Day by day.** Functions may sit on a grid of 60 places, given once. Only inner
# products of these are kept, whatever the number of rows, and every day ends with the
# best model of all rows so far.

places = np.linspace(0, 10, 60)[:, None]
line = np.linspace(0, 10, 300)[:, None]
truth = np.sin(2 * line[:, 0]) * np.exp(-line[:, 0] / 5)
model = RVR(gamma=0.5, candidates=places)
seen = []
fig, axes = plt.subplots(1, 3, figsize=(9.5, 3), sharey=True, layout="constrained")
for number in range(1, 31):
    X, y = day()
    seen.append((X, y))
    model.partial_fit(X, y)
    if number in (1, 5, 30):
        ax = axes[(1, 5, 30).index(number)]
        draws = model.sample_posterior(line, 200, random_state=0)
        low, high = np.quantile(draws, [0.025, 0.975], axis=0)
        ax.fill_between(line[:, 0], low, high, color="C0", alpha=0.25, lw=0)
        ax.plot(line, model.predict(line), color="C0")
        ax.plot(line, truth, "--", color="C3", lw=1)
        title = f"day {number}: {len(model.relevance_)} vectors"
        ax.set_title(
            f"{title}, noise {np.sqrt(model.noise_variance_):.2f}", fontsize=10
        )
plt.show()

# %%
# It is the model that one call with all rows and the same places would have found.

X, y = (np.concatenate(parts) for parts in zip(*seen, strict=True))
at_once = RVR(gamma=0.5, candidates=places).fit(X, y)
difference = np.abs(at_once.predict(line) - model.predict(line)).max()
print(f"largest difference to one fit of {len(y)} rows: {difference:.4f}")

# %%
# **Where the last fit ended.** With rows in memory ``warm_start=True`` begins with the
# functions, precisions and noise of the last fit: a few rows more take a few steps.

warm = RVR(gamma=0.5, warm_start=True).fit(X[:1100], y[:1100])
first = warm.n_iter_
warm.fit(X, y)
print(f"steps: {first} at first, {warm.n_iter_} for a hundred rows more")

# %%
# **When time is up.** A fit of little noise may go on for long. It can be cut at any
# time: ``status_`` and a warning say so, and what was found by then is the model, with
# the errors below. Callbacks are for those who decide as they watch.

X = rng.uniform(-3, 3, (1000, 3))
y = np.sin(X).prod(axis=1) + np.cos(2 * X[:, 0]) + 0.01 * rng.standard_normal(1000)
X, X_new, y, y_new = X[:700], X[700:], y[:700], y[700:]
for seconds in (0.05, 0.2, None):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        cut = RVR(gamma=0.15, max_seconds=seconds).fit(X, y)
    error = np.sqrt(np.mean((cut.predict(X_new) - y_new) ** 2))
    print(
        f"max_seconds={seconds}: {cut.status_.name.lower()}, "
        f"{len(cut.relevance_)} vectors, error {error:.3f}"
    )
