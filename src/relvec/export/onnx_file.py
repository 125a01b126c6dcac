"""An ONNX model: a graph, its inputs and outputs, and a test of itself."""

import json
from base64 import b64decode, b64encode
from typing import Any

import numpy as np

from relvec.export.onnx_graph import IR_VERSION, OPSET, Graph
from relvec.export.plan import Plan
from relvec.parameters import optional_module
from relvec.typing import AnyArray

SELF_TEST = "relvec_self_test"  # among the model's metadata
_NEEDED = "to_onnx needs onnx", "onnx"


def onnx_model(plan: Plan) -> Any:
    """A ``ModelProto``."""
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
    """Names of the program's outputs, which are computed in its own arithmetic."""
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
    """The class of the largest of them; of text, numbers or truth values."""
    known = labels if labels.dtype.kind in "biuf" else labels.astype(str)
    kind = {"b": bool, "i": np.int64, "u": np.int64, "f": np.float64}
    array = known.astype(kind.get(known.dtype.kind, object))
    place = graph.node("ArgMax", outputs[0], axis=1, keepdims=0)
    found = graph.node("Gather", graph.constant(array, array.dtype), place)
    graph.rename(found, "label")
    elements = tensor(onnx, "", array).data_type
    return onnx.helper.make_tensor_value_info("label", elements, (None,))


def node_proto(onnx: Any, node: Any) -> Any:
    """A ``NodeProto``."""
    inputs, outputs = list(node.inputs), [node.output]
    return onnx.helper.make_node(node.operator, inputs, outputs, **node.attributes)


def tensor(onnx: Any, name: str, array: AnyArray) -> Any:
    """A ``TensorProto``."""
    return onnx.numpy_helper.from_array(np.asarray(array), name)


def _properties(plan: Plan) -> dict[str, str]:
    """What is said of the model beside its graph."""
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
    """Type, shape and bytes."""
    array = np.ascontiguousarray(values, dtype=np.dtype(kind).newbyteorder("<"))
    return [array.dtype.str, list(array.shape), b64encode(array.tobytes()).decode()]


def unpacked(packed: list[Any]) -> AnyArray:
    """The array again."""
    kind, shape, text = packed
    return np.frombuffer(b64decode(text), dtype=kind).reshape(shape)
