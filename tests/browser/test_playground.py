"""The playground as its readers use it: relvec runs in the browser.

Its Python is put together by ``make playground``; RELVEC_PLAYGROUND names another
folder that has it.
"""

import contextlib
import io
import os
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
RUNTIME = Path(
    os.environ.get(
        "RELVEC_PLAYGROUND",
        ROOT / "docs/_build/html/_static/playground/runtime",
    )
)
ASSETS = ROOT / "docs/_static/playground"
START = 120_000  # milliseconds until Python must have started, on a busy machine
MOST_NOISE, MOST_WIDE = 1.0, 20.0  # the upper ends of the sliders
PAGE = """<!doctype html>
<html lang="en" data-theme="{theme}">
<meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>Playground</title><link rel="icon" href="data:,">
<body>{panel}</body>
</html>"""


class Site(SimpleHTTPRequestHandler):
    """The page alone, with the files beside it that the documentation has."""

    extensions_map = {  # noqa: RUF012 - as the class it derives from has it
        **SimpleHTTPRequestHandler.extensions_map,
        ".js": "text/javascript",
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def __init__(self, *arguments, runtime, **settings):
        self.runtime = runtime
        super().__init__(*arguments, **settings)

    def translate_path(self, path):
        name = Path(path.partition("?")[0]).name
        is_runtime = "/runtime/" in path
        return str((self.runtime if is_runtime else ASSETS) / name)

    def do_GET(self):
        if not self.path.endswith((".html", "dark")):
            super().do_GET()
            return
        panel = (ASSETS / "panel.html").read_text(encoding="utf-8")
        theme = "dark" if self.path.endswith("dark") else "light"
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(PAGE.format(theme=theme, panel=panel).encode())

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def served(runtime):
    handler = partial(Site, runtime=runtime)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def site():
    if not (RUNTIME / "manifest.json").exists():
        pytest.skip("Python for the playground is not here: make playground")
    with served(RUNTIME) as address:
        yield address


@pytest.fixture
def playground(site, open_page):
    """The page, when the first model is drawn; it keeps all answers."""
    page = open_page(f"{site}/playground.html")
    page.evaluate(
        """() => {
            window.answers = [];
            document.querySelector("#playground").addEventListener(
                "playground:fitted", (event) => window.answers.push(event.detail));
        }"""
    )
    page.wait_for_function("window.answers.length > 0", timeout=START)
    return page


def after(page, action):
    """What is told of the model after an action."""
    before = page.evaluate("window.answers.length")
    action()
    page.wait_for_function(
        "n => window.answers.length > n"
        " && document.querySelector('#playground').dataset.state === 'ready'",
        arg=before,
        timeout=START,
    )
    return page.evaluate("window.answers.at(-1)")


def click(page, across, down):
    """At this part of the picture's width and height."""
    box = page.locator(".pg-plot").bounding_box()
    page.mouse.click(box["x"] + across * box["width"], box["y"] + down * box["height"])


def slide(page, name, place):
    slider = page.locator(f"input[name={name}]")
    slider.evaluate(
        "(s, place) => { s.value = place;"
        " s.dispatchEvent(new Event('input', {bubbles: true})); }",
        place,
    )


def natively(told):
    """The model of the code that the page shows, fitted by this Python."""
    names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(told["code"], names)
    return names["model"]


@pytest.mark.slow
def test_from_the_first_model_to_the_last(playground, capsys):
    """One long visit: Python takes a while to start."""
    page = playground
    first = page.evaluate("window.answers.at(-1)")
    _is_drawn(page, first)
    _is_that_of_python(page, first)
    _points_come_and_go(page, first)
    _sliders_move_the_evidence(page)
    _a_width_is_learned(page)
    _the_trace_fills(page)
    _nothing_is_left_to_fit(page)
    _classes_are_mapped(page)
    times = page.evaluate("window.answers.map(answer => answer.milliseconds)")
    start = page.locator("#playground").get_attribute("data-start-seconds")
    with capsys.disabled():
        sys.stdout.write(
            f"\nstart {start} s, fits {np.median(times):.0f} ms (median)\n"
        )


def _is_drawn(page, told):
    assert told["points"] == page.locator(".pg-point").count() == 50
    assert len(told["vectors"]) == page.locator(".pg-vector").count() > 2
    assert page.locator(".pg-picture .pg-mean").count() == 1
    assert page.locator(".pg-band").bounding_box()["height"] > 50
    assert page.locator("progress").is_hidden()
    assert page.locator("[data-found=points]").inner_text() == "50"
    assert "ms" in page.locator("[data-found=milliseconds]").inner_text()


def _is_that_of_python(page, told):
    model = natively(told)
    grid = np.linspace(-10, 10, len(told["mean"]))[:, np.newaxis]
    lower, upper = model.predict_interval(grid, 0.9)

    assert page.locator(".pg-code code").inner_text() == told["code"]
    assert sorted(model.relevance_.tolist()) == told["vectors"]
    assert told["log_evidence"] == pytest.approx(model.log_evidence_, rel=1e-6)
    np.testing.assert_allclose(told["mean"], model.predict(grid), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(told["lower"], lower, rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(told["upper"], upper, rtol=1e-6, atol=1e-6)


def _points_come_and_go(page, first):
    added = after(page, lambda: click(page, 0.7, 0.1))
    assert added["points"] == 51
    assert added["log_evidence"] < first["log_evidence"]
    removed = after(page, lambda: click(page, 0.7, 0.1))
    assert removed["points"] == 50
    assert removed["log_evidence"] == first["log_evidence"]
    plot = page.locator(".pg-plot")
    plot.focus()
    for key in ("Shift+ArrowUp", "Shift+ArrowUp", "ArrowLeft"):
        plot.press(key)
    assert page.locator(".pg-cursor").count() == 1
    assert after(page, lambda: plot.press("Enter"))["points"] == 51
    assert after(page, lambda: plot.press("Enter"))["points"] == 50
    _is_dragged(page)


def _is_dragged(page):
    place = page.locator(".pg-point").first.bounding_box()
    page.mouse.move(place["x"] + 4, place["y"] + 4)
    page.mouse.down()
    told = after(
        page, lambda: page.mouse.move(place["x"] + 40, place["y"] + 90, steps=5)
    )
    page.mouse.up()
    assert told["points"] == 50
    assert page.locator(".pg-point").first.bounding_box()["y"] > place["y"] + 80


def _sliders_move_the_evidence(page):
    before = page.evaluate("window.answers.at(-1)")
    wide = after(page, lambda: slide(page, "length-scale", 100))
    assert wide["length_scale"] == MOST_WIDE
    assert wide["log_evidence"] < before["log_evidence"]
    fixed = after(page, lambda: page.uncheck("input[name=estimate]"))
    loud = after(page, lambda: slide(page, "noise-std", 100))
    assert loud["noise_std"] == pytest.approx(MOST_NOISE) != fixed["noise_std"]
    assert loud["log_evidence"] != fixed["log_evidence"]
    after(page, lambda: page.check("input[name=estimate]"))


def _a_width_is_learned(page):
    after(page, lambda: page.click("button:text-is('sinc')"))
    learned = after(page, lambda: page.check("input[name=learn]"))
    assert 0.5 < learned["length_scale"] < 5
    assert page.locator("input[name=length-scale]").is_disabled()
    model = natively(learned)
    assert learned["length_scale"] == pytest.approx(
        model.kernel_.length_scale, rel=1e-4
    )


def _the_trace_fills(page):
    page.wait_for_function(
        "document.querySelectorAll('.pg-trace .pg-tried').length === 25",
        timeout=START,
    )
    box = page.locator(".pg-trace").bounding_box()
    chosen = after(
        page,
        lambda: page.mouse.click(box["x"] + 0.9 * box["width"], box["y"] + 20),
    )
    assert not page.locator("input[name=learn]").is_checked()
    assert 8 < chosen["length_scale"] < MOST_WIDE


def _nothing_is_left_to_fit(page):
    """And what was being fitted when the points went is not drawn any more."""
    before = page.evaluate("window.answers.length")
    page.evaluate(
        """() => {
            const root = document.querySelector("#playground");
            const button = (text) => [...root.querySelectorAll("button")]
                .find((one) => one.textContent === text);
            button("step").click();
            button("clear").click();
        }"""
    )
    assert "add points" in page.locator(".pg-message").inner_text()
    assert page.locator(".pg-point, .pg-vector, .pg-band").count() == 0
    click(page, 0.3, 0.5)
    assert page.locator(".pg-point").count() == 1
    told = after(page, lambda: click(page, 0.6, 0.4))
    assert told["points"] == 2
    assert page.evaluate("window.answers.length") == before + 1


def _classes_are_mapped(page):
    told = after(page, lambda: page.click("button:text-is('Classification')"))
    assert told["classes"] == [0, 1]
    assert page.locator("canvas").is_visible()
    page.check("input[name=label][value='2']")
    told = after(page, lambda: click(page, 0.9, 0.85))
    assert told["classes"] == [0, 1, 2]
    assert page.locator(".pg-class-2.pg-point").count() == 1
    model = natively(told)
    assert told["log_evidence"] == pytest.approx(model.log_evidence_, rel=1e-6)


@pytest.mark.parametrize("theme", ["playground.html", "dark"])
def test_on_a_narrow_screen_nothing_is_cut_off(tmp_path, open_page, theme):
    """Without Python, which changes nothing of the layout."""
    with served(tmp_path) as address:
        page = open_page(f"{address}/{theme}", width=400)
        page.wait_for_selector("#playground[data-state=failed]")

        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert page.locator(".pg-plot").bounding_box()["width"] > 300
        page.complaints.clear()


def test_a_page_without_its_python_says_how_to_get_it(tmp_path, open_page):
    with served(tmp_path) as address:
        page = open_page(f"{address}/playground.html")
        page.wait_for_selector("#playground[data-state=failed]")

        assert "make playground" in page.locator(".pg-message").inner_text()
        assert page.locator(".pg-point").count() == 50
        page.complaints.clear()


def test_a_python_that_is_broken_is_told_of(tmp_path, open_page):
    (tmp_path / "manifest.json").write_text('{"bytes": {}}', encoding="utf-8")
    with served(tmp_path) as address:
        page = open_page(f"{address}/playground.html")
        page.wait_for_selector("#playground[data-state=failed]")

        assert "Python did not start" in page.locator(".pg-message").inner_text()
        page.complaints.clear()


def test_a_file_says_that_it_must_be_served(tmp_path, open_page):
    panel = (ASSETS / "panel.html").read_text(encoding="utf-8")
    path = tmp_path / "playground.html"
    path.write_text(PAGE.format(theme="light", panel=panel), encoding="utf-8")
    page = open_page(path)

    assert "http.server" in page.locator(".pg-message").inner_text()
    page.complaints.clear()
