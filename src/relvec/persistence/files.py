"""Save fitted estimators and pipelines to model files, and load them."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import sklearn
from scipy.stats import qmc
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.validation import check_is_fitted

import relvec
from relvec.linalg import single_threaded
from relvec.model_file import (
    CODEC,
    ModelFileError,
    Path,
    check_coupled,
    packed,
    read_limited,
    unpacked,
    write_whole,
)
from relvec.persistence.estimators import estimator_kinds, is_estimator, kernel_kinds
from relvec.persistence.pipelines import pipeline_kinds
from relvec.persistence.self_test import (
    check_errors,
    errors,
    final_model,
    self_test,
)
from relvec.persistence.transformers import finished, transformer_kinds

_TURN = threading.RLock()


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let one thread at a time save or load.

    scikit-learn changes the warning filters while it checks a table and then restores
    what it found, which may be the changes of another thread.
    """
    with _TURN:
        yield


# A child must not wait for a thread that it does not have.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_TURN.acquire,
        after_in_parent=_TURN.release,
        after_in_child=_TURN.release,
    )


def prepare() -> None:
    """Trigger the lazy imports of libraries, so that loading a file imports nothing."""
    with single_threaded():  # looks for the libraries of linear algebra
        qmc.Sobol(1, scramble=False)  # reads a table of numbers
    table = np.array([[0.0, "a"], [1.0, "b"]], dtype=object)
    columns = [("one", StandardScaler(), [0]), ("other", OneHotEncoder(), [1])]
    # Versions that use narwhals look for its extensions.
    ColumnTransformer(columns).fit_transform(table)


_CODEC = CODEC.joined(
    [*kernel_kinds(), *estimator_kinds(), *transformer_kinds(), *pipeline_kinds()]
)
_SECTIONS = ("written_by", "summary", "estimator", "self_test")


def save(model: Any, path: Path) -> None:
    """Save a fitted model as strict JSON, which :func:`relvec.load` reads.

    The file is written as a whole or not at all, even if the program is interrupted.

    Parameters
    ----------
    model : RVR, RVC, LSSVR, LSSVC or Pipeline
        A fitted estimator, or a pipeline of scalers, encoders, imputers and column
        transformers of scikit-learn that ends with one.
    path : str or path
        The file to write; an existing file is replaced.

    Raises
    ------
    ModelFileError
        If a part of the model cannot be saved in such a file, a kernel that is a
        function of yours for instance; the text says what to do.

    Examples
    --------
    >>> import os, tempfile
    >>> import relvec
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(100, seed=0)
    >>> model = relvec.RVR().fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "sinc.json")
    ...     relvec.save(model, path)
    ...     again = relvec.load(path)
    >>> bool((again.predict(X) == model.predict(X)).all())
    True
    """
    with one_at_a_time():
        text = as_file(model)
        of_file(text)  # write only what can be loaded
    write_whole(path, text)


def load(path: Path) -> Any:
    """Load a fitted model from a file.

    Nothing in the file is executed. A damaged or malformed file is refused, and so is a
    file whose model predicts something else than when it was written. The digest and
    the checks protect against accidents; they do not show who wrote a file.

    Parameters
    ----------
    path : str or path
        A file that :func:`relvec.save` has written, with this version of relvec or an
        earlier one.

    Returns
    -------
    RVR, RVC, LSSVR, LSSVC or Pipeline
        The model with all fitted attributes, except those that ``partial_fit`` needs
        to continue.

    Raises
    ------
    ModelFileError
        If the file is refused; the text says why.
    OSError
        If it cannot be read.

    Examples
    --------
    >>> import os, tempfile
    >>> import relvec
    >>> from relvec.data import two_mixtures
    >>> X, y = two_mixtures(100, seed=0)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "mixtures.json")
    ...     relvec.RVC(gamma=4.0).fit(X, y).save(path)
    ...     model = relvec.load(path)
    >>> model.predict_proba(X).shape
    (100, 2)
    """
    try:
        return of_file(read_limited(path))
    except ModelFileError as error:
        raise ModelFileError(f"{os.fsdecode(path)} is refused: {error}") from error


