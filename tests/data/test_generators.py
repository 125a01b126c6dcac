"""Synthetic problems."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from relvec.data import mixtures_and_copies, two_mixtures


@pytest.mark.parametrize("n_samples", [2500, 7, 1])
def test_rows_and_their_noisy_copies(n_samples):
    """Section 5.3.1 of the thesis: the same rows again, with noise of 0.05."""
    n_copies = n_samples // 2
    rows, classes = two_mixtures(n_samples - n_copies, seed=3)
    X, y = mixtures_and_copies(n_samples, seed=3)

    place = {tuple(row): i for i, row in enumerate(X)}
    originals = [place[tuple(row)] for row in rows]
    assert_array_equal(y[originals], classes)
    copies = np.setdiff1d(np.arange(n_samples), originals)
    assert len(copies) == n_copies
    if n_copies > 1000:
        nearest = np.abs(X[copies][:, None] - rows).sum(axis=2).min(axis=1)
        assert nearest.max() < 10 * 0.05
        assert np.count_nonzero(y[copies]) == np.count_nonzero(classes[:n_copies])


def test_the_noise_of_copies():
    """Without noise copies are the rows; with it they are as far as is said."""
    same, _ = mixtures_and_copies(2000, noise=0.0, seed=1)
    noisy, _ = mixtures_and_copies(2000, noise=0.05, seed=1)
    moved = np.any(same != noisy, axis=1)
    difference = (noisy - same)[moved]

    assert moved.sum() == 1000
    assert abs(difference.std() - 0.05) < 0.004
    assert abs(np.corrcoef(difference.T)[0, 1]) < 0.1


def test_the_order_is_by_chance_and_by_seed():
    X, y = mixtures_and_copies(400, seed=1)
    again, _ = mixtures_and_copies(400, seed=1)
    other, _ = mixtures_and_copies(400, seed=2)

    assert_array_equal(X, again)
    assert not np.array_equal(X, other)
    assert 60 < y[:200].sum() < 140
