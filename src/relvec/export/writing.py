"""Write a fitted model as ONNX, C or Python."""

from os import PathLike
from typing import Any

from relvec.export.c_code import c_text
from relvec.export.onnx_graph import onnx_model
from relvec.export.plan import Plan
from relvec.export.python_source import python_text
from relvec.model_file import write_whole


def to_onnx(
    model: Any,
    path: str | PathLike[str],
    *,
    output: str = "auto",
    precision: str = "float32",
) -> None:
    """Write a model as ONNX, for the runtimes that know it.

    Parameters
    ----------
    model : RVR, RVC, LSSVR, LSSVC or Pipeline
        Fitted; a pipeline is one of scalers before such an estimator, which become part
        of its kernel. For other pipelines there is :func:`register_converters`.
    path : path-like
        Of the file.
    output : {"auto", "mean", "mean+std", "proba"}, default="auto"
        What is computed: of a regression ``mean`` by default, or ``std`` as well, with
        the noise, as ``predict(X, return_std=True)`` has it; of classes the most
        probable ``label`` and all ``probabilities``. Where classes are voted for,
        "auto" is the ``label`` and all ``votes``.
    precision : {"float32", "float64"}, default="float32"
        Of rows and outputs. Where a model needs more digits than single precision has,
        its arithmetic is double all the same.

    See Also
    --------
    relvec.verify : Replays the rows that every file has with it.

    Notes
    -----
    The input is ``X``, of shape (n_rows, n_features). Differences between all rows and
    all vectors are in memory at once: give a million rows in several calls.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from relvec import RVR, verify
    >>> from relvec.data import noisy_sinc
    >>> from relvec.export import to_onnx
    >>> model = RVR().fit(*noisy_sinc(100, seed=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "sinc.onnx"
    ...     to_onnx(model, path, output="mean+std")
    ...     verify(path) < 1e-5
    True
    """
    made = onnx_model(Plan.of(model, output, precision))
    write_whole(path, made.SerializeToString(deterministic=True))


def to_c(
    model: Any,
    path: str | PathLike[str],
    *,
    output: str = "auto",
    precision: str = "float32",
    name: str = "model",
) -> None:
    """Write a model as a function in C99, for whatever has a compiler.

    It needs nothing but ``math.h``, allocates nothing and has no state. A comment at
    the top says what memory it takes. Compiled with ``RELVEC_SELF_TEST`` defined the
    file is a program that tests itself.

    Parameters
    ----------
    model : RVR, RVC, LSSVR, LSSVC or Pipeline
        Fitted; a pipeline is one of scalers before such an estimator.
    path : path-like
        Of the file.
    output : {"auto", "mean", "mean+std", "proba"}, default="auto"
        What is computed, as in :func:`to_onnx`.
    precision : {"float32", "float64"}, default="float32"
        ``float`` or ``double``, as in :func:`to_onnx`.
    name : str, default="model"
        What names begin with: the function is ``model_predict``.

    See Also
    --------
    relvec.verify : Compiles a file and runs its test.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from relvec import RVR
    >>> from relvec.data import noisy_sinc
    >>> from relvec.export import to_c
    >>> model = RVR().fit(*noisy_sinc(100, seed=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_c(model, Path(folder) / "sinc.c", name="sinc")
    ...     text = (Path(folder) / "sinc.c").read_text()
    >>> "void sinc_predict(const sinc_number x[1], sinc_number out[1]);" in text
    True
    """
    write_whole(path, c_text(Plan.of(model, output, precision), name).encode())


def to_python(model: Any, path: str | PathLike[str], *, output: str = "auto") -> None:
    """Write a model as a Python file that needs numpy alone.

    Its ``predict(X)`` is a few dozen lines that anybody can read. Run as a program, the
    file tests itself.

    Parameters
    ----------
    model : RVR, RVC, LSSVR, LSSVC or Pipeline
        Fitted; a pipeline is one of scalers before such an estimator.
    path : path-like
        Of the file.
    output : {"auto", "mean", "mean+std", "proba"}, default="auto"
        What is computed, as in :func:`to_onnx`.

    Examples
    --------
    >>> import subprocess, sys, tempfile
    >>> from pathlib import Path
    >>> from relvec import RVR
    >>> from relvec.data import noisy_sinc
    >>> from relvec.export import to_python
    >>> model = RVR().fit(*noisy_sinc(100, seed=0))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     to_python(model, Path(folder) / "sinc.py")
    ...     subprocess.run([sys.executable, Path(folder) / "sinc.py"]).returncode
    0
    """
    write_whole(path, python_text(Plan.of(model, output, "float64")).encode())
