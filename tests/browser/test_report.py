"""A report as a reader sees it: sizes, sorting, narrow screens, the dark, and paper."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from relvec import RVC, RVR
from relvec.report import Origin, make_report

SCRIPT = "<script>alert(1)</script>"
ENOUGH = 4.5  # contrast of text, by the web's guidelines (WCAG 2, level AA)
OF_LINES = 3.0  # contrast of lines and dots, by the same
COLOURS = """(selector) => {
  const found = getComputedStyle(document.querySelector(selector));
  const canvas = document.createElement("canvas").getContext("2d");
  const plain = (colour) => {
    canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  return ["color", "backgroundColor", "fill", "stroke"].map((n) => plain(found[n]));
}"""


def table(n_rows):
    """Names that try to run, that are long, and that are plain."""
    rng = np.random.default_rng(0)
    names = [SCRIPT, "n" * 200, "depth", "width"]
    return pd.DataFrame(rng.normal(size=(n_rows, 4)), columns=names)


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    """With all sections of numbers, other models among them."""
    X = table(120)
    noise = 0.2 * np.random.default_rng(1).standard_normal(120)
    y = pd.Series(np.sin(2 * X[SCRIPT]) + noise, name="</title>" + SCRIPT)
    model = make_pipeline(StandardScaler(), RVR(kernel_learning="ard")).fit(X, y)
    rows = [
        {"model": name, "rmse": score, "vectors": 3}
        for name, score in [("RVM", 10.5), ("SVM", 9.25), ("GP", -100.0), ("x", None)]
    ]
    path = tmp_path_factory.mktemp("report") / "numbers.html"
    origin = Origin(command="relvec report " + "m" * 300, comparison=rows)
    make_report(model, X, y, title=SCRIPT, origin=origin).save(path)
    return path


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    X = table(120)[[SCRIPT, "depth"]]
    labels = np.array(["<b>&\"'", "img src=x onerror=alert(2)>", "l" * 100])
    y = labels[(X.to_numpy() > 0).sum(axis=1)]
    path = tmp_path_factory.mktemp("report") / "classes.html"
    make_report(make_pipeline(StandardScaler(), RVC()).fit(X, y), X, y).save(path)
    return path


@pytest.fixture(params=["numbers", "classes"])
def report(request):
    return request.getfixturevalue(request.param)


def column(page, name, number):
    """Texts of a column of the table of a section."""
    body = f"section[aria-labelledby={name}] table.sortable >> nth=0"
    cells = page.locator(body).locator(f"tbody td:nth-child({number})")
    return cells.all_inner_texts()


def heading(page, name, number):
    first = page.locator(f"section[aria-labelledby={name}] table.sortable >> nth=0")
    return first.locator(f"thead th:nth-child({number})")


def test_nothing_is_complained_of_and_all_figures_have_sizes(open_page, report):
    page = open_page(report)
    page.wait_for_load_state("networkidle")
    figures = page.locator("svg").all()

    assert len(figures) >= 3
    for figure in figures:
        box = figure.bounding_box()
        assert box["width"] > 200
        assert box["height"] > 60
        assert figure.get_attribute("width")
        assert figure.get_attribute("height")
    assert page.evaluate("[...document.images].every((image) => image.naturalWidth)")


def test_names_are_shown_and_do_not_run(open_page, report):
    """The page has the one script, and dialogs would be complained of."""
    page = open_page(report)

    assert page.locator("script").count() == 1
    assert page.locator("b").count() == 0
    assert page.locator("img").count() == 0
    assert SCRIPT in page.inner_text("main")


def test_numbers_are_sorted_as_numbers_both_ways(open_page, numbers):
    page = open_page(numbers)
    heading(page, "comparison", 2).get_by_role("button").click()
    rising = column(page, "comparison", 2)
    aria = heading(page, "comparison", 2).get_attribute("aria-sort")
    heading(page, "comparison", 2).get_by_role("button").click()

    assert rising == ["−100", "9.25", "10.5", "–"]
    assert aria == "ascending"
    assert column(page, "comparison", 2) == ["10.5", "9.25", "−100", "–"]
    assert heading(page, "comparison", 2).get_attribute("aria-sort") == "descending"


def test_text_is_sorted_and_one_column_at_a_time(open_page, numbers):
    page = open_page(numbers)
    heading(page, "comparison", 2).get_by_role("button").click()
    heading(page, "comparison", 1).get_by_role("button").click()

    assert column(page, "comparison", 1) == ["GP", "RVM", "SVM", "x"]
    assert page.locator("section[aria-labelledby=comparison] [aria-sort]").count() == 1


def test_tables_are_sorted_by_keyboard(open_page, numbers):
    page = open_page(numbers)
    button = heading(page, "vectors", 1).get_by_role("button")
    button.focus()
    page.keyboard.press("Enter")
    rising = [int(cell) for cell in column(page, "vectors", 1)]
    page.keyboard.press("Space")

    assert len(rising) > 2
    assert rising == sorted(rising)
    assert [int(cell) for cell in column(page, "vectors", 1)] == rising[::-1]
    assert button.evaluate("(it) => it === document.activeElement")


def test_without_scripts_there_are_tables_and_no_buttons(browser, numbers):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(numbers.as_uri())

    assert page.locator("th button").count() == 0
    assert page.locator("tbody tr").count() > 20
    context.close()


@pytest.mark.parametrize("width", [320, 400, 768, 1280])
def test_no_screen_is_scrolled_sideways(open_page, report, width):
    page = open_page(report, width=width)

    assert page.evaluate("document.documentElement.scrollWidth") <= width
    outside = page.evaluate(
        """() => [...document.querySelectorAll("h1, h2, p, dd, a, svg, pre, .scroll")]
        .filter((each) => each.getBoundingClientRect().right > innerWidth + 1)
        .map((each) => each.outerHTML.slice(0, 80))"""
    )
    assert outside == []


def test_wide_tables_scroll_within_their_box(open_page, numbers):
    page = open_page(numbers, width=400)
    box = page.locator("section[aria-labelledby=vectors] .scroll")

    assert box.evaluate("(it) => it.scrollWidth > it.clientWidth")
    assert box.get_attribute("tabindex") == "0"
    box.evaluate("(it) => { it.scrollLeft = 100 }")
    assert box.evaluate("(it) => it.scrollLeft") == 100


def test_text_is_large_enough_in_figures_of_narrow_screens(open_page, report):
    page = open_page(report, width=400)
    heights = page.evaluate(
        """() => [...document.querySelectorAll("svg text")].map((each) =>
        parseFloat(getComputedStyle(each).fontSize) * each.getScreenCTM().a
        || each.getBoundingClientRect().width)"""
    )

    assert min(heights) > 5


def luminance(colour):
    channels = np.asarray(colour[:3]) / 255
    linear = np.where(
        channels <= 0.04045, channels / 12.92, ((channels + 0.055) / 1.055) ** 2.4
    )
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one, other):
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_there_is_contrast_by_day_and_by_night(open_page, report, scheme):
    page = open_page(report, color_scheme=scheme)
    paper = page.evaluate(COLOURS, "body")[1]

    assert (luminance(paper) < 0.05) == (scheme == "dark")
    for selector in ("p", "dt", "dd", "nav a", "caption", "figcaption", "td", "pre"):
        ink, ground, *_ = page.evaluate(COLOURS, selector)
        assert contrast(ink, ground if ground[3] else paper) >= ENOUGH, selector
    ink, ground, *_ = page.evaluate(COLOURS, "thead th")
    assert contrast(ink, ground) >= ENOUGH
    fill = page.evaluate(COLOURS, "svg text")[2]
    assert contrast(fill, paper) >= ENOUGH


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_dots_and_lines_are_seen(open_page, numbers, scheme):
    page = open_page(numbers, color_scheme=scheme)
    paper = page.evaluate(COLOURS, "body")[1]
    colours = page.evaluate(
        """() => [...new Set([...document.querySelectorAll("svg use, svg path")]
        .map((each) => /(?:fill|stroke): (var[^;]*)/.exec(each.getAttribute("style")))
        .filter((match) => match).map((match) => match[1]))]"""
    )

    assert "var(--blue)" in colours
    for colour in set(colours) - {"var(--paper)"}:
        page.evaluate(f"document.body.style.setProperty('color', '{colour}')")
        assert contrast(page.evaluate(COLOURS, "body")[0], paper) >= OF_LINES, colour


def test_it_prints_on_a_few_pages(open_page, report):
    page = open_page(report, color_scheme="dark")
    pages = re.findall(rb"/Type\s*/Page\b", page.pdf(prefer_css_page_size=True))
    page.emulate_media(media="print")

    assert 3 <= len(pages) <= 12
    assert luminance(page.evaluate(COLOURS, "body")[1]) == 1.0
    assert page.locator("nav").is_hidden()
    arrow = "(it) => getComputedStyle(it, '::after').display"
    assert page.locator("th button").first.evaluate(arrow) == "none"


def test_nothing_is_cut_on_paper(open_page, report):
    """As wide as A4 between its margins, nothing is beyond the edge or scrolled."""
    page = open_page(report, width=680)
    page.emulate_media(media="print")
    cut = page.evaluate(
        """() => [...document.querySelectorAll("main *:not(svg *)")].filter((each) =>
        each.getBoundingClientRect().right > innerWidth + 1
        || each.scrollHeight > each.clientHeight + 1
        && getComputedStyle(each).overflowY !== "visible")
        .map((each) => each.outerHTML.slice(0, 80))"""
    )

    assert cut == []
