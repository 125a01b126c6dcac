"""What notebooks show of a fitted estimator."""

import re

import numpy as np
import pytest
from sklearn import config_context
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_html_repr

from relvec import LSSVC, LSSVR, RVC, RVR, FitWarning
from relvec.data import noisy_sinc, two_mixtures
from relvec.kernels import Gaussian
from relvec.notebook import fitted_lines

X, Y = noisy_sinc(40, seed=0)
ROWS, LABELS = two_mixtures(40, seed=1)
THREE = np.where(ROWS[:, 0] > 0.2, 2, LABELS)
TABLE = re.compile(r"<table aria-label.*</table>$")
COUNTED = re.compile(r"-\d+")  # scikit-learn gives every diagram a number


def shown(estimator):
    return estimator._repr_mimebundle_()["text/html"]


@pytest.fixture(params=[RVR, RVC, LSSVR, LSSVC], ids=lambda make: make.__name__)
def fitted(request):
    data = (ROWS, THREE) if hasattr(request.param, "decision_function") else (X, Y)
    return request.param(gamma=0.5).fit(*data)


def test_a_table_follows_the_diagram(fitted):
    page = shown(fitted)
    diagram = COUNTED.sub("", estimator_html_repr(fitted))

    assert COUNTED.sub("", TABLE.sub("", page)) == diagram
    assert COUNTED.sub("", fitted._repr_html_()) == COUNTED.sub("", page)
    assert f"{fitted.log_evidence_:.2f}" in TABLE.search(page)[0]


def test_before_a_fit_there_is_the_diagram_alone():
    page, html = shown(RVR()), RVR()._repr_html_()

    assert COUNTED.sub("", page) == COUNTED.sub("", estimator_html_repr(RVR()))
    assert not TABLE.search(page)
    assert not TABLE.search(html)


def test_a_pipelines_diagram_stays_as_it_is(fitted):
    pipeline = make_pipeline(StandardScaler(), fitted)

    assert not TABLE.search(shown(pipeline))
    assert "What RV" not in shown(pipeline)


def test_text_is_scikit_learns(fitted):
    assert fitted._repr_mimebundle_()["text/plain"] == repr(fitted)
    with config_context(display="text"):
        assert "text/html" not in fitted._repr_mimebundle_()
        assert not hasattr(fitted, "_repr_html_")


def test_lines_are_those_of_the_fit():
    model = RVR().fit(X, Y)
    lines = fitted_lines(model)

    assert lines["relevance vectors"] == str(len(model.relevance_))
    assert float(lines["noise (standard deviation)"]) == pytest.approx(
        np.sqrt(model.noise_variance_), rel=1e-3
    )
    assert lines["status"] == "converged"
    assert lines["kernel"] == f"Gaussian(length_scale={model.kernel_.length_scale:.4g})"
    least = fitted_lines(LSSVR().fit(X, Y))
    assert least["support vectors"] == "40"
    assert "noise (standard deviation)" not in fitted_lines(RVC().fit(ROWS, LABELS))


@pytest.mark.parametrize("outputs", ["shared", "independent"])
@pytest.mark.parametrize("kernel", ["rbf", None])
def test_several_outputs_have_a_noise_each(outputs, kernel):
    model = RVR(kernel, gamma=0.5, outputs=outputs).fit(X, np.c_[Y, Y] + X)

    shown = fitted_lines(model)["noise (standard deviation)"].split(", ")
    found = np.array(shown, dtype=float)
    np.testing.assert_allclose(found, np.sqrt(model.noise_variance_), rtol=1e-3)
    assert ", ".join(shown) in model._repr_html_()


def by_distance(A, B):
    return np.exp(-((A - B.T) ** 2))


@pytest.mark.parametrize(
    ("model", "kernel"),
    [
        (RVR(None), "none: the features themselves"),
        (RVR(by_distance), "by_distance"),
        (RVR(["rbf", "linear"], gamma=0.125), "Gaussian(length_scale=2.0), Linear()"),
        (
            RVR(kernel_learning="adaptive"),
            "Gaussian, with length scales of each vector",
        ),
        (RVR("precomputed"), "precomputed"),
    ],
)
def test_kernels_in_words(model, kernel):
    rows = by_distance(X, X) if model.kernel == "precomputed" else X
    targets = Y + X[:, 0]

    assert fitted_lines(model.fit(rows, targets))["kernel"] == kernel


@pytest.mark.parametrize(("kernel", "later"), [("rbf", None), (None, "linear")])
def test_a_kernel_that_was_set_after_the_fit_is_shown(kernel, later):
    model = RVR(kernel, gamma=0.5).fit(X, Y + X[:, 0]).set_params(kernel=later)

    assert TABLE.search(shown(model))
    assert not hasattr(model, "coef_")


def test_a_kernel_without_length_scales_does_not_make_those_of_others_vary():
    model = RVR([Gaussian(2.0), by_distance], kernel_learning="width").fit(X, Y)

    assert "each vector" not in fitted_lines(model)["kernel"]


def test_a_model_without_vectors_has_lines():
    with pytest.warns(FitWarning):
        constant = RVR(kernel_learning="width").fit(X, np.ones(len(X)))

    assert fitted_lines(constant)["relevance vectors"] == "0"
    assert "does not vary" in fitted_lines(constant)["status"]


def test_what_is_long_is_cut():
    rows = np.random.default_rng(0).normal(size=(30, 30))
    wide = Gaussian(np.linspace(5.01234, 6, 30))
    line = fitted_lines(LSSVR(wide).fit(rows, rows[:, 0]))["kernel"]

    assert line.endswith("…")
    assert len(line) < 200


def test_names_are_escaped():
    kernel = Gaussian(2.0)
    evil = type("Evil", (), {"__call__": lambda _, A, B: kernel(A, B)})()
    type(evil).__repr__ = lambda _: "<script>alert(1)</script>"
    table = TABLE.search(shown(RVR(evil).fit(X, Y)))[0]

    assert "<script>" not in table
    assert "&lt;script&gt;" in table
