"""A model file as bytes: strict JSON in a frame with a version and a digest.

The digest is that of the file with zeros in place of its own 64 digits. The frame comes
first and is always written the same way, so the digest is checked before anything is
parsed. All limits are checked before anything of the limited size is allocated. A file
is replaced at once: at any moment it is either the old one or the new one.
"""

import contextlib
import errno
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator
from importlib import import_module
from typing import Any, BinaryIO, TypeAlias

import numpy as np

_KEPT_START, _KEPT_END = 600, 200  # characters that a longer text keeps


class ModelFileError(ValueError):
    """A file is not a model, or a model cannot be saved; the message says why."""

    def __init__(self, text: str = "") -> None:
        # Quotes from a file may be long.
        if len(text) > _KEPT_START + _KEPT_END:
            text = f"{text[:_KEPT_START]} … {text[-_KEPT_END:]}"
        super().__init__(text)


# A gigabyte of text is an exact LS-SVM of 30 000 rows and 1000 features.
MOST_BYTES = 2**30
# The deepest files have sums of kernels in a pipeline. Python's parser and our
# functions recurse, so a thousand levels would be too many.
_DEEPEST = 100
# Numeric arrays are text, so the values are names, categories and settings.
_MOST_VALUES = 2_000_000
# Bytes of a text, or of a string in it, with characters that may need four bytes each.
_MOST_WIDE, _LONGEST_WIDE = 2**28, 2**24

# A string up to its last quote, or to the end of the text. Possessive quantifiers avoid
# backtracking in a string of a gigabyte.
_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)', re.DOTALL)
_OTHERS = bytes(set(range(256)) - set(b"[]{}"))
_LARGEST = 2**63


def as_text(tree: Any) -> bytes:
    """Write a tree as JSON, always in the same way."""
    # ASCII, since one wide character would make all others take four bytes in memory.
    text = json.dumps(tree, allow_nan=False, ensure_ascii=True, separators=(",", ":"))
    return text.encode("ascii")


def as_tree(text: bytes) -> dict[str, Any]:
    """Parse JSON strictly."""
    if len(text) > MOST_BYTES:
        raise ModelFileError(f"it has more than {MOST_BYTES:,} bytes")
    if text.count(b",") > _MOST_VALUES or text.count(b"[") > _MOST_VALUES:
        raise ModelFileError(f"it has more than {_MOST_VALUES:,} values")
    if len(text) > _MOST_WIDE and not text.isascii():
        raise ModelFileError(f"it has more than {_MOST_WIDE:,} bytes, and not in ASCII")
    _check_long(text)
    _check_depth(text)
    try:
        tree = json.loads(
            text.decode("utf-8"),
            object_pairs_hook=_each_key_once,
            parse_constant=_no_constant,
            parse_float=_finite,
            parse_int=_whole,
        )
    except ModelFileError:
        raise
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"it is not JSON: {error}") from None
    if not isinstance(tree, dict):
        raise ModelFileError("it is JSON, but not an object")
    return tree


def _check_depth(text: bytes) -> None:
    """Count brackets outside strings."""
    brackets = np.frombuffer(_STRING.sub(b"", text).translate(None, _OTHERS), np.uint8)
    opening = (brackets == ord("[")) | (brackets == ord("{"))
    depth = np.cumsum(np.where(opening, 1, -1), dtype=np.int64)
    if len(depth) and depth.max() > _DEEPEST:
        raise ModelFileError(f"it is nested more than {_DEEPEST} deep")


def _check_long(text: bytes) -> None:
    """Refuse long strings with escapes, which base64 never has."""
    if len(text) <= _LONGEST_WIDE or b"\\" not in text:
        return
    for found in _STRING.finditer(text):
        long = found.end() - found.start() > _LONGEST_WIDE
        if long and text.find(b"\\", found.start(), found.end()) >= 0:
            raise ModelFileError("a long string has escapes, which no data have")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ModelFileError("an object has the same key twice")
    return found


def _no_constant(word: str) -> Any:
    raise ModelFileError(f"it has {word}, which is not JSON")


def _finite(digits: str) -> float:
    value = float(digits)
    if abs(value) == float("inf"):
        raise ModelFileError(f"it has {digits}, a number out of range")
    return value


def _whole(digits: str) -> int:
    # The time to parse long integers grows with the square of their length.
    if len(digits) > 20 or not -_LARGEST <= int(digits) < 2 * _LARGEST:
        raise ModelFileError(f"it has {digits}, a whole number out of range")
    return int(digits)


FORMAT, VERSION = "relvec-model", 1
_READ = (1,)  # versions that this module understands
_BLANK = b"0" * 64
_BEGINNING = f'{{"format":"{FORMAT}","version":'.encode()
_FRAME = re.compile(
    re.escape(_BEGINNING) + rb'([1-9][0-9]{0,5}),"sha256":"([0-9a-f]{64})",'
)