def as_file(model: Any) -> bytes:
    """Return the bytes of a model file."""
    last = _last_step(model) if isinstance(model, Pipeline) else model
    if not is_estimator(last):
        raise ModelFileError(
            f"{type(last).__name__} cannot be saved in a model file, which holds RVR, "
            "RVC, LSSVR, LSSVC and pipelines that end with one: keep it by joblib.dump"
        )
    check_is_fitted(last)
    for one in getattr(last.model_, "models", [last.model_]):
        check_coupled(one.family)
    content = {
        "written_by": {
            "relvec": relvec.__version__,
            "numpy": np.__version__,
            "scikit-learn": sklearn.__version__,
        },
        "summary": _summary(last),
        "estimator": _CODEC.encoded(model),
        "self_test": {
            name: _CODEC.encoded(value) for name, value in self_test(model).items()
        },
    }
    return packed(content)


def _last_step(pipeline: Pipeline) -> Any:
    """Return the last step of a pipeline, after checking that all steps are fitted."""
    if not pipeline.steps:
        raise ModelFileError("a pipeline has no steps: it must end with an estimator")
    *before, last = (step for _, step in pipeline.steps)
    for step in before:
        inner = _last_step(step) if isinstance(step, Pipeline) else step
        if hasattr(inner, "transform"):
            check_is_fitted(inner)
    return last


def of_file(text: bytes) -> Any:
    """Return the model of these bytes, or refuse them."""
    model, found = _tried(text)
    check_errors(found)
    return finished(model)


def self_test_error(path: Path) -> float:
    """Largest error of a file's model on the rows in the file.

    It is relative to the largest value of an output, and any size is accepted, unlike
    in ``load``.
    """
    try:
        return max(_tried(read_limited(path))[1].values())
    except ModelFileError as error:
        raise ModelFileError(f"{os.fsdecode(path)} is refused: {error}") from error


def _tried(text: bytes) -> tuple[Any, dict[str, float]]:
    """Decode the model and compute its errors on the rows of the file."""
    content = unpacked(text)
    if tuple(content) != _SECTIONS or not all(
        isinstance(each, dict) for each in content.values()
    ):
        raise ModelFileError(f"its sections are not {', '.join(_SECTIONS)}")
    if content["self_test"].keys() != {"rows", "expected"}:
        raise ModelFileError("its self-test has others than rows and what is expected")
    names, values = zip(*content["self_test"].items(), strict=True)
    # Decode all at once, since limits apply to the whole file.
    with one_at_a_time():
        model, *decoded = _CODEC.decoded([content["estimator"], *values])
        return model, _errors(model, dict(zip(names, decoded, strict=True)))


def _errors(model: Any, test: dict[str, Any]) -> dict[str, float]:
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not is_estimator(last):
        raise ModelFileError("it holds no estimator of relvec")
    try:
        return errors(model, test)
    except ModelFileError:
        raise
    except Exception as error:
        raise ModelFileError(f"its self-test fails: {error}") from error


def _summary(estimator: Any) -> dict[str, Any]:
    """What a reader may want to know about the fit; nothing is restored from it."""
    model = final_model(estimator)
    status, evidence = estimator.status_, float(estimator.log_evidence_)
    seconds = getattr(estimator, "history_", {}).get("seconds", [])
    return {
        "estimator": type(estimator).__name__,
        "status": status.name,
        "meaning": model.outcome,
        "n_iter": int(estimator.n_iter_),
        "log_evidence": evidence if np.isfinite(evidence) else None,
        "n_vectors": len(model.indices),
        "n_features": int(model.features.number),
        "n_classes": None if model.labels is None else len(model.labels),
        "seconds": round(float(seconds[-1]), 6) if len(seconds) else None,
    }
