"""
A table with text and gaps, to a file
=====================================

Real tables have words in them, and cells that are empty. A pipeline of scikit-learn
turns them into numbers, ``RVR`` learns which columns matter, and the whole pipeline
goes into one file of JSON that can be verified, and read without executing anything.
See :doc:`/guide/shipping`.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import relvec
from relvec import RVR
from relvec.plots import PredictiveIntervalDisplay

# %%
# Flats, with three numbers and two words each. One cell of the first column in twenty
# is empty.

rng = np.random.default_rng(0)
n = 600
flats = pd.DataFrame(
    {
        "area": rng.gamma(8, 10, n).round(),
        "floor": rng.integers(0, 9, n),
        "year": rng.integers(1900, 2025, n),
        "district": rng.choice(["harbour", "hills", "old town"], n),
        "lift": rng.choice(["yes", "no"], n),
    }
)
rent = 200 + 9 * flats["area"] ** 0.9 + 150 * (flats["district"] == "hills")
rent -= 25 * flats["floor"] * (flats["lift"] == "no")
rent += 60 * np.cos((flats["year"] - 1900) / 20) + 40 * rng.standard_normal(n)
flats.loc[rng.choice(n, n // 20, replace=False), "area"] = np.nan
print(flats.head(3).to_string())

# %%
# The encoder goes before the scaler, so that words and numbers are of comparable size.

numbers, words = ["area", "floor", "year"], ["district", "lift"]
model = make_pipeline(
    make_column_transformer(
        (SimpleImputer(strategy="median"), numbers),
        (OneHotEncoder(drop="if_binary", sparse_output=False), words),
        verbose_feature_names_out=False,
    ),
    StandardScaler(),
    RVR(kernel_learning="ard"),
)
X_train, X_test, y_train, y_test = train_test_split(flats, rent, random_state=0)
model.fit(X_train, y_train)
print(f"R² on rows not seen: {model.score(X_test, y_test):.3f}")

# %%
# What was learned, and how far off new flats are.

fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
names = model[:-1].get_feature_names_out()
order = np.argsort(model[-1].feature_relevance_)
left.barh(names[order], model[-1].feature_relevance_[order], color="C0")
left.set(title="Relevance of each column", xlabel="share of the squared gradient")
PredictiveIntervalDisplay.from_estimator(model, X_test, y_test, ax=right)
right.set_title("Rents with intervals")
plt.show()

# %%
# The file has a digest and a few rows with their predictions. ``verify`` replays them;
# ``load`` reads the pipeline, and refuses a file of which one bit has changed.

path = Path(tempfile.mkdtemp(), "flats.json")
relvec.save(model, path)
print(f"{path.stat().st_size / 1000:.0f} kB, verified to {relvec.verify(path):.0e}")
again = relvec.load(path)
print(
    "the same predictions:",
    np.array_equal(again.predict(X_test), model.predict(X_test)),
)

damaged = path.with_name("damaged.json")
damaged.write_bytes(path.read_bytes().replace(b"harbour", b"arbours", 1))
try:
    relvec.load(damaged)
except relvec.ModelFileError as problem:
    print(f"refused: {str(problem).replace(str(damaged.parent), '')[:160]}")
