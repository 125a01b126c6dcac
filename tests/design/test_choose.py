"""Which design is chosen, why, and what is refused before it takes memory."""

import re
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import drawn, read_only

from relvec.basis import Basis
from relvec.data import scan
from relvec.design import Budget, DenseDesign, Dictionary, Rows, choose_design
from relvec.design.blocked import BlockedDesign
from relvec.design.choose import in_words
from relvec.design.held import SparseDesign
from relvec.kernels import Columns, CompactMatern, Gaussian, Sigmoid

POINTS = read_only(np.random.default_rng(5).uniform(-10, 10, (6000, 2)))
SMOOTH, ROUGH = Gaussian(3.0), Gaussian(0.05)
COMPACT, WIDE = CompactMatern(support=1.0), CompactMatern(support=100.0)


def dictionary(kernel, n_rows, n_centres, budget=2e9, *, in_memory=True, at_once=False):
    X = POINTS[:n_rows]
    rows = Rows.of(X)
    if not in_memory:
        rows = Rows(scan(X, block_rows=500), n_rows)
    return Dictionary(
        basis=Basis.of(kernel, X[:n_centres], bias=True),
        rows=rows,
        sample_weight=np.ones(n_rows),
        budget=Budget(budget),
        seed=0,
        in_memory=in_memory,
        at_once=at_once,
    )


def columns(n_rows, n_columns, budget=2e9):
    X = drawn(5, (n_rows, n_columns))
    basis = Basis.of(Columns(), np.arange(n_columns), bias=False)
    return Dictionary(basis, Rows.of(X), np.ones(n_rows), Budget(budget), 0, True)


def chosen(kind, wanted):
    """The design's kind and the reason."""
    choice = choose_design(kind, wanted)
    return type(choice.design), choice.reason


