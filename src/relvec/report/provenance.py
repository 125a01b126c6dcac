"""Where a report comes from: files, versions, and what to run to have it again."""

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import relvec
from relvec.report.blocks import Block, Code, Facts, Section, Table, plain

_PACKAGES = ("numpy", "scipy", "scikit-learn", "matplotlib", "jinja2")


@dataclass(frozen=True)
class Origin:
    """What a report cannot know of itself; all of it may be left out.

    Parameters
    ----------
    facts : mapping of str to str, number or None
        Files and what else there is to say of where model and rows come from.
    rows : str
        What the rows are that the model is tried on, in a sentence or two.
    command : str
        What wrote the report, to be copied.
    model_bytes : int, optional
        Size of the model's file.
    comparison : sequence of mappings
        Rows of a table of other models, as ``relvec compare --json`` has them.
    comparison_text : str
        How they were compared.
    """

    facts: Mapping[str, Any] = field(default_factory=dict)
    rows: str = ""
    command: str = ""
    model_bytes: int | None = None
    comparison: Sequence[Mapping[str, Any]] = ()
    comparison_text: str = ""


def comparison_section(origin: Origin) -> Section | None:
    """Other models, if they were compared."""
    if not origin.comparison:
        return None
    columns = tuple(origin.comparison[0])
    rows = tuple(tuple(map(plain, row.values())) for row in origin.comparison)
    names = tuple(column.replace("_", " ") for column in columns)
    table = Table("Models on the same folds", names, rows)
    return Section("comparison", "Comparison", origin.comparison_text, (table,))


def provenance_section(origin: Origin, model: Any) -> Section:
    """Files, versions, the command and the model's parameters."""
    found = {name: plain(value) for name, value in origin.facts.items()}
    blocks: list[Block] = [Facts({**found, **_versions()})]
    if origin.command:
        blocks.append(Code(origin.command, "The command that wrote this report"))
    blocks.append(Code(repr(model), "The model, as Python writes it"))
    text = "What is needed to have the same again: files, versions and settings."
    return Section("provenance", "Versions and how to repeat it", text, tuple(blocks))


def _versions() -> dict[str, str]:
    found = {"relvec": relvec.__version__, "Python": platform.python_version()}
    for name in _PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:  # seen in bundles, which have no such data
            continue
    return {**found, "system": f"{platform.system()} {platform.machine()}"}
