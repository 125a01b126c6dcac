"""``relvec export`` and ``relvec verify``."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

import relvec
from relvec.cli.errors import CliError, listed
from relvec.cli.models import Model, load_model
from relvec.cli.paths import check_not_table_name, check_readable, check_writable
from relvec.export import register_converters, to_c, to_onnx, to_python
from relvec.export.onnx_graph import OPSET, SELF_TEST
from relvec.model_file import FORMAT, write_whole
from relvec.parameters import optional_module
from relvec.report.case import predicted

_TEST_ROWS = 8
_WRITERS: dict[str, Callable[..., None]] = {
    "onnx": to_onnx,
    "c": to_c,
    "python": to_python,
}
_MODEL_START = f'{{"format":"{FORMAT}"'.encode()


def renamed(model: Any, inputs: list[str], outputs: list[str]) -> list[str]:
    """Rename inputs and outputs of an ONNX graph; return the names of the outputs.

    An underscore is added to the name of an output that is also an input.
    """
    graph = model.graph
    finals = []
    for name in outputs:
        free = name
        while free in inputs:
            free += "_"
        finals.append(free)
    old = [each.name for each in (*graph.input, *graph.output)]
    new = dict(zip(old, [*inputs, *finals], strict=True))
    for name in _inner_names(graph) - new.keys():
        if name in {*inputs, *finals}:
            new[name] = f"inner {name}"
    _apply_names(graph, new)
    return finals


def _inner_names(graph: Any) -> set[str]:
    constants = {each.name for each in graph.initializer}
    return constants | {name for node in graph.node for name in node.output}


def _apply_names(graph: Any, new: dict[str, str]) -> None:
    described = (graph.input, graph.output, graph.initializer, graph.value_info)
    for group in described:
        for each in group:
            each.name = new.get(each.name, each.name)
    for node in graph.node:
        for names in (node.input, node.output):
            names[:] = [new.get(name, name) for name in names]


def is_encoded(model: Model) -> bool:
    """Whether the model encodes or imputes before the estimator."""
    return any(isinstance(step, ColumnTransformer) for step in model.steps)


def write_encoded(
    model: Model, path: Path, *, language: str, output: str, precision: str = "float32"
) -> None:
    """Write the whole pipeline with a self-test."""
    if language != "onnx":
        raise _needs_onnx(model)
    if model.names is None:
        raise CliError(
            "the model was fitted without names of columns, which inputs would have: "
            "fit it to a table with names"
        )
    if model.imputes and model.categories():
        raise CliError(
            "the model completes missing text, which ONNX cannot: fit it without "
            "--impute, to rows that are complete"
        )
    if model.imputes and precision != "float32":  # a limit of onnxruntime
        raise CliError("ONNX completes missing values in float32: --precision float32")
    std = _with_std(model, output)
    made = _convert(model, precision, std=std)
    helper = optional_module("onnx", "export needs onnx", "onnx").helper
    outputs = (
        ["label", "probabilities"] if model.classes else ["mean", "std"][: 1 + std]
    )
    names = renamed(made, model.names, outputs)
    test = _self_test(model, names, precision, std=std)
    helper.set_model_props(made, {SELF_TEST: json.dumps(test)})
    write_whole(path, made.SerializeToString())


def _needs_onnx(model: Model) -> CliError:
    texts = model.categories()
    if not texts:
        return CliError(
            "the model completes missing values, which --to onnx alone can write: fit "
            "it without --impute, to rows that are complete"
        )
    return CliError(
        f"the model encodes columns of text ({listed(map(repr, texts))}), which --to "
        "onnx alone can write: fit it without them (--drop)"
    )


def _with_std(model: Model, output: str) -> bool:
    """Whether to write deviations; refuse outputs that the estimator lacks."""
    if model.classes:
        if output not in {"auto", "proba"}:
            raise CliError(f"a classifier has no {output}: use --compute proba")
        return False
    if output == "proba":
        raise CliError("numbers have no probabilities: use --compute mean or mean+std")
    return output == "mean+std"


def _convert(model: Model, precision: str, *, std: bool) -> Any:
    try:
        skl2onnx = import_module("skl2onnx")
        kinds = import_module("skl2onnx.common.data_types")
    except ImportError as error:
        raise CliError(
            "columns of text and missing values need skl2onnx, which is not installed: "
            "pip install skl2onnx"
        ) from error
    register_converters()
    number = {"float32": kinds.FloatTensorType, "float64": kinds.DoubleTensorType}
    texts = model.categories()
    types = [
        (name, kinds.StringTensorType([None, 1]))
        if name in texts
        else (name, number[precision]([None, 1]))
        for name in model.names or []
    ]
    option = {"zipmap": False} if model.classes else {"return_std": std}
    options = {type(model.estimator): option}
    try:
        return skl2onnx.convert_sklearn(
            model.whole, "relvec", types, options=options, target_opset=OPSET
        )
    except (RuntimeError, NotImplementedError, ValueError) as error:
        raise CliError(
            f"skl2onnx cannot convert what is before the estimator ({error}): use "
            "encoders and scalers that it knows"
        ) from error


def _self_test(
    model: Model, outputs: list[str], precision: str, *, std: bool
) -> dict[str, Any]:
    """Make test rows, by column, and predict them, by output."""
    columns = _test_columns(model, precision)
    X = pd.DataFrame(columns)[model.names]
    if model.classes:
        # The first output is the label, which is not tested.
        said = [np.asarray(predicted(model.whole, X, classes=True)["proba"])]
    else:
        found = predicted(model.whole, X, classes=False)
        said = [
            found[name][:, None] for name in (("mean", "std") if std else ("mean",))
        ]
    named = zip(outputs[-len(said) :], said, strict=True)
    return {
        "columns": columns,
        "precision": precision,
        "expected": {name: values.tolist() for name, values in named},
    }


def _test_columns(model: Model, precision: str) -> dict[str, list[Any]]:
    """Make test values around the means, and of every category."""
    ends = np.linspace(-1.5, 1.5, _TEST_ROWS)
    centres = _column_scales(model)
    columns: dict[str, list[Any]] = {}
    for place, name in enumerate(model.names or []):
        mean, scale = centres.get(name, (0.0, 1.0))
        # Each column in an order of its own.
        values = mean + scale * np.roll(ends, 3 * place)
        columns[name] = values.astype(precision).astype(np.float64).tolist()
    for name, known in model.categories().items():
        texts = sorted(map(str, known))
        columns[name] = [texts[row % len(texts)] for row in range(_TEST_ROWS)]
    return columns


def _column_scales(model: Model) -> dict[str, tuple[float, float]]:
    """Means and deviations of scaled columns."""
    found: dict[str, tuple[float, float]] = {}
    for step in model.steps:
        for _, part, names in getattr(step, "transformers_", ()):
            last = part.steps[-1][1] if isinstance(part, Pipeline) else part
            if isinstance(last, StandardScaler):
                found |= zip(
                    names, zip(last.mean_, last.scale_, strict=True), strict=True
                )
    return found


def export_model(
    model: Path, path: Path, language: str, compute: str, **given: Any
) -> dict[str, Any]:
    """Write a model in a language, and return a summary."""
    check_writable(path, model)
    check_not_table_name(path)
    settings = {name: value for name, value in given.items() if value is not None}
    takes = {"onnx": {"precision"}, "c": {"precision", "name"}}.get(language, set())
    for name in settings.keys() - takes:
        raise CliError(f"--{name} is not for --to {language}: leave it out")
    found = load_model(model)
    if is_encoded(found):
        write_encoded(found, path, language=language, output=compute, **settings)
    else:
        _WRITERS[language](found.whole, path, output=compute, **settings)
    return {"written": str(path), "language": language, "bytes": path.stat().st_size}


def verify_file(file: Path, tolerance: float) -> dict[str, Any]:
    """Test a file on the rows stored in it."""
    check_readable(file)
    document: dict[str, Any] = {"file": str(file)}
    try:
        error = relvec.verify(file)
    except relvec.ModelFileError as refusal:
        if not _is_model(file):
            raise
        return document | {"passed": False, "error": None, "reason": str(refusal)}
    passed = error <= tolerance
    return document | {"passed": passed, "error": error, "tolerance": tolerance}


def _is_model(file: Path) -> bool:
    """Whether a file begins like a model file, perhaps damaged or newer."""
    with file.open("rb") as opened:
        return opened.read(len(_MODEL_START)) == _MODEL_START
