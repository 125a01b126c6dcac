"""Wavelets: the laws of filters, values by the definition, scikit-learn's contract."""

import sys

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from relvec import RVR, sparse_bayes
from relvec.wavelets import WaveletTransformer
from relvec.wavelets.functions import symmlet

ORDERS = range(1, 11)

# As PyWavelets has them under the names sym2, sym4, sym6 and sym8, to nine digits.
PUBLISHED = {
    2: "0.482962913 0.836516304 0.224143868 -0.129409523",
    4: "-0.075765715 -0.029635528 0.497618668 0.803738752 "
    "0.297857796 -0.099219544 -0.012603967 0.032223101",
    6: "0.015404109 0.003490712 -0.117990111 -0.048311743 0.491055942 0.787641141 "
    "0.337929422 -0.072637523 -0.021060293 0.044724902 0.001767712 -0.007800708",
    8: "-0.003382416 -0.000542132 0.031695088 0.007607487 -0.143294238 -0.061273359 "
    "0.481359651 0.777185752 0.364441895 -0.051945838 -0.027219030 0.049137180 "
    "0.003808752 -0.014952258 -0.000302921 0.001889950",
}


def midpoints(n_cells):
    return (np.arange(n_cells) + 0.5) / n_cells


def functions(x, *family, **parameters):
    """Values on [0, 1], and their names without that of the feature."""
    wavelets = WaveletTransformer(*family, domain=(0, 1), **parameters)
    values = wavelets.fit_transform(x[:, None])
    return values, [name[3:] for name in wavelets.get_feature_names_out()]


def refined(taps, values, n_values):
    """√2 Σ taps_k values(2x − k) on the grid of the values, by the definition."""
    step = n_values // (len(taps) - 1)
    result = np.zeros_like(values)
    for place in range(len(values)):
        for k, tap in enumerate(taps):
            before = 2 * place - k * step
            if 0 <= before < len(values):
                result[place] += np.sqrt(2) * tap * values[before]
    return result


def wavelet_on_grid(order, fineness=6):
    """ψ on a grid of step 2^-fineness over its support, by the cascade algorithm."""
    taps = symmlet(order)
    n_values = (2 * order - 1) * 2**fineness
    values = np.zeros(n_values + 1)
    values[: 2**fineness] = 1.0
    for _ in range(100):
        values = refined(taps, values, n_values)
    mirror = taps[::-1] * (-1.0) ** np.arange(2 * order)
    return refined(mirror, values, n_values)


def support(name, order):
    """Where "wavelet_3_5" begins and ends if nothing is cut off."""
    level, cell = map(int, name.split("_")[1:])
    centre = cell + 0.5
    return (centre - order + 0.5) / 2**level, (centre + order - 0.5) / 2**level


@pytest.mark.parametrize("order", ORDERS)
def test_filters_are_orthonormal_and_sum_to_the_root_of_two(order):
    taps = symmlet(order)
    products = [taps[2 * m :] @ taps[: 2 * (order - m)] for m in range(order)]

    assert len(taps) == 2 * order
    assert_allclose(taps.sum(), np.sqrt(2), rtol=1e-13)
    assert_allclose(products, np.eye(order)[0], atol=1e-12)


@pytest.mark.parametrize("order", ORDERS)
def test_filters_have_as_many_vanishing_moments_as_they_say(order):
    taps = symmlet(order)
    places = np.linspace(-1, 1, 2 * order)
    signed = taps * (-1.0) ** np.arange(2 * order)
    moments = [signed @ places**power for power in range(order + 1)]

    assert_allclose(moments[:-1], 0, atol=1e-12)
    assert abs(moments[-1]) > 1e-6


@pytest.mark.parametrize("order", PUBLISHED)
def test_filters_are_the_published_ones(order):
    published = np.array(PUBLISHED[order].split(), dtype=float)
    taps = symmlet(order)
    reversal = taps[::-1] if taps[0] * published[0] < 0 else taps

    assert_allclose(reversal, published, atol=6e-10)


def test_without_pywavelets_the_way_to_get_it_is_told(monkeypatch):
    monkeypatch.setitem(sys.modules, "pywt", None)
    with pytest.raises(ImportError, match=r'pip install "relvec\[wavelets\]"'):
        WaveletTransformer().fit([[0.0], [1.0]])


