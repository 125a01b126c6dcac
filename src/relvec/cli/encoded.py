"""Models with encoders or imputers before them, as ONNX by skl2onnx.

The file takes every column as an input of its own, text as text.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from relvec.cli.exits import Problem, listed
from relvec.cli.models import Model
from relvec.cli.onnx_names import renamed
from relvec.export import register_converters
from relvec.export.onnx_graph import OPSET, SELF_TEST
from relvec.model_file import write_whole
from relvec.parameters import optional_module
from relvec.report.scores import predicted

_ROWS = 8


def is_encoded(model: Model) -> bool:
    """Whether something else than a scaler is before the estimator."""
    return any(isinstance(step, ColumnTransformer) for step in model.steps)


def write_encoded(
    model: Model, path: Path, *, language: str, output: str, precision: str = "float32"
) -> None:
    """The whole pipeline, with a test of itself; or refuse."""
    if language != "onnx":
        raise _only_in_onnx(model)
    if model.names is None:
        raise Problem(
            "the model was fitted without names of columns, which inputs would have: "
            "fit it to a table with names"
        )
    if model.imputes and model.categories():
        raise Problem(
            "the model completes missing text, which ONNX cannot: fit it without "
            "--impute, to rows that are complete"
        )
    if model.imputes and precision != "float32":  # as far as onnxruntime goes
        raise Problem("ONNX completes missing values in float32: --precision float32")
    std = _with_std(model, output)
    made = _converted(model, precision, std=std)
    helper = optional_module("onnx", "export needs onnx", "onnx").helper
    outputs = (
        ["label", "probabilities"] if model.classes else ["mean", "std"][: 1 + std]
    )
    names = renamed(made, model.names, outputs)
    test = _self_test(model, names, precision, std=std)
    helper.set_model_props(made, {SELF_TEST: json.dumps(test)})
    write_whole(path, made.SerializeToString())


def _only_in_onnx(model: Model) -> Problem:
    texts = model.categories()
    if not texts:
        return Problem(
            "the model completes missing values, which --to onnx alone can write: fit "
            "it without --impute, to rows that are complete"
        )
    return Problem(
        f"the model encodes columns of text ({listed(map(repr, texts))}), which --to "
        "onnx alone can write: fit it without them (--drop)"
    )


def _with_std(model: Model, output: str) -> bool:
    """Whether it is asked for; or refuse what the estimator has not."""
    if model.classes:
        if output not in {"auto", "proba"}:
            raise Problem(f"a classifier has no {output}: use --compute proba")
        return False
    if output == "proba":
        raise Problem("numbers have no probabilities: use --compute mean or mean+std")
    return output == "mean+std"


def _converted(model: Model, precision: str, *, std: bool) -> Any:
    try:
        skl2onnx = import_module("skl2onnx")
        kinds = import_module("skl2onnx.common.data_types")
    except ImportError as error:
        raise Problem(
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
        raise Problem(
            f"skl2onnx cannot convert what is before the estimator ({error}): use "
            "encoders and scalers that it knows"
        ) from error


def _self_test(
    model: Model, outputs: list[str], precision: str, *, std: bool
) -> dict[str, Any]:
    """Some rows by column, and what the model says of them by output."""
    columns = _rows(model, precision)
    X = pd.DataFrame(columns)[model.names]
    if model.classes:
        # Of its two outputs the first is the label.
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


def _rows(model: Model, precision: str) -> dict[str, list[Any]]:
    """About the mean of columns of numbers, and each text in its turn."""
    ends = np.linspace(-1.5, 1.5, _ROWS)
    centres = _centres(model)
    columns: dict[str, list[Any]] = {}
    for place, name in enumerate(model.names or []):
        mean, scale = centres.get(name, (0.0, 1.0))
        # Each column in an order of its own.
        values = mean + scale * np.roll(ends, 3 * place)
        columns[name] = values.astype(precision).astype(np.float64).tolist()
    for name, known in model.categories().items():
        texts = sorted(map(str, known))
        columns[name] = [texts[row % len(texts)] for row in range(_ROWS)]
    return columns


def _centres(model: Model) -> dict[str, tuple[float, float]]:
    """Means and deviations of columns that are scaled."""
    found: dict[str, tuple[float, float]] = {}
    for step in model.steps:
        for _, part, names in getattr(step, "transformers_", ()):
            last = part.steps[-1][1] if isinstance(part, Pipeline) else part
            if isinstance(last, StandardScaler):
                found |= zip(
                    names, zip(last.mean_, last.scale_, strict=True), strict=True
                )
    return found
