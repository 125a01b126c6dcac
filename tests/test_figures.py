"""Figures that pages take from tables of other pages are there."""

import importlib.util
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DIRECTIVE = re.compile(r"^```\{figures\} (\S+)\n((?::\w+: .*\n)+)```$", re.MULTILINE)
TABLES = ROOT / "docs/_extensions/markdown_tables.py"
SPEC = importlib.util.spec_from_file_location("markdown_tables", TABLES)
tables = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tables)

PAGE = """# Page

## First

| data | seconds | error |
| --- | ---: | ---: |
| a | 1 | 0.1 |
| b | 2 | 0.2 |

## Second

### First

| data | seconds |
| --- | ---: |
| c | 3 |

### Nothing

Words.
"""


def uses():
    """Page, source and options of every directive of the documentation."""
    for page in sorted(ROOT.glob("docs/**/*.md")):
        for source, lines in DIRECTIVE.findall(page.read_text(encoding="utf-8")):
            options = dict(re.findall(r"^:(\w+): (.*)$", lines, re.MULTILINE))
            yield pytest.param(page, source, options, id=f"{page.stem}-{source}")


def split(text):
    return [part.strip() for part in text.split(";")]


@pytest.mark.parametrize(("page", "source", "options"), uses())
def test_every_figure_of_the_documentation_is_there(page, source, options):
    text = (page.parent / source).read_text(encoding="utf-8")
    header, rows = tables.table_under(text, split(options["headings"]))
    names = split(options["rows"]) if "rows" in options else []
    lines = tables.selection(header, rows, split(options["columns"]), names)

    assert len(lines) == 2 + (len(names) or len(rows))


def test_there_are_such_figures():
    assert len(list(uses())) >= 5


def test_columns_are_renamed_and_rows_come_in_the_order_asked_for():
    header, rows = tables.table_under(PAGE, ["First"])

    assert tables.selection(header, rows, ["data", "error -> RMSE"], ["b", "a"]) == [
        "| data | RMSE |",
        "| --- | ---: |",
        "| b | 0.2 |",
        "| a | 0.1 |",
    ]


def test_headings_are_looked_for_one_inside_the_other():
    assert tables.table_under(PAGE, ["Second", "First"])[1] == [["c", "3"]]


@pytest.mark.parametrize(
    ("headings", "said"),
    [
        (["Third"], "no heading 'Third'"),
        (["First", "Page"], "no heading 'Page'"),
        (["Second"], "no table right below 'Second'"),
        (["Nothing"], "no table right below 'Nothing'"),
    ],
)
def test_a_table_that_is_not_there(headings, said):
    with pytest.raises(ValueError, match=said):
        tables.table_under(PAGE, headings)


def test_columns_and_rows_that_are_not_there_are_named():
    header, rows = tables.table_under(PAGE, ["First"])

    with pytest.raises(ValueError, match="no column or row 'minutes', 'z'"):
        tables.selection(header, rows, ["data", "minutes"], ["a", "z"])
