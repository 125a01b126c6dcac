"""The command of the benchmarks, and what documents say of it."""

import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from benchmarks import harness, reports
from benchmarks.__main__ import BENCHMARKS, listing, main, parser_of
from benchmarks.problems import Split

ROOT = Path(__file__).parents[1]

COMMAND = re.compile(r"python -m benchmarks ([a-z_]+)((?:\\\n|[^`\n#])*)")

PAGE = """# Page

## One

python -m benchmarks first

### Errors

Words.

| a | b |
|---|---:|
| 1 | 2 |

More words.

## Two

python -m benchmarks second

### Errors

| a | b |
|---|---:|
| 3 | 4 |
"""


def commands():
    """Names and options of every command that documents show."""
    pages = [*ROOT.glob("docs/**/*.md"), ROOT / "benchmarks/README.md"]
    for page in sorted(pages):
        if "_build" not in page.parts:
            for name, rest in COMMAND.findall(page.read_text(encoding="utf-8")):
                words = shlex.split(rest.replace("\\\n", " "))
                yield pytest.param(name, words, id=f"{page.stem}-{name}")


@pytest.mark.parametrize(("name", "words"), commands())
def test_commands_of_documents_can_be_run(name, words):
    assert parser_of(name).parse_args(words)


def test_every_benchmark_has_a_line_and_help(capsys):
    main([])

    for name in BENCHMARKS:
        assert re.search(rf"^{name} +\w.{{20,}}$", listing(), re.MULTILINE)
        assert parser_of(name).format_help()
    assert listing() in capsys.readouterr().out


def test_an_unknown_name_is_refused_with_the_list():
    with pytest.raises(SystemExit, match="uci"):
        main(["nothing"])


def test_tables_go_into_the_section_of_their_benchmark(tmp_path, capsys):
    page = tmp_path / "page.md"
    page.write_text(PAGE, encoding="utf-8")
    reports.show_table("Errors", ["a", "b"], [[5, 6]])
    reports.show_table("Times", ["c"], [[7]])
    printed = capsys.readouterr().out

    reports.put_into_page(page, "second", printed)

    text = page.read_text(encoding="utf-8")
    first, second = text.split("## Two")
    assert first == PAGE[: PAGE.index("## Two")]
    assert "3" not in second
    assert second.index("| 5   |   6 |") < second.index("### Times")
    with pytest.raises(SystemExit, match="third"):
        reports.put_into_page(page, "third", printed)


def test_reports_are_kept_for_the_same_options(tmp_path, capsys):
    path = tmp_path / "outcomes" / "kernels.json"
    few = ["kernels", "--rows", "30", "--sparse-rows", "300", "--repeat", "1"]
    reports_of = []
    for more in ([], [], ["--threads", "2"]):
        main([*few, "--json", str(path), *more])
        reports_of.append(capsys.readouterr().out.strip())

    assert "CompactMatern, 300 rows" in reports_of[0]
    assert reports_of[0] == reports_of[1] != reports_of[2]


class Line:
    """A model that fits nothing."""

    def fit(self, X, y):
        if not len(X):
            raise ValueError("no rows")
        return self

    def predict(self, X):
        return X[:, 0]


def test_outcomes_are_kept_and_not_measured_again(tmp_path):
    path = tmp_path / "outcomes" / "lines.json"
    X = np.arange(6.0)[:, None]
    split = Split(X, X[:, 0], X, X[:, 0] + 2)
    for rows, error in ((split, 2.0), (split.first(0), 2.0)):
        ledger = harness.Ledger(path)
        key = "section", "problem", "line", 0
        ledger.measure(key, harness.fits(Line), rows, harness.by_rmse)

        assert ledger.mean("section", "problem", "line") == error


def test_a_fit_that_fails_is_an_outcome():
    ledger = harness.Ledger()
    X = np.empty((0, 1))
    key = "section", "problem", "line", 0
    ledger.measure(key, harness.fits(Line), Split(X, X, X, X), harness.by_rmse)

    assert ledger.runs[key].ending == "ValueError: no rows"


def test_work_in_a_process_of_its_own_comes_back():
    assert harness.in_own_process(dict, [("seconds", 1.5)]) == {"seconds": 1.5}
    failed = harness.in_own_process(int, "many")
    assert "ValueError" in failed["failure"]
