"""Graphs of values: what is made simpler, and what others make of them."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from export.runners import by_c, by_onnx, by_python, missing
from relvec.export import expressions as ex
from relvec.export.expressions import Program, evaluate
from relvec.export.plan import Plan, SelfTest

N_FEATURES, N_ROWS = 3, 5
ROWS = np.random.default_rng(0).standard_normal((N_ROWS, N_FEATURES))
UNARY = {
    "tanh": np.tanh,
    "sin": np.sin,
    "absolute": np.abs,
    "exp": lambda value: np.exp(np.minimum(value, 3.0)),
    "sqrt": lambda value: np.sqrt(np.maximum(value, 0.0)),
    "log": lambda value: np.log(np.maximum(value, 0.1)),
}
BINARY = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": lambda one, two: one / (np.abs(two) + 1.0),
    "maximum": np.maximum,
    "minimum": np.minimum,
}


@dataclass(frozen=True)
class Both:
    """An expression, and the same by numpy for all rows."""

    expression: Any
    values: Any  # (rows, ...)

    @property
    def shape(self):
        return self.values.shape[1:]


def constants(draw, shape):
    """Some of whose entries are equal, or all, or neutral."""
    few = st.sampled_from([-1.0, 0.0, 0.5, 1.0, 2.0, -0.7])
    size = int(np.prod(shape))
    if draw(st.booleans()):
        return np.full(shape, draw(few))
    return np.reshape(draw(st.lists(few, min_size=size, max_size=size)), shape)


def of_constant(value):
    value = np.asarray(value, dtype=np.float64)
    return Both(ex.constant(value), np.broadcast_to(value, (N_ROWS, *value.shape)))


def unary(draw, one):
    op = draw(st.sampled_from(sorted(UNARY)))
    limited = {
        "exp": lambda value: ex.minimum(value, 3.0),
        "sqrt": lambda value: ex.maximum(value, 0.0),
        "log": lambda value: ex.maximum(value, 0.1),
    }
    operand = limited.get(op, lambda value: value)(one.expression)
    return Both(ex.elementwise(op, operand), UNARY[op](one.values))


def aligned(one, rank):
    """Values with axes between that of rows and the others."""
    missing_axes = (1,) * (rank - len(one.shape))
    return one.values.reshape(N_ROWS, *missing_axes, *one.shape)


def broadcastable(*each):
    try:
        return len(np.broadcast_shapes(*(one.shape for one in each)))
    except ValueError:
        return None


def binary(draw, one, other):
    if draw(st.booleans()):
        shape = draw(st.sampled_from([(), one.shape[-1:], one.shape]))
        other = of_constant(constants(draw, shape))
    rank = broadcastable(one, other)
    if rank is None:
        return one
    op = draw(st.sampled_from(sorted(BINARY)))
    second = other.expression
    if op == "divide":
        second = ex.elementwise("absolute", second) + 1.0
    values = BINARY[op](aligned(one, rank), aligned(other, rank))
    return Both(ex.elementwise(op, one.expression, second), values)


def chosen(draw, one, other):
    rank = broadcastable(one, other)
    if rank is None:
        return one
    found = ex.if_negative(one.expression, other.expression, 0.5)
    sign, below = aligned(one, rank), aligned(other, rank)
    return Both(found, np.where(sign < 0, below, 0.5))


def product(draw, one):
    if not one.shape:
        return one
    matrix = constants(draw, (one.shape[-1], draw(st.integers(1, 4))))
    return Both(ex.matmul(one.expression, matrix), one.values @ matrix)


def reduced(draw, one):
    if not one.shape:
        return one
    axis = draw(st.integers(-len(one.shape), -1))
    if draw(st.booleans()):
        return Both(one.expression.sum(axis), one.values.sum(axis))
    return Both(one.expression.max(axis), one.values.max(axis))


def squares(draw, one):
    """A sum of squares, the product of which may be asked for as well."""
    if not one.shape:
        return one
    square, values = ex.square(one.expression), one.values**2
    if draw(st.booleans()):
        return Both(square.sum(), values.sum(-1))
    wide = square + square.sum().expand_dims(-1)
    return Both(wide, values + values.sum(-1, keepdims=True))


def placed(draw, one):
    if not one.shape or (len(one.shape) < 3 and draw(st.booleans())):
        axis = draw(st.integers(-len(one.shape) - 1, -1))
        return Both(one.expression.expand_dims(axis), np.expand_dims(one.values, axis))
    last = st.integers(0, one.shape[-1] - 1)
    columns = draw(st.lists(last, min_size=1, max_size=4))
    return Both(one.expression.take(columns), one.values[..., columns])


def joined(draw, one, other):
    if not one.shape or one.shape[:-1] != other.shape[:-1] or not other.shape:
        return one
    parts = draw(st.sampled_from([(one, other), (one, one), (other, one, other)]))
    values = np.concatenate([part.values for part in parts], axis=-1)
    return Both(ex.concatenate([part.expression for part in parts]), values)


def powers(draw, one):
    exponent = draw(st.sampled_from([1.0, 2.0, 3.0, 7.0, 0.5, -0.5, -2.0, 1.7]))
    base = ex.minimum(ex.maximum(one.expression, 0.5), 2.0)
    return Both(ex.power(base, exponent), np.clip(one.values, 0.5, 2.0) ** exponent)


def polynomials(draw, one):
    coefficients = [0.3, -0.2, 0.0, 1.0, -0.5]
    found = ex.polynomial(ex.elementwise("sin", one.expression), coefficients)
    return Both(found, np.polyval(coefficients, np.sin(one.values)))


def distances(draw, one):
    if len(one.shape) != 1:
        return one
    centres = constants(draw, (draw(st.integers(1, 3)), *one.shape))
    apart = one.values[:, None, :] - centres
    found = ex.squared_distances(one.expression, centres)
    return Both(found, np.sum(apart**2, axis=-1))


OF_ONE = [unary, product, reduced, squares, placed, powers, polynomials, distances]
OF_TWO = [binary, binary, chosen, joined]


def limited(one):
    """Large values would leave the range in a few steps."""
    within = ex.minimum(ex.maximum(one.expression, -5.0), 5.0)
    return Both(within, np.clip(one.values, -5, 5))


@st.composite
def graphs(draw, most=8):
    """Values of a row, the last of which are outputs."""
    row = ex.input_row(N_FEATURES)
    known = [Both(row, ROWS), of_constant(constants(draw, (N_FEATURES,)))]
    for _ in range(draw(st.integers(1, most))):
        one, other = draw(st.sampled_from(known)), draw(st.sampled_from(known))
        make = draw(st.sampled_from([*OF_ONE, *OF_TWO]))
        found = make(draw, one, other) if make in OF_TWO else make(draw, one)
        large = np.abs(found.values).max(initial=0.0) > 20
        known.append(limited(found) if large else found)
    return row, {"first": known[-1], "second": known[-2]}


def program_of(graph):
    row, outputs = graph
    return Program.of(row, {name: one.expression for name, one in outputs.items()})


def same(found, outputs, tolerance=1e-11):
    for name, one in outputs.items():
        assert found[name].shape == one.values.shape
        assert_allclose(found[name], one.values, rtol=tolerance, atol=tolerance)


@given(graphs())
def test_a_graph_is_what_numpy_makes_of_the_same_operations(graph):
    _, outputs = graph
    for name, one in outputs.items():
        assert one.expression.shape == one.shape, name

    same(evaluate(program_of(graph), ROWS), outputs)


@given(graphs())
def test_what_is_computed_twice_is_one_value(graph):
    row, outputs = graph
    whole = Program(row, {name: one.expression for name, one in outputs.items()})
    once = program_of(graph)

    assert len(list(once)) <= len(list(whole))
    first, second = evaluate(whole, ROWS), evaluate(once, ROWS)
    for name in outputs:
        assert_array_equal(first[name], second[name])


def planned(program, kind=np.float64, X=ROWS):
    """A plan for outputs that are no model's."""
    expected = {name: one[:1] for name, one in evaluate(program, X).items()}
    test = SelfTest(X[:1], expected)
    return Plan(program, np.dtype(kind).name, kind, test, "A graph.")


