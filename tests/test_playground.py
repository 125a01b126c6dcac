"""What the playground asks of relvec, without a browser."""

import contextlib
import importlib.util
import io
import json
import threading
from pathlib import Path

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from relvec import RVR, Status
from relvec.data import noisy_sinc
from relvec.kernels import Gaussian

ROOT = Path(__file__).parents[1]


def module(path):
    """The script as a module, which no path of imports leads to."""
    specification = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(loaded)
    return loaded


@pytest.fixture(scope="module")
def playground():
    return module(ROOT / "docs/_static/playground/playground.py")


def curve(n=30, **changes):
    """A request as the page makes it."""
    X, y = noisy_sinc(n, noise=0.1)
    request = {
        "what": "fit",
        "task": "regression",
        "points": np.column_stack([X, y]).round(3).tolist(),
        "kernel": "gaussian",
        "length_scale": 2.0,
        "learn": False,
        "noise_std": None,
        "noise": "gaussian",
        "uncertainty": "augmented",
        "x_range": [-10, 10],
        "y_range": [-2, 2],
        "grid": 7,
    }
    return {**request, **changes}


def classes(**changes):
    """Points of two classes, side by side."""
    rng = np.random.default_rng(0)
    points = [[*rng.normal(3 * (i % 2), 1.0, 2).round(2), i % 2] for i in range(20)]
    return curve(**{"task": "classification", "points": points, **changes})


def answer(playground, request):
    return json.loads(playground.answer(json.dumps(request)))


REQUESTS = {
    "as it begins": curve(),
    "learned": curve(learn=True),
    "rational quadratic": curve(kernel="rational-quadratic"),
    "Matérn, learned": curve(kernel="matern", learn=True),
    "exponential": curve(kernel="exponential"),
    "known noise": curve(noise_std=0.123),
    "heavy tails": curve(noise="student-t"),
    "plain": curve(uncertainty="plain"),
    "two points": curve(2),
    "classes": classes(),
    "classes, learned": classes(learn=True, kernel="matern"),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
@pytest.mark.filterwarnings("ignore::relvec.FitWarning")
def test_the_code_shown_does_the_same(playground, request_):
    told = answer(playground, request_)
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(told["code"], names)
    model = names["model"]

    assert model.log_evidence_ == pytest.approx(told["log_evidence"], rel=1e-12)
    assert set(model.relevance_.tolist()) == set(told["vectors"])


def test_an_answer_is_that_of_the_estimator(playground):
    request = curve()
    told = answer(playground, request)
    points = np.array(request["points"])
    model = RVR(Gaussian(2.0)).fit(points[:, :1], points[:, 1])
    grid = np.linspace(-10, 10, 7)[:, np.newaxis]
    lower, upper = model.predict_interval(grid, 0.9)

    assert told["points"] == 30
    np.testing.assert_allclose(told["mean"], model.predict(grid))
    np.testing.assert_allclose(told["lower"], lower)
    np.testing.assert_allclose(told["upper"], upper)
    assert told["noise_std"] == pytest.approx(np.sqrt(model.noise_variance_))


def test_the_trace_is_of_the_model_that_is_shown(playground):
    fit = answer(playground, curve())
    trace = answer(playground, curve(what="evidence"))

    assert trace["log_evidence"] == fit["log_evidence"]


def test_a_learned_width_does_not_depend_on_the_slider(playground):
    one = answer(playground, curve(learn=True, length_scale=0.2))
    other = answer(playground, curve(learn=True, length_scale=20.0))

    assert 1 < one["length_scale"] < 5
    assert one["length_scale"] == other["length_scale"]


def test_a_map_has_a_probability_of_each_class_for_each_place(playground):
    told = answer(playground, classes())

    assert told["classes"] == [0, 1]
    assert np.shape(told["chances"]) == (2, 49)
    np.testing.assert_allclose(np.sum(told["chances"], axis=0), 1.0)


def test_a_map_begins_at_the_top(playground):
    """As pixels do: class 0 is at the lower left, class 1 at the upper right."""
    told = answer(playground, classes(x_range=[-1, 4], y_range=[-1, 4]))
    of_first = np.reshape(told["chances"][0], (7, 7))

    assert of_first[-2, 1] > 0.8
    assert of_first[1, -2] < 0.2


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (curve(points=[]), "0 sample"),
        (classes(points=[[0, 0, 1], [1, 1, 1]]), "one class only"),
        (curve(noise="student-t", noise_std=0.1), "noise_variance"),
    ],
    ids=["no points", "one class", "contradiction"],
)
def test_what_cannot_be_fitted_is_said_in_words(playground, request_, words):
    told = answer(playground, request_)

    assert words in told["error"]


def test_remarks_of_a_fit_reach_the_page(playground):
    told = answer(playground, curve(points=[[0, 1], [1, 1], [2, 1]]))

    assert told["status"] == "constant target"
    assert told["remarks"] == [playground.REMARKS["constant target"]]


def test_every_unusual_end_has_words_of_its_own(playground):
    ends = {
        status.name.lower().replace("_", " ")
        for status in (
            Status.EMPTY,
            Status.PERFECT_FIT,
            Status.INTERPOLATION,
            Status.CONSTANT_TARGET,
        )
    }

    assert set(playground.REMARKS) == ends


def test_a_fit_starts_no_thread_where_there_are_none(playground, monkeypatch):
    """As in a browser, where BLAS has one thread and no other can be started."""

    def refuse(thread):
        raise RuntimeError("can't start new thread")

    X, y = noisy_sinc(1500, noise=0.1)  # rows enough to share out
    with threadpool_limits(1):
        expected = RVR(gamma=0.1).fit(X, y)
        monkeypatch.setattr(threading.Thread, "start", refuse)
        alone = RVR(gamma=0.1).fit(X, y)
        small = answer(playground, curve(learn=True))

    assert alone.log_evidence_ == expected.log_evidence_
    assert "error" not in small
