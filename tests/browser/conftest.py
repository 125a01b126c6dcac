"""A real browser, without a screen: pages are opened as a reader opens them."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

# Those of Debian, Fedora, macOS with Homebrew; Playwright's own is not needed.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome")

# No sandbox, because containers run as root; no calls home, because there are no
# messages of refused connections to mistake for those of the page.
SWITCHES = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Headless Chromium, one per module: its event loop ends before other tests'."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: make browser"
    )
    paths = (shutil.which(name) for name in BROWSERS)
    executable = next((path for path in paths if path is not None), None)
    if executable is None:
        pytest.skip("there is no Chromium here: make browser")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=executable, args=SWITCHES)
        yield chromium
        chromium.close()


@pytest.fixture
def open_page(browser: Any) -> Iterator[Open]:
    """Open a file or an address; whatever the page complains of fails the test.

    A test about what a page complains of takes the list ``page.complaints`` and
    empties it.
    """
    contexts, complaints = [], []

    def complain(what: str) -> Callable[[Any], None]:
        return lambda event: complaints.append(f"{what}: {_text(event)}")

    def open_page(
        address: str | Path, *, width: int = 1280, color_scheme: str = "light"
    ) -> Any:
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=color_scheme
        )
        contexts.append(context)
        page = context.new_page()
        page.complaints = complaints
        page.on("console", lambda m: m.type == "error" and complain("console")(m))
        page.on("pageerror", complain("error"))
        page.on("requestfailed", complain("request failed"))
        page.on("dialog", lambda d: (complain("dialog")(d), d.dismiss()))
        if isinstance(address, Path):
            address = address.resolve().as_uri()
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def _text(event: Any) -> str:
    """What an event says of itself, or the address it is about."""
    for name in ("text", "message", "url"):
        if hasattr(event, name):
            return str(getattr(event, name))
    return str(event)
