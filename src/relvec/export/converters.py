"""Converters for skl2onnx, so that it can convert pipelines with our estimators."""

from typing import Any

import numpy as np

from relvec.estimators import LSSVC, LSSVR, RVC, RVR
from relvec.export.expressions import ExportError
from relvec.export.onnx_graph import OPSET, Graph, tensor
from relvec.export.plan import Plan
from relvec.parameters import optional_module

_NEEDED = "register_converters needs skl2onnx", "onnx"
_NUMBERS: dict[type, int] = {np.float32: 1, np.float64: 11}  # as ONNX counts types
_OF_CLASSES = {
    "nocl": [True, False],
    "output_class_labels": [False, True],
    "raw_scores": [False],
    "zipmap": [True, False, "columns"],
}


def register_converters() -> None:
    """Teach skl2onnx to convert relvec's estimators, alone or in pipelines.

    ``skl2onnx.to_onnx`` then converts them with all its options. For regression,
    ``options={RVR: {"return_std": True}}`` adds the standard deviation with the noise.
    If classes are chosen by votes, votes replace probabilities.

    Examples
    --------
    >>> import numpy as np
    >>> from skl2onnx import to_onnx
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import PolynomialFeatures
    >>> from relvec import RVR
    >>> from relvec.data import noisy_sinc
    >>> from relvec.export import register_converters
    >>> register_converters()
    >>> X, y = noisy_sinc(100, seed=0)
    >>> model = make_pipeline(PolynomialFeatures(2), RVR()).fit(X, y)
    >>> [each.name for each in to_onnx(model, X.astype(np.float32)).graph.output]
    ['variable']
    """
    skl2onnx = optional_module("skl2onnx", *_NEEDED)
    shapes = optional_module("skl2onnx.common.shape_calculator", *_NEEDED)
    for kind in (RVR, LSSVR):
        skl2onnx.update_registered_converter(
            kind,
            f"Relvec{kind.__name__}",
            _regression_shapes,
            _regression,
            parser=_regression_parser,
            options={"return_std": [True, False]},
        )
    for classes in (RVC, LSSVC):
        skl2onnx.update_registered_converter(
            classes,
            f"Relvec{classes.__name__}",
            shapes.calculate_linear_classifier_output_shapes,
            _classes,
            options=_OF_CLASSES,
        )


def _regression_parser(
    scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None
) -> Any:
    """Declare a second output if the standard deviation is requested."""
    named = optional_module("skl2onnx._supported_operators", *_NEEDED)
    operator = scope.declare_local_operator(
        named.sklearn_operator_name_map[type(model)], model
    )
    operator.inputs.extend(inputs)
    kind = _kind_of(inputs[0])
    std = scope.get_options(model, {"return_std": False})["return_std"]
    for name in ["variable", "std"] if std else ["variable"]:
        operator.outputs.append(scope.declare_local_variable(name, kind()))
    return operator.outputs


def _regression_shapes(operator: Any) -> None:
    """Declare one number per row."""
    rows = operator.inputs[0].get_first_dimension()
    for output in operator.outputs:
        output.type = _kind_of(operator.inputs[0])([rows, 1])


def _kind_of(row: Any) -> Any:
    """Outputs have double precision if rows have it."""
    kinds = optional_module("skl2onnx.common.data_types", *_NEEDED)
    double = isinstance(row.type, kinds.DoubleTensorType)
    return kinds.DoubleTensorType if double else kinds.FloatTensorType


def _regression(scope: Any, operator: Any, container: Any) -> None:
    std = len(operator.outputs) > 1
    found = _added(scope, operator, container, "mean+std" if std else "mean")
    for made, output in zip(found.values(), operator.outputs, strict=True):
        axes = scope.get_unique_variable_name("axes")
        container.add_initializer(axes, 7, [1], [1])
        _node(container, scope, "Unsqueeze", [made, axes], output.full_name)


def _classes(scope: Any, operator: Any, container: Any) -> None:
    found = _added(scope, operator, container, "auto")
    (scores,) = found.values()
    label, probabilities = (output.full_name for output in operator.outputs)
    _node(container, scope, "Identity", [scores], probabilities)
    labels = np.asarray(operator.raw_operator.classes_)
    if container.get_options(operator.raw_operator, {}).get("nocl"):
        labels = np.arange(len(labels))
    text = labels.dtype.kind not in "biuf"  # skl2onnx writes 2.0 as 2
    known = labels.astype(str).astype(object) if text else labels.astype(np.int64)
    table = _constant(container, scope, known)
    place = scope.get_unique_variable_name("place")
    _node(container, scope, "ArgMax", [scores], place, axis=1, keepdims=0)
    _node(container, scope, "Gather", [table, place], label)


def _added(scope: Any, operator: Any, container: Any, output: str) -> dict[str, str]:
    """Add the graph of an estimator and return the names of its outputs."""
    if container.target_opset < OPSET:
        msg = f"relvec's estimators need target_opset={OPSET} or later"
        raise ExportError(msg)
    if len(operator.inputs) > 1:
        raise ExportError(
            "relvec's estimators take all features as one input: give them so, or put "
            "a ColumnTransformer before"
        )
    row = operator.inputs[0]
    precisions = {"DoubleTensorType": "float64", "FloatTensorType": "float32"}
    given = precisions.get(type(row.type).__name__)  # None of integers
    plan = Plan.of(operator.raw_operator, output, given or "float32")
    # Separate the number of the unique name from the numbers that follow.
    prefix = scope.get_unique_variable_name("relvec") + "_"
    graph = Graph(plan.arithmetic, prefix=prefix)
    converted, name = plan.arithmetic is not plan.kind, row.full_name
    if converted or given is None:
        name = graph.node("Cast", name, to=_NUMBERS[plan.arithmetic])
    found = graph.add(plan.program, name)
    if converted:
        found = {key: graph.node("Cast", made, to=1) for key, made in found.items()}
    for known, array in graph.constants.items():
        container.initializers.append(
            tensor(optional_module("onnx", *_NEEDED), known, array)
        )
    for node in graph.nodes:
        inputs, attributes = list(node.inputs), node.attributes
        _node(container, scope, node.operator, inputs, node.output, **attributes)
    return found


def _constant(container: Any, scope: Any, values: Any) -> str:
    name = scope.get_unique_variable_name("labels")
    onnx = optional_module("onnx", *_NEEDED)
    container.initializers.append(tensor(onnx, name, values))
    return name


def _node(
    container: Any, scope: Any, kind: str, inputs: list[str], output: str, **more: Any
) -> None:
    name = scope.get_unique_operator_name("relvec")
    container.add_node(kind, inputs, output, op_version=OPSET, name=name, **more)
