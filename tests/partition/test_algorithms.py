"""The sets that are fitted on the way from partitions to the last one."""

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partitions import (
    Cut,
    Known,
    Noting,
    begun,
    class_problem,
    noting,
    numbers,
    sinc_problem,
    three_clouds,
    training_set,
)

from relvec.evidence import Deadline
from relvec.modelling import class_family
from relvec.partition import thesis
from relvec.partition.parts import InMemory, dealt
from relvec.partition.thesis import OfSeveral, incremental, working_set

SIZE = 10


def first_sets(fits, data):
    """The sets of whole partitions, which come from all rows but once."""
    sets = [rows for rows in fits.sets if len(rows) > 2 * fits.kept]
    assert Counter(row for rows in sets for row in rows) == Counter(numbers(data))
    return sets


def as_in_the_thesis(partitions, kept):
    """Steps 1 to 4 of section 4.1.1, by the book; the last set is the last."""
    sets = list(partitions)
    stage = [vectors(one, kept) for one in partitions]
    while len(stage) > 2:
        pairs = [stage[k] | stage[k + 1] for k in range(0, len(stage) - 1, 2)]
        waiting = [stage[-1]] if len(stage) % 2 else []
        sets += pairs
        stage = [vectors(one, kept) for one in pairs] + waiting
    return [*sets, frozenset().union(*stage)]


def vectors(rows, kept):
    """What ``Noting`` leaves of a set."""
    return frozenset(sorted(rows)[:kept])


def split_and_merge(fits, parts, begun, *, pairwise):
    first = parts.data.subset(np.arange(1))
    return thesis.split_and_merge(fits, parts, begun, first, pairwise=pairwise)


@pytest.mark.parametrize("n_partitions", [2, 3, 4, 5, 6, 7, 8, 13])
def test_split_and_merge_are_the_steps_of_the_thesis(n_partitions):
    """M partitions make 2M − 1 sets: pairs of neighbours, and the odd one waits."""
    spec, data = sinc_problem(SIZE * n_partitions - 2)
    fits = noting(spec, SIZE)
    last = split_and_merge(fits, InMemory(data, len(data)), begun(), pairwise=True)
    expected = as_in_the_thesis(fits.sets[:n_partitions], fits.kept)

    assert first_sets(fits, data) == fits.sets[:n_partitions]
    sizes = [len(rows) for rows in fits.sets[:n_partitions]]
    assert sizes == [SIZE] * (n_partitions - 1) + [SIZE - 2]
    assert [*fits.sets, numbers(last.rows)] == expected
    assert len(expected) == 2 * n_partitions - 1
    assert last.records == [(len(one.rows), fits.kept) for one in fits.noted]
    assert not last.cut_short


@pytest.mark.parametrize("n_parts", [2, 3, 4])
def test_parts_of_four_partitions_are_merged_as_all_of_them_would_be(n_parts):
    spec, data = sinc_problem(4 * SIZE * n_parts)
    fits = noting(spec, SIZE)
    last = split_and_merge(fits, InMemory(data, 4 * SIZE), begun(), pairwise=True)
    expected = as_in_the_thesis(first_sets(fits, data), fits.kept)

    assert Counter([*fits.sets, numbers(last.rows)]) == Counter(expected)


@pytest.mark.parametrize("at", [(35, 61, 61, 99), (0, 5), (1, 2, 3, 90)])
def test_parts_of_any_sizes(at):
    """Also empty ones: all rows are in one partition, and M of these in 2M − 1 sets."""
    spec, data = sinc_problem(110)
    fits = noting(spec, SIZE, kept=1)
    last = split_and_merge(fits, Cut(data, at), begun(), pairwise=True)
    parts = np.diff([0, *at, len(data)])
    n_partitions = int(np.ceil(parts / SIZE).sum())
    met = Counter()
    for one in fits.noted:
        met.update(one.rows)

    assert len(fits.noted) == 2 * n_partitions - 2
    assert set(met) == numbers(data)
    assert numbers(last.rows) <= {min(one.rows) for one in fits.noted}


def test_a_merged_set_begins_with_two_models_and_the_noise_between():
    spec, data = sinc_problem(4 * SIZE)
    fits = noting(spec, SIZE)
    last = split_and_merge(
        fits, InMemory(data, len(data)), begun(noise=2.0), pairwise=True
    )
    first, merged = fits.noted[:4], fits.noted[4:]

    assert [one.start for one in first] == [None] * 4
    assert [one.noise for one in first] == [2.0] * 4
    for pair, one in zip(((0, 1), (2, 3)), merged, strict=True):
        assert isinstance(one.start, OfSeveral)
        assert one.start.models == tuple(Known(number) for number in pair)
        assert one.noise == 3.0
    assert last.start.models == (Known(4), Known(5))
    assert last.log_parameters == [4.0]


