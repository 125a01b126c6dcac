"""The section about sizes: what a model takes in each form that it can be written."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from relvec.export import to_c, to_onnx, to_python
from relvec.report.blocks import Section, Table
from relvec.report.case import Case

_WRITERS: dict[str, Callable[..., None]] = {
    "ONNX": to_onnx,
    "C99 source": to_c,
    "Python source": to_python,
}
_MOST = 1_000_000  # numbers of vectors, which take seconds to write out


def exports_section(case: Case, model_bytes: int | None) -> Section | None:
    """Sizes of all that can be written here; None if there is nothing."""
    rows = [] if model_bytes is None else [("model file", "all of it", model_bytes)]
    every = "mean and std" if case.labels is None else "class and probabilities"
    for name, write in _WRITERS.items():
        size = _size(case, write)
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


def _size(case: Case, write: Callable[..., None]) -> int | None:
    """Of what it writes; None without the package for it, or of other pipelines."""
    model = case.subject.model
    sparse = hasattr(model, "relevance_")
    centres = model.relevance_vectors_ if sparse else model.support_vectors_
    if centres.size > _MOST:
        return None
    output = "mean+std" if case.labels is None else "auto"
    return _written(case.subject.whole, write, output)


def _written(model: Any, write: Callable[..., None], output: str) -> int | None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        try:
            write(model, path, output=output)
        except (ImportError, TypeError, ValueError, NotImplementedError):
            return None
        return path.stat().st_size
