"""Links between pages lead to files and headings that exist; no network is needed."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    page
    for page in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))
    if "_build" not in page.parts and "auto_examples" not in page.parts
)
EXAMPLES = sorted(ROOT.glob("examples/plot_*.py"))
FENCE = re.compile(r"^( *)(`{3,}|~{3,}).*?^\1\2`*\s*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"(`+)(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?[^)]*\)")
CARD = re.compile(
    r"^:link: (\S+)\s*$|^```\{(?:button-ref|figures)\} (\S+)", re.MULTILINE
)
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*$", re.MULTILINE)
LABEL = re.compile(r"^\(([^)\s]+)\)=\s*$", re.MULTILINE)
ELSEWHERE = re.compile(r"^[a-z]+:|^//")
ROLE = re.compile(r":doc:`(?:[^`<]*<)?/([^`>]+)>?`")


def links(text):
    """Targets of all links of a page that are not code."""
    prose = CODE.sub("", FENCE.sub("", text))
    cards = (first or second for first, second in CARD.findall(text))
    return [*LINK.findall(prose), *cards]


def anchors(text):
    """What can be linked to on a page: labels, and headings as GitHub names them."""
    found = set(LABEL.findall(text))
    for title in HEADING.findall(FENCE.sub("", text)):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        slug = base = re.sub(r"[^\w\- ]", "", words).replace(" ", "-")
        number = 0
        while slug in found:
            number += 1
            slug = f"{base}-{number}"
        found.add(slug)
    return found


def source(page, target):
    """The file that a relative target is made from, if there is one."""
    path = (page.parent / target).resolve()
    if path.parent.name == "auto_examples":  # made by the gallery
        stem = path.stem if path.suffix in {"", ".rst"} else ""
        made = {"index": ROOT / "examples/GALLERY_HEADER.rst"}
        path = made.get(stem, ROOT / "examples" / f"{stem}.py")
    tries = (
        path,
        path.with_name(path.name + ".md"),
        path.with_name(path.name + ".rst"),
    )
    return next((one for one in tries if one.exists()), None)


def fault(page, target):
    """What is wrong with a link of a page, or nothing."""
    if ELSEWHERE.match(target):
        return None
    name, _, anchor = target.partition("#")
    found = source(page, name) if name else page
    if found is None:
        return f"{target}: no such file"
    if anchor and found.suffix == ".md":
        known = anchors(found.read_text(encoding="utf-8"))
        return None if anchor in known else f"{target}: no such heading or label"
    return None


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    targets = links(page.read_text(encoding="utf-8"))

    assert [wrong for target in targets if (wrong := fault(page, target))] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_examples_refer_to_pages_that_exist(example):
    names = ROLE.findall(example.read_text(encoding="utf-8"))

    assert [name for name in names if not (ROOT / "docs" / f"{name}.md").exists()] == []


def test_every_example_has_its_place_in_the_gallery():
    order = (ROOT / "docs/_extensions/reading_order.py").read_text(encoding="utf-8")

    assert [one.name for one in EXAMPLES if f'"{one.name}"' not in order] == []
    assert len(re.findall(r'"plot_\w+\.py"', order)) == len(EXAMPLES)


def test_there_are_links_to_check():
    assert sum(len(links(page.read_text(encoding="utf-8"))) for page in PAGES) > 300


@pytest.mark.parametrize(
    ("target", "wrong"),
    [
        ("guide/regression.md", None),
        ("guide/regression.md#error-bars", None),
        ("guide/kernel_learning.md#which-one", None),  # a label
        ("benchmarks.md#bars-1", None),  # the second heading of that name
        ("auto_examples/plot_dask.rst", None),
        ("https://example.org/nowhere", None),
        ("guide/regresion.md", "guide/regresion.md: no such file"),
        (
            "auto_examples/plot_nothing.rst",
            "auto_examples/plot_nothing.rst: no such file",
        ),
        (
            "guide/regression.md#eror-bars",
            "guide/regression.md#eror-bars: no such heading or label",
        ),
    ],
)
def test_what_a_fault_is(target, wrong):
    assert fault(ROOT / "docs/index.md", target) == wrong


def test_links_in_code_are_none():
    text = "[a](x.md) `[b](y.md)`\n\n```text\n[c](z.md)\n```\n\n![d](p.png)"

    assert links(text) == ["x.md", "p.png"]
