"""Tables in Markdown, and numbers fit to stand in them."""

import math

ABSENT = "–"


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


def table(header, rows):
    """A Markdown table, its first column to the left and all others to the right."""
    cells = [[str(cell) for cell in row] for row in (header, *rows)]
    widths = [max(3, *map(len, column)) for column in zip(*cells, strict=True)]
    lines = [line(row, widths) for row in cells]
    dashes = ["-" * (width - 1) for width in widths]
    rule = [f"{dashes[0]}-", *(f"{dash}:" for dash in dashes[1:])]
    return "\n".join([lines[0], line(rule, widths), *lines[1:]])


def line(row, widths):
    first = f"{row[0]:<{widths[0]}}"
    others = [
        f"{cell:>{width}}" for cell, width in zip(row[1:], widths[1:], strict=True)
    ]
    return f"| {' | '.join([first, *others])} |"