@given(graphs())
def test_onnx_computes_the_same(graph):
    same(by_onnx(planned(program_of(graph)), ROWS), graph[1])


@given(graphs())
def test_python_computes_the_same(graph):
    same(by_python(planned(program_of(graph)), ROWS), graph[1])


@cache
def some_graphs():
    """The same every time, so that one program may have them all."""
    found = []

    @settings(max_examples=80, phases=[Phase.generate])
    @given(graphs())
    def collect(graph):
        found.append(graph)

    collect()
    return found


@pytest.mark.skipif(missing("gcc") is not None, reason=str(missing("gcc")))
def test_c_computes_the_same_and_reads_nothing_beyond_its_tables():
    plans = [planned(program_of(graph)) for graph in some_graphs()]
    sanitised = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    found = by_c(plans, [ROWS] * len(plans), "gcc", sanitised)

    for one, (_, outputs) in zip(found, some_graphs(), strict=True):
        same(one, outputs)


@pytest.mark.skipif(missing("clang") is not None, reason=str(missing("clang")))
def test_c_computes_nearly_the_same_in_single_precision():
    plans = [planned(program_of(graph), np.float32) for graph in some_graphs()]
    found = by_c(plans, [ROWS] * len(plans), "clang")
    smooth = 0
    for plan, one, (_, outputs) in zip(plans, found, some_graphs(), strict=True):
        assert all(np.isfinite(value).all() for value in one.values())
        # Steps may be taken elsewhere.
        if not any(value.op == "if_negative" for value in plan.program):
            same(one, outputs, 1e-2)
            smooth += 1
    assert smooth > 20


def test_a_value_that_is_asked_for_beside_its_squares_is_kept():
    row = ex.input_row(2)
    square = ex.square(ex.exp(row))
    program = Program.of(row, {"first": square.sum(), "second": ex.exp(square) + row})
    X = ROWS[:, :2]
    known = np.exp(X) ** 2

    found = by_onnx(planned(program, X=X), X)
    assert_allclose(found["first"], known.sum(axis=1), rtol=1e-13)
    assert_allclose(found["second"], np.exp(known) + X, rtol=1e-13)


def test_constants_that_are_all_the_same_keep_their_shape():
    ones = ex.constant(np.ones(3))

    assert (ones + ones).shape == (3,)
    assert ex.if_negative(ex.input_row(2).sum(), ones, ones * 2.0).shape == (3,)
    assert ex.polynomial(ones, [1.0, 2.0]).is_constant
    assert_array_equal(ex.polynomial(ones, [1.0, 2.0]).number, np.full(3, 3.0))


def test_a_product_with_what_is_linear_is_one_matrix():
    row, matrix = ex.input_row(2), np.array([[1.0, 2.0], [3.0, 4.0]])
    shifted = ex.matmul(ex.matmul(row, matrix) * 2.0 + 1e9, matrix.T) - 3e9

    assert [one.op for one in Program.of(row, {"y": shifted})].count("matmul") == 1
    found = evaluate(Program.of(row, {"y": shifted}), ROWS[:, :2])["y"]
    known = (ROWS[:, :2] @ matrix * 2 + 1e9) @ matrix.T - 3e9
    assert_allclose(found, known, rtol=1e-12)
