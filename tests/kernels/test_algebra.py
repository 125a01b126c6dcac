"""Sums, products and multiples, and their parameters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from problems import read_only

from relvec.kernels import (
    Constant,
    Gaussian,
    Linear,
    Matern,
    Product,
    Scaled,
    Sigmoid,
    Sum,
)

X, Z = read_only(*np.random.default_rng(2).standard_normal((2, 5, 3)))
LEFT, RIGHT = Gaussian(0.7), Matern(1.2)


def test_sums_and_products():
    left, right = LEFT(X, Z), RIGHT(X, Z)

    assert_allclose((LEFT + RIGHT)(X, Z), left + right)
    assert_allclose((LEFT * RIGHT)(X, Z), left * right)


@pytest.mark.parametrize("number", [2, 0.5, np.float64(3.0), np.int64(2)])
def test_numbers(number):
    values = LEFT(X, Z)

    for scaled in (number * LEFT, LEFT * number):
        assert_allclose(scaled(X, Z), number * values)
    for shifted in (number + LEFT, LEFT + number):
        assert_allclose(shifted(X, Z), number + values)


def test_the_builtin_sum():
    assert sum([LEFT, RIGHT]) == LEFT + RIGHT


def test_what_operators_make():
    assert Sum(LEFT, RIGHT) == LEFT + RIGHT
    assert Product(LEFT, RIGHT) == LEFT * RIGHT
    assert Scaled(LEFT, 2.0) == 2.0 * LEFT
    assert Sum(LEFT, Constant(0.5)) == LEFT + 0.5


def test_definite_only_if_both_are():
    assert (LEFT + RIGHT).positive_definite
    assert (LEFT * RIGHT).positive_definite
    assert not (LEFT + Sigmoid()).positive_definite
    assert not (2.0 * Sigmoid()).positive_definite


def test_columns_within_columns():
    inner = Gaussian(columns=[1]) + Linear()
    outer = Sum(inner, Constant(), columns=[2, 0])

    expected = Gaussian()(X[:, [0]], Z[:, [0]]) + X[:, [2, 0]] @ Z[:, [2, 0]].T + 1
    assert_allclose(outer(X, Z), expected)


def test_nested_parameters():
    kernel = Gaussian(0.7) + 2.0 * Matern(1.2)
    kernel.set_params(left__length_scale=3.0, right__factor=5.0, right__kernel__nu=0.5)

    assert kernel == Gaussian(3.0) + 5.0 * Matern(1.2, 0.5)


def test_a_replaced_kernel_takes_its_new_parameters():
    kernel = Gaussian(0.7) + Linear()
    kernel.set_params(right=Matern(), right__nu=0.5)

    assert kernel == Gaussian(0.7) + Matern(nu=0.5)


def test_representations_show_what_was_set():
    kernel = 2.0 * Gaussian([1.0, 2.0], columns=np.array([0, 1])) + Linear()

    assert repr(Gaussian()) == "Gaussian()"
    assert repr(kernel) == (
        "Sum(left=Scaled(kernel=Gaussian(columns=[0, 1], length_scale=[1.0, 2.0]), "
        "factor=2.0), right=Linear())"
    )


def test_equal_parameters_make_equal_kernels():
    assert Gaussian([1.0, 2.0]) == Gaussian(np.array([1.0, 2.0]))
    assert Gaussian(columns=slice(0, 2)) == Gaussian(columns=slice(0, 2))
    assert Gaussian(1.0) != Gaussian(2.0)
    assert Gaussian(1.0) != Matern(1.0)
    assert Gaussian() != "Gaussian()"


def test_parameters_are_kept_as_given():
    scales = np.array([1.0, 2.0])

    assert Gaussian(scales).length_scale is scales
    assert Gaussian(scales).get_params()["length_scale"] is scales


def test_fields_cannot_be_assigned():
    kernel = Gaussian()
    with pytest.raises(AttributeError):
        kernel.length_scale = 2.0


@pytest.mark.parametrize(
    ("kernel", "scale"),
    [
        (Gaussian(), 1.0),
        (Gaussian(3.0), 3.0),
        (Gaussian(width=2.0), np.sqrt(2)),
        (Matern(width=[2.0, 4.0]), [np.sqrt(2), 2 * np.sqrt(2)]),
    ],
)
def test_the_scale_in_effect(kernel, scale):
    assert_allclose(kernel.scale, scale)
