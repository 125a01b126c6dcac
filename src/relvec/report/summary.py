"""The first section: what was fitted, and how good it is."""

import numpy as np

from relvec.notebook import fitted_lines
from relvec.report.blocks import Cell, Facts, Section, Table, plain
from relvec.report.case import Case
from relvec.report.provenance import Origin
from relvec.report.scores import (
    bars_in_words,
    class_scores,
    guess_scores,
    number_scores,
)
from relvec.typing import AnyArray

_MEANINGS = {
    "rmse": ("root mean square error", "in units of the target"),
    "mae": ("mean absolute error", "in units of the target"),
    "r2": ("R²", "1 is perfect, 0 is as good as the mean"),
    "nlpd": ("mean negative log predictive density", "smaller is better"),
    "within_95": ("within 1.96 standard deviations", "should be 0.95"),
    "error": ("share of wrong classes", "0 is perfect"),
    "log_loss": ("log loss", "smaller is better; of probabilities"),
}


def scores_of(case: Case, found: dict[str, AnyArray]) -> dict[str, float | None]:
    """Of the rows that the model is tried on, by name."""
    if case.labels is None:
        return number_scores(case.observed, found["mean"], found["std"])
    return class_scores(case.observed, found["class"], found.get("proba"), case.labels)


def summary_section(
    case: Case, scores: dict[str, float | None], origin: Origin
) -> Section:
    """Facts of the model, and scores beside those of a guess."""
    known = case.y[case.fitted] if len(case.fitted) else case.y
    guess = guess_scores(known, case.observed, classes=case.labels is not None)
    rows = tuple(
        (_MEANINGS[name][0], value, guess.get(name), _meaning(name, value, case))
        for name, value in scores.items()
        if value is not None
    )
    columns = ("score", "value", "without features", "meaning")
    table = Table(f"Scores on {len(case.tried):,} rows", columns, rows)
    text = origin.rows or (
        "Scores are of rows that the model has not seen."
        if case.held_out is not None
        else "Scores are of all rows given; those that the model was fitted to flatter "
        "it."
    )
    if len(case.tried) < len(case.y if case.held_out is None else case.held_out):
        text += f" {len(case.tried):,} of them, drawn by chance, are tried."
    calibration = getattr(case.subject.model, "calibration_", None)
    if calibration is not None and calibration.warning is not None:
        text = f"Caution: {calibration.warning}. {text}"
    return Section("summary", "Summary", text, (Facts(_facts(case)), table))


def _meaning(name: str, value: float, case: Case) -> str:
    meaning = _MEANINGS[name][1]
    if name != "within_95":
        return meaning
    return f"{meaning}; the error bars are {bars_in_words(value, len(case.tried))}"


def _facts(case: Case) -> dict[str, Cell]:
    model, width = case.subject.model, int(np.shape(case.X)[1])
    seen = int(getattr(model, "n_features_in_", width))
    found: dict[str, Cell] = {
        "task": "regression" if case.labels is None else "classification",
        "target": case.target,
    }
    if case.labels is not None:
        found["classes"] = len(case.labels)
    found |= {
        "rows of the table": len(case.y),
        "rows tried on": len(case.tried),
        "features": width if seen == width else f"{width}, encoded as {seen}",
        "estimator": case.subject.name,
        **fitted_lines(model),
    }
    if "log evidence" in found:  # to the hundredth, since differences count
        found["log evidence"] = f"{model.log_evidence_:,.2f}".replace("-", "−")
    return {name: plain(value) for name, value in found.items()}
