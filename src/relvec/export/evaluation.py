"""A program run by numpy, in either precision."""

from collections.abc import Callable
from typing import Any

import numpy as np

from relvec.basis import blocks
from relvec.export.expressions import ELEMENTWISE, REDUCTIONS, Expression, is_expanded
from relvec.export.program import Program
from relvec.typing import AnyArray


def evaluated(
    program: Program, X: AnyArray, kind: type = np.float64
) -> dict[str, AnyArray]:
    """Outputs by name, of rows (n, n_features)."""
    program = program.written_out
    widest = max(one.size for one in program)
    parts = [_of_block(program, X[rows], kind) for rows in blocks(len(X), widest)]
    return {
        name: np.concatenate([part[name] for part in parts]) for name in program.outputs
    }


def _of_block(program: Program, X: AnyArray, kind: type) -> dict[str, AnyArray]:
    found: dict[int, AnyArray] = {}
    with np.errstate(all="ignore"):
        for one in program:
            operands = [found[id(each)] for each in one.operands]
            found[id(one)] = _applied(one, operands, X, kind)
    return {
        name: np.broadcast_to(found[id(one)], (len(X), *one.shape))
        for name, one in program.outputs.items()
    }


def _squared_distances(rows: AnyArray, centres: AnyArray) -> AnyArray:
    """As the target languages have them, in their precision."""
    if not is_expanded(centres):
        return np.sum((rows[:, None] - centres) ** 2, axis=2)
    squares = np.sum(rows * rows, axis=1)[:, None] - 2 * (rows @ centres.T)
    return np.maximum(squares + np.sum(centres * centres, axis=1), 0)


def _applied(one: Expression, operands: list[Any], X: AnyArray, kind: type) -> AnyArray:
    """A value for all rows; constants are without their axis."""
    if one.op in ELEMENTWISE:
        return ELEMENTWISE[one.op](*operands)
    if one.op in REDUCTIONS:
        return REDUCTIONS[one.op](operands[0], axis=int(one.number) + 1)
    if one.op == "concatenate":
        full = [(len(X), *each.shape) for each in one.operands]
        each = [np.broadcast_to(*pair) for pair in zip(operands, full, strict=True)]
        return np.concatenate(each, axis=-1)
    if one.op == "squared_distances":
        return _squared_distances(*operands)
    others: dict[str, Callable[[], AnyArray]] = {
        "input": lambda: X.astype(kind),
        "constant": lambda: one.number.astype(kind),
        "matmul": lambda: operands[0] @ operands[1],
        "take": lambda: operands[0][..., one.number],
        "wider": lambda: np.expand_dims(operands[0], int(one.number) + 1),
    }
    return others[one.op]()
