"""From a fitted model and rows to a report."""

from typing import Any

from relvec.report.blocks import Section
from relvec.report.case import Case
from relvec.report.classes import class_sections
from relvec.report.exports import exports_section
from relvec.report.learned import evidence_section, features_section, map_section
from relvec.report.numbers import number_sections
from relvec.report.page import Report, check_installed
from relvec.report.provenance import Origin, comparison_section, provenance_section
from relvec.report.summary import scores_of, summary_section
from relvec.report.vectors import vectors_section


def make_report(
    model: Any,
    X: Any,
    y: Any,
    *,
    held_out: Any = None,
    title: str | None = None,
    origin: Origin | None = None,
) -> Report:
    """Try a model on rows, look into it, and make a page of what there is to see.

    Sections that do not apply are left out: a map needs two features, probabilities a
    model that has them, and so on. Of more than 20 000 rows so many are drawn by
    chance.

    Parameters
    ----------
    model : RVR, RVC, LSSVR, LSSVC, or a pipeline or search that ends in one
        Fitted, to one target.
    X : array or data frame of shape (n_samples, n_features)
        Rows, as the model takes them.
    y : array-like of shape (n_samples,)
        What was observed; the ``name`` of a series is that of the target.
    held_out : array-like of int, optional
        Numbers of the rows that the model has not seen, which scores and residuals are
        of; the others are to be those that it was fitted to, in their order. By default
        all rows are scored.
    title : str, optional
        Of the page.
    origin : Origin, optional
        Files, a command and a comparison to be told.

    Returns
    -------
    Report
        To be saved.

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
