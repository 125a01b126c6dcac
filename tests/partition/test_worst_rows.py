"""The rows that a model predicts worst, in the proportions of the classes."""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from partitions import (
    Cut,
    Known,
    class_problem,
    numbers,
    sinc_problem,
    three_clouds,
    training_set,
)

from relvec.kernels import Gaussian
from relvec.modelling import Specification, class_family, maximised
from relvec.partition.thesis import Strata, _by_quotas, worst_rows

COUNTS = st.lists(st.integers(1, 10_000), min_size=1, max_size=7)


def strata(counts):
    return Strata(None, np.array(counts) / sum(counts))


def in_proportion(counts, size):
    """Exact shares of so many rows: whole ones, and what is left of each."""
    exact = [Fraction(size * count, sum(counts)) for count in counts]
    return [int(one) for one in exact], [one - int(one) for one in exact]


@given(counts=COUNTS, size=st.integers(0, 3000))
def test_quotas_are_by_the_largest_remainders(counts, size):
    """All rows are given out, and one more to whom most is left to."""
    quotas = strata(counts).quotas(size)
    whole, left = in_proportion(counts, size)
    more = [int(quota) - own for quota, own in zip(quotas, whole, strict=True)]

    assert sum(quotas) == size
    assert set(more) <= {0, 1}
    served = [float(one) for one, extra in zip(left, more, strict=True) if extra]
    refused = [float(one) for one, extra in zip(left, more, strict=True) if not extra]
    assert min(served, default=1.0) >= max(refused, default=0.0) - 1e-9


def test_quotas_by_hand():
    assert_array_equal(strata([5, 3, 2]).quotas(10), [5, 3, 2])
    assert_array_equal(strata([5, 3, 2]).quotas(7), [4, 2, 1])  # 3.5, 2.1, 1.4
    assert_array_equal(strata([6, 3, 1]).quotas(5), [3, 2, 0])  # 3, 1.5, 0.5
    assert_array_equal(strata([97, 2, 1]).quotas(1), [1, 0, 0])


@dataclass(frozen=True)
class Scored:
    """In the place of rows that are ranked."""

    stratum: np.ndarray
    score: np.ndarray


def one_by_one(stratum, score, quotas, size):
    """The best row of those whose class has room, or of all if none has."""
    room, chosen, left = list(quotas), [], list(range(len(score)))
    while left and len(chosen) < size:
        wanted = [row for row in left if room[stratum[row]] > 0] or left
        best = max(wanted, key=lambda row: score[row])
        room[stratum[best]] -= 1
        chosen.append(best)
        left.remove(best)
    return chosen


@given(
    classes=st.lists(st.integers(0, 2), min_size=1, max_size=40),
    size=st.integers(1, 30),
    seed=st.integers(0, 999),
)
def test_the_best_of_every_class_and_then_of_all(classes, size, seed):
    """Where a class has too few rows, others stand in."""
    stratum = np.array(classes)
    score = np.random.default_rng(seed).permutation(len(classes)).astype(float)
    quotas = strata([5, 3, 2]).quotas(size)
    found = _by_quotas(Scored(stratum, score), quotas, size)
    expected = one_by_one(stratum, score, quotas, size)

    assert len(found) == min(size, len(classes))
    assert sorted(found) == sorted(expected)


@pytest.mark.parametrize("at", [(), (30,), (0, 11, 11, 80)])
def test_the_classes_of_all_parts(at):
    """Also where one has no rows: each class by its share of the rows."""
    X, classes = three_clouds(90, 1)
    family = class_family("auto", np.arange(3))
    data = training_set(X, classes, family)
    found = Strata.of(Cut(data, at), by_class=True)
    codes = family.outputs(np.arange(3))
    place = [int(np.argmin(np.abs(found.codes - code).sum(axis=1))) for code in codes]

    assert sorted(place) == [0, 1, 2]
    assert_allclose(found.codes[place], codes)
    assert_allclose(found.share[place], np.bincount(classes) / 90)
    own = np.argmax(data.targets @ codes.T, axis=1)
    assert_array_equal(found.of_rows(data), np.array(place)[own])


def test_targets_that_are_numbers_are_of_one_kind():
    _, data = sinc_problem(40)
    found = Strata.of(Cut(data), by_class=False)

    assert_array_equal(found.share, [1.0])
    assert_array_equal(found.of_rows(data), np.zeros(40))
    assert_array_equal(found.quotas(7), [7])