@pytest.mark.parametrize("order", [3, 4, 8])
def test_wavelets_are_those_of_the_cascade_algorithm(order):
    mother = wavelet_on_grid(order)
    x = np.arange(65) / 64
    values, names = functions(x, order=order, levels=4)
    for name, column in zip(names[order:], values.T[order:], strict=True):
        level = int(name.split("_")[1])
        begin, _ = support(name, order)
        places = np.rint((x - begin) * 2**level * 64).astype(int)
        inside = (places >= 0) & (places < len(mother))
        expected = np.zeros(len(x))
        expected[inside] = 2 ** (level / 2) * mother[places[inside]]
        assert_allclose(column, expected, atol=1e-9)


def test_haar_wavelets_are_steps_on_half_open_intervals():
    x = np.array([0, 0.25, 0.5, 0.75, 1])
    values, names = functions(x, "haar", levels=2)

    assert names == ["polynomial_0", *(f"wavelet_{k}" for k in ("0_0", "1_0", "1_1"))]
    assert_allclose(values[:, 0], 1)
    assert_allclose(values[:, 1], [1, 1, -1, -1, -1])
    assert_allclose(values[:, 2], np.sqrt(2) * np.array([1, -1, 0, 0, 0]))
    assert_allclose(values[:, 3], np.sqrt(2) * np.array([0, 0, 1, -1, -1]))


@pytest.mark.parametrize(
    ("order", "error"), [(1, 1e-12), (2, 2e-3), (4, 2e-6), (8, 1e-10), (10, 1e-11)]
)
def test_periodic_functions_are_orthonormal(order, error):
    """To the error of the sum over a grid, which falls with smoothness."""
    family = ["haar"] if order == 1 else ["symmlet"]
    choice = {"boundary": "periodic", "order": max(order, 2)}
    values, _ = functions(midpoints(4096), *family, **choice)

    assert values.shape[1] == 64
    assert_allclose(values.T @ values / 4096, np.eye(64), atol=error)


@pytest.mark.parametrize("order", [4, 6, 8])
def test_inner_functions_and_polynomials_are_orthonormal(order):
    """Which is to say, too, that wavelets see no polynomials of degree < order."""
    values, names = functions(midpoints(4096), order=order, levels=7)
    whole = [name.startswith("polynomial") for name in names]
    for column, name in enumerate(names[order:], start=order):
        begin, end = support(name, order)
        whole[column] = begin >= 0 and end <= 1
    inner = values[:, whole]

    assert inner.shape[1] > 60
    assert_allclose(inner.T @ inner / 4096, np.eye(inner.shape[1]), atol=3e-5)
    assert np.all(np.mean(values**2, axis=0) < 1 + 3e-5)


@pytest.mark.parametrize("boundary", ["interval", "periodic"])
def test_names_say_where_a_wavelet_is(boundary):
    x = midpoints(4096)
    values, names = functions(x, levels=7, boundary=boundary)
    inside = 0
    for name, column in zip(names, values.T, strict=True):
        if name.startswith("polynomial"):
            continue
        begin, end = support(name, 8)
        if begin >= 0 and end <= 1:
            inside += 1
            assert abs(np.mean(x * column**2) - (begin + end) / 2) < (end - begin) / 40

    assert inside > 60


def test_polynomials_below_the_order_are_reproduced():
    x = np.sort(np.random.default_rng(0).random(300))
    values, _ = functions(x, order=5, levels=4)
    for degree in range(5):
        residual = np.linalg.lstsq(values[:, :5], x**degree, rcond=None)[1]
        assert_allclose(residual, 0, atol=1e-20)


def test_haar_reproduces_steps_between_its_cells():
    rng = np.random.default_rng(1)
    x, heights = rng.random(500), rng.standard_normal(16)
    steps = heights[(x * 16).astype(int)]
    values, _ = functions(x, "haar", levels=4)
    weights = np.linalg.lstsq(values, steps, rcond=None)[0]

    assert_allclose(values @ weights, steps, atol=1e-12)


def test_smooth_functions_are_followed_up_to_both_ends():
    """What a circle cannot do for a signal whose ends differ."""
    x = np.linspace(0, 1, 1000)
    signal = np.exp(-4 * x)
    errors = {}
    for boundary in ("interval", "periodic"):
        values, _ = functions(x, boundary=boundary)
        fitted = values @ np.linalg.lstsq(values, signal, rcond=None)[0]
        errors[boundary] = np.max(np.abs(fitted - signal))

    assert errors["interval"] < 1e-9
    assert errors["periodic"] > 0.1


