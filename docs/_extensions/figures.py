"""Columns and rows of a table that stands on another page: a figure has one place."""

from pathlib import Path
from typing import ClassVar

from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from markdown_tables import selection, table_under
from sphinx.util.docutils import SphinxDirective


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
        except ValueError as problem:
            raise self.error(f"figures of {self.arguments[0]}: {problem}") from None
        return self.parse_text_to_nodes(StringList(lines, source=path))


def setup(app):
    app.add_directive("figures", Figures)
    return {"parallel_read_safe": True}
