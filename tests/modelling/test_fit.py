"""Fitting as a function: what the estimators do, without them."""

import pickle
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relvec import RVC, RVR, BottomUp, Status, TopDown
from relvec.data import noisy_sinc, scan, two_mixtures
from relvec.evidence import Deadline
from relvec.kernel_search import LengthScales, learn
from relvec.kernels import Gaussian, Linear
from relvec.modelling import (
    AtRows,
    Given,
    Regression,
    Specification,
    class_family,
    fit,
    in_arrays,
    in_blocks,
)

ALL = 10_000


def regression_data(n_rows=80, seed=0, family=None):
    X, y = noisy_sinc(n_rows, seed=seed)
    rows, values = in_arrays(X, y, np.ones(n_rows), ALL, 0)
    family = family or Regression()
    return X, Specification((Gaussian(3.0),), family), family.encoded(rows, values)


def test_it_is_what_the_estimator_does():
    X, spec, data = regression_data()
    model = fit(spec, data)
    skin = RVR(Gaussian(3.0)).fit(X, noisy_sinc(80, seed=0)[1])

    assert model.log_evidence == skin.log_evidence_
    assert_array_equal(model.indices, skin.relevance_)
    mean, std = skin.predict(X, return_std=True)
    found = model.predictive(X)
    assert_array_equal(found.mean, mean)
    assert_array_equal(found.std, std)
    assert_array_equal(found.interval(0.8), skin.predict_interval(X, 0.8))
    assert model.family.noise_variance == skin.noise_variance_
    assert_array_equal(model.weights, skin.dual_coef_)
    assert model.intercept == skin.intercept_


def test_classes_by_their_labels():
    X, y = two_mixtures(100, seed=0)
    labels = np.array(["dog", "cat"])
    rows, classes = in_arrays(X, y, np.ones(100), ALL, 0)
    family = class_family("auto", labels)
    model = fit(Specification((Gaussian(0.5),), family), family.encoded(rows, classes))
    skin = RVC(Gaussian(0.5)).fit(X, y)

    assert_allclose(model.predictive(X).probabilities, skin.predict_proba(X))
    assert_array_equal(model.predictive(X).predicted, labels[skin.predict(X)])
    assert_array_equal(model.labels, labels)


def test_a_specification_is_a_value():
    """Nothing that is fitted changes it, and with other choices it is another."""
    _, spec, data = regression_data()
    other = replace(spec, solver=TopDown("mackay"), centres=Given(np.zeros((1, 1))))
    first = fit(spec, data)
    fit(other, data)

    assert fit(spec, data).log_evidence == first.log_evidence
    assert isinstance(spec.solver, BottomUp)
    assert len(fit(other, data).indices) <= 1


def test_a_model_goes_on_from_another():
    _, spec, data = regression_data()
    first = fit(spec, data)
    again = fit(spec, data, start=first)

    assert again.n_iter < first.n_iter
    assert again.log_evidence >= first.log_evidence - 1e-6
    assert first.start_for(None) is first
    assert first.start_for("one of several classes") is None


def test_a_deadline_that_has_passed_leaves_a_model():
    _, spec, data = regression_data()
    model = fit(spec.until(Deadline.after(0)), data)

    assert model.status is Status.MAX_SECONDS
    assert np.isfinite(model.predictive(data.table).mean).all()


def test_a_model_is_small_and_travels():
    """Nothing of the size of the rows stays, whatever the family."""
    X, y = two_mixtures(2000, seed=0)
    for multi_class in ("auto", "mrvm1", "softmax"):
        model = RVC(gamma=4.0, multi_class=multi_class, candidates=50).fit(X, y).model_
        written = pickle.dumps(model)

        assert len(written) < 30_000
        again = pickle.loads(written)
        assert_array_equal(again.predictive(X).decision, model.predictive(X).decision)


def test_values_alone_are_the_means():
    X, spec, data = regression_data()
    model = fit(spec, data)
    posterior = replace(model.posterior)  # without what a fit has computed of it
    again = replace(model, fit=replace(model.fit, posterior=posterior))

    values = again.values(X)
    assert "whitener" not in vars(again.posterior)  # so no variance was computed
    assert_array_equal(values, model.latent(X)[0])
    assert_allclose(again.values(scan(X, block_rows=7)), values, rtol=1e-12)
    with pytest.raises(ValueError, match="X has shape"):
        model.values([1.0, 2.0])


def test_other_tables_are_refused_in_words():
    _, spec, data = regression_data()
    model = fit(spec, data)
    with pytest.raises(ValueError, match=r"X has shape \(3, 2\): give a table of 1"):
        model.predictive(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="X has shape"):
        model.predictive([1.0, 2.0])
    assert_array_equal(
        model.predictive([[1.0]]).mean, model.predictive(np.ones((1, 1))).mean
    )