def test_functions_are_zero_outside_the_interval():
    wavelets = WaveletTransformer(levels=3).fit([[2.0], [4.0]])

    assert_array_equal(wavelets.interval_, [[2.0, 4.0]])
    assert_array_equal(wavelets.transform([[1.99], [4.01], [-1e300]]), 0)
    assert np.all(np.any(wavelets.transform([[2.0], [4.0]]) != 0, axis=1))


def test_periodic_functions_go_on_for_ever():
    wavelets = WaveletTransformer(boundary="periodic", domain=(0, 24))
    hours = np.arange(24.0)[:, None]
    values = wavelets.fit_transform(hours)

    assert_allclose(wavelets.transform(hours + 48), values, atol=1e-12)
    assert_allclose(wavelets.transform(hours - 24), values, atol=1e-12)


def test_units_and_other_rows_play_no_part():
    x = np.linspace(0, 1, 50)[:, None]
    values = WaveletTransformer().fit_transform(x)
    wavelets = WaveletTransformer().fit(1024 * x - 512)

    assert_allclose(wavelets.transform((1024 * x - 512)[7:9]), values[7:9], atol=1e-12)


def test_features_stand_side_by_side():
    rows = np.random.default_rng(2).random((20, 2))
    wavelets = WaveletTransformer(order=3, levels=2).set_output(transform="pandas")
    table = wavelets.fit_transform(pd.DataFrame(rows, columns=["time", "depth"]))
    single = WaveletTransformer(order=3, levels=2).fit_transform(rows[:, 1:])

    assert table.columns[0] == "time_polynomial_0"
    assert table.columns[-1] == "depth_wavelet_1_1"
    assert_array_equal(table.to_numpy()[:, 6:], single)


def test_a_constant_feature_does_no_harm():
    values = WaveletTransformer().fit_transform(np.full((5, 1), 3.0))

    assert np.isfinite(values).all()
    assert np.ptp(values, axis=0).max() < 1e-12


def noisy_blocks(rng, n_samples=400):
    x = np.sort(rng.random(n_samples))
    blocks = np.where(x < 0.25, 0.0, np.where(x < 0.625, 4.0, 1.0))
    return x[:, None], blocks, blocks + 0.3 * rng.standard_normal(n_samples)


def test_a_model_of_steps_in_a_pipeline(rng):
    x, blocks, y = noisy_blocks(rng)
    haar = WaveletTransformer("haar", levels=5, domain=(0, 1))
    model = make_pipeline(haar, RVR(kernel=None)).fit(x, y)

    assert np.sqrt(np.mean((model.predict(x) - blocks) ** 2)) < 0.12
    assert len(model[-1].relevance_) < 25
    # Rows that a selection has not seen may ask for more noise than the fit's own.
    own = model[-1].model_.fit.likelihood.noise_variance
    assert_allclose(np.sqrt(own), 0.3, atol=0.04)
    assert model[-1].noise_variance_ >= own


def test_a_dictionary_for_sparse_bayes(rng):
    x, blocks, y = noisy_blocks(rng)
    wavelets = WaveletTransformer("haar", levels=5, domain=(0, 1))
    values = wavelets.fit_transform(x)
    found = sparse_bayes(values, y)
    names = wavelets.get_feature_names_out()[found.relevant]
    largest = names[np.argsort(-np.abs(found.weights))[:2]]

    assert np.sqrt(np.mean((found.predict(values)[0] - blocks) ** 2)) < 0.12
    assert set(largest) == {"x0_polynomial_0", "x0_wavelet_1_0"}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"family": "morlet"}, "family must be one of 'symmlet', 'haar'"),
        ({"order": 1}, "order must be a whole number from 2 to 10; got 1"),
        ({"order": 2.5}, "order must be a whole number"),
        ({"levels": 0}, "levels must be a whole number from 1 to 16; got 0"),
        ({"levels": True}, "levels must be a whole number"),
        ({"boundary": "reflect"}, "boundary must be one of"),
        ({"domain": (1, 1)}, "domain must be two numbers, the smaller one first"),
        ({"domain": (0, 1, 2)}, "domain must be two numbers"),
        ({"domain": (0, np.inf)}, "domain contains NaN or infinity"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        WaveletTransformer(**parameters).fit([[0.0], [1.0]])


@parametrize_with_checks(
    [
        WaveletTransformer(),
        WaveletTransformer("haar"),
        WaveletTransformer(boundary="periodic", order=4),
        WaveletTransformer(levels=3, domain=(-10, 10)),
    ]
)
def test_scikit_learn_contract(estimator, check):
    check(estimator)
