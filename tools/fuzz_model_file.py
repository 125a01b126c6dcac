"""Fuzzing the loader of model files with atheris: only ModelFileError may come of it.

python tools/fuzz_model_file.py [folder for findings] [options of libFuzzer]
python tools/fuzz_model_file.py findings -max_total_time=600

A text is tried as it is, and with a right digest: as a text of JSON, and as changes to
the tree of a file of tests/references/model_file_v1.
"""

import contextlib
import copy
import sys
import warnings
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["relvec.model_file", "relvec.persistence"]):
    import relvec
    from relvec.model_file import document, packed, unpacked
    from relvec.persistence.files import of_file

FILES = Path(__file__).parents[1] / "tests" / "references" / "model_file_v1"
MOST_SECONDS = 5  # of one text, instrumented and on a busy machine


def every_place(tree, path=()):
    """Paths to all values of a tree of JSON."""
    pairs = enumerate(tree) if isinstance(tree, list) else ()
    for key, each in tree.items() if isinstance(tree, dict) else pairs:
        yield (*path, key)
        yield from every_place(each, (*path, key))


def at(tree, path):
    """The value at a path."""
    for step in path:
        tree = tree[step]
    return tree


TEXTS = [path.read_bytes() for path in sorted(FILES.glob("*.json"))]
CONTENTS = [unpacked(text) for text in TEXTS if b'"sha256"' in text[:100]]
PLACES = [
    [path for path in every_place(each) if path[0] != "summary"] for each in CONTENTS
]


def number(given):
    """A number, perhaps one that JSON cannot write."""
    kind = given.ConsumeIntInRange(0, 3)
    if kind == 0:
        return given.ConsumeInt(8)
    if kind == 1:
        return given.ConsumeIntInRange(-2, 20)
    if kind == 2:
        return given.ConsumeRegularFloat()
    return {"type": "number", "value": given.PickValueInList(["nan", "inf", "-inf"])}


def value(given, which, depth=0):
    """Anything that JSON can say, and parts of other files."""
    kind = given.ConsumeIntInRange(0, 7)
    if kind == 0:
        return number(given)
    if kind == 1:
        return given.ConsumeUnicodeNoSurrogates(12)
    if kind == 2:
        return given.PickValueInList([None, True, False, "auto", "", [], {}])
    if kind == 3 and depth < 3:
        count = given.ConsumeIntInRange(0, 4)
        return [value(given, which, depth + 1) for _ in range(count)]
    if kind == 4 and depth < 3:
        names = [given.PickValueInList(NAMES) for _ in range(3)]
        return {name: value(given, which, depth + 1) for name in names}
    other = given.ConsumeIntInRange(0, len(CONTENTS) - 1)
    return copy.deepcopy(at(CONTENTS[other], given.PickValueInList(PLACES[other])))


NAMES = sorted({str(path[-1]) for paths in PLACES for path in paths})


def changed(given):
    """A file with some of its values changed."""
    which = given.ConsumeIntInRange(0, len(CONTENTS) - 1)
    content = copy.deepcopy(CONTENTS[which])
    for _ in range(given.ConsumeIntInRange(1, 4)):
        path = given.PickValueInList(PLACES[which])
        try:
            holder = at(content, path[:-1])
            if given.ConsumeBool():
                holder[path[-1]] = value(given, which)
            elif isinstance(holder[path[-1]], int | float):
                holder[path[-1]] = number(given)
            else:
                del holder[path[-1]]
        except (KeyError, IndexError, TypeError):
            continue  # it went with an earlier change
    return packed(content)


def one(data):
    """Load what the fuzzer made; only ModelFileError may come of it."""
    given = atheris.FuzzedDataProvider(data)
    way = given.ConsumeIntInRange(0, 5)
    if way == 0:
        text = given.ConsumeBytes(len(data))
    elif way == 1:
        text = sealed(given.ConsumeBytes(len(data)))
    else:
        try:
            text = changed(given)
        except relvec.ModelFileError:
            return  # what cannot be written
    with contextlib.suppress(relvec.ModelFileError):
        of_file(text)


def sealed(body):
    """Any bytes behind a frame that is right."""
    first = TEXTS[1][:47]
    blank = first + b"0" * 64 + b'",' + body
    digest = document._digest(blank, len(first), len(first) + 64)
    return first + digest + b'",' + body


def main():
    """Fuzz with the folder and the options of the command line."""
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "fuzz_findings")
    folder.mkdir(exist_ok=True, parents=True)
    options = [f"-timeout={MOST_SECONDS}", "-rss_limit_mb=1024", "-max_len=4096"]
    options.append(f"-artifact_prefix={folder}/")
    for kind, text in enumerate([*TEXTS, b"", b"{}"]):
        (folder / f"seed{kind}").write_bytes(b"\x01" + text[46:4000])
    atheris.Setup([sys.argv[0], str(folder), *options, *sys.argv[2:]], one)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
