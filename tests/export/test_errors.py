"""What cannot be exported, and what the message says of it."""

from dataclasses import dataclass

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.gaussian_process import kernels as processes
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, PolynomialFeatures, StandardScaler
from sklearn.svm import SVR

from export.instances import fit, fitted, regression
from relvec import LSSVR, RVC, RVR
from relvec.export import ExportError, to_c, to_onnx, to_python
from relvec.kernels import CallableKernel, Gaussian, GaussianProcessKernel

REGRESSION = "rvr Gaussian(length_scale=1.3) at 1000"
CLASSES = "rvc 3 mrvm1 Gaussian at 0"
VOTES = "rvc 4 votes Polynomial at 1000"


@pytest.fixture(params=[to_onnx, to_c, to_python])
def write(request, tmp_path):
    path = tmp_path / "model"

    def written(model, **settings):
        try:
            request.param(model, path, **settings)
        finally:
            assert not path.exists(), "nothing is written of what is refused"

    return written


@dataclass(frozen=True, eq=False, repr=False)
class Narrower(Gaussian):
    """A kernel of one's own that is nearly another."""

    def _profile(self, squares):
        squares *= 4
        super()._profile(squares)


class RBF(processes.RBF):
    """The same of those of scikit-learn."""

    def __call__(self, X, Y=None, eval_gradient=False):
        return super().__call__(X, Y, eval_gradient) ** 2


@pytest.mark.parametrize(
    "kernel",
    [
        rbf_kernel,
        CallableKernel(rbf_kernel),
        2.0 * CallableKernel(rbf_kernel) + 1.0,
        GaussianProcessKernel(processes.PairwiseKernel(metric="laplacian")),
        GaussianProcessKernel(1.0 * RBF(2.0)),
        Narrower(1.3),
    ],
    ids=["function", "callable", "algebra", "theirs", "derived process", "derived"],
)
def test_a_kernel_without_a_formula(kernel, write):
    X, y = regression()

    with pytest.raises(
        ExportError, match=r"relvec.kernels, or save the model by joblib"
    ):
        write(fit(RVR(kernel=kernel), X, y).model)


def test_objects(write):
    words = np.array([["a"], ["ab"], ["abc"], ["b"], ["bc"], ["c"]] * 3, dtype=object)
    y = np.array([len(word) for (word,) in words], dtype=float)

    def common(X, Z):
        return np.array([[float(len(set(x) & set(z))) for z in Z] for x in X])

    model = fit(RVR(kernel=common, fit_intercept=False), words, y).model
    with pytest.raises(ExportError, match=r"objects.*save it by joblib"):
        write(model)


@pytest.mark.parametrize("make", [RVR, RVC, LSSVR])
def test_an_estimator_that_is_not_fitted(make, write):
    with pytest.raises(NotFittedError):
        write(make())
    with pytest.raises(NotFittedError):
        write(make_pipeline(StandardScaler(), make()))


def test_an_estimator_of_somebody_else(write):
    X, y = regression()
    for model in (SVR().fit(X, y), make_pipeline(StandardScaler(), SVR()).fit(X, y), 3):
        with pytest.raises(
            ExportError, match="RVR, RVC, LSSVR and LSSVC can be exported"
        ):
            write(model)


@pytest.mark.parametrize(
    ("name", "output", "message"),
    [
        (REGRESSION, "proba", r"is a regression: use 'mean' or 'mean\+std'"),
        (CLASSES, "mean", "tells classes apart: use output='proba'"),
        (CLASSES, "mean+std", "tells classes apart: use output='proba'"),
        (VOTES, "proba", "votes are not probabilities: use output='auto'"),
    ],
)
def test_an_output_that_a_model_does_not_have(name, output, message, write):
    with pytest.raises(ExportError, match=message):
        write(fitted(name).model, output=output)


@pytest.mark.parametrize("output", ["std", "probabilities", None, 3])
def test_an_output_that_there_is_not(output, write):
    with pytest.raises(ValueError, match=r"output must be .*'mean\+std'"):
        write(fitted(REGRESSION).model, output=output)


@pytest.mark.parametrize("precision", ["float16", "double", None])
@pytest.mark.parametrize("to", [to_onnx, to_c])
def test_a_precision_that_there_is_not(to, precision, tmp_path):
    with pytest.raises(ValueError, match=r"precision must be .*'float32'"):
        to(fitted(REGRESSION).model, tmp_path / "model", precision=precision)


@pytest.mark.parametrize("name", ["", "3d", "my model", "modèle", "a-b", "x;", "a\n"])
def test_a_name_that_c_does_not_allow(name, tmp_path):
    with pytest.raises(ExportError, match="letters, digits and underscores"):
        to_c(fitted(REGRESSION).model, tmp_path / "model.c", name=name)


@pytest.mark.parametrize("step", [PolynomialFeatures(2), MinMaxScaler(clip=True)])
def test_a_step_that_is_no_scaler(step, write):
    model = fit(make_pipeline(step, RVR(gamma=0.1)), *regression()).model

    with pytest.raises(ExportError, match=r"skl2onnx after .*register_converters"):
        write(model)


def test_a_scaler_of_ones_own(write):
    class Halved(StandardScaler):
        def transform(self, X, copy=None):
            return super().transform(X, copy) / 2

    model = fit(make_pipeline(Halved(), RVR(gamma=0.1)), *regression()).model
    with pytest.raises(ExportError, match="Halved cannot be merged into the model"):
        write(model)


def test_error_bars_that_there_are_none(write):
    model = fitted("lssvr additive_chi2").model

    with pytest.raises(ExportError, match=r"no error bars.*export its mean"):
        write(model, output="mean+std")


def test_columns_have_no_error_bars_of_least_squares(write):
    model = fitted("lssvr precomputed").model

    with pytest.raises(ExportError, match="export its mean"):
        write(model, output="mean+std")


class Stubborn(RVR):
    """Who says something else than the model."""

    def predict(self, X, return_std=False):
        return np.zeros(len(X))


def test_what_is_derived_from_an_estimator_may_predict_otherwise(write):
    with pytest.raises(ExportError, match="Stubborn is not an estimator of relvec"):
        write(fit(Stubborn(gamma=0.5), *regression()).model)


def test_scalers_before_a_model_must_be_fitted_too(write):
    with pytest.raises(NotFittedError):
        write(make_pipeline(StandardScaler(), fitted(REGRESSION).model))


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["2026-01-01", "2026-01-02"], dtype="datetime64[D]"),
        np.array([0, 2**63 + 1], dtype=np.uint64),
    ],
    ids=["dates", "beyond 63 bits"],
)
def test_labels_that_no_language_here_has(labels, write):
    X, y = regression()
    with pytest.raises(ExportError, match="cannot be written to a file"):
        write(fit(RVC(gamma=0.5), X, labels[(y > 0).astype(int)]).model)


@pytest.mark.parametrize("name", [3, "2x", "a b", ""])
def test_names_that_c_does_not_allow(name, tmp_path):
    with pytest.raises(ExportError, match="one that C allows"):
        to_c(fitted(REGRESSION).model, tmp_path / "model.c", name=name)