@dataclass(frozen=True)
class Forgetting(Noting):
    """Some sets are left without any vector."""

    without: frozenset = frozenset()

    def kept_of(self, number):
        return 0 if number in self.without else self.kept


def test_a_set_without_vectors_has_no_say():
    """A pair with one is the other, which is not fitted again."""
    spec, data = sinc_problem(4 * SIZE)
    fits = noting(spec, SIZE, Forgetting, without=frozenset({1, 2, 3}))
    last = split_and_merge(fits, InMemory(data, len(data)), begun(), pairwise=True)

    assert len(fits.noted) == 4
    assert numbers(last.rows) == vectors(fits.sets[0], fits.kept)


@pytest.mark.parametrize("pairwise", [True, False])
def test_no_set_may_have_vectors(pairwise):
    spec, data = sinc_problem(5 * SIZE)
    fits = noting(spec, SIZE, Forgetting, without=frozenset(range(9)))
    parts = InMemory(data, len(data))

    assert len(split_and_merge(fits, parts, begun(), pairwise=pairwise).rows) == 0


@pytest.mark.parametrize("part_rows", [SIZE, 30, 1000])
def test_a_union_is_of_all_vectors_at_once(part_rows):
    """M sets, and one that has what all of them are left with."""
    spec, data = sinc_problem(6 * SIZE)
    fits = noting(spec, SIZE)
    last = split_and_merge(fits, InMemory(data, part_rows), begun(), pairwise=False)
    every = frozenset().union(*(vectors(rows, fits.kept) for rows in fits.sets))

    assert len(fits.noted) == 6
    assert Counter(row for rows in fits.sets for row in rows) == Counter(numbers(data))
    assert numbers(last.rows) == every
    assert last.start.models == tuple(map(Known, range(6)))


@pytest.mark.parametrize("at", [(), (40,), (15, 15, 40)])
def test_incremental_sets_are_what_was_found_and_the_next_partition(at):
    """Section 4.1.2: M sets, each with the vectors of the one before."""
    spec, data = sinc_problem(57)
    fits = noting(spec, SIZE)
    last = incremental(fits, Cut(data, at), begun(noise=1.5), data.subset(np.arange(1)))
    sets = [*fits.sets, numbers(last.rows)]
    parts = np.diff([0, *at, len(data)])

    assert len(sets) == int(np.ceil(parts / SIZE).sum())
    fresh = [sets[0]]
    for before, now in pairwise(sets):
        assert vectors(before, fits.kept) <= now
        fresh.append(now - vectors(before, fits.kept))
    assert Counter(row for rows in fresh for row in rows) == Counter(numbers(data))
    assert max(map(len, fresh)) == SIZE
    starts = [None, *map(Known, range(len(sets) - 1))]
    assert [*(one.start for one in fits.noted), last.start] == starts
    noise = [*(one.noise for one in fits.noted), float(last.log_parameters[0])]
    assert noise == [1.5 + number for number in range(len(sets))]
    assert last.records == [(len(rows), fits.kept) for rows in fits.sets]


# the working set


def by_error(data, model, used):
    """Rows that are not used, those of largest error first."""
    error = np.abs(data.targets - model.predictor(data.table))[:, 0]
    found = {}
    for index, size in zip(data.rows.indices, error, strict=True):
        if int(index) not in used:
            found[int(index)] = size
    return sorted(found, key=found.get, reverse=True)


@pytest.mark.parametrize("at", [(), (20, 20, 51)])
def test_a_working_set_takes_the_rows_of_largest_error(at):
    """Section 4.1.3, until every row was in a set once."""
    spec, data = sinc_problem(57)
    fits = noting(spec, SIZE)
    first = data.subset(np.arange(SIZE))
    parts = Cut(data, at)
    last = working_set(fits, parts, begun(), first, max_sets=np.inf)
    *sets, again = fits.sets  # rows are looked for once more, and there are none
    assert again == numbers(last.rows)

    used = set(sets[0])
    assert sets[0] == numbers(first)
    for number, (before, now) in enumerate(
        zip(sets, [*sets[1:], numbers(last.rows)], strict=True)
    ):
        worst = set(by_error(data, Known(number), used)[:SIZE])
        assert now == vectors(before, fits.kept) | worst
        used |= worst
    assert used == numbers(data)
    assert len(last.records) + 1 == 6


@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_working_set_may_end_before_all_rows_were_in_one(most):
    spec, data = sinc_problem(57)
    fits = noting(spec, SIZE)
    first = data.subset(np.arange(SIZE))
    last = working_set(fits, Cut(data), begun(), first, max_sets=most)

    assert len(last.records) + 1 == most
    assert len(last.rows) == (SIZE if most == 1 else SIZE + fits.kept)


