"""How many rows a partition has: the heuristic of (5.2.1.2.1), and what is refused."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from partitions import sinc_problem

from relvec import BottomUp, TopDown
from relvec.kernels import Linear
from relvec.modelling import Specification, class_family
from relvec.partition import thesis as size_module
from relvec.partition.thesis import PartitionSize, check_size, found_size


@dataclass(frozen=True)
class Counted:
    """A source that only knows how many rows there are."""

    n_rows: int
    n_features: int

    def drawn(self, count):
        return range(count)  # it has a length


@pytest.fixture
def looked(monkeypatch):
    """A first look that finds so many vectors; notes how many rows it was given."""

    class Look:
        vectors: np.ndarray = np.empty(0, dtype=int)
        rows = 0

        def __call__(self, spec, rows):
            self.rows = len(rows)
            return SimpleNamespace(indices=self.vectors)

    look = Look()
    monkeypatch.setattr(size_module, "maximised", look)
    return look


def specification(solver=None, n_classes=0):
    spec = sinc_problem(10)[0]
    if n_classes:
        family = class_family("auto", np.arange(n_classes))
        spec = Specification(spec.kernels, family)
    return spec if solver is None else replace(spec, solver=solver)


@pytest.mark.parametrize(
    ("n_vectors", "size"),
    [
        (0, 20),
        (1, 20),
        (24, 20),
        (25, 20),  # γ ≤ 0.25
        (26, 60),
        (50, 60),
        (74, 60),
        (75, 60),  # γ ≤ 0.75
        (76, 100),
        (100, 100),
    ],
)
def test_the_size_by_the_sparseness_ratio(looked, n_vectors, size):
    """Of P⁰ = √(N·d) = 100 rows, at each branch and where it ends."""
    looked.vectors = np.arange(n_vectors)
    found = found_size(specification(), Counted(2000, 5))

    assert looked.rows == 100
    assert found.rows == size
    assert found.ratio == n_vectors / 100


@pytest.mark.parametrize(
    ("n_vectors", "advised"), [(75, False), (90, False), (91, True), (100, True)]
)
def test_advice_where_nearly_all_rows_are_vectors(looked, n_vectors, advised):
    looked.vectors = np.arange(n_vectors)
    advice = found_size(specification(), Counted(10_000, 1)).advice

    assert (advice is not None) == advised
    if advised:
        assert f"{n_vectors}%" in advice
        assert "widen" in advice
        assert "gamma='learn'" in advice


def test_no_advice_to_widen_a_kernel_without_a_width(looked):
    looked.vectors = np.arange(100)
    spec = replace(specification(), kernels=(Linear(),))
    advice = found_size(spec, Counted(10_000, 1)).advice

    assert "100%" in advice
    assert "widen" not in advice


def test_no_advice_on_a_size_that_was_given():
    assert np.isnan(PartitionSize(30).ratio)
    assert PartitionSize(30).advice is None


def test_a_row_with_functions_of_several_kernels_is_one_vector(looked):
    looked.vectors = np.repeat(np.arange(25), 3)

    assert found_size(specification(), Counted(2000, 5)).ratio == 0.25


@pytest.mark.parametrize(
    ("shape", "drawn"),
    [((1000, 1), 32), ((999, 2), 45), ((10, 1000), 10), ((1, 1), 1)],
)
def test_the_rows_of_the_first_look(looked, shape, drawn):
    """⌈√(N·d)⌉, or all there are."""
    found_size(specification(), Counted(*shape))

    assert looked.rows == drawn


def test_solvers_that_begin_with_all_functions_look_at_fewer_rows(looked):
    source = Counted(10**6, 10)
    found_size(specification(BottomUp()), source)
    assert looked.rows == 3163
    found = found_size(specification(TopDown("mackay")), source)

    assert looked.rows == 2000
    assert found.rows == 400


@pytest.mark.parametrize(
    ("shape", "n_classes", "size"),
    [
        ((400, 1), 0, 10),  # a fifth of twenty rows would be four
        ((400, 1), 3, 10),
        ((400, 1), 12, 12),
        ((2000, 5), 12, 20),
        ((6, 1), 0, 6),  # no more than there are
    ],
)
def test_the_least_size(looked, shape, n_classes, size):
    """Ten rows, or as many as there are classes."""
    assert found_size(specification(None, n_classes), Counted(*shape)).rows == size


def test_sizes_that_cannot_be():
    check_size(100, 100, None)
    check_size(3, 100, np.arange(3))
    with pytest.raises(ValueError, match=r"101 is more than the 100 rows.*'auto'"):
        check_size(101, 100, None)
    with pytest.raises(ValueError, match=r"2 is less than the 3 classes.*give more"):
        check_size(2, 100, np.arange(3))
