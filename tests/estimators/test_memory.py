"""Memory stays within its budget, work grows with the number of rows."""

import tracemalloc
from dataclasses import dataclass, field

import numpy as np
import pytest
from problems import drawn, read_only, ripples
from sklearn.base import clone

from relvec import RVC, RVR
from relvec.data import scan
from relvec.kernels import Gaussian

N_ROWS = 8_000
X, Y = ripples(N_ROWS, seed=2)
LABELS = read_only((Y > 0.1).astype(int))
NOISY = read_only(Y + 2 * drawn(3, N_ROWS) + 3 * (np.abs(X[:, 0]) < 0.1))
MEGABYTE = 1e6


def peak_bytes(work):
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@dataclass
class Counting:
    """A positive definite kernel that counts the entries it was asked for."""

    kernel: object = field(default_factory=lambda: Gaussian(2.0))
    entries: int = 0
    calls: list = field(default_factory=list)

    positive_definite = True

    def __call__(self, A, B):
        self.entries += len(A) * len(B)
        self.calls.append((len(A), len(B)))
        return self.kernel(A, B)

    def diagonal(self, A):
        return self.kernel.diagonal(A)


BUDGETS = {
    "20 MB": (RVR(gamma=0.05, candidates=2000), 20),
    "60 MB": (RVR(gamma=0.05, candidates=4000), 60),
    "all rows": (RVR(gamma=0.05, candidates="all"), 150),
    "streamed": (RVR(gamma=0.05, candidates=1000, design="streamed"), 25),
    "dense by name": (RVR(gamma=0.1, candidates=200, design="dense"), 50),
    "rough, so fewer candidates": (RVR(gamma=30.0), 20),
    "not definite": (RVR("sigmoid", gamma=0.01, candidates=500), 20),
    "not definite, fewer candidates": (RVR("sigmoid", gamma=0.01), 20),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BUDGETS)
def test_regression_stays_within_its_budget(name):
    """Rough kernels cannot say much about noise, so that vectors stay few."""
    asked, megabytes = BUDGETS[name]
    model = clone(asked)
    target = NOISY if model.gamma == 30.0 else Y
    target = np.tanh(X[:, 0]) + 5 * Y if model.kernel == "sigmoid" else target
    model.set_params(memory_budget=megabytes * MEGABYTE)

    assert peak_bytes(lambda: model.fit(X, target)) < megabytes * MEGABYTE
    assert len(model.relevance_) > 0


@pytest.mark.parametrize(("gamma", "megabytes"), [(0.05, 20), (0.1, 45)])
def test_classification_stays_within_its_budget(gamma, megabytes):
    model = RVC(gamma=gamma, candidates=600, memory_budget=f"{megabytes}MB", tol=0.1)

    assert peak_bytes(lambda: model.fit(X, LABELS)) < megabytes * MEGABYTE


@pytest.mark.filterwarnings("ignore")
def test_softmax_stays_within_its_budget():
    """Probabilities are averages over many draws, some rows at a time."""
    labels = np.digitize(Y, [-0.1, 0.1, 0.4])
    model = RVC(gamma=0.05, candidates=100, multi_class="softmax", max_iter=1)
    model.set_params(memory_budget="25MB")

    assert peak_bytes(lambda: model.fit(X, labels)) < 25 * MEGABYTE
    assert peak_bytes(lambda: model.predict_proba(X[:2000])) < 25 * MEGABYTE


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("gamma", "megabytes"), [(0.05, 20), (30.0, 45)])
def test_streaming_stays_within_its_budget(gamma, megabytes):
    blocks = scan(X, target=NOISY, block_rows=500)
    model = RVR(gamma=gamma, candidates=800, memory_budget=f"{megabytes}MB")

    assert peak_bytes(lambda: model.fit(blocks)) < megabytes * MEGABYTE