@pytest.mark.parametrize("at", [(), (50,), (3, 3, 4, 90), (0,)])
@pytest.mark.parametrize("size", [1, 10, 1000])
def test_rows_of_largest_error_that_no_set_has_had(at, size):
    """Exactly these, whatever the parts are."""
    _, data = sinc_problem(100)
    used = np.random.default_rng(1).permutation(100)[:35]
    found = worst_rows(Cut(data, at), strata([1]), Known(2), size, used)
    fresh = np.flatnonzero(~np.isin(data.rows.indices, used))
    error = np.abs(data.targets - Known(2).predictor(data.table))[fresh, 0]
    worst = fresh[np.argsort(-error)[:size]]

    assert numbers(found) == frozenset(data.rows.indices[worst].tolist())
    assert len(found) == min(size, 65)
    # They bring their own targets.
    place = {int(index): at for at, index in enumerate(data.rows.indices)}
    own = [place[int(index)] for index in found.rows.indices]
    assert_array_equal(found.targets, data.targets[own])
    assert_array_equal(found.table, data.table[own])


def test_no_rows_are_left():
    _, data = sinc_problem(30)

    assert (
        len(worst_rows(Cut(data, (9,)), strata([1]), Known(0), 5, np.arange(30))) == 0
    )


def classes_and_errors(model, data, labels):
    """Of every row by its number: its class, and whether a model is wrong."""
    codes = model.family.outputs(np.arange(len(labels)))
    classes = np.argmax(data.targets @ codes.T, axis=1)
    if codes.shape[1] == 1:
        classes = data.targets[:, 0].astype(int)
    wrong = model.predictive(data.table).predicted != labels[classes]
    indices = data.rows.indices.tolist()
    return dict(zip(indices, classes, strict=True)), dict(
        zip(indices, wrong, strict=True)
    )


@pytest.mark.parametrize("kind", ["two", "auto", "softmax"])
@pytest.mark.parametrize("at", [(), (70, 70, 200)])
@pytest.mark.parametrize("size", [12, 60, 500])
def test_misclassified_rows_come_first_in_the_proportions_of_classes(kind, at, size):
    """Section 5.2.1.3: of a class without enough of them, rows that are right."""
    if kind == "two":
        spec, data = class_problem(300, seed=2)
        labels = np.array([0, 1])
    else:
        X, y = three_clouds(300, 4)
        labels = np.arange(3)
        family = class_family(kind, labels)
        data = training_set(X, y, family)
        spec = Specification((Gaussian(0.8),), family)
    first = data.subset(np.arange(40))
    model = maximised(spec, first)
    used = first.rows.indices
    parts = Cut(data, at)
    found = worst_rows(parts, Strata.of(parts, by_class=True), model, size, used)
    classes, wrong = classes_and_errors(model, data, labels)
    fresh = numbers(data) - numbers(first)
    counts = np.bincount(list(classes.values()))
    quotas, _ = in_proportion(counts.tolist(), size)

    assert len(found) == min(size, len(fresh))
    assert numbers(found) <= fresh
    assert any(wrong[row] for row in fresh)
    for one in range(len(labels)):
        chosen = [row for row in numbers(found) if classes[row] == one]
        mine = [row for row in fresh if classes[row] == one]
        n_wrong = sum(wrong[row] for row in mine)
        # Of each class its share, unless there are no more.
        assert len(chosen) >= min(quotas[one], len(mine))
        if size < 100:
            assert len(chosen) <= quotas[one] + 1
        # As many of them as there are and have room are misclassified.
        assert sum(wrong[row] for row in chosen) == min(len(chosen), n_wrong)


def test_which_of_equally_wrong_rows_is_a_matter_of_chance():
    """Not always those that come first, but the same every time."""
    spec, data = class_problem(300, seed=2)
    first = data.subset(np.arange(40))
    model = maximised(spec, first)
    kinds = Strata.of(Cut(data), by_class=True)

    def chosen(used):
        return numbers(worst_rows(Cut(data), kinds, model, 100, used))

    some = chosen(first.rows.indices)
    assert chosen(first.rows.indices) == some
    _, wrong = classes_and_errors(model, data, np.array([0, 1]))
    fresh = [row for row in data.rows.indices.tolist() if row not in numbers(first)]
    right = [row for row in fresh if not wrong[row]]
    taken = [place for place, row in enumerate(right) if row in some]
    assert len(taken) > 20
    assert max(taken) > len(right) / 2
