"""``make_report``: from a fitted model and rows to a report."""

import platform
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

import relvec
from relvec.export import to_c, to_onnx, to_python
from relvec.notebook import fitted_lines
from relvec.report.case import (
    Case,
    bars_in_words,
    class_scores,
    guess_scores,
    number_scores,
)
from relvec.report.model import (
    evidence_section,
    features_section,
    map_section,
    vectors_section,
)
from relvec.report.page import (
    Block,
    Cell,
    Code,
    Facts,
    Report,
    Section,
    Table,
    check_installed,
    plain,
)
from relvec.report.predictions import class_sections, number_sections
from relvec.typing import AnyArray

_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "jinja2")
_MEANINGS = {
    "rmse": ("root mean square error", "in units of the target"),
    "mae": ("mean absolute error", "in units of the target"),
    "r2": ("R²", "1 is perfect, 0 is as good as the mean"),
    "nlpd": ("mean negative log predictive density", "smaller is better"),
    "within_95": ("within 1.96 standard deviations", "should be 0.95"),
    "error": ("share of wrong classes", "0 is perfect"),
    "log_loss": ("log loss", "smaller is better; of probabilities"),
}
_WRITERS: dict[str, Callable[..., None]] = {
    "ONNX": to_onnx,
    "C99 source": to_c,
    "Python source": to_python,
}
_MOST_NUMBERS = 1_000_000  # numbers in the vectors; more take seconds to write


@dataclass(frozen=True)
class Origin:
    """What a report cannot find out itself; every field is optional.

    Parameters
    ----------
    facts : mapping of str to str, number or None
        Files and what else there is to say of where model and rows come from.
    rows : str
        What the rows are that the model is tried on, in a sentence or two.
    command : str
        What wrote the report, to be copied.
    model_bytes : int, optional
        Size of the model's file.
    comparison : sequence of mappings
        Rows of a table of other models, as ``relvec compare --json`` has them.
    comparison_text : str
        How they were compared.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    rows: str = ""
    command: str = ""
    model_bytes: int | None = None
    comparison: Sequence[Mapping[str, Any]] = ()
    comparison_text: str = ""


def comparison_section(origin: Origin) -> Section | None:
    """Show the comparison with other models, if there is one."""
    if not origin.comparison:
        return None
    columns = tuple(origin.comparison[0])
    rows = tuple(tuple(map(plain, row.values())) for row in origin.comparison)
    names = tuple(column.replace("_", " ") for column in columns)
    table = Table("Models on the same folds", names, rows)
    return Section("comparison", "Comparison", origin.comparison_text, (table,))


def provenance_section(origin: Origin, model: Any) -> Section:
    """List files, versions, the command and the model's parameters."""
    found = {name: plain(value) for name, value in origin.facts.items()}
    blocks: list[Block] = [Facts({**found, **_versions()})]
    if origin.command:
        blocks.append(Code(origin.command, "The command that wrote this report"))
    blocks.append(Code(repr(model), "The model, as Python writes it"))
    text = "What is needed to have the same again: files, versions and settings."
    return Section("provenance", "Versions and how to repeat it", text, tuple(blocks))


def _versions() -> dict[str, str]:
    found = {"relvec": relvec.__version__, "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # bundles may lack this metadata
            continue
    return {**found, "system": f"{platform.system()} {platform.machine()}"}


def scores_of(case: Case, found: dict[str, AnyArray]) -> dict[str, float | None]:
    """Score the test rows."""
    if case.labels is None:
        return number_scores(case.observed, found["mean"], found["std"])
    return class_scores(case.observed, found["class"], found.get("proba"), case.labels)


def summary_section(
    case: Case, scores: dict[str, float | None], origin: Origin
) -> Section:
    """Show facts of the model, and its scores beside a baseline."""
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
    return Section("summary", "Summary", text, (Facts(_model_facts(case)), table))


def _meaning(name: str, value: float, case: Case) -> str:
    meaning = _MEANINGS[name][1]
    if name != "within_95":
        return meaning
    return f"{meaning}; the error bars are {bars_in_words(value, len(case.tried))}"


def _model_facts(case: Case) -> dict[str, Cell]:
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


def exports_section(case: Case, model_bytes: int | None) -> Section | None:
    """Show the sizes of all possible exports; None if there are none."""
    rows = [] if model_bytes is None else [("model file", "all of it", model_bytes)]
    every = "mean and std" if case.labels is None else "class and probabilities"
    for name, write in _WRITERS.items():
        size = _export_size(case, write)
        if size is not None:
            rows.append((name, every, size))
    if not rows:
        return None
    table = Table("Sizes", ("form", "computes", "bytes"), tuple(rows))
    text = (
        "What the model takes on a disk, in each form that it can be written in here; "
        "relvec export writes them."
    )
    return Section("exports", "Export sizes", text, (table,))


def _export_size(case: Case, write: Callable[..., None]) -> int | None:
    """Size of an export; None if a package is missing or the pipeline unsupported."""
    if case.subject.vectors_and_rows[0].size > _MOST_NUMBERS:
        return None
    output = "mean+std" if case.labels is None else "auto"
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        try:
            write(case.subject.whole, path, output=output)
        except (ImportError, TypeError, ValueError, NotImplementedError):
            return None
        return path.stat().st_size


def make_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    held_out: Any = None,
    title: str | None = None,
    origin: Origin | None = None,
) -> Report:
    """Test a model on rows and make a report about it.

    Sections that do not apply are left out: a map needs two features, calibration a
    model with probabilities, and so on. At most 20 000 rows are used, drawn at
    random.

    Parameters
    ----------
    model : RVR, RVC, LSSVR, LSSVC, or a pipeline or search that ends in one
        Fitted, to one target.
    X : array or data frame of shape (n_samples, n_features)
        Rows of inputs.
    y : array-like of shape (n_samples,)
        Observed targets; the ``name`` of a series names the target.
    held_out : array-like of int, optional
        Numbers of the rows held out from the fit; scores and residuals use only these.
        The other rows must be those of the fit, in order. By default all rows are
        scored.
    title : str, optional
        Of the page.
    origin : Origin, optional
        Files, command and comparison to mention.

    Returns
    -------
    Report
        The report; its method ``save`` writes it.

    Raises
    ------
    ValueError
        If the model is not fitted, has several outputs, or rows do not suit it.
    ImportError
        Without matplotlib or jinja2; ``pip install "relvec[report]"`` installs them.

    Examples
    --------
    >>> import os, tempfile
    >>> from relvec import RVR
    >>> from relvec.data import noisy_sinc
    >>> from relvec.report import make_report
    >>> X, y = noisy_sinc(100, seed=0)
    >>> model = RVR().fit(X[:80], y[:80])
    >>> report = make_report(model, X, y, held_out=range(80, 100))
    >>> report.scores["rmse"] < 0.2
    True
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "sinc.html")
    ...     report.save(path)
    ...     os.path.getsize(path) > 10_000
    True
    """
    check_installed()
    origin = Origin() if origin is None else origin
    case = Case.of(model, X, y, held_out, Report)
    found = case.predicted()
    scores = scores_of(case, found)
    apart = number_sections if case.labels is None else class_sections
    sections: list[Section | None] = [
        summary_section(case, scores, origin),
        *apart(case, found),
        map_section(case),
        features_section(case),
        vectors_section(case),
        evidence_section(case),
        comparison_section(origin),
        exports_section(case, origin.model_bytes),
        provenance_section(origin, case.subject.whole),
    ]
    return Report(
        title or f"{case.target}, as {case.subject.name} predicts it",
        tuple(section for section in sections if section is not None),
        len(case.tried),
        scores,
    )
