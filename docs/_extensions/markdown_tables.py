"""Tables of Markdown pages, and some of their columns and rows."""

import re

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
    missing = [source for source, _ in pairs if source not in header]
    kept = {row[0]: row for row in rows}
    missing += [name for name in names if name not in kept]
    if missing:
        raise ValueError(f"no column or row {', '.join(map(repr, missing))}")
    places = [header.index(source) for source, _ in pairs]
    chosen = [kept[name] for name in names] if names else rows
    titles = [title for _, title in pairs]
    rules = ["---", *["---:"] * (len(places) - 1)]
    body = [[row[place] for place in places] for row in chosen]
    return ["| " + " | ".join(line) + " |" for line in (titles, rules, *body)]
