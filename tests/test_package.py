"""The package itself, whose names come with the first look at them."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import relvec

DOCS = Path(__file__).parents[1] / "docs"
MODULES = (
    "data",
    "export",
    "inspection",
    "kernels",
    "metrics",
    "plots",
    "report",
    "wavelets",
)


@pytest.mark.parametrize("name", relvec.__all__)
def test_every_name_is_there(name):
    assert getattr(relvec, name) is getattr(relvec, name)
    assert name in dir(relvec)


def test_nothing_else_is_shown():
    shown = {name for name in dir(relvec) if not name.startswith("__")}

    assert shown <= {*relvec.__all__, *MODULES}
    assert all(hasattr(relvec, name) for name in MODULES)


def test_data_shows_what_the_reference_lists():
    reference = (DOCS / "api" / "data.rst").read_text()
    listed = re.findall(
        r"^\.\. auto(?:function|class):: (\w+)", reference, re.MULTILINE
    )

    assert sorted(relvec.data.__all__) == sorted(listed)


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
