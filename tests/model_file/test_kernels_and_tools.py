"""Every kernel in a model file; and models by joblib and skops."""

import io

import joblib
import numpy as np
import pytest
import skops.io
from conformance.test_kernels import KERNELS, name
from numpy.testing import assert_array_equal

from model_file.instances import fitted, regression, rows_for
from relvec import RVR
from relvec.persistence.files import as_file, of_file

OWN = [kernel for kernel in KERNELS if "CallableKernel" not in repr(kernel)]


@pytest.mark.filterwarnings("ignore::relvec.FitWarning")
@pytest.mark.parametrize("kernel", OWN, ids=name)
def test_every_kernel_comes_back(kernel):
    X, y = regression(30, 3)
    model = RVR(kernel).fit(X, y)
    again = of_file(as_file(model))

    assert again.kernel == model.kernel
    assert again.model_.basis.groups[0].kernel == model.model_.basis.groups[0].kernel
    rows = np.random.default_rng(5).standard_normal((9, 3))
    assert_array_equal(
        again.predict(rows, return_std=True), model.predict(rows, return_std=True)
    )


EACH = ["rvr", "rvr several", "rvc words", "rvc ovo", "rvc full", "lssvr", "lssvc"]


@pytest.mark.parametrize("which", EACH)
def test_joblib(which):
    model, file = fitted(which), io.BytesIO()
    joblib.dump(model, file)
    file.seek(0)
    again = joblib.load(file)

    assert_array_equal(again.predict(rows_for(model)), model.predict(rows_for(model)))


@pytest.mark.parametrize("which", [*EACH, "pipeline columns"])
def test_skops(which):
    model = fitted(which)
    content = skops.io.dumps(model)
    trusted = skops.io.get_untrusted_types(data=content)
    again = skops.io.loads(content, trusted=trusted)

    assert {word for word in trusted if not word.startswith("relvec.")} <= {
        "builtins.frozenset",
        "numpy.dtype",
    }
    assert_array_equal(again.predict(rows_for(model)), model.predict(rows_for(model)))
