"""A reader of pages: what is in them, and whether it is well-formed."""

from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

# Elements that end where they begin.
VOID = {"meta", "link", "br", "img", "input", "hr"}
ADDRESSES = {"src", "href", "xlink:href", "action", "data", "srcset", "poster"}


@dataclass
class Page(HTMLParser):
    """All of a page: its tags, texts and attributes; badly nested ones are told."""

    text: str
    tags: Counter = field(default_factory=Counter)
    names: list = field(default_factory=list)
    addresses: list = field(default_factory=list)
    words: list = field(default_factory=list)
    wrong: list = field(default_factory=list)
    figures: list = field(default_factory=list)
    within: list = field(default_factory=list)

    def __post_init__(self):
        super().__init__(convert_charrefs=True)
        self.feed(self.text)
        self.close()
        self.wrong += self.within

    def handle_starttag(self, tag, attrs):
        self._begun(tag, attrs)
        if tag not in VOID:
            self.within.append(tag)

    def handle_startendtag(self, tag, attrs):
        self._begun(tag, attrs)

    def handle_endtag(self, tag):
        if not self.within or self.within.pop() != tag:
            self.wrong.append(tag)

    def handle_data(self, data):
        if self.within and self.within[-1] not in {"style", "script"}:
            self.words.append(data)

    def _begun(self, tag, attrs):
        given = dict(attrs)
        if len(given) != len(attrs):
            self.wrong.append((tag, attrs))
        self.tags[tag] += 1
        self.names += [given["id"]] if "id" in given else []
        self.addresses += [value for key, value in attrs if key in ADDRESSES]
        if tag == "svg":
            self.figures.append(given)

    @property
    def shown(self):
        """What a reader sees."""
        return " ".join(self.words)
