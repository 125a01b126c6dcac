"""Programs: what a model computes for one row, as a graph of expressions.

A model is translated into such a graph once; ONNX, C and Python are renderings of it.
An expression has the shape that it has for a single row. If all operands are constants,
the result is a constant, computed once in double precision.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from relvec.basis import blocks
from relvec.typing import AnyArray, Array


class ExportError(ValueError):
    """A model cannot be exported to this language; the message says why."""


Shape = tuple[int, ...]

# As in ``relvec.kernels.stationary``, whose squares these are to agree with.
_MANY_FEATURES, _SMALL_SQUARE = 12, 250.0

# Element by element, after numpy; shapes are broadcast.
ELEMENTWISE: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "maximum": np.maximum,
    "minimum": np.minimum,
    "power": np.power,  # its exponent is a constant
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "absolute": np.abs,
    "tanh": np.tanh,
    "sin": np.sin,
    "remainder": np.fmod,  # exact, with the sign of the first
    # The second where the first is below zero, else the third.
    "if_negative": lambda sign, below, above: np.where(sign < 0, below, above),
    # Coefficients are constants, the highest first.
    "polynomial": lambda t, coefficients: np.polyval(list(coefficients), t),
}
# Over one axis, the last unless told otherwise.
REDUCTIONS: dict[str, Callable[..., Any]] = {"sum": np.sum, "max": np.max}


@dataclass(frozen=True, eq=False)
class Expression:
    """A value of every row: an operation and its operands."""

    op: str  # elementwise, a reduction, "input", "constant", "matmul", "take", …
    operands: tuple["Expression", ...]
    shape: Shape
    value: AnyArray | None = None  # of a constant; columns of "take"; an axis

    def __add__(self, other: Any) -> "Expression":
        return elementwise("add", self, other)

    def __sub__(self, other: Any) -> "Expression":
        return elementwise("subtract", self, other)

    def __rsub__(self, other: Any) -> "Expression":
        return elementwise("subtract", other, self)

    def __mul__(self, other: Any) -> "Expression":
        return elementwise("multiply", self, other)

    def __truediv__(self, other: Any) -> "Expression":
        return elementwise("divide", self, other)

    def __neg__(self) -> "Expression":
        return self * -1.0

    def sum(self, axis: int = -1) -> "Expression":
        """Sum over an axis."""
        return _reduced("sum", self, axis)

    def max(self, axis: int = -1) -> "Expression":
        """Maximum over an axis."""
        return _reduced("max", self, axis)

    def expand_dims(self, axis: int) -> "Expression":
        """Insert an axis of length one."""
        places = len(self.shape) + 1
        place = axis % places
        if self.is_constant:
            return constant(np.expand_dims(self.number, place))
        shape = (*self.shape[:place], 1, *self.shape[place:])
        return Expression("expand_dims", (self,), shape, np.array(place))

    def take(self, columns: Any) -> "Expression":
        """Select columns of the last axis."""
        chosen = np.asarray(columns, dtype=np.int64)
        if self.is_constant:
            return constant(self.number[..., chosen])
        if np.array_equal(chosen, np.arange(self.shape[-1])):
            return self
        return Expression("take", (self,), (*self.shape[:-1], len(chosen)), chosen)

    @property
    def is_constant(self) -> bool:
        """Whether the value is the same for every row."""
        return self.op == "constant"

    @property
    def number(self) -> AnyArray:
        """The constant, the columns or the axis."""
        assert self.value is not None
        return self.value

    @property
    def size(self) -> int:
        """Number of entries for one row."""
        return int(np.prod(self.shape))


def constant(value: Any) -> Expression:
    """An expression with the same value for every row."""
    array = np.asarray(value, dtype=np.float64)
    return Expression("constant", (), array.shape, array)


def input_row(n_features: int) -> Expression:
    """The row itself."""
    return Expression("input", (), (n_features,))


def elementwise(op: str, *operands: Any) -> Expression:
    """Apply one of ``ELEMENTWISE``."""
    each = [one if isinstance(one, Expression) else constant(one) for one in operands]
    if all(one.is_constant for one in each):
        return constant(ELEMENTWISE[op](*(one.number for one in each)))
    each = [_as_scalar(one, each) for one in each]
    simpler = _neutral_removed(op, each) or _combined_constants(op, each)
    if simpler is not None:
        return simpler
    shape = np.broadcast_shapes(*(one.shape for one in each))
    each = [_with_rank(one, len(shape)) for one in each]
    return Expression(op, tuple(each), shape)


def _as_scalar(operand: Expression, beside: list[Expression]) -> Expression:
    """Replace a constant of equal entries by one number, if shapes allow it."""
    if not operand.is_constant or not operand.shape or operand.size == 0:
        return operand
    first = operand.number.flat[0]
    others = [one.shape for one in beside if not one.is_constant]
    wide = np.broadcast_shapes(*others) if others else ()
    same = np.all(operand.number == first)
    fits = np.broadcast_shapes(wide, operand.shape) == wide
    return constant(first) if same and fits else operand


def _neutral_removed(op: str, operands: list[Expression]) -> Expression | None:
    """The first operand, if adding zero or multiplying by one changes nothing."""
    neutral = {"add": 0.0, "subtract": 0.0, "multiply": 1.0, "divide": 1.0}
    if op not in neutral or not operands[1].is_constant:
        return None
    wide = np.broadcast_shapes(operands[0].shape, operands[1].shape)
    idle = np.all(operands[1].number == neutral[op]) and wide == operands[0].shape
    return operands[0] if idle else None


def _combined_constants(op: str, operands: list[Expression]) -> Expression | None:
    """Merge successive constants, or a factor into a matrix.

    Terms that would cancel are added in double precision, whatever the target's
    precision. Runtimes that merge a factor into a matrix may do so in single precision.
    """
    if op == "add":
        return _sum_with_constant_last(*operands)
    if op != "multiply" or not operands[1].is_constant or operands[1].shape:
        return None
    first, factor = operands[0], float(operands[1].number)
    if first.op == "matmul":
        return matmul(first.operands[0], first.operands[1].number * factor)
    if first.op == "multiply" and first.operands[1].is_constant:
        return first.operands[0] * (first.operands[1].number * factor)
    inner, rest = _split_constant(first)
    if rest is not None and _is_linear(inner):
        return inner * factor + rest * factor
    return None


def _sum_with_constant_last(first: Expression, second: Expression) -> Expression | None:
    """Move the constants of a sum to its end."""
    (one, c), (two, d) = _split_constant(first), _split_constant(second)
    if c is None and d is None:
        return None
    if second.is_constant:
        return one + (c + second) if c is not None else None
    rest = c + d if c is not None and d is not None else c if c is not None else d
    return (one + two) + rest


def _split_constant(operand: Expression) -> tuple[Expression, Expression | None]:
    """Split a sum into its variable and its constant part."""
    if operand.op != "add" or not operand.operands[1].is_constant:
        return operand, None
    body, rest = operand.operands
    return (body, rest) if body.shape == operand.shape else (operand, None)


def _with_rank(operand: Expression, rank: int) -> Expression:
    """Insert leading axes, so that rows are on the same axis for all operands."""
    while not operand.is_constant and len(operand.shape) < rank:
        operand = operand.expand_dims(0)
    return operand


exp = partial(elementwise, "exp")
log = partial(elementwise, "log")
sqrt = partial(elementwise, "sqrt")
maximum = partial(elementwise, "maximum")
minimum = partial(elementwise, "minimum")
if_negative = partial(elementwise, "if_negative")


def power(operand: Expression, exponent: float) -> Expression:
    """Each element to a constant power."""
    return operand if exponent == 1 else elementwise("power", operand, exponent)


def square(operand: Expression) -> Expression:
    """Square of each element."""
    return operand * operand


def polynomial(t: Expression, coefficients: Any) -> Expression:
    """Evaluate a polynomial at −1 ≤ t ≤ 1, highest power first."""
    if t.is_constant:
        return constant(ELEMENTWISE["polynomial"](t.number, coefficients))
    return Expression("polynomial", (t, constant(coefficients)), t.shape)


def named(name: str, value: Expression, *by: Expression) -> Expression:
    """A value that some languages can compute by a function of that name."""
    if value.is_constant:
        return value
    return Expression("named", (value, *by), value.shape, np.array(name))


def economized_polynomial(coefficients: AnyArray, kind: type) -> Array:
    """The polynomial of least degree that has all digits of a number type.

    In Chebyshev polynomials, each coefficient bounds what its degree contributes.
    """
    chebyshev = np.polynomial.chebyshev
    series = chebyshev.poly2cheb(coefficients[::-1])
    kept = np.abs(series) > 0.1 * float(np.finfo(kind).eps) * np.abs(series).max()
    powers = chebyshev.cheb2poly(series[: np.flatnonzero(kept)[-1] + 1])
    return np.asarray(powers[::-1], dtype=np.float64)


def concatenate(parts: list[Expression]) -> Expression:
    """Join along the last axis."""
    if len(parts) == 1:
        return parts[0]
    if all(part.is_constant for part in parts):
        return constant(np.concatenate([part.number for part in parts], axis=-1))
    width = sum(part.shape[-1] for part in parts)
    return Expression("concatenate", tuple(parts), (*parts[0].shape[:-1], width))


def squared_distances(operand: Expression, centres: Array) -> Expression:
    """‖x − z‖² (n,) between a vector (d,) and constants (n, d)."""
    if operand.is_constant:
        return constant(np.sum((operand.number - centres) ** 2, axis=1))
    return Expression(
        "squared_distances", (operand, constant(centres)), (len(centres),)
    )


def uses_expanded_squares(centres: AnyArray) -> bool:
    """Whether to compute ‖x‖² − 2xᵀz + ‖z‖² by products of whole matrices.

    Differences of all rows and centres would need much more memory. With few features
    or distant centres differences are used, as they are more accurate.
    """
    many = centres.shape[1] > _MANY_FEATURES
    return bool(many and np.max(np.sum(centres**2, axis=1)) < _SMALL_SQUARE)


def matmul(operand: Expression, matrix: Array) -> Expression:
    """Multiply (…, k) by a constant matrix (k, m).

    Linear functions of the row are merged into the matrix: a model of linear functions
    is a single product, however many functions it has, and large constants that would
    cancel are added here.
    """
    if operand.is_constant:
        return constant(operand.number @ matrix)
    if operand.op == "add" and any(map(_is_linear, operand.operands)):
        first, second = (
            _broadcast_constant(one, len(matrix)) for one in operand.operands
        )
        if first.shape[-1] == second.shape[-1]:
            return matmul(first, matrix) + matmul(second, matrix)
    if operand.op == "multiply" and operand.operands[1].is_constant:
        factor = operand.operands[1].number
        if factor.ndim <= 1 and operand.operands[0].shape == operand.shape:
            return matmul(operand.operands[0], np.reshape(factor, (-1, 1)) * matrix)
    if operand.op == "matmul":
        inner = operand.operands[1].number
        if inner.shape[0] * matrix.shape[1] <= inner.size + matrix.size:
            return matmul(operand.operands[0], inner @ matrix)
    shape = (*operand.shape[:-1], matrix.shape[1])
    return Expression("matmul", (operand, constant(matrix)), shape)


def _is_linear(operand: Expression) -> bool:
    """Whether to multiply this operand of a sum by a matrix separately."""
    if operand.op == "multiply":
        return operand.operands[1].is_constant and _is_linear(operand.operands[0])
    return operand.op in {"matmul", "take", "input", "constant"}


def _broadcast_constant(operand: Expression, width: int) -> Expression:
    """Broadcast a constant to a width."""
    if not operand.is_constant:
        return operand
    shape = np.broadcast_shapes(operand.shape, (width,))
    return constant(np.broadcast_to(operand.number, shape))


def _reduced(op: str, operand: Expression, axis: int) -> Expression:
    if operand.is_constant:
        return constant(REDUCTIONS[op](operand.number, axis=axis))
    place = axis % len(operand.shape)
    shape = (*operand.shape[:place], *operand.shape[place + 1 :])
    return Expression(op, (operand,), shape, np.array(place))


@dataclass(frozen=True, eq=False)
class Program:
    """Named outputs of a row; for a classifier also the labels of the first output."""

    row: Expression
    outputs: Mapping[str, Expression]
    labels: AnyArray | None = None

    @classmethod
    def of(
        cls, row: Expression, outputs: Mapping[str, Expression], labels: Any = None
    ) -> "Program":
        """Build a program in which equal values are computed once."""
        whole = cls(row, outputs, labels)
        same: dict[int, Expression] = {}
        known: dict[tuple[Any, ...], Expression] = {}
        for one in whole:
            operands = tuple(same[id(each)] for each in one.operands)
            value = None if one.value is None else one.value.tobytes()
            key = (one.op, tuple(map(id, operands)), one.shape, value)
            fresh = replace(one, operands=operands)
            same[id(one)] = known.setdefault(key, fresh)
        each = {name: same[id(output)] for name, output in outputs.items()}
        return cls(same[id(row)], each, labels)

    @property
    def written_out(self) -> "Program":
        """The program for languages without named functions."""
        made: dict[int, Expression] = {}
        for one in self:
            operands = tuple(made[id(each)] for each in one.operands)
            short = one.op == "named"
            made[id(one)] = operands[0] if short else replace(one, operands=operands)
        each = {name: made[id(output)] for name, output in self.outputs.items()}
        return Program(made[id(self.row)], each, self.labels)

    @property
    def n_features(self) -> int:
        """Number of features of a row."""
        return self.row.shape[0]

    def __iter__(self) -> Iterator[Expression]:
        """All values, each after its operands."""
        seen: dict[int, Expression] = {id(self.row): self.row}
        yield self.row
        for output in self.outputs.values():
            yield from _in_order(output, seen)


def _in_order(last: Expression, seen: dict[int, Expression]) -> Iterator[Expression]:
    """All values once, each after its operands."""
    waiting = [last]
    while waiting:
        one = waiting[-1]
        missing = [each for each in one.operands if id(each) not in seen]
        waiting.extend(missing)
        if not missing:
            waiting.pop()
            if id(one) not in seen:
                seen[id(one)] = one
                yield one


def evaluate(
    program: Program, X: AnyArray, kind: type = np.float64
) -> dict[str, AnyArray]:
    """Compute the outputs of rows (n, n_features) by numpy."""
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
    """Compute distances like the target languages, in their precision."""
    if not uses_expanded_squares(centres):
        return np.sum((rows[:, None] - centres) ** 2, axis=2)
    squares = np.sum(rows * rows, axis=1)[:, None] - 2 * (rows @ centres.T)
    return np.maximum(squares + np.sum(centres * centres, axis=1), 0)


def _applied(one: Expression, operands: list[Any], X: AnyArray, kind: type) -> AnyArray:
    """One value for all rows; constants have no axis of rows."""
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
        "expand_dims": lambda: np.expand_dims(operands[0], int(one.number) + 1),
    }
    return others[one.op]()


_ATOM = re.compile(r"\w+(\[[^][]*\])?|-?[\d.]+(e[+-]?\d+)?f?")  # name, entry, number


def bracketed(text: str) -> str:
    """Add brackets where a term needs them as an operand."""
    return text if _ATOM.fullmatch(text) or _is_call(text) else f"({text})"


def bare(text: str) -> str:
    """Remove brackets around a whole term."""
    return text[1:-1] if text.startswith("(") and _closes_last(text) else text


def _is_call(text: str) -> bool:
    """Whether a term is a single function call."""
    name, _, rest = text.partition("(")
    return name.replace(".", "").isidentifier() and _closes_last(f"({rest}")


def _closes_last(text: str) -> bool:
    """Whether the first bracket of a text closes at its end."""
    depth = 0
    for place, sign in enumerate(text):
        depth += (sign == "(") - (sign == ")")
        if depth == 0:
            return place == len(text) - 1
    return False