def test_a_larger_budget_is_used():
    """Columns are kept instead of being evaluated again."""
    counts = []
    for budget in ("8MB", "200MB"):
        kernel = Counting(Gaussian(5.0))
        parameters = {"candidates": 500, "max_iter": 5}
        with pytest.warns(UserWarning, match="max_iter"):
            RVC(kernel, memory_budget=budget, **parameters).fit(X, LABELS)
        counts.append(kernel.entries)

    assert counts[1] < 0.8 * counts[0]


@pytest.mark.parametrize("design", ["auto", "dense", "streamed"])
def test_wide_rows_in_single_precision_are_not_copied(design, rng):
    """Their double would be 80 MB; blocks of them are of constant size."""
    wide = rng.standard_normal((4000, 2500), dtype=np.float32)
    target = wide[:, 0] + 0.1 * rng.standard_normal(4000)
    model = RVR(
        gamma=1e-5, candidates=20, design=design, memory_budget="50MB", max_iter=3
    )
    with pytest.warns(UserWarning, match="."):
        peak = peak_bytes(lambda: model.fit(wide, target))

    assert peak < 60 * MEGABYTE
    assert peak_bytes(lambda: model.predict(wide)) < 60 * MEGABYTE


def evaluations(rng, model, n_rows):
    kernel = Counting()
    rows = rng.uniform(-10, 10, (n_rows, 2))
    target = np.sinc(rows[:, 0]) + 0.3 * rng.standard_normal(n_rows)
    if isinstance(model, RVC):
        target = (target > 0).astype(int)
    model.set_params(kernel=kernel, candidates=300, max_iter=8)
    model.fit(rows, target)
    return kernel, model


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "model", [RVR(), RVR(design="streamed"), RVC(), RVC(design="streamed")], ids=str
)
def test_work_is_linear_in_the_number_of_rows(model, rng):
    """Kernel evaluations per row do not grow; no matrix of all pairs is formed."""
    small, _ = evaluations(rng, clone(model), 10_000)
    large, _ = evaluations(rng, clone(model), 40_000)

    assert large.entries / 40_000 < 1.6 * small.entries / 10_000
    assert max(rows * columns for rows, columns in large.calls) <= 301 * 40_000


def test_no_matrix_of_all_pairs_is_formed_where_all_rows_are_candidates():
    kernel = Counting(Gaussian(6.0))
    model = RVR(kernel, candidates="all").fit(X[:6000], Y[:6000])

    assert kernel.entries < 0.6 * 6000**2
    assert len(model.relevance_) > 3


@pytest.mark.parametrize("make", ["array", "blocks"])
def test_predicting_takes_no_more_memory_for_more_rows(make):
    """But for the predictions themselves and what they are computed from."""
    model = RVR(gamma=0.05, candidates=300).fit(X, Y)
    peaks = []
    for n_rows in (200_000, 400_000):
        rows = np.resize(X, (n_rows, 2))
        source = rows if make == "array" else scan(rows, block_rows=10_000)
        peaks.append(peak_bytes(lambda source=source: model.predict(source, True)))

    assert peaks[1] - peaks[0] < 8 * 8 * 200_000


def test_predicting_wide_rows_takes_constant_memory(rng):
    rows = rng.standard_normal((2000, 400))
    model = RVR(gamma=1e-4, candidates=20).fit(rows, rows[:, 0] + 0.1 * rows[:, 1])
    many = np.resize(rows, (20_000, 400))

    assert peak_bytes(lambda: model.predict(many)) < many.nbytes


@pytest.mark.parametrize(
    "parameters",
    [
        {"design": "dense", "memory_budget": "30MB"},
        {"memory_budget": 100},
    ],
    ids=str,
)
def test_what_cannot_fit_is_refused_before_it_takes_memory(parameters):
    model = RVR(**parameters)

    def refused():
        with pytest.raises(ValueError, match=r"8,000 rows .*memory_budget.*(30 MB|10)"):
            model.fit(X, Y)

    assert peak_bytes(refused) < 25 * MEGABYTE
    assert not hasattr(model, "model_")
