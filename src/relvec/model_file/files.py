"""Files that are whole at any moment: the old one, then the new one."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO, TypeAlias

from relvec.model_file.errors import ModelFileError
from relvec.model_file.strict_json import MOST_BYTES

Path: TypeAlias = str | os.PathLike[str]

_LONGEST_NAME = 100  # of what a temporary file has of the name, some letters take four


def write_whole(path: Path, content: bytes) -> None:
    """All of a file at once: see ``whole_file``."""
    with whole_file(path) as file:
        file.write(content)


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Write beside the file, to the disk, and only then in its place.

    Whatever happens meanwhile, there is the old file or the new one. After a process
    was killed a temporary file may be left, whose name begins with a dot. A link stays
    one; hard links are parted, and a file that is read-only is replaced.
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
    """Refuse what is no place for a file, before anything is written."""
    ends = tuple(each for each in (os.sep, os.altsep) if each)
    if not given or given.endswith(ends):
        raise IsADirectoryError(errno.EISDIR, "It is no name of a file", given)
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
    """So much of it that more can be added."""
    kept = os.fsencode(name)[:_LONGEST_NAME]
    return kept.decode("utf-8", "ignore")


def _keep_permissions(path: str, temporary: str) -> None:
    """Those of the file that is replaced; a new one has what the mask leaves it."""
    with contextlib.suppress(FileNotFoundError):
        os.chmod(temporary, stat.S_IMODE(os.stat(path).st_mode))


def _sync_folder(folder: str) -> None:
    """So that the new name outlives a power cut, where folders can be synced."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    # Some file systems cannot; the file itself is on the disk by now.
    with contextlib.suppress(OSError):
        os.fsync(handle)
    os.close(handle)


def read_limited(path: Path) -> bytes:
    """All of an ordinary file that is not too long; or refuse."""
    # A pipe would keep us waiting.
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    handle = os.open(path, flags)
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode):
            raise ModelFileError("it is no ordinary file")
        if found.st_size > MOST_BYTES:
            raise ModelFileError(
                f"it has {found.st_size:,} bytes, and a model file may have "
                f"{MOST_BYTES:,}"
            )
        with open(handle, "rb", closefd=False) as file:
            return file.read(MOST_BYTES + 1)  # it may have grown since
    finally:
        os.close(handle)
