"""Files that are whole at any moment: the old one, then the new one."""

import contextlib
import os
import stat
from typing import Any, TypeAlias

from relvec.model_file.errors import ModelFileError
from relvec.model_file.strict_json import MOST_BYTES

Path: TypeAlias = str | os.PathLike[str]


def write_whole(path: Path, content: bytes) -> None:
    """Write beside the file, to the disk, and only then in its place.

    Whatever happens meanwhile, there is the old file or the new one. After a process
    was killed a temporary file may be left, whose name begins with a dot.
    """
    path = os.path.realpath(os.fspath(path))  # a link stays one
    folder, name = os.path.split(path)
    temporary = os.path.join(folder, f".{name}.{os.urandom(8).hex()}.tmp")
    try:
        with open(temporary, "xb") as file:
            _keep_permissions(path, temporary)
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise
    _sync_folder(folder)


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
    with open(handle, "rb") as file:
        found: Any = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise ModelFileError("it is no ordinary file")
        if found.st_size > MOST_BYTES:
            raise ModelFileError(
                f"it has {found.st_size:,} bytes, and a model file may have "
                f"{MOST_BYTES:,}"
            )
        # It may have grown since.
        return file.read(MOST_BYTES + 1)
