"""Many classes: letters, leaves and a hundred blobs fit, and refuse with a reason."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.datasets import make_blobs
from sklearn.preprocessing import scale

from relvec import RVC


def blobs(n_classes, n_rows, n_features=6, spread=2.0):
    X, y = make_blobs(
        n_rows, n_features, centers=n_classes, cluster_std=spread, random_state=0
    )
    return scale(X), y


@pytest.mark.parametrize(
    ("n_classes", "n_rows", "n_features"),
    [(22, 330, 6), (26, 260, 16), (32, 160, 20), (100, 300, 6)],
    ids=["blobs", "letters", "leaves", "a hundred"],
)
@pytest.mark.filterwarnings("ignore::relvec.FitWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_many_classes_fit_at_the_defaults(n_classes, n_rows, n_features):
    X, y = blobs(n_classes, n_rows, n_features)
    model = RVC(max_iter=20).fit(X, y)
    p = model.predict_proba(X)

    assert p.shape == (n_rows, n_classes)
    assert np.all(np.isfinite(p))
    assert_allclose(p.sum(axis=1), 1)
    assert model.calibration_.log_loss < model.calibration_.baseline_log_loss
    assert np.isfinite(model.log_evidence_)


@pytest.mark.parametrize("multi_class", ["auto", "softmax"])
def test_more_classes_than_one_model_can_have_are_refused(multi_class):
    X, y = blobs(1000, 3000)
    with pytest.raises(ValueError, match=r"1000 classes.*'ovr'.*LSSVC"):
        RVC(multi_class=multi_class).fit(X, y)
