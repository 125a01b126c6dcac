"""Tables that the commands are tried on, and a way to run them."""

import json

import numpy as np
import pandas as pd
from click.testing import CliRunner

from relvec.cli.commands import relvec

N_ROWS = 80


def run(words):
    """A command as a user types it."""
    return CliRunner().invoke(relvec, words.split())


def document(words):
    """What a command says to a machine."""
    done = run(f"{words} --json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def check_refused(words, remedy):
    """One line on stderr, also for machines, who get no half of a document."""
    for more in ("", " --json"):
        done = run(words + more)
        assert done.exit_code == 2, done.output
        assert done.stdout == ""
        (line,) = done.stderr.splitlines()
        assert line.startswith("relvec: ")
        assert remedy in line
        assert "Traceback" not in line


def numbers():
    """Of which one is to be predicted from the first of the others."""
    rng = np.random.default_rng(5)
    table = pd.DataFrame(rng.normal(size=(N_ROWS, 3)), columns=["width", "depth", "z"])
    table["price"] = 5 + np.sin(table["width"]) + 0.1 * rng.normal(size=N_ROWS)
    return table


def mixed():
    """Numbers, text and truth values, to tell three kinds apart."""
    rng = np.random.default_rng(6)
    table = numbers().drop(columns="price")
    table["port"] = rng.choice(["north", "south", "<west>"], N_ROWS)
    table["new"] = rng.random(N_ROWS) < 0.5
    rest = np.where(table["width"] > 0, "b", "c")
    table["kind"] = np.where(table["port"] == "north", "a", rest)
    return table


def with_gaps():
    """The same, some cells without a value."""
    table = mixed()
    table.loc[[3, 7], "depth"] = np.nan
    table.loc[11, "port"] = None
    return table