def peak_bytes(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


NEEDED = "as they are needed"
AUTOMATIC = {
    "small": (dictionary(SMOOTH, 500, 500), DenseDesign, "dense: only 500 rows × 501"),
    "smooth and large": (dictionary(SMOOTH, 3000, 2000), BlockedDesign, NEEDED),
    "rough and large": (dictionary(ROUGH, 3000, 2000), BlockedDesign, NEEDED),
    "tall": (dictionary(ROUGH, 6000, 600), BlockedDesign, NEEDED),
    "tall, of columns": (columns(8000, 400), BlockedDesign, NEEDED),
    "wide, of columns": (columns(400, 8000), DenseDesign, "dense: only 400 rows"),
    "wide, beyond the budget": (columns(400, 8000, 20e6), BlockedDesign, NEEDED),
    "not definite": (dictionary(Sigmoid(0.1), 3000, 2000), BlockedDesign, NEEDED),
    "small, beyond the budget": (
        dictionary(SMOOTH, 500, 500, budget=2e6),
        BlockedDesign,
        NEEDED,
    ),
    "compact": (dictionary(COMPACT, 3000, 2000), SparseDesign, "sparse: "),
    "compact and wide": (dictionary(WIDE, 3000, 2000), BlockedDesign, NEEDED),
    "streamed, small": (
        dictionary(SMOOTH, 500, 500, in_memory=False),
        BlockedDesign,
        NEEDED,
    ),
    "streamed, compact": (
        dictionary(COMPACT, 3000, 400, in_memory=False),
        BlockedDesign,
        NEEDED,
    ),
    "at once": (
        dictionary(SMOOTH, 3000, 2000, at_once=True),
        DenseDesign,
        "dense: 3,000 rows × 2,001",
    ),
    "at once, beyond the budget": (
        dictionary(SMOOTH, 3000, 800, budget=37e6, at_once=True),
        BlockedDesign,
        NEEDED,
    ),
    "at once, streamed": (
        dictionary(SMOOTH, 3000, 800, in_memory=False, at_once=True),
        BlockedDesign,
        NEEDED,
    ),
}


@pytest.mark.parametrize("name", AUTOMATIC)
def test_automatic_choice(name):
    wanted, kind, reason = AUTOMATIC[name]
    found, said = chosen("auto", wanted)

    assert found is kind
    assert reason in said


def test_the_reason_names_sizes():
    _, reason = chosen("auto", dictionary(SMOOTH, 3000, 2000))

    assert (
        reason == "columns of 3,000 rows × 2,001 functions, 48 MB, as they are needed"
    )


@pytest.mark.parametrize("kind", ["auto", "streamed"])
@pytest.mark.parametrize("kernel", [SMOOTH, ROUGH, Sigmoid(0.1)])
def test_only_products_of_all_functions_at_once_may_not_fit(kind, kernel):
    wanted = dictionary(kernel, 6000, 6000, budget=2e6)

    assert choose_design(kind, replace(wanted, at_once=True)) is None
    assert choose_design(kind, wanted) is not None


def test_what_fits_at_once_is_as_many_functions_as_it_says():
    wanted = dictionary(ROUGH, 6000, 300, budget=2e6, at_once=True)
    most = wanted.most_functions
    fitting = dictionary(ROUGH, 6000, most - 1, budget=2e6, at_once=True)
    beyond = dictionary(ROUGH, 6000, most, budget=2e6, at_once=True)

    assert choose_design("auto", fitting) is not None
    assert choose_design("auto", beyond) is None


@pytest.mark.parametrize(
    ("kind", "kernel", "message"),
    [
        (
            "dense",
            SMOOTH,
            r"would hold 6,000 rows × 6,001 functions, 288 MB, and take 376 MB with "
            r"the copies that it makes; memory_budget is 20 MB: use design='auto', "
            r"candidates=184 or fewer, or a larger memory_budget",
        ),
    ],
)
def test_refusals_come_before_memory_is_taken(kind, kernel, message):
    wanted = dictionary(kernel, 6000, 6000, budget=20e6)

    def refused():
        with pytest.raises(ValueError, match=message):
            choose_design(kind, wanted)

    assert peak_bytes(refused) < 15e6


@pytest.mark.parametrize("kind", ["dense", "streamed"])
def test_a_design_asked_for_is_taken(kind):
    kinds = {"dense": DenseDesign}

    found, _ = chosen(kind, dictionary(SMOOTH, 400, 400))
    assert found is kinds.get(kind, BlockedDesign)


@pytest.mark.parametrize("name", AUTOMATIC)
def test_a_low_rank_is_what_suits(name):
    """The value is deprecated, and no mechanism is behind it any more."""
    wanted = AUTOMATIC[name][0]

    assert chosen("low-rank", wanted) == chosen("auto", wanted)


@pytest.mark.parametrize("name", AUTOMATIC)
def test_columns_have_about_unit_norm(name, rng):
    """Exactly where columns are evaluated; at most where norms are only bounded."""
    wanted, kind, _ = AUTOMATIC[name]
    weights = rng.uniform(0.5, 2, wanted.shape[0])
    design = choose_design("auto", replace(wanted, sample_weight=weights)).design
    some = np.arange(0, wanted.shape[1], 50)
    squares = design.gram(some, weights[:, None])[0].diagonal()

    if kind is BlockedDesign and wanted.basis.positive_definite:
        assert np.all(squares <= 1 + 1e-10)
        assert squares[0] == pytest.approx(1)  # the constant
    else:
        assert_allclose(squares, 1, rtol=1e-10)


@pytest.mark.parametrize("in_memory", [True, False])
@pytest.mark.parametrize("n_columns", [50, 6001])
@pytest.mark.parametrize("budget", [4e6, 2e7])
def test_views_stay_within_the_budget(budget, n_columns, in_memory):
    """Held, if there is room; else in blocks as their design is."""
    wanted = dictionary(ROUGH, 6000, 6000, budget, in_memory=in_memory)
    design = choose_design("auto", wanted).design
    some, views = np.arange(n_columns), []

    assert peak_bytes(lambda: views.append(design.view(some))) < budget
    assert views[0].held == (6000 * n_columns <= design.most_entries)
    assert views[0].shape == (6000, n_columns)
    few = np.arange(0, 6000, 500)
    assert design.view(some, few).held


@pytest.mark.parametrize("budget", [3e6, 1e7, 1e8])
def test_looking_for_a_design_stays_within_the_budget(budget):
    wanted = dictionary(SMOOTH, 6000, 5000, budget)

    assert peak_bytes(lambda: choose_design("auto", wanted)) < budget


def test_blocks_are_smaller_for_smaller_budgets():
    wanted = dictionary(Sigmoid(0.1), 6000, 300, budget=1e8)
    large, small = (
        peak_bytes(lambda wanted=wanted: choose_design("streamed", wanted))
        for wanted in (wanted, replace(wanted, budget=Budget(1e7)))
    )

    assert small < large / 3


@pytest.mark.parametrize(
    ("size", "words"),
    [(999, "999 bytes"), (1234567, "1.23 MB"), (2e9, "2 GB"), (5e15, "5e+03 TB")],
)
def test_sizes_in_words(size, words):
    assert in_words(size) == words


@pytest.mark.parametrize("megabytes", [1, 20, 50])
def test_the_refusal_of_a_dense_design_says_how_many_candidates_fit(megabytes):
    def asked(candidates):
        return dictionary(SMOOTH, 2000, candidates, budget=megabytes * 1e6)

    with pytest.raises(ValueError, match="candidates=") as refused:
        choose_design("dense", asked(6000))
    most = int(re.search(r"candidates=(\d+) or fewer", str(refused.value))[1])

    assert choose_design("dense", asked(most)) is not None
    with pytest.raises(ValueError, match=f"candidates={most} "):
        choose_design("dense", asked(most + 1))


def test_no_advice_on_candidates_where_none_fit():
    wanted = dictionary(SMOOTH, 6000, 100, budget=1e5)
    with pytest.raises(ValueError, match=r"use design='auto', or a larger"):
        choose_design("dense", wanted)
