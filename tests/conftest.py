"""Fixtures that every test may use."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("relvec", deadline=None, derandomize=True, max_examples=20)
settings.register_profile("free", deadline=None, max_examples=500)
settings.load_profile(os.environ.get("RELVEC_HYPOTHESIS", "relvec"))


def pytest_collection_modifyitems(config, items):
    """Leave out what takes minutes, unless it is asked for by its marker."""
    asked_for = config.getoption("markexpr")
    unasked = [
        marker
        for marker in ("coverage", "honesty", "contract")
        if marker not in asked_for
    ]

    def takes_minutes(item):
        return any(item.get_closest_marker(marker) for marker in unasked)

    config.hook.pytest_deselected(items=[item for item in items if takes_minutes(item)])
    items[:] = [item for item in items if not takes_minutes(item)]


def _data_folder() -> Path:
    """Where the papers' data sets are: RELVEC_DATA, or beside the checkout."""
    beside = Path(__file__).parents[2] / "shared" / "data"
    return Path(os.environ.get("RELVEC_DATA", beside))


@pytest.fixture(scope="session")
def data_folder() -> Path:
    folder = _data_folder()
    if not folder.is_dir():
        pytest.skip("the papers' data sets are not here: set RELVEC_DATA")
    return folder


@pytest.fixture(scope="session")
def reference_folder() -> Path:
    folder = _data_folder().parent / "reference"
    if not folder.is_dir():
        pytest.skip("the reference results are not here: set RELVEC_DATA")
    return folder


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260611)
