"""Columns and rows of a table that stands on another page: a figure has one place."""

import re
from pathlib import Path
from typing import ClassVar

from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

HEADING = re.compile(r"^(#+)\s+(.*?)\s*$")


def cells(line):
    """The cells of one line of a Markdown table."""
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def table_under(text, headings):
    """Header and rows of the first table below headings, each inside the one before."""
    lines = iter(text.splitlines())
    for wanted in headings:
        if not any(match and match[2] == wanted for match in map(HEADING.match, lines)):
            raise ValueError(f"no heading {wanted!r}")
    found = []
    for line in lines:
        if line.startswith("|"):
            found.append(cells(line))
        elif found or HEADING.match(line):
            break
    if len(found) < 3:
        raise ValueError(f"no table right below {headings[-1]!r}")
    return found[0], found[2:]


def selection(header, rows, columns, names):
    """Lines of a table with some columns, under names of their own, and some rows."""
    pairs = [
        (source.strip(), title.strip() or source.strip())
        for source, _, title in (column.partition("->") for column in columns)
    ]
    places = [header.index(source) for source, _ in pairs]
    kept = {row[0]: row for row in rows}
    chosen = [kept[name] for name in names] if names else rows
    titles = [title for _, title in pairs]
    rules = ["---", *["---:"] * (len(places) - 1)]
    body = [[row[place] for place in places] for row in chosen]
    return ["| " + " | ".join(line) + " |" for line in (titles, rules, *body)]


def listed(text):
    """Parts of an option between semicolons."""
    return [part.strip() for part in text.split(";") if part.strip()]


class Figures(SphinxDirective):
    """``{figures} page.md`` with headings, columns (``name -> title``) and rows."""

    required_arguments = 1
    option_spec: ClassVar = {
        "headings": directives.unchanged_required,
        "columns": directives.unchanged_required,
        "rows": directives.unchanged,
    }

    def run(self):
        relative, path = self.env.relfn2path(self.arguments[0])
        self.env.note_dependency(relative)
        try:
            header, rows = table_under(
                Path(path).read_text(encoding="utf-8"), listed(self.options["headings"])
            )
            lines = selection(
                header,
                rows,
                listed(self.options["columns"]),
                listed(self.options.get("rows", "")),
            )
        except (KeyError, ValueError) as problem:
            raise self.error(f"figures of {self.arguments[0]}: {problem}") from None
        return self.parse_text_to_nodes(StringList(lines, source=path))


def setup(app):
    app.add_directive("figures", Figures)
    return {"parallel_read_safe": True}
