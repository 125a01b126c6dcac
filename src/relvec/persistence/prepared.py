"""All that libraries import or look up at their first use, before a file is read.

So that loading a file imports nothing and opens nothing else, as an audit hook can see.
"""

import numpy as np
from scipy.stats import qmc
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from relvec.linalg import single_threaded


def prepare() -> None:
    """A first use of everything that has one."""
    with single_threaded():  # looks for the libraries of linear algebra
        qmc.Sobol(1, scramble=False)  # reads a table of numbers
    table = np.array([[0.0, "a"], [1.0, "b"]], dtype=object)
    columns = [("one", StandardScaler(), [0]), ("other", OneHotEncoder(), [1])]
    # Versions that use narwhals look for its extensions.
    ColumnTransformer(columns).fit_transform(table)
