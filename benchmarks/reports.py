"""Tables in Markdown, pages that take them, and the picture of time against size."""

import math
import re

ABSENT = "–"
# A heading, and the table that follows it.
_TABLE = re.compile(r"^#+ (.+)\n\n((?:\|.*\n)+)", re.MULTILINE)


def figures(number):
    """About three figures; a dash for what was not measured."""
    if number is None or math.isnan(number):
        return ABSENT
    size = abs(number)
    for bound, digits in ((0.1, 4), (1, 3), (10, 2), (100, 1)):
        if size < bound:
            return f"{number:.{digits}f}"
    return f"{number:.0f}"


def decimals(number):
    """Four decimals; a dash for what was not measured."""
    absent = number is None or math.isnan(number)
    return ABSENT if absent else f"{number:.4f}"


def count(number):
    """An integer in groups of three; a dash for what was not measured."""
    if number is None or math.isnan(number):
        return ABSENT
    return f"{round(number):,}".replace(",", " ")


def per_cent(share):
    """One decimal of a hundredth; a dash for what was not measured."""
    return ABSENT if math.isnan(share) else f"{100 * share:.1f}"


def table(header, rows):
    """A Markdown table, its first column to the left and all others to the right."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    lines = [_line(row, widths) for row in cells]
    dashes = ["-" * (width - 1) for width in widths]
    rule = [f"{dashes[0]}-", *(f"{dash}:" for dash in dashes[1:])]
    return "\n".join([lines[0], _line(rule, widths), *lines[1:]])


def _line(row, widths):
    first = f"{row[0]:<{widths[0]}}"
    others = [
        f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)
    ]
    return f"| {' | '.join([first, *others])} |"


def show_table(title, header, rows):
    """Print a table under its heading, unless it has no rows."""
    rows = list(rows)
    if rows:
        print(f"### {title}\n\n{table(header, rows)}\n", flush=True)


def show_trimmed(title, header, rows):
    """Print a table without the columns in which nothing was measured."""
    columns = zip(header, *rows, strict=True)
    kept = [column for column in columns if set(column[1:]) != {ABSENT}]
    header, *rows = zip(*kept, strict=True)
    show_table(title, header, rows)


def show_machine(machine):
    names = (f"{name} {number}" for name, number in machine["versions"].items())
    print(f"Processor: {machine['processor']}; cores in use: {machine['cores']}.")
    print(f"Threads: {', '.join(machine['threads'])}.")
    print(f"Versions: {', '.join(names)}.\n")


def show_bar(text, reached):
    print(f"- {'met' if reached else 'missed'}: {text}")


class Tee:
    """A stream that also remembers what was written to it."""

    def __init__(self, stream):
        self.stream = stream
        self.text = ""

    def write(self, text):
        self.text += text
        return self.stream.write(text)

    def flush(self):
        self.stream.flush()


def put_into_page(path, name, printed):
    """Put the tables that were printed into the sections that run the benchmark.

    A table takes the place of the one under the same heading; where there is none, it
    ends the first of these sections.
    """
    page = path.read_text(encoding="utf-8")
    sections = re.split(r"^(?=## )", page, flags=re.MULTILINE)
    command = re.compile(rf"python -m benchmarks {name}\b")
    mine = [n for n, text in enumerate(sections) if command.search(text)]
    if not mine:
        raise SystemExit(f"No section of {path} has 'python -m benchmarks {name}'.")
    for heading, new in _TABLE.findall(printed):
        for number in mine:
            replaced = _with_table(sections[number], heading, new)
            if replaced is not None:
                sections[number] = replaced
                break
        else:
            text = sections[mine[0]].rstrip("\n")
            sections[mine[0]] = f"{text}\n\n### {heading}\n\n{new}\n"
    path.write_text("".join(sections), encoding="utf-8")


def _with_table(section, heading, new):
    """A section with another table under a heading, None if it has no such table."""
    lines = section.splitlines(keepends=True)
    under = False
    for first, line in enumerate(lines):
        if line.startswith("#"):
            under = line.lstrip("#").strip() == heading
        elif under and line.startswith("|"):
            rest = lines[first:]
            many = next(
                (n for n, each in enumerate(rest) if not each.startswith("|")),
                len(rest),
            )
            return "".join([*lines[:first], new, *rest[many:]])
    return None
