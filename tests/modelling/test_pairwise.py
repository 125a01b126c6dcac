"""Several binary models as one value."""

from dataclasses import replace
from functools import partial
from itertools import cycle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from relvec.basis import Basis, Group
from relvec.kernel_search import LengthScales, learn
from relvec.kernels import Gaussian
from relvec.modelling import (
    Specification,
    class_family,
    coupling_for,
    fit,
    fit_pairwise,
    in_arrays,
)

LABELS = np.array(["fig", "kiwi", "plum"])


def three_classes(n_rows=90):
    rng = np.random.default_rng(4)
    X = rng.standard_normal((n_rows, 2))
    return X, np.digitize(X[:, 0] + 0.3 * rng.standard_normal(n_rows), [-0.5, 0.5])


def pairwise(mode, fit=fit, **settings):
    X, y = three_classes()
    rows, classes = in_arrays(X, y, np.ones(len(y)), len(y), 0)
    family = class_family("auto", LABELS[:2])
    spec = Specification((Gaussian(1.0),), family, augmented=False)
    coupling = coupling_for(mode, LABELS)
    options = {
        "kernels": [spec.kernels] * len(coupling.keys),
        "shared": True,
        "start": lambda key: None,
        **settings,
    }
    return X, fit_pairwise(fit, spec, rows, classes, coupling, **options)


@pytest.mark.parametrize("mode", ["ovr", "ovo"])
def test_weights_are_those_of_the_models(mode):
    """The functions of all, each once: every model's latent value is a sum of them."""
    X, model = pairwise(mode)
    functions = Gaussian(1.0)(X, model.centres)
    latent, _ = model.latent(X)

    assert len(np.unique(model.centres, axis=0)) == len(model.centres)
    assert_allclose(functions @ model.weights.T + model.intercept, latent, atol=1e-9)
    unused = np.isinf(model.prior_precision)
    assert_array_equal(unused, model.weights == 0)
    assert_array_equal(model.labels, LABELS)


def test_a_model_is_known_by_what_it_decides_on():
    _, model = pairwise("ovo")

    assert model.start_for(("fig", "plum")) is model.models[1]
    assert model.start_for(("plum", "fig")) is None
    assert model.start_for(None) is None


def test_one_width_stands_beside_scales_of_each_feature():
    modes = cycle(["width", "ard"])

    def learned(spec, data, **start):
        settings = LengthScales(next(modes), n_restarts=1)
        return learn(settings, spec, data, **start)

    _, model = pairwise("ovr", learned, shared=False)
    widths = {one.learned.length_scales.ndim for one in model.models}
    scales = model.learned.length_scales

    assert widths == {1, 2}
    assert scales.shape == (len(model.indices), 2)
    first = model.kernel_indices == 0
    assert_array_equal(scales[first, 0], scales[first, 1])
    assert_allclose(model.learned.feature_relevance.sum(), 1)


def test_a_model_without_functions_stands_beside_others():
    _, model = pairwise("ovr", partial(learn, LengthScales("ard", n_restarts=1)))
    nothing = replace(
        model.models[0],
        learned=replace(model.models[0].learned, length_scales=np.empty(0)),
        basis=Basis((Group(Gaussian(1.0), np.empty((0, 2))),), bias=False),
        indices=np.empty(0, dtype=np.intp),
    )
    joined = replace(
        model, models=(nothing, *model.models[1:]), first_kernels=(0, 1, 2)
    )

    assert joined.learned.length_scales.shape == (len(joined.indices), 2)
