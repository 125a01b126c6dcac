"""Which of the models on the way of backward elimination is kept."""

import numpy as np
import pytest

from relvec import RVR
from relvec.kernel_search.elimination import EliminationPath, EliminationStep
from relvec.kernel_search.trials import Trial
from relvec.kernels import Gaussian

WEIGHT = np.ones(50)


def step(n_vectors, loss, gcv=None):
    """With the same loss in every row, so that any difference is beyond its error."""
    rows = np.full(50, loss)
    return EliminationStep(None, None, n_vectors, loss if gcv is None else gcv, rows)


class Model:
    def __init__(self, n_vectors):
        self.indices = np.arange(n_vectors)


def given(n_vectors, loss):
    return Trial(Model(n_vectors), None, np.ones(1), loss, 50)


def path(*models, by_rows=True, kernel=None):
    return EliminationPath(WEIGHT, by_rows, kernel, list(models))


MODELS = [step(9, 1.0), step(7, 1.01), step(5, 1.05), step(4, 1.2), step(3, 2.0)]


@pytest.mark.parametrize("by_rows", [True, False])
@pytest.mark.parametrize(
    ("kernel", "kept"),
    [
        (None, 9),  # nothing to be measured by
        (given(12, 1.3), 9),  # which is sparser already
        (given(9, 1.3), 7),
        (given(7, 1.3), 5),
        (given(5, 1.3), 4),
        (given(5, 1.1), 5),  # with four it would be worse than the kernel given
        (given(3, 1.1), 5),
        (given(5, 0.9), 9),  # as it is from the beginning
        (given(5, 1.34), 4),
        (given(5, 1.36), 9),  # of half the squared error: not the same with fewer
    ],
)
def test_no_more_functions_than_the_kernel_given_has(by_rows, kernel, kept):
    found = path(*MODELS, by_rows=by_rows, kernel=kernel).chosen()

    assert found.n_vectors == kept


def test_gcv_decides_for_other_criteria():
    """And the sparsest of several that are equal."""
    models = [step(9, 1.0), step(7, 1.2, 0.9), step(5, 1.3, 0.9), step(4, 1.4, 1.0)]

    assert path(*models, by_rows=False).chosen().n_vectors == 5
    assert path(*models, by_rows=True).chosen().n_vectors == 9


def test_elimination_ends_where_models_are_much_worse():
    """Later where the kernel given is sparser still, and no better."""
    much_worse = step(5, 1.2)
    for kernel, ends in [
        (None, True),
        (given(6, 1.3), True),
        (given(5, 1.3), False),
        (given(5, 1.1), True),
        (given(5, 1.4), True),
    ]:
        assert path(step(9, 1.0), kernel=kernel).ends_with(much_worse) == ends
        assert not path(step(9, 1.0), kernel=kernel).ends_with(step(5, 1.14))


def test_a_kernel_of_few_functions_makes_a_sparser_model():
    """Scales of their own are measured by the kernel given, not by others."""
    sizes = {1.0: 0, 4.0: 0}
    for seed in (2, 3):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((150, 3))
        mean = np.tanh(X[:, 0]) + 0.5 * X[:, 1] * np.abs(X[:, 2])
        y = mean + 0.3 * rng.standard_normal(150)
        for scale in sizes:
            model = RVR(Gaussian(scale), kernel_learning="adaptive").fit(X, y)
            sizes[scale] += len(model.relevance_)

    assert sizes[4.0] < 0.8 * sizes[1.0]
