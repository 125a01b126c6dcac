"""Print the lowest version of everything that the tests need, as constraints for pip.

They are those of pyproject.toml, so that what it promises is what is tested.
"""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).parents[1] / "pyproject.toml"
BOUND = re.compile(r"^(?P<name>[\w.-]+)(\[[^]]*\])?>=(?P<version>[\d.]+)")
EXTRAS = ("cli", "dask", "onnx", "report", "test")


def bounds() -> dict[str, str]:
    """Distribution to its lowest version."""
    project = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(each for e in EXTRAS for each in extras[e])]
    found = (BOUND.match(each) for each in wanted)
    return {match["name"]: match["version"] for match in found if match}


if __name__ == "__main__":
    for name, version in sorted(bounds().items()):
        print(f"{name}=={version}{'' if version.count('.') > 1 else '.*'}")
