"""
From a file, without Python
===========================

A table in a file is enough: ``relvec fit`` makes a model of it and tries it on rows
held out, ``relvec predict`` adds predictions to a table, ``relvec report`` shows what
was learned, and ``relvec compare`` how others would do. This page runs the commands as
a shell would, and looks at what they write. See :doc:`/guide/command_line`.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

folder = Path(tempfile.mkdtemp())
rng = np.random.default_rng(0)


def relvec(*arguments):
    """Run a command in the folder and print what it prints."""
    print("$ relvec", *arguments)
    start = "import sys; from relvec.cli import main; sys.argv[0] = 'relvec'; main()"
    command = [sys.executable, "-c", start, *arguments]
    done = subprocess.run(
        command, cwd=folder, text=True, capture_output=True, check=False
    )
    print(done.stdout + done.stderr)


def houses(n):
    """A table of houses: two numbers, a word and a price."""
    area, age = rng.uniform(50, 250, n).round(1), rng.integers(0, 100, n)
    district = rng.choice(["centre", "hills", "port"], n)
    price = 2.2 * area - 0.9 * age + 60 * (district == "hills")
    price = price + 30 * np.sin(age / 15) + 10 * rng.standard_normal(n)
    columns = {"area": area, "age": age, "district": district, "price": price.round(1)}
    return pd.DataFrame(columns)


# %%
# Numbers are scaled, text is encoded, the kernel's widths are learned. A fifth of the
# rows is held out to try the model on.

houses(300).to_csv(folder / "houses.csv", index=False)
relvec("fit", "houses.csv", "--target", "price", "--output", "houses.json")

# %%
# The model is one file. Predictions come with standard deviations, as two columns more.

new = houses(100)
new.drop(columns="price").to_csv(folder / "new.csv", index=False)
relvec("predict", "houses.json", "new.csv", "--output", "predicted.csv")
predicted = pd.read_csv(folder / "predicted.csv")
print(predicted.head(3).to_string())

fig, ax = plt.subplots(figsize=(5, 4), layout="constrained")
bars = {"fmt": ".", "color": "C0", "ecolor": "0.7", "lw": 1}
ax.errorbar(new["price"], predicted["mean"], 2 * predicted["std"], **bars)
ax.axline((200, 200), slope=1, color="0.4", lw=1, ls="--")
ax.set(xlabel="price", ylabel="mean ± 2 std", title="A hundred new houses")
plt.show()

# %%
# How good is it, and what has it learned? ``relvec report`` writes one HTML file that
# shows it, with figures of the rows held out (see :doc:`/guide/report`), and
# ``relvec compare`` sets other models beside it, on the same folds.

relvec("report", "houses.json", "houses.csv")
relvec("compare", "houses.csv", "--target", "price", "--folds", "3")

# %%
# Wrong uses end in one line that says what to do, and in an exit code of 2.

relvec("fit", "houses.csv", "--target", "prise", "--output", "houses.json")
