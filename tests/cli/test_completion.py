"""Help and tab completion: at once, and of what is at hand."""

import subprocess
import sys

import pytest
from click.shell_completion import BashComplete

from cli.sessions import mixed, run
from relvec.cli.commands import relvec as commands
from relvec.cli.comparing import CONTENDERS
from relvec.cli.options import DEMONSTRATIONS, LANGUAGES, MODELS

SLOW = "sklearn", "pandas", "scipy", "numpy"


def completed(*words):
    """What may take the place of the last of some words."""
    *args, begun = words
    shell = BashComplete(commands, {}, "relvec", "_RELVEC_COMPLETE")
    return [item.value for item in shell.get_completions(list(args), begun)]


@pytest.mark.parametrize(
    "words", ["['--help']", *(f"[{name!r}, '--help']" for name in commands.commands)]
)
def test_help_waits_for_nothing_slow(words):
    code = (
        "import sys; from relvec.cli.commands import relvec\n"
        f"try: relvec({words})\n"
        f"finally: print([name for name in {SLOW} if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[-1] == "[]"


def test_words_and_options():
    assert completed("in") == ["inspect"]
    assert completed("fit", "t.csv", "--ta") == ["--target", "--task"]
    kernels = completed("fit", "t.csv", "--kernel", "ma")
    assert kernels == ["matern32", "matern52"]


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow"])
def test_columns_of_the_table_at_hand(folder, kind):
    table = mixed().rename(columns={"z": "the depth"})
    table.to_csv("t.csv", index=False)
    table.to_parquet("t.parquet")
    table.to_feather("t.arrow")

    assert completed("fit", f"t.{kind}", "--target", "") == list(table)
    assert completed("fit", f"t.{kind}", "--drop", "the") == ["the depth"]


@pytest.mark.parametrize("name", ["none.csv", "t.csv", "t.xlsx"])
def test_no_column_of_a_file_that_cannot_be_read(folder, name):
    (folder / "t.csv").write_bytes(b"\xff\xfe")

    assert completed("fit", name, "--target", "") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_are_told_how(shell):
    done = run(f"completion {shell}")

    assert done.exit_code == 0
    assert f"_RELVEC_COMPLETE={shell}_complete" in done.stdout


def test_names_that_are_known_before_the_work_are_those_of_the_work():
    from relvec.cli import exporting, reporting

    assert tuple(each.name for each in CONTENDERS) == MODELS
    assert tuple(exporting._WRITERS) == LANGUAGES
    assert tuple(reporting._DEMO_TABLES) == DEMONSTRATIONS
