"""The package itself, whose names come with the first look at them."""

import subprocess
import sys

import pytest

import relvec


@pytest.mark.parametrize("name", relvec.__all__)
def test_every_name_is_there(name):
    assert getattr(relvec, name) is getattr(relvec, name)
    assert name in dir(relvec)


def test_a_package_that_is_not_used_waits_for_nothing():
    code = "import relvec, sys; print({'numpy', 'sklearn'} & set(sys.modules))"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout == "set()\n"


def test_rooms_are_found_without_being_imported():
    code = "import relvec; print(relvec.kernels.Matern(nu=1.5).nu)"

    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert done.stdout == "1.5\n"


@pytest.mark.parametrize("name", ["nothing", "_private", "__wrapped__"])
def test_what_is_not_there(name):
    with pytest.raises(AttributeError, match=f"no attribute '{name}'"):
        getattr(relvec, name)
