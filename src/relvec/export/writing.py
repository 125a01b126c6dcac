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
    """Write a model as ONNX.

    Parameters
    ----------
    model : RVR, RVC, LSSVR, LSSVC or Pipeline
        A fitted estimator, or a pipeline of scalers that ends with one; the scalers
        are merged into its kernel. For other pipelines use
        :func:`register_converters`.
    path : path-like
        The file to write.
    output : {"auto", "mean", "mean+std", "proba"}, default="auto"
        What the exported model computes. For regression it is the ``mean`` by default,
        and with "mean+std" also the ``std`` with the noise, as in
        ``predict(X, return_std=True)``. For classes it is the most probable ``label``
        and all ``probabilities``. If classes are chosen by votes, "auto" is the
        ``label`` and all ``votes``.
    precision : {"float32", "float64"}, default="float32"
        The type of rows and outputs. If a model needs more digits than single
        precision has, it is computed in double precision all the same.

    See Also
    --------
    relvec.verify : Checks a file with the test rows that it contains.

    Notes
    -----
    The input is ``X``, of shape (n_rows, n_features). Differences between all rows and
    all vectors are in memory at once: split a million rows into several calls.

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
    """Write a model as a function in C99.

    The function needs only ``math.h``, allocates nothing and has no state. A comment at
    the top of the file gives its memory. Compiled with ``RELVEC_SELF_TEST`` defined,
    the file is a program that tests itself.

    Parameters
    ----------
    model : RVR, RVC, LSSVR, LSSVC or Pipeline
        A fitted estimator, or a pipeline of scalers that ends with one.
    path : path-like
        The file to write.
    output : {"auto", "mean", "mean+std", "proba"}, default="auto"
        What the function computes, as in :func:`to_onnx`.
    precision : {"float32", "float64"}, default="float32"
        ``float`` or ``double``, as in :func:`to_onnx`.
    name : str, default="model"
        Prefix of all names: the function is ``model_predict``.

    See Also
    --------
    relvec.verify : Compiles a file and runs its self-test.

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
    """Write a model as a Python file that needs only numpy.

    Its function ``predict(X)`` has a few dozen readable lines. Run as a program, the
    file tests itself.

    Parameters
    ----------
    model : RVR, RVC, LSSVR, LSSVC or Pipeline
        A fitted estimator, or a pipeline of scalers that ends with one.
    path : path-like
        The file to write.
    output : {"auto", "mean", "mean+std", "proba"}, default="auto"
        What the function computes, as in :func:`to_onnx`.

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
