"""Loading executes nothing: Python's own audit of a process sees none of it."""

import subprocess
import sys

import pytest

from model_file.instances import fitted

WATCHED = """
import sys
import relvec
load = relvec.load
seen = []

def hook(event, args):
    if event.startswith(("import", "exec", "compile", "subprocess", "os.system",
                         "os.exec", "os.fork", "os.posix_spawn", "os.spawn", "socket",
                         "pickle", "marshal", "ctypes", "code.__new__", "urllib")):
        seen.append((event, str(args)[:100]))
    if event == "open" and not isinstance(args[0], int) and args[0] not in paths:
        seen.append((event, str(args)[:100]))

paths = sys.argv[1:]
sys.addaudithook(hook)
for path in paths:
    load(path)
print(seen)
"""


@pytest.mark.parametrize(
    "names",
    [
        ("rvr", "rvr compact", "rvr chi2", "rvr variational", "rvc full", "rvc ovo"),
        (
            "lssvr",
            "lssvr nystrom",
            "lssvc cg",
            "pipeline columns",
            "pipeline of frames",
        ),
    ],
)
def test_loading_runs_and_imports_nothing(names, tmp_path):
    paths = []
    for number, name in enumerate(names):
        paths.append(str(tmp_path / f"{number}.json"))
        save(fitted(name), paths[-1])
    found = subprocess.run(
        [sys.executable, "-c", WATCHED, *paths],
        capture_output=True,
        text=True,
        check=True,
    )

    assert found.stdout.strip() == "[]"


def save(model, path):
    import relvec

    relvec.save(model, path)
