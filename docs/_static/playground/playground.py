"""What the playground asks of relvec: one fit for each request, both as JSON."""

import json
import textwrap
import time
import warnings
from functools import partial
from typing import Any

import numpy as np

from relvec import RVC, RVR
from relvec.kernels import Gaussian, Matern, RationalQuadratic

COVERAGE = 0.9  # of the band
REMARKS = {
    "empty": "No function is worth its place here, so the model is a constant: try "
    "another length scale, or add points.",
    "perfect fit": "The curve passes through every point and leaves no noise: if there "
    "is some, take a longer length scale, or give the noise.",
    "interpolation": "Nearly every point has a function of its own, and none is left "
    "to tell the noise from: take a longer length scale, or give the noise.",
    "constant target": "All points are at the same height, so the model is a constant.",
}
# What else there is to warn of, on a page without limits of time.
OTHER_REMARK = (
    "One class has no vector and is predicted nowhere: add points of it, or try "
    "another length scale."
)
LINE = 76  # characters of a line of code, at most
KERNELS = {
    "gaussian": Gaussian,
    "rational-quadratic": RationalQuadratic,
    "matern": Matern,  # its functions have one derivative
    "exponential": partial(Matern, nu=0.5),  # its functions have none
}


def answer(request: str) -> str:
    """What the page is to draw and to say; an error in words if there is no model."""
    asked = json.loads(request)
    work = {"fit": _fit, "evidence": _evidence}[asked["what"]]
    with warnings.catch_warnings(record=True) as remarks:
        warnings.simplefilter("always")
        try:
            told = work(asked)
        except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
            told = {"error": str(error)}
    said = any(_is_ours(remark.category) for remark in remarks)
    told["remarks"] = [_in_words(told["status"])] if said and "status" in told else []
    return json.dumps(told)


def warm_up() -> None:
    """A first fit, which takes several times as long as the next: no change waits."""
    X = np.linspace(-1, 1, 20)[:, np.newaxis]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # nobody has asked for this model
        model = RVR(Gaussian(0.5)).fit(X, np.cos(4 * X[:, 0]))
    model.predict_interval(X, COVERAGE)


def _in_words(status: str) -> str:
    """What a warning means to somebody who has a mouse and no code."""
    return REMARKS.get(status, OTHER_REMARK)


def _is_ours(category: type[Warning]) -> bool:
    return category.__module__.startswith("relvec")


def _fit(asked: dict[str, Any]) -> dict[str, Any]:
    X, y = _rows(asked)
    estimator = _estimator(asked)
    begun = time.perf_counter()
    model = estimator.fit(X, y)
    drawn = {"regression": _curve, "classification": _map}[asked["task"]](model, asked)
    milliseconds = 1000 * (time.perf_counter() - begun)
    return {
        "points": len(y),
        "vectors": sorted({int(row) for row in np.ravel(model.relevance_)}),
        "length_scale": _learned(model) if asked["learn"] else asked["length_scale"],
        "log_evidence": float(model.log_evidence_),
        "status": model.status_.name.lower().replace("_", " "),
        "milliseconds": milliseconds,
        "code": code(asked),
        **drawn,
    }


def _evidence(asked: dict[str, Any]) -> dict[str, Any]:
    """Of one length scale: error bars do not change it, and plain ones are quicker."""
    X, y = _rows(asked)
    model = _estimator({**asked, "learn": False, "uncertainty": "plain"}).fit(X, y)
    return {
        "length_scale": asked["length_scale"],
        "log_evidence": float(model.log_evidence_),
        "vectors": len(model.relevance_),
    }


def _rows(asked: dict[str, Any]) -> tuple[Any, Any]:
    is_regression = asked["task"] == "regression"
    points = np.array(asked["points"], dtype=float).reshape(-1, 3 - is_regression)
    y = points[:, -1]
    return points[:, :-1], y if is_regression else y.astype(int)


def _estimator(asked: dict[str, Any]) -> Any:
    kernel = KERNELS[asked["kernel"]]
    settings: dict[str, Any] = {"uncertainty": asked["uncertainty"]}
    if asked["learn"]:
        settings.update(kernel=kernel(), kernel_learning="width")
    else:
        settings.update(kernel=kernel(float(asked["length_scale"])))
    if asked["task"] == "classification":
        return RVC(**settings)
    if asked["noise_std"] is not None:
        settings["noise_variance"] = round(float(asked["noise_std"]) ** 2, 8)
    return RVR(noise=asked["noise"], **settings)


def _curve(model: Any, asked: dict[str, Any]) -> dict[str, Any]:
    grid = np.linspace(*asked["x_range"], asked["grid"])[:, np.newaxis]
    lower, upper = model.predict_interval(grid, COVERAGE)
    return {
        "mean": model.predict(grid).tolist(),
        "lower": lower.tolist(),
        "upper": upper.tolist(),
        "noise_std": float(np.sqrt(model.noise_variance_)),
    }


def _map(model: Any, asked: dict[str, Any]) -> dict[str, Any]:
    """Probabilities of every class, row by row from the top."""
    across = np.linspace(*asked["x_range"], asked["grid"])
    down = np.linspace(*asked["y_range"], asked["grid"])[::-1]
    grid = np.stack(np.meshgrid(across, down), axis=-1).reshape(-1, 2)
    chances = model.predict_proba(grid)
    return {"classes": model.classes_.tolist(), "chances": chances.T.tolist()}


def _learned(model: Any) -> float | None:
    """The length scale, if the data have told of one."""
    scale = getattr(getattr(model, "kernel_", None), "length_scale", None)
    return None if scale is None else float(np.ravel(scale)[0])


def code(asked: dict[str, Any]) -> str:
    """The same as a script."""
    estimator = _estimator(asked)
    *features, targets = zip(*asked["points"], strict=True)
    if asked["task"] == "regression":
        rows, use = "X[:, np.newaxis]", f"predict_interval(X, {COVERAGE})"
    else:
        rows, use = "X.T", "predict_proba(X)"
    columns = features[0] if len(features) == 1 else features
    return (
        "import numpy as np\n"
        f"from relvec import {type(estimator).__name__}\n"
        f"from relvec.kernels import {type(estimator.kernel).__name__}\n\n"
        f"X = {_array(columns)}\n"
        f"X = {rows}\n"
        f"y = {_array(targets)}\n\n"
        f"model = {estimator!r}\n"
        "model.fit(X, y)\n"
        "print(model.log_evidence_, len(model.relevance_))\n"
        f"print(model.{use})\n"
    )


def _array(values: Any) -> str:
    """In lines that a page has room for."""
    numbers = json.dumps(values)
    return textwrap.fill(f"np.array({numbers})", LINE, subsequent_indent="    ")
