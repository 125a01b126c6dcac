"""Every recorded fit comes out as it was recorded; see ``recorded/README.md``."""

import pytest
from recorded.fits import FITS
from recorded.make import LATER, deviations, excess, read, recorded, wanted_of

RECORDED = recorded()


def _marked(name):
    return pytest.param(name, marks=[pytest.mark.slow] if FITS[name].slow else [])


@pytest.mark.parametrize("name", map(_marked, FITS))
def test_the_fit_is_the_recorded_one(name):
    fit = FITS[name]
    problem, record = fit.problem(), RECORDED[name]
    apart = deviations(wanted_of(record), fit.run(problem), problem)

    assert excess(apart, record) == {}


def test_every_fit_is_recorded_and_every_record_has_its_fit():
    assert set(RECORDED) == set(FITS)


def test_every_later_record_says_why():
    assert all(record["reason"].strip() for record in read(LATER).values())
