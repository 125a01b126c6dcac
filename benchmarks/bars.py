"""What relvec has set itself to reach, and whether it did."""

import math
from dataclasses import dataclass

from markdown import count
from memory import WAYS
from timing import PREDICTED_FROM, YARDSTICK

MILLION = 1_000_000
NYSTROEM = "Nystroem + Ridge"


@dataclass(frozen=True)
class Bar:
    """A measured number and what it may be at the most."""

    text: str
    measured: float
    limit: float

    @property
    def verdict(self):
        return "reached" if self.measured <= self.limit else "missed"


# Problem, rival, rows of relvec, rows of the rival, and the largest ratio of times.
RACES = (
    ("regression", "SVR", 1000, 1000, 3, "within 3× of SVR"),
    ("regression", "fastrvm", 1000, 1000, 1 / 2, "2× faster than fastrvm"),
    ("regression", "SVR", 4000, 4000, 1, "not slower than SVR"),
    ("regression", "SVR", 16_000, 16_000, 1 / 5, "5× faster than SVR"),
    ("classification", "SVC", 16_000, 16_000, 1, "not slower than SVC"),
    ("classification", "SVC", 64_000, 64_000, 1 / 5, "5× faster than SVC"),
    ("regression", "SVR", MILLION, YARDSTICK, 1, "faster than SVR on 40 000"),
    ("regression", NYSTROEM, MILLION, MILLION, 1, f"not slower than {NYSTROEM}"),
    ("regression", "floor", MILLION, MILLION, 3, "within 3× of the floor"),
)
GIGABYTES = dict(zip(WAYS, (4, 1), strict=True))


def bars(results):
    """All bars whose sizes were run."""
    found = [
        Bar(
            f"{problem}, {count(size)} rows: {text} (ratio of seconds)",
            results.ratio(problem, ("relvec", size), (rival, rival_size)),
            limit,
        )
        for problem, rival, size, rival_size, limit, text in RACES
    ]
    found.append(
        Bar(
            f"regression, 1 000 000 rows: no worse than {NYSTROEM} (ratio of RMSE)",
            results.ratio(
                "regression", ("relvec", MILLION), (NYSTROEM, MILLION), "error"
            ),
            1,
        )
    )
    for problem in ("regression", "classification"):
        slope = results.exponent(problem, "relvec")
        found.append(Bar(f"{problem}: exponent from 10 000 rows on", slope, 1.1))
        for way, limit in GIGABYTES.items():
            text = f"{problem}, 1 000 000 rows {way}: peak of a fit (GB)"
            found.append(Bar(text, results.footprint(problem, way, MILLION), limit))
    ratio = results.prediction_ratio("regression", "SVR", PREDICTED_FROM)
    text = "regression: prediction 10× faster than SVR's (ratio of seconds)"
    found.append(Bar(text, ratio, 1 / 10))
    return [bar for bar in found if not math.isnan(bar.measured)]