def test_features_are_known_by_name():
    X, y = noisy_sinc(40, seed=0)
    rows, values = in_arrays(X, y, np.ones(40), ALL, 0, names=("time",))
    family = Regression()
    model = fit(Specification((Gaussian(3.0),), family), family.encoded(rows, values))

    assert model.features.names == ("time",)
    assert model.features.number == 1


def test_steps_are_told():
    _, spec, data = regression_data()
    seen = []

    @contextmanager
    def watching(model_of):
        yield lambda news: seen.append(model_of(news.fit())) or len(seen) == 2
        seen.append("closed")

    model = fit(spec, data, monitor=watching)

    assert model.status is Status.STOPPED
    assert seen.pop() == "closed"
    assert_allclose(seen[-1].log_evidence, model.log_evidence)


def test_a_kernel_is_learned_by_a_function_too():
    X, spec, data = regression_data(family=Regression(centred=False))
    spec = replace(spec, intercept=False)
    model = learn(LengthScales("width"), spec, data)

    assert model.learned.kernel.length_scale != 3.0
    assert len(model.learned.history["n_rows"]) >= 1
    assert_allclose(model.predictive(X).mean, np.sinc(X[:, 0] / np.pi), atol=0.2)


class TestRows:
    """What a fit may ask of rows, in memory or in blocks."""

    def table(self, n_rows=90):
        rng = np.random.default_rng(1)
        return rng.standard_normal((n_rows, 3)), rng.standard_normal(n_rows)

    def blocks(self, X, y, weight):
        table = np.column_stack([X, y, weight])
        return scan(table, target=3, weight=4, block_rows=7)

    @pytest.mark.parametrize("n_drawn", [60, ALL])
    def test_blocks_whose_rows_are_all_drawn_are_those_of_an_array(self, n_drawn):
        X, y = self.table()
        weight = np.arange(90) % 3.0
        held, values = in_arrays(X, y, weight, n_drawn, 7)
        read, again = in_blocks(self.blocks(X, y, weight), n_drawn, 7)

        assert read.in_memory
        assert_array_equal(values, again)
        for name in ("indices", "weight"):
            assert_array_equal(getattr(held, name), getattr(read, name))
        assert_array_equal(held.sample.rows, read.sample.rows)
        assert_array_equal(held.sample.indices, read.sample.indices)
        assert_allclose(held.variance, read.variance)

    def test_other_blocks_are_read_again(self):
        X, y = self.table()
        weight = np.arange(90) % 3.0
        read, values = in_blocks(self.blocks(X, y, weight), 20, 7)
        sample = read.sample

        assert not read.in_memory
        assert_array_equal(read.indices, np.flatnonzero(weight))
        assert_array_equal(read.rows.whole(), X[weight > 0])
        assert_array_equal(values, y[weight > 0])
        assert len(set(sample.indices)) == 20
        assert_array_equal(sample.rows, X[weight > 0][sample.indices])
        # In the order of the rows drawn, whatever that of the blocks is.
        assert_array_equal(sample.rows[:, 0], np.sort(sample.rows[:, 0]))

    @pytest.mark.parametrize("n_drawn", [20, ALL])
    def test_a_subset_is_as_if_the_others_were_not_there(self, n_drawn):
        """With a sample of its own, in memory and in blocks alike."""
        X, y = self.table()
        weight = 1 + np.arange(90) % 3.0
        chosen = np.flatnonzero(np.arange(90) % 4)
        held, _ = in_arrays(X, y, weight, n_drawn, 7)
        read, _ = in_blocks(self.blocks(X, y, weight), n_drawn, 7)
        for rows in (held, read):
            part, own = rows.subset(chosen), rows.indices[chosen]
            assert_array_equal(part.rows.whole(), X[own])
            assert_array_equal(part.indices, own)
            assert_array_equal(part.weight, weight[own])
            assert_array_equal(part.sample.rows, X[own][part.sample.indices])
            assert len(part.sample.rows) == min(n_drawn, len(chosen))
        assert read.subset(chosen).in_memory == (n_drawn == ALL)

    def test_rows_drawn_are_in_memory(self):
        X, y = self.table()
        read, _ = in_blocks(scan(np.column_stack([X, y]), target=3), 40, 0)
        chosen = read.drawn(15)
        part = read.loaded(chosen)

        assert part.in_memory
        assert len(part) == 15
        assert_array_equal(part.rows.whole(), X[chosen])

    def test_equal_rows_are_one_centre(self):
        X = np.array([[1.0], [2.0], [1.0], [2.0], [3.0]])
        rows, _ = in_arrays(X, np.zeros(5), np.array([0.0, 1, 1, 1, 1]), ALL, 0)
        centres, indices = AtRows().of(rows)

        assert_array_equal(centres, [[1.0], [2.0], [3.0]])
        assert_array_equal(indices, [2, 1, 4])


def test_several_kernels_are_told_apart():
    _, spec, data = regression_data()
    model = fit(replace(spec, kernels=(Gaussian(1.0), Linear())), data)

    assert set(model.kernel_indices) <= {0, 1}
    assert len(model.kernel_indices) == len(model.indices) == len(model.weights)
