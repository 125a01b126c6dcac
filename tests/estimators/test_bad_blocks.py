"""Blocks that cannot be fitted or predicted, and sources that fail midway."""

import errno
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from problems import read_only
from sklearn.exceptions import NotFittedError

from relvec import RVC, RVR
from relvec.data import noisy_sinc, scan, two_mixtures

X, Y = read_only(*noisy_sinc(200, seed=0))
POINTS, LABELS = two_mixtures(200, seed=0)
FRAME = pd.DataFrame(POINTS, columns=["width", "height"])


def regression():
    return RVR(gamma=1 / 3**2, candidates=40, design="streamed")


def classification():
    return RVC(gamma=4.0, candidates=40, design="streamed")


def in_parts(rows, targets):
    for start in range(0, 200, 50):
        yield rows[start : start + 50], targets[start : start + 50]


def test_an_iterator_is_refused_before_its_second_block():
    taken = []

    def parts():
        for part in in_parts(X, Y):
            taken.append(1)
            yield part

    with pytest.raises(ValueError, match=r"read only once.*or use RVR.partial_fit"):
        regression().fit(scan(parts()))

    assert len(taken) == 1


@pytest.mark.parametrize(
    ("model", "arguments"),
    [
        (RVR(), (scan(X, target=Y), Y)),
        (RVR(), (scan(X), Y)),
        (RVR(), (scan(X, target=Y), None, np.ones(200))),
        (RVC(), (scan(POINTS, target=LABELS), LABELS)),
    ],
)
def test_targets_and_weights_belong_to_the_blocks(model, arguments):
    with pytest.raises(ValueError, match=r"bring their targets.*leave out y and"):
        model.fit(*arguments)


@pytest.mark.parametrize("model", [RVR(), RVC()])
def test_blocks_without_a_target(model):
    with pytest.raises(ValueError, match=r"no target: name its column.*target='y'"):
        model.fit(scan(POINTS))


def test_a_precomputed_kernel_has_to_be_in_memory():
    with pytest.raises(ValueError, match="needs its matrix in memory, not in blocks"):
        RVR(kernel="precomputed").fit(scan(np.eye(200), target=Y))


def test_a_target_of_text_for_a_regression():
    with pytest.raises(ValueError, match="y must be a dense array of real numbers"):
        RVR().fit(scan(X, target=np.full(200, "high")))


def test_a_single_class_in_all_blocks():
    with pytest.raises(ValueError, match=r"one class only, \[1\]"):
        RVC().fit(scan(POINTS, target=np.ones(200, dtype=int), block_rows=60))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_cell_that_is_no_number(bad):
    rows = X.copy()
    rows[137] = bad
    with pytest.raises(
        ValueError, match=r"row 138 .*column number 0.*(missing|infinite)"
    ):
        RVR().fit(scan(rows, target=Y, block_rows=60))
    model = regression().fit(X, Y)
    with pytest.raises(ValueError, match=r"row 138 .*(missing|infinite)"):
        model.predict(scan(rows, block_rows=60))


def test_features_whose_squares_overflow():
    with pytest.raises(ValueError, match=r"X reaches 1e\+201.*scale the features"):
        RVR().fit(scan(X * 1e200, target=Y, block_rows=60))


@pytest.mark.parametrize("settings", [{}, {"partition": "sample"}])
def test_features_whose_squares_vanish(settings):
    with pytest.raises(ValueError, match=r"X differ by 2e-169.*scale the features"):
        RVR(**settings).fit(scan(X * 1e-170, target=Y, block_rows=60))


@pytest.mark.parametrize("settings", [{}, {"partition": "sample"}])
def test_a_single_block_may_hold_values_whose_squares_vanish(settings):
    rows = X.copy()
    rows[:60] *= 1e-170
    model = RVR(gamma=0.1, **settings).fit(scan(rows, target=Y, block_rows=60))
    assert np.isfinite(model.predict(rows)).all()


def test_weights_that_are_all_zero():
    with pytest.raises(ValueError, match="zero for every row"):
        RVR().fit(scan(X, target=Y, weight=np.zeros(200), block_rows=60))


