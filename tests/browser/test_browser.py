"""The fixtures of this folder notice what they promise to notice."""

import pytest

PAGE = """<!doctype html><html lang="en"><title>A page</title>
<link rel="icon" href="data:,"><body>{body}</body></html>"""


def written(folder, body):
    path = folder / "page.html"
    path.write_text(PAGE.format(body=body), encoding="utf-8")
    return path


def test_a_quiet_page_has_nothing_to_complain_of(open_page, tmp_path):
    page = open_page(written(tmp_path, "<h1>Vectors</h1>"), width=400)
    assert page.inner_text("h1") == "Vectors"
    assert page.evaluate("innerWidth") == 400
    assert page.complaints == []


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>console.error('no weight')</script>", "console: no weight"),
        ("<script>throw new Error('no vector')</script>", "error: no vector"),
        ("<script>alert('here')</script>", "dialog: here"),
        ("<img src='absent.png' alt=''>", "request failed"),
    ],
)
def test_whatever_goes_wrong_is_told(open_page, tmp_path, body, complaint):
    page = open_page(written(tmp_path, body))
    page.wait_for_load_state("networkidle")
    told = list(page.complaints)
    page.complaints.clear()
    assert any(complaint in each for each in told)


def test_a_page_knows_of_the_dark(open_page, tmp_path):
    page = open_page(written(tmp_path, ""), color_scheme="dark")
    assert page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
