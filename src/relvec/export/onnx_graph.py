"""A program as an ONNX model with a self-test."""

import json
from base64 import b64decode, b64encode
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from relvec.export.expressions import (
    REDUCTIONS,
    Expression,
    Program,
    economized_polynomial,
    uses_expanded_squares,
)
from relvec.export.plan import Plan
from relvec.parameters import optional_module
from relvec.typing import AnyArray

# The newest versions that runtimes of 2023 support; later ones are not needed.
OPSET, IR_VERSION = 18, 8

_OPERATORS = {
    "add": "Add",
    "subtract": "Sub",
    "multiply": "Mul",
    "divide": "Div",
    "maximum": "Max",
    "minimum": "Min",
    "power": "Pow",
    "exp": "Exp",
    "log": "Log",
    "sqrt": "Sqrt",
    "absolute": "Abs",
    "tanh": "Tanh",
    "sin": "Sin",
    "remainder": "Mod",
    "matmul": "MatMul",
    "sum": "ReduceSum",
    "max": "ReduceMax",
}


@dataclass(frozen=True)
class Node:
    """An operator with the names of its inputs and its output."""

    operator: str
    inputs: tuple[str, ...]
    output: str
    attributes: dict[str, Any] = field(default_factory=dict)


@dataclass
class Graph:
    """Nodes and constants of a program, in the arithmetic of a number type."""

    kind: type
    prefix: str = ""
    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, AnyArray] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._names: dict[int, str] = {}
        self._known: dict[tuple[Any, ...], str] = {}
        self._row = ""
        self._count = 0

    def add(self, program: Program, row: str) -> dict[str, str]:
        """Add a program whose input has the name ``row``; return its outputs' names."""
        self._row = self._names[id(program.row)] = row
        for one in program:
            if id(one) not in self._names and not one.is_constant:
                self._names[id(one)] = self._added(one)
        found = {
            name: self._for_every_row(one) for name, one in program.outputs.items()
        }
        self._keep(set(found.values()))
        return found

    def _keep(self, asked: set[str]) -> None:
        """Remove all nodes that the requested values do not need."""
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if node.output in asked:
                asked |= set(node.inputs)
                kept.append(node)
        self.nodes = kept[::-1]
        self.constants = {
            name: array for name, array in self.constants.items() if name in asked
        }

    def node(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node and return the name of its output."""
        name = f"{self.prefix}{self._count}"
        self._count += 1
        self.nodes.append(Node(operator, inputs, name, attributes))
        return name

    def rename(self, made: str, name: str) -> None:
        """Rename the output of a node wherever it is used."""

        def new(old: str) -> str:
            return name if old == made else old

        self.nodes = [
            replace(node, inputs=tuple(map(new, node.inputs)), output=new(node.output))
            for node in self.nodes
        ]

    def constant(self, value: Any, kind: Any = None) -> str:
        """Return the name of a constant; equal constants share one."""
        array = np.ascontiguousarray(value, dtype=self.kind if kind is None else kind)
        array = array.reshape(np.shape(value))
        key = (array.dtype.str, array.shape, array.tobytes())
        if kind is object or key not in self._known:
            self._known[key] = f"{self.prefix}c{len(self._known)}"
        self.constants[self._known[key]] = array
        return self._known[key]

    def _name(self, one: Expression) -> str:
        if one.is_constant:
            return self.constant(one.number)
        return self._names[id(one)]

    def _added(self, one: Expression) -> str:
        if one.op == "concatenate":
            parts = [self._for_every_row(each) for each in one.operands]
            return self.node("Concat", *parts, axis=-1)
        if one.op in self._WRITTEN_OUT:
            return self._WRITTEN_OUT[one.op](self, one)
        names = [self._operand(each, one) for each in one.operands]
        if one.op in {"take", "expand_dims"}:
            return self._placed(one, names[0])
        if one.op == "if_negative":
            names[0] = self.node("Less", names[0], self.constant(0.0))
            return self.node("Where", *names)
        if one.op in REDUCTIONS:
            return self._reduced(one)
        how = {"fmod": 1} if one.op == "remainder" else {}
        return self.node(_OPERATORS[one.op], *names, **how)

    def _operand(self, part: Expression, whole: Expression) -> str:
        """Return a name; repeat a scalar factor along the last axis.

        onnxruntime would merge such a factor into a product of matrices in single
        precision.
        """
        alone = whole.op == "multiply" and part.is_constant and not part.shape
        if alone and whole.shape and self.kind is not np.float32:
            return self.constant(np.full(whole.shape[-1], part.number))
        return self._name(part)

    def _placed(self, one: Expression, name: str) -> str:
        """Select columns, or insert an axis."""
        if one.op == "take":
            columns = self.constant(one.number, np.int64)
            return self.node("Gather", name, columns, axis=-1)
        inner = one.operands[0]
        if inner.op in REDUCTIONS and int(inner.number) == int(one.number):
            return self._reduced(inner, keepdims=1)
        axes = self.constant([int(one.number) + 1], np.int64)
        return self.node("Unsqueeze", name, axes)

    def _polynomial(self, one: Expression) -> str:
        """Evaluate a polynomial by Horner's rule."""
        operand, coefficients = one.operands
        first, *others = economized_polynomial(coefficients.number, self.kind)
        t = self._name(operand)
        value = self.constant(first)
        for coefficient in others:
            value = self.node("Mul", t, value)
            value = self.node("Add", value, self.constant(coefficient))
        return value

    def _squared_distances(self, one: Expression) -> str:
        """Compute differences, or products of whole matrices."""
        row, centres = one.operands
        x, z = self._name(row), centres.number
        if not uses_expanded_squares(z):
            second = self.constant([2], np.int64)
            wide = self.node("Unsqueeze", x, self.constant([1], np.int64))
            apart = self.node("Sub", wide, self.constant(z))
            return self.node("ReduceSumSquare", apart, second, keepdims=0)
        own = self.node("ReduceSumSquare", x, self.constant([1], np.int64), keepdims=1)
        across = self.node("MatMul", x, self.constant(-2 * z.T))
        beside = self.node("Add", across, self.constant(np.sum(z**2, axis=1)))
        total = self.node("Add", own, beside)
        return self.node("Max", total, self.constant(0.0))

    def _reduced(self, one: Expression, keepdims: int = 0) -> str:
        inner = one.operands[0]
        axes = self.constant([int(one.number) + 1], np.int64)
        twice = inner.op == "multiply" and inner.operands[0] is inner.operands[1]
        operator = _OPERATORS[one.op]
        if one.op == "sum" and twice:
            inner, operator = inner.operands[0], "ReduceSumSquare"
        return self.node(operator, self._name(inner), axes, keepdims=keepdims)

    def _short(self, one: Expression) -> str:
        """Use fewer operators, since their number sets the time of a row."""
        name, (value, *by) = str(one.number), one.operands
        if name in self._KNOWN:
            operator, settings = self._KNOWN[name]
            return self.node(operator, *map(self._name, by), axis=-1, **settings)
        # Runtimes have no error function in double precision.
        if self.kind is not np.float32:
            return self._name(value)
        by_erf = getattr(self, f"_{name}")
        return str(by_erf(*by))

    def _normal_tail(self, z: Expression) -> str:
        """½ − ½erf(|z|/√2)."""
        root = self.constant(np.sqrt(0.5))
        size = self.node("Mul", self.node("Abs", self._name(z)), root)
        half = self.node("Mul", self.node("Erf", size), self.constant(0.5))
        return self.node("Sub", self.constant(0.5), half)

    def _both_sides(self, z: Expression, sides: Expression, even: Expression) -> str:
        """Average erf(z) around even odds."""
        sizes = self.node("Erf", self._name(z))
        leads = self.node("MatMul", sizes, self._name(sides))
        return self.node("Add", leads, self._name(even))

    def _largest(self, z: Expression) -> str:
        """Σ exp(−z²)·Π(1 + erf(z of others)) over a grid, normalised."""
        name = self._name(z)
        cdf = self.node("Add", self.node("Erf", name), self.constant(1.0))
        classes, rank = np.arange(z.shape[-1]), len(z.shape)
        others = self.constant([np.delete(classes, k) for k in classes], np.int64)
        each = self.node("Gather", cdf, others, axis=-1)
        # Runtimes do not accept negative axes if there are no rows.
        last = self.constant([rank + 1], np.int64)
        product = self.node("ReduceProd", each, last, keepdims=0)
        density = self.node("Exp", self.node("Neg", self.node("Mul", name, name)))
        terms = self.node("Mul", density, product)
        nodes = self.constant([rank - 1], np.int64)
        total = self.node("ReduceSum", terms, nodes, keepdims=0)
        return self.node("LpNormalization", total, axis=-1, p=1)

    _WRITTEN_OUT: ClassVar = {
        "polynomial": _polynomial,
        "named": _short,
        "squared_distances": _squared_distances,
    }
    _KNOWN: ClassVar = {
        "softmax": ("Softmax", {}),
        "normalised": ("LpNormalization", {"p": 1}),
    }

    def _for_every_row(self, one: Expression) -> str:
        """Give a constant an axis of rows."""
        if not one.is_constant:
            return self._names[id(one)]
        count = self.node("Shape", self._row, start=0, end=1)
        if one.shape:
            each = self.constant(one.shape, np.int64)
            count = self.node("Concat", count, each, axis=0)
        return self.node("Expand", self.constant(one.number), count)


SELF_TEST = "relvec_self_test"  # among the model's metadata
_NEEDED = "to_onnx needs onnx", "onnx"


def onnx_model(plan: Plan) -> Any:
    """Build a ``ModelProto``."""
    onnx = optional_module("onnx", *_NEEDED)
    helper, kinds = onnx.helper, onnx.TensorProto
    number = {"float32": kinds.FLOAT, "float64": kinds.DOUBLE}[plan.precision]
    graph = Graph(plan.arithmetic)
    outputs = _outputs(graph, plan, number, kinds)
    shapes = {name: (None, *one.shape) for name, one in plan.program.outputs.items()}
    values = [
        helper.make_tensor_value_info(name, number, shapes[name]) for name in outputs
    ]
    if plan.program.labels is not None:
        values.insert(0, _label(graph, plan.program.labels, outputs, onnx))
    made = helper.make_graph(
        [node_proto(onnx, node) for node in graph.nodes],
        "relvec",
        [helper.make_tensor_value_info("X", number, (None, plan.program.n_features))],
        values,
        [tensor(onnx, name, array) for name, array in graph.constants.items()],
    )
    model = helper.make_model(
        made,
        opset_imports=[helper.make_opsetid("", OPSET)],
        ir_version=IR_VERSION,
        producer_name="relvec",
    )
    helper.set_model_props(model, _properties(plan))
    onnx.checker.check_model(model, full_check=True)
    return model


def _outputs(graph: Graph, plan: Plan, number: int, kinds: Any) -> list[str]:
    """Add the program and return the names of its outputs."""
    converted = plan.arithmetic is not plan.kind
    row = graph.node("Cast", "X", to=kinds.DOUBLE) if converted else "X"
    named = {row: row}
    for name, made in graph.add(plan.program, row).items():
        if converted:
            graph.rename(graph.node("Cast", made, to=number), name)
        elif made in named:  # the same value has another name already
            graph.rename(graph.node("Identity", named[made]), name)
        else:
            graph.rename(made, name)
            named[made] = name
    return list(plan.program.outputs)


def _label(graph: Graph, labels: AnyArray, outputs: list[str], onnx: Any) -> Any:
    """Add the label of the largest output: text, numbers or booleans."""
    known = labels if labels.dtype.kind in "biuf" else labels.astype(str)
    kind = {"b": bool, "i": np.int64, "u": np.int64, "f": np.float64}
    array = known.astype(kind.get(known.dtype.kind, object))
    place = graph.node("ArgMax", outputs[0], axis=1, keepdims=0)
    found = graph.node("Gather", graph.constant(array, array.dtype), place)
    graph.rename(found, "label")
    elements = tensor(onnx, "", array).data_type
    return onnx.helper.make_tensor_value_info("label", elements, (None,))


def node_proto(onnx: Any, node: Any) -> Any:
    """Build a ``NodeProto``."""
    inputs, outputs = list(node.inputs), [node.output]
    return onnx.helper.make_node(node.operator, inputs, outputs, **node.attributes)


def tensor(onnx: Any, name: str, array: AnyArray) -> Any:
    """Build a ``TensorProto``."""
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def _properties(plan: Plan) -> dict[str, str]:
    """The metadata of the model: its self-test and feature names."""
    test = {
        "rows": _packed(plan.self_test.rows, plan.kind),
        "expected": {
            name: _packed(values, np.float64)
            for name, values in plan.self_test.expected.items()
        },
    }
    said = {SELF_TEST: json.dumps(test, separators=(",", ":"))}
    if plan.feature_names is not None:
        said["feature_names"] = json.dumps(list(plan.feature_names))
    return said


def _packed(values: AnyArray, kind: type) -> list[Any]:
    """Type, shape and bytes of an array."""
    array = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return [array.dtype.str, list(array.shape), b64encode(array.tobytes()).decode()]


def unpacked(packed: list[Any]) -> AnyArray:
    """Restore an array."""
    kind, shape, text = packed
    return np.frombuffer(b64decode(text), dtype=kind).reshape(shape)
