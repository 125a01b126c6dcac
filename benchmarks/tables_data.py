"""The large data sets: which there are, and how they are cut."""

import gzip
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from learning_problems import Split, data_folder, load
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

FEWEST_ROWS = 1000
MOST_CLASSES = 100
SHARE = 0.75  # of the rows, to fit


@dataclass(frozen=True)
class Table:
    """A data set without its features: their number, and of each row the rest."""

    name: str
    features: int
    targets: Any
    parts: Any  # "train" or "test" of each row, or None

    @cached_property
    def classes(self):
        """Whether the targets are the labels 0 to K - 1 and no numbers to predict.

        The rings of abalone, which begin with 1, are no labels.
        """
        found = np.unique(self.targets)
        return len(found) <= MOST_CLASSES and np.array_equal(
            found, np.arange(len(found))
        )

    @property
    def rows(self):
        """Number of rows to fit."""
        if self.parts is None:
            return int(SHARE * len(self.targets))
        return int(np.sum(self.parts == "train"))

    def seeds(self, splits):
        """Of as many splits, or of the one that the source of the data made."""
        return range(splits if self.parts is None else 1)

    def cut(self, seed):
        """Rows to fit and to test on, standardised by those to fit."""
        X, y = load(self.name)
        if self.parts is None:
            rows = np.arange(len(y))
            train, test = train_test_split(rows, train_size=SHARE, random_state=seed)
        else:
            train, test = (self.parts == part for part in ("train", "test"))
        return standardised(X, y, train, test, self.classes)


def standardised(X, y, train, test, classes=False):
    """A split, its features and numbers to predict by those of the rows to fit."""
    # Unlike Split.standardised it leaves columns alone that are constant.
    scaler = StandardScaler().fit(X[train])
    y = y.astype(int) if classes else (y - y[train].mean()) / y[train].std()
    return Split(
        scaler.transform(X[train]), y[train], scaler.transform(X[test]), y[test]
    )


def table_of(path):
    """What a file holds beside its features, which are not read."""
    read = gzip.open if path.suffix == ".gz" else open
    with read(path, "rt") as lines:
        heading = next(lines).strip().split(",")
        ends = np.array([line.strip().rsplit(",", 2)[1:] for line in lines])
    given = "split" in heading
    return Table(
        name=path.name.split(".")[0],
        features=len(heading) - 1 - given,
        targets=ends[:, 1].astype(float),
        parts=ends[:, 0] if given else None,
    )


def large_tables():
    """All data sets with enough rows, by name."""
    paths = sorted([*data_folder().glob("*.csv"), *data_folder().glob("*.csv.gz")])
    tables = [table_of(path) for path in paths]
    found = {one.name: one for one in tables if len(one.targets) >= FEWEST_ROWS}
    if not found:
        raise SystemExit("The data sets are not here: set RELVEC_DATA.")
    return found