def packed(content: dict[str, Any]) -> bytes:
    """Return the bytes of a file with this content."""
    head = _BEGINNING + f'{VERSION},"sha256":"'.encode()
    text = head + _BLANK + b'",' + as_text(content)[1:] + b"\n"
    if len(text) > MOST_BYTES:
        raise ModelFileError(
            f"the model takes {len(text):,} bytes and a model file may have "
            f"{MOST_BYTES:,}: keep it by joblib.dump"
        )
    digest = hashlib.sha256(text).hexdigest().encode()
    return head + digest + text[len(head) + len(_BLANK) :]


def unpacked(text: bytes) -> dict[str, Any]:
    """Return the content of a file whose digest is correct."""
    if not text.startswith(_BEGINNING):
        raise ModelFileError(
            f"it does not begin as a model file does, with {_BEGINNING.decode()}"
        )
    frame = _FRAME.match(text)
    if frame is None:
        raise ModelFileError("its version or its digest is malformed")
    version = int(frame[1])
    if version not in _READ:
        raise ModelFileError(
            f"it has version {version} of the format, and this relvec reads "
            f"{', '.join(map(str, _READ))}: install a newer one"
        )
    if _digest(text, *frame.span(2)) != frame[2]:
        raise ModelFileError(
            "it is damaged: its SHA-256 differs from the one in the file"
        )
    content = as_tree(text)
    return {name: content[name] for name in list(content)[3:]}


def _digest(text: bytes, start: int, stop: int) -> bytes:
    whole = memoryview(text)
    found = hashlib.sha256(whole[:start])
    found.update(_BLANK)
    found.update(whole[stop:])
    return found.hexdigest().encode()


Path: TypeAlias = str | os.PathLike[str]

_LONGEST_NAME = 100  # of what a temporary file has of the name, some letters take four


def write_whole(path: Path, content: bytes) -> None:
    """Write a whole file at once; see ``whole_file``."""
    with whole_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write to a temporary file on the same disk, then move it into place.

    At any moment there is either the old file or the new one. If the process is killed,
    a temporary file may remain, whose name begins with a dot. A symbolic link stays
    one; hard links are separated, and a read-only file is replaced.
    """
    given = os.fsdecode(path)
    place = os.path.realpath(given)
    _check_place(given, place)
    folder, name = os.path.split(place)
    beside = f".{_cut(name)}.{os.urandom(8).hex()}.tmp"
    temporary = os.path.join(folder, beside)
    try:
        with open(temporary, "xb") as file:
            _keep_permissions(place, temporary)
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, place)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


def _check_place(given: str, place: str) -> None:
    """Refuse a path that cannot be written, before anything is written."""
    ends = tuple(each for each in (os.sep, os.altsep) if each)
    if not given or given.endswith(ends):
        raise IsADirectoryError(errno.EISDIR, "It is not the name of a file", given)
    if not os.path.isdir(os.path.dirname(place)):
        raise FileNotFoundError(errno.ENOENT, "No such folder to write to", given)
    with contextlib.suppress(FileNotFoundError):
        mode = os.stat(place).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), given)
        if not stat.S_ISREG(mode):
            raise OSError(
                errno.EINVAL,
                "It is a pipe, a device or another special file, which would be "
                "replaced by an ordinary one: give another name",
                given,
            )


def _cut(name: str) -> str:
    """Shorten a name so that a suffix fits."""
    kept = os.fsencode(name)[:_LONGEST_NAME]
    return kept.decode("utf-8", "ignore")


def _keep_permissions(path: str, temporary: str) -> None:
    """Keep the permissions of a replaced file."""
    with contextlib.suppress(FileNotFoundError):
        os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))


def _sync_folder(folder: str) -> None:
    """Let the new name survive a power cut, where folders can be synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    # Some file systems cannot; the file itself is on the disk by now.
    with contextlib.suppress(OSError):
        os.fsync(handle)
    os.close(handle)


def read_limited(path: Path) -> bytes:
    """Read an ordinary file of limited size."""
    # Opening a pipe must not block.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ModelFileError("it is not an ordinary file")
        if found.st_size > MOST_BYTES:
            raise ModelFileError(
                f"it has {found.st_size:,} bytes, and a model file may have "
                f"{MOST_BYTES:,}"
            )
        with open(handle, "rb", closefd=False) as file:
            return file.read(MOST_BYTES + 1)  # it may have grown since
    finally:
        os.close(handle)


class Savable:
    """Something that a model file can hold."""

    def save(self, path: Path) -> None:
        """Save the fitted model in a file that :func:`relvec.load` reads.

        Parameters
        ----------
        path : str or path
            The file to write; an existing file is replaced at once.
        """
        # ``relvec.persistence`` is a layer above.
        import_module("relvec").save(self, path)
