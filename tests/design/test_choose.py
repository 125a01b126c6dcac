"""Which design is chosen, why, and what is refused before it takes memory."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import drawn, read_only

from relvec.basis import Basis
from relvec.data import scan
from relvec.design import Budget, DenseDesign, Dictionary, Rows, Whole, choose_design
from relvec.design.dictionary import in_words
from relvec.design.expansions import LowRank
from relvec.design.factored import FactoredDesign
from relvec.kernels import Columns, Gaussian, Sigmoid

POINTS = read_only(np.random.default_rng(5).uniform(-10, 10, (6000, 2)))
SMOOTH, ROUGH = Gaussian(3.0), Gaussian(0.05)


def dictionary(kernel, n_rows, n_centres, budget=2e9, *, in_memory=True):
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
    )


def columns(n_rows, n_columns, budget=2e9):
    X = drawn(5, (n_rows, n_columns))
    basis = Basis.of(Columns(), np.arange(n_columns), bias=False)
    return Dictionary(basis, Rows.of(X), np.ones(n_rows), Budget(budget), 0, True)


def chosen(kind, wanted):
    """The design's own kind, or its expansion's, and the reason."""
    choice = choose_design(kind, wanted)
    design = choice.design
    kinds = design.expansion if isinstance(design, FactoredDesign) else design
    return type(kinds), choice.reason


def peak_bytes(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


AUTOMATIC = {
    "small": (dictionary(SMOOTH, 500, 500), DenseDesign, "dense: only 500 rows × 501"),
    "smooth and large": (dictionary(SMOOTH, 3000, 2000), LowRank, "low rank: "),
    "rough and large": (dictionary(ROUGH, 3000, 2000), DenseDesign, "of high rank"),
    "tall": (dictionary(ROUGH, 6000, 600), Whole, "inner products of all functions of"),
    "tall, of columns": (
        columns(8000, 400),
        Whole,
        "inner products of all functions of",
    ),
    "wide, of columns": (columns(400, 8000), DenseDesign, "dense: only"),
    "not definite": (dictionary(Sigmoid(0.1), 3000, 2000), DenseDesign, "high rank"),
    "not definite, beyond the budget": (
        dictionary(Sigmoid(0.1), 3000, 800, budget=37e6),
        Whole,
        "inner products of all functions of",
    ),
    "streamed, smooth": (
        dictionary(SMOOTH, 3000, 1000, in_memory=False),
        LowRank,
        "low rank: ",
    ),
    "streamed, rough": (
        dictionary(ROUGH, 3000, 400, in_memory=False),
        Whole,
        "inner products of all functions of",
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

    assert "features describe 3,000 rows × 2,001 functions, 48 MB" in reason


@pytest.mark.parametrize("kind", ["auto", "streamed"])
@pytest.mark.parametrize("kernel", [ROUGH, Sigmoid(0.1)])
def test_nothing_fits(kind, kernel):
    assert choose_design(kind, dictionary(kernel, 6000, 6000, budget=2e6)) is None


@pytest.mark.parametrize(
    ("kind", "kernel", "message"),
    [
        (
            "dense",
            SMOOTH,
            r"would hold 6,000 rows × 6,001 functions, 288 MB, and memory_budget is "
            r"20 MB: use design='auto', fewer candidates .* or a larger memory_budget",
        ),
        (
            "low-rank",
            ROUGH,
            r"need more than \d+ pivots for 6,000 rows × 6,001 functions, 288 MB, "
            r"within a memory_budget of 20 MB: widen the kernel .*raise memory_budget",
        ),
        (
            "low-rank",
            Sigmoid(0.1),
            r"kernel known to be positive definite.* use design='auto'",
        ),
    ],
)
def test_refusals_come_before_memory_is_taken(kind, kernel, message):
    wanted = dictionary(kernel, 6000, 6000, budget=20e6)

    def refused():
        with pytest.raises(ValueError, match=message):
            choose_design(kind, wanted)

    assert peak_bytes(refused) < 15e6


@pytest.mark.parametrize("kind", ["dense", "low-rank", "streamed"])
def test_a_design_asked_for_is_taken(kind):
    kinds = {"dense": DenseDesign, "low-rank": LowRank, "streamed": LowRank}

    assert chosen(kind, dictionary(SMOOTH, 400, 400))[0] is kinds[kind]


@pytest.mark.parametrize("name", AUTOMATIC)
def test_columns_have_about_unit_norm(name, rng):
    """Exactly where columns are evaluated; at most where norms are only bounded."""
    wanted, kind, _ = AUTOMATIC[name]
    weights = rng.uniform(0.5, 2, wanted.shape[0])
    design = choose_design("auto", replace(wanted, sample_weight=weights)).design
    squares, _ = design.project(weights[:, None], np.zeros((wanted.shape[0], 1)))

    if kind is LowRank:
        assert np.all(squares <= 1 + 1e-4)
    else:
        assert_allclose(squares, 1, rtol=1e-10)


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