# time


@dataclass(frozen=True)
class AfterSets:
    """Time is over when so many sets were fitted."""

    fits: Noting
    number: int

    @property
    def passed(self):
        return len(self.fits.noted) >= self.number


def test_splitting_ends_with_the_set_in_which_time_is_over():
    spec, data = sinc_problem(8 * SIZE)
    fits = noting(spec, SIZE)
    until = begun(AfterSets(fits, 3))
    last = split_and_merge(fits, InMemory(data, 2 * SIZE), until, pairwise=True)

    assert last.cut_short
    assert len(fits.noted) == 3
    assert numbers(last.rows) == {row for s in fits.sets for row in vectors(s, 3)}


@pytest.mark.parametrize("number", [1, 3])
def test_incremental_sets_end_with_the_rows_seen_when_time_is_over(number):
    spec, data = sinc_problem(8 * SIZE)
    fits = noting(spec, SIZE)
    until = begun(AfterSets(fits, number))
    last = incremental(
        fits, InMemory(data, 2 * SIZE), until, data.subset(np.arange(SIZE))
    )

    assert last.cut_short
    assert len(fits.noted) == number
    assert vectors(fits.sets[-1], fits.kept) <= numbers(last.rows)
    assert len(last.rows) == SIZE + fits.kept


def test_working_sets_end_when_time_is_over():
    spec, data = sinc_problem(8 * SIZE)
    fits = noting(spec, SIZE)
    first = data.subset(np.arange(SIZE))
    until = begun(AfterSets(fits, 2))
    last = working_set(fits, Cut(data), until, first, max_sets=np.inf)

    assert last.cut_short
    assert len(last.records) == 2
    assert len(last.rows) == SIZE + fits.kept


def test_without_any_time_there_is_a_set_all_the_same():
    """The first partition, whose fit ends at once."""
    spec, data = sinc_problem(8 * SIZE)
    fits = noting(spec, SIZE)
    now = begun(Deadline.after(0))
    last = incremental(
        fits, InMemory(data, 2 * SIZE), now, data.subset(np.arange(SIZE))
    )

    assert last.cut_short
    assert 0 < len(last.rows) <= SIZE


# dealing


@given(
    counts=st.lists(st.integers(1, 60), min_size=1, max_size=4),
    size=st.integers(2, 40),
    seed=st.integers(0, 99),
)
def test_partitions_have_the_proportions_of_the_classes(counts, size, seed):
    """Every set as nearly as whole rows can; each row is in one of them."""
    classes = np.repeat(np.arange(len(counts)), counts)
    X = np.random.default_rng(seed).normal(size=(len(classes), 2))
    labels = np.arange(max(2, len(counts)))
    family = class_family("softmax", labels)
    data = training_set(X, classes, family, seed=seed)
    order = dealt(data, by_class=True)
    share = np.array(counts) / len(classes)

    assert numbers(order) == numbers(data)
    for start in range(0, len(order), size):
        part = order.targets[start : start + size]
        found = part.sum(axis=0)[: len(counts)]
        most = 1 + len(counts) * share
        assert np.all(np.abs(found - len(part) * share) <= most + 1e-9)


def test_sets_of_a_part_are_dealt_by_class():
    """A rare class is in every set, which chance alone would not do."""
    X, classes = three_clouds(400, 3, shares=(0.5, 0.45, 0.05))
    family = class_family("auto", np.arange(3))
    data = training_set(X, classes, family)
    spec, _ = class_problem(20)
    fits = noting(spec, 40)
    sets = list(fits.partitions(data))
    codes = family.outputs(np.arange(3))
    counts = [
        [int(np.all(np.isclose(one.targets, code), axis=1).sum()) for code in codes]
        for one in sets
    ]
    expected = 40 * np.bincount(classes) / 400

    assert [sum(one) for one in counts] == [40] * 10
    np.testing.assert_allclose(counts, np.tile(expected, (10, 1)), atol=1.5)


def test_rows_are_dealt_by_chance_and_the_same_every_time():
    _, data = sinc_problem(100)
    one, again = (dealt(data, by_class=False) for _ in range(2))
    X = data.table[np.argsort(data.rows.indices)]

    np.testing.assert_array_equal(one.rows.indices, again.rows.indices)
    assert numbers(one) == numbers(data)
    np.testing.assert_array_equal(X[one.rows.indices], one.table)
    # Neighbours in space are not neighbours here.
    assert np.mean(np.abs(np.diff(one.table[:, 0]))) > 3
