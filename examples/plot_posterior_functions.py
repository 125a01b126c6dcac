"""
Functions that the data leave possible
======================================

Error bars are of one place at a time. Where a maximum is, or when a curve crosses a
threshold, depends on many places together. Draw functions from the posterior, ask each
of them, and look at the answers.
"""

import matplotlib.pyplot as plt
import numpy as np

from relvec import RVR

# %%
# The yield of a process over temperature, measured 40 times, with a gap where the
# apparatus was not at hand.


def truth(t):
    """The yield, which nobody knows."""
    return 60 * np.exp(-(((t - 62) / 18) ** 2)) + 0.2 * t


rng = np.random.default_rng(5)
temperature = np.concatenate([rng.uniform(20, 52, 24), rng.uniform(68, 100, 16)])
measured = truth(temperature) + 2 * rng.standard_normal(40)
model = RVR().fit(temperature[:, None], measured)

line = np.linspace(20, 100, 321)
functions = model.sample_posterior(line[:, None], 1000, random_state=0)
mean, std = model.predict(line[:, None], return_std=True)

# %%
# Each function has its own best temperature, and its own first crossing of a yield of
# 50. Their spread is the answer's uncertainty, which no band could tell.

best = line[functions.argmax(axis=1)]
crossing = line[(functions > 50).argmax(axis=1)]
for name, answers in (("best temperature", best), ("yield of 50 from", crossing)):
    low, high = np.quantile(answers, [0.05, 0.95])
    print(f"{name}: {answers.mean():.1f}, 90 % between {low:.1f} and {high:.1f}")
print(
    f"truth: {line[truth(line).argmax()]:.1f}, {line[(truth(line) > 50).argmax()]:.1f}"
)

fig, (left, right) = plt.subplots(
    1, 2, figsize=(9, 3.8), width_ratios=[1.6, 1], layout="constrained"
)
left.fill_between(line, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.15, lw=0)
left.plot(line, functions[:25].T, color="C0", lw=0.5, alpha=0.5)
left.plot(line, truth(line), "--", color="C3", lw=1.2, label="true function")
left.plot(temperature, measured, ".", color="0.3", label="measured")
left.plot([], [], color="C0", lw=0.8, label="25 functions of the posterior")
left.set(title="What the data leave possible", xlabel="temperature", ylabel="yield")
left.legend(frameon=False, fontsize=8)
right.hist(best, bins=line, color="C0", alpha=0.6, label="best temperature")
right.hist(crossing, bins=line, color="C1", alpha=0.6, label="yield of 50 from")
right.set(title="1000 answers", xlabel="temperature", yticks=[], xlim=(46, 68))
right.legend(frameon=False, fontsize=8)
plt.show()
