"""
How long a battery will last
============================

Cells lose capacity with every cycle, and are worn out at 80 % of what they had. How
many cycles are left? Two ways to ask, one of which cannot work: to extrapolate the
curve of one cell, or to learn from cells that have been worn out before. In both
cases the error bars say what can be known. The data are made up here, after the shape
of real ones: a slow decline, then a knee.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from relvec import RVR

rng = np.random.default_rng(0)
CYCLES = np.arange(10, 2001, 10)


def cell():
    """Capacity after each ten cycles, resistance, and the cycle it is worn out at."""
    knee = rng.uniform(700, 1300)
    fade = rng.uniform(0.5, 1.0) * 1e-4 * CYCLES
    fade = fade + 0.05 * np.exp((CYCLES - knee) / rng.uniform(80, 160))
    life = CYCLES[np.argmax(fade > 0.2)]
    resistance = 1 + 2.5 * fade + 0.5 * (CYCLES / knee) ** 3
    capacity = 1 - fade + 0.002 * rng.standard_normal(len(CYCLES))
    resistance += 0.02 * rng.standard_normal(len(CYCLES))
    return capacity, resistance, life


cells = [cell() for _ in range(28)]

# %%
# **One cell by itself.** The first 60 % of its life are known. A model of capacity over
# cycles is precise there, and beyond it knows nothing of a knee that it has never seen:
# its mean turns back to a constant. Only the bars are honest about it. They widen, to
# the size of what has been seen and no further, so that the fall after the knee leaves
# them all the same: data say how much a function may vary, not what it does where there
# are none. See :doc:`/limits`.

capacity, _, life = cells[0]
known = CYCLES[0.6 * life > CYCLES]
alone = RVR().fit(known[:, None], capacity[: len(known)])
ahead = CYCLES[life >= CYCLES]
mean, std = alone.predict(ahead[:, None], return_std=True)

# %%
# **A fleet.** Twenty cells have been followed to their end. A row is a cell at some
# age, with what can be measured then: cycles, capacity, what was lost in the last
# hundred cycles, resistance. The target is how many cycles were left. Young cells look
# all alike, so that their lives cannot be told apart; old ones give themselves away.
# The noise therefore is not the same everywhere, which ``noise="heteroscedastic"`` is
# for.


def ages(capacity, resistance, life, step=12):
    """Rows and targets of a cell from its 100th cycle to its end."""
    at = np.flatnonzero((CYCLES > 100) & (life >= CYCLES))[::step]
    lost = capacity[at - 10] - capacity[at]
    rows = np.column_stack([CYCLES[at], capacity[at], lost, resistance[at]])
    return rows, life - CYCLES[at]


train = [ages(*one) for one in cells[8:]]
X, y = (np.concatenate(parts).astype(float) for parts in zip(*train, strict=True))
models = {
    noise: make_pipeline(StandardScaler(), RVR(noise=noise)).fit(X, y)
    for noise in ("gaussian", "heteroscedastic")
}

# %%
# No row of the eight cells that are asked about has been seen. Intervals of the second
# model are narrow at the end, when somebody has to decide, and wide at the beginning;
# those of the first are as wide throughout, too wide for old cells. Both hold a little
# less than they promise: rows of a cell are not independent, and twenty cells are few.

test = [ages(*one, step=2) for one in cells[:8]]
for noise, (scaler, model) in models.items():
    X_test, y_test = (np.concatenate(parts) for parts in zip(*test, strict=True))
    lower, upper = model.predict_interval(scaler.transform(X_test), coverage=0.9)
    covered = np.mean((lower <= y_test) & (y_test <= upper))
    late = y_test < 150
    print(
        f"{noise:16} {len(model.relevance_):3} vectors, 90 % intervals hold "
        f"{covered:.0%}, width early {np.mean((upper - lower)[~late]):.0f} cycles, "
        f"in the last 150 {np.mean((upper - lower)[late]):.0f}"
    )

fig, (left, middle, right) = plt.subplots(
    1, 3, figsize=(10, 3.6), layout="constrained", width_ratios=[1.2, 1, 1]
)
left.fill_between(ahead, mean - 2 * std, mean + 2 * std, color="C0", alpha=0.2, lw=0)
left.plot(ahead, mean, color="C0", label="mean ± 2 std")
left.plot(ahead[len(known) :], capacity[len(known) : len(ahead)], ".", color="C3", ms=3)
left.plot(known, capacity[: len(known)], ".", color="0.5", ms=3)
left.plot([], [], ".", color="0.5", label="seen")
left.plot([], [], ".", color="C3", label="not seen")
left.axhline(0.8, color="0.3", ls=":", lw=1)
left.set(title="One cell,\nextrapolated", xlabel="cycles", ylabel="capacity")
left.legend(frameon=False, fontsize=8, loc="lower left")
for ax, (noise, (scaler, model)) in zip((middle, right), models.items(), strict=True):
    for number, (rows, left_over) in enumerate(test[1:3]):
        lower, upper = model.predict_interval(scaler.transform(rows), coverage=0.9)
        ax.fill_between(rows[:, 0], lower, upper, color=f"C{number}", alpha=0.25, lw=0)
        ax.plot(rows[:, 0], left_over, color=f"C{number}", lw=1.5)
    ax.set(title=f"Two new cells,\n{noise} noise", xlabel="cycles")
middle.set_ylabel("cycles left: truth, 90 % interval")
right.sharey(middle)
plt.show()
