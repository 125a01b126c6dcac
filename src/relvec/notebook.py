"""Summary of a fitted estimator in a notebook, below scikit-learn's diagram."""

import re
from html import escape
from typing import Any

import numpy as np

_LONGEST = 160  # characters of a line
_DIGITS = re.compile(r"\d+\.\d{4,}(e[+-]?\d+)?")
# Inherit the notebook's colours, for light and dark themes.
_CELL = "text-align:left;padding:.15em .8em .15em 0;background:none;color:inherit"
_RULE = "border-bottom:1px solid rgba(128,128,128,.3)"


def fitted_html(estimator: Any) -> str:
    """Render the summary as a table; nothing before a fit."""
    if not hasattr(estimator, "model_"):
        return ""
    lines = "".join(
        f'<tr style="background:none;{_RULE}">'
        f'<th scope="row" style="{_CELL};font-weight:600;white-space:nowrap">'
        f'{escape(name)}</th><td style="{_CELL}">{escape(text)}</td></tr>'
        for name, text in fitted_lines(estimator).items()
    )
    style = "border-collapse:collapse;margin:.5em 0;max-width:48em;font-size:.9em"
    label = f"What {type(estimator).__name__} has found"
    return f'<table aria-label="{escape(label)}" style="{style}">{lines}</table>'


def fitted_lines(estimator: Any) -> dict[str, str]:
    """Summarise a fit: names and values, in reading order."""
    model = estimator.model_
    sparse = hasattr(estimator, "relevance_")
    lines = {f"{'relevance' if sparse else 'support'} vectors": f"{len(model.indices)}"}
    variance = getattr(estimator, "noise_variance_", None)
    if variance is not None:
        stds = np.sqrt(np.atleast_1d(variance))  # one for each output
        lines["noise (standard deviation)"] = _shortened(
            ", ".join(f"{std:.4g}" for std in stds)
        )
    if np.isfinite(estimator.log_evidence_):
        lines["log evidence"] = f"{estimator.log_evidence_:.2f}"
    lines |= {"kernel": _kernels(estimator), "status": model.outcome}
    calibration = getattr(estimator, "calibration_", None)
    return lines if calibration is None else {**lines, "check": calibration.words}


def _kernels(estimator: Any) -> str:
    """Name the distinct kernels with their learned parameters."""
    if estimator.kernel is None:
        return "none: the features themselves"
    models = getattr(estimator.model_, "models", (estimator.model_,))
    groups = [group for model in models for group in model.basis.groups]
    if any(group.centres.ndim == 1 for group in groups):
        return "precomputed"
    names = dict.fromkeys(_named(group.kernel) for group in groups)
    text = ", ".join(names)
    if _vary(getattr(estimator, "length_scales_", None)):
        classes = dict.fromkeys(name.partition("(")[0] for name in names)
        text = f"{', '.join(classes)}, with length scales of each vector"
    return _shortened(text)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _vary(scales: Any) -> bool:
    """Whether vectors have length scales of their own."""
    if scales is None:
        return False
    rows = np.atleast_2d(scales.T).T
    rows = rows[np.isfinite(rows).all(axis=1)]  # NaN for kernels without length scales
    return len(rows) > 1 and bool(np.ptp(rows, axis=0).any())


def _named(kernel: Any) -> str:
    """Write a kernel in few digits; a function by its name."""
    kernel = getattr(kernel, "function", kernel)
    name = getattr(kernel, "__name__", repr(kernel))
    return _DIGITS.sub(lambda number: f"{float(number[0]):.4g}", name)