@pytest.mark.parametrize("bad", [-1.0, np.nan])
def test_a_bad_weight(bad):
    weight = np.where(np.arange(200) == 137, bad, 1.0)
    with pytest.raises(ValueError, match="row 138"):
        RVR().fit(scan(X, target=Y, weight=weight, block_rows=60))


@pytest.mark.parametrize("first", [True, False])
def test_a_source_that_gives_other_rows_when_read_again(first):
    """Fewer or more of them: the second pass notices."""
    calls = []

    def changing():
        calls.append(1)
        fewer = (len(calls) > 2) == first
        yield (X[:150], Y[:150]) if fewer else (X, Y)

    with pytest.raises(ValueError, match=r"rows at first and .* when read again"):
        regression().fit(scan(changing))


# other features at prediction


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        (scan(np.ones((5, 3))), "blocks have 3 features and the model was fitted with"),
        (scan(FRAME[["height", "width"]]), r"\['height', 'width'\].*in that order"),
        (scan(FRAME.rename(columns={"width": "breadth"})), "'breadth'.*fitted with"),
    ],
)
def test_other_features_at_prediction(blocks, message):
    model = classification().fit(FRAME, LABELS)
    for method in (model.predict, model.predict_proba, model.decision_function):
        with pytest.raises(ValueError, match=message):
            method(blocks)


def test_features_are_put_in_order_by_scan():
    model = classification().fit(scan(FRAME.assign(y=LABELS), target="y"))
    turned = scan(FRAME[["height", "width"]], features=["width", "height"])

    assert_array_equal(model.predict(turned), model.predict(scan(POINTS)))


def test_blocks_before_fitting():
    with pytest.raises(NotFittedError):
        RVR().predict(scan(X))
    with pytest.raises(NotFittedError):
        RVC().predict_proba(scan(POINTS))


# sources that fail midway


class Failing:
    """A function whose n-th iterator fails at its third block."""

    def __init__(self, rows, targets, error, reading):
        self.rows, self.targets = rows, targets
        self.error, self.readings_left = error, reading

    def __call__(self):
        self.readings_left -= 1
        for number, part in enumerate(in_parts(self.rows, self.targets)):
            if self.readings_left <= 0 and number == 2:
                raise self.error
            yield part


ERRORS = [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()]
# scan itself reads the first block, the second reading is for targets and centres.
READINGS = [2, 3, 4]


def fitted_attributes(model):
    return {name: vars(model)[name] for name in sorted(vars(model)) if name[-1] == "_"}


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("make", "rows", "targets"),
    [(regression, X, Y), (classification, POINTS, LABELS)],
)
def test_an_unfitted_estimator_stays_unfitted(make, rows, targets, reading, error):
    model = make()
    blocks = scan(Failing(rows, targets, error, reading))
    with pytest.raises(type(error)):
        model.fit(blocks)

    assert fitted_attributes(model) == {}
    with pytest.raises(NotFittedError):
        model.predict(rows)


@pytest.mark.parametrize("error", ERRORS, ids=repr)
@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize(
    ("make", "rows", "targets"),
    [(regression, X, Y), (classification, POINTS, LABELS)],
)
def test_a_fitted_estimator_keeps_its_fit(make, rows, targets, reading, error):
    model = make().fit(pd.DataFrame(rows).rename(columns="x{}".format), targets)
    before = pickle.dumps(fitted_attributes(model))
    other = np.hstack([rows, rows])
    with pytest.raises(type(error)):
        model.fit(scan(Failing(other, targets, error, reading)))

    assert pickle.dumps(fitted_attributes(model)) == before


@pytest.mark.parametrize("error", ERRORS, ids=repr)
def test_the_estimator_can_be_fitted_after_a_failure(error):
    model = regression()
    with pytest.raises(type(error)):
        model.fit(scan(Failing(X, Y, error, 3)))
    blocks = scan(lambda: in_parts(X, Y))

    assert_array_equal(
        model.fit(blocks).predict(X), regression().fit(blocks).predict(X)
    )
