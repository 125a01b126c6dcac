"""The page: well-formed, on its own, and whatever is in names is shown as text."""

import base64
import hashlib
import re
import sys

import pytest

from relvec.report import page as pages
from relvec.report.page import is_report
from report.conftest import LABEL, NAMES, SCRIPT
from report.pages import Page


@pytest.fixture(params=["report_of_numbers", "report_of_classes"])
def report(request):
    return request.getfixturevalue(request.param)


def test_it_is_well_formed(report):
    page = Page(report.html())

    assert page.wrong == []
    assert len(page.names) == len(set(page.names))
    assert page.tags["h1"] == page.tags["main"] == page.tags["title"] == 1
    assert report.html().startswith('<!doctype html>\n<html lang="en">')


def test_its_contents_lead_to_its_sections(report):
    page = Page(report.html())
    within = [each[1:] for each in page.addresses if each.startswith("#")]

    assert {section.name for section in report.sections} <= set(within)
    assert set(within) <= set(page.names)


def test_it_asks_for_nothing(report):
    html = report.html()
    page = Page(html)

    assert all(each.startswith(("#", "data:")) for each in page.addresses)
    assert "@import" not in html
    urls = re.findall(r"url\(([^)]*)\)", html.replace("url(#a)", ""))
    assert all(each.startswith("#") for each in urls)


def test_figures_have_sizes_and_say_what_they_are(report):
    figures = Page(report.html()).figures

    assert len(figures) >= 3
    for figure in figures:
        assert float(figure["width"]) > 100
        assert float(figure["height"]) > 50
        assert figure["role"] == "img"
        assert len(figure["aria-label"]) > 10


def test_names_are_text_wherever_they_are(report_of_numbers):
    page = Page(report_of_numbers.html())

    assert page.tags["script"] == 1
    assert page.tags["b"] == page.tags["frac"] == 0
    # In heading, table, captions, facts, code, features and inside a figure.
    assert page.shown.count(SCRIPT) >= 8
    for name in NAMES:
        assert name in page.shown


def test_long_names_are_whole_where_there_is_room(report_of_numbers):
    """Columns have the beginning, and all of it for whoever points at them."""
    html = report_of_numbers.html()

    assert f'title="{NAMES[3]}">{"n" * 59}…</th>' in html
    assert f">{NAMES[3]}</td>" in html


def test_labels_are_text_wherever_they_are(report_of_classes):
    page = Page(report_of_classes.html())

    assert page.tags["b"] == 0
    assert page.shown.count(LABEL) >= 4


def test_names_are_text_in_figures(report_of_numbers):
    for section in report_of_numbers.sections:
        for block in section.blocks:
            if block.kind == "figure":
                assert Page(block.svg).wrong == []
                assert Page(block.svg).tags["script"] == 0
    features = next(s for s in report_of_numbers.sections if s.name == "features")
    assert "<script>alert" in Page(features.blocks[0].svg).shown


def test_only_its_own_script_may_run(report):
    html = report.html()
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()

    assert f"script-src 'sha256-{digest}'" in html.replace("&#39;", "'")


def test_the_same_is_written_twice(report, tmp_path):
    report.save(tmp_path / "a.html")
    report.save(tmp_path / "b.html")

    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()
    assert is_report(tmp_path / "a.html")
    (tmp_path / "c.html").write_text("<!doctype html><title>Mine</title>")
    assert not is_report(tmp_path / "c.html")


@pytest.mark.parametrize("name", ["jinja2", "matplotlib"])
def test_what_is_missing_is_said_with_the_remedy(monkeypatch, name):
    monkeypatch.setitem(sys.modules, name, None)

    with pytest.raises(ImportError, match=rf'made with {name}.*"relvec\[report\]"'):
        pages.check_installed()
