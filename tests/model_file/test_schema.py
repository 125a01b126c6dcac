"""The schema in the documentation says what files are."""

import json
import re
from pathlib import Path

import pytest

from model_file.instances import INSTANCES, fitted
from relvec.persistence.files import _CODEC, as_file

ROOT = Path(__file__).parents[2]
SCHEMA = json.loads((ROOT / "docs" / "model-file.schema.json").read_text())
FIRST = ROOT / "tests" / "references" / "model_file_v1"
FILES = [
    *sorted(FIRST.glob("*.json")),
    *sorted((ROOT / "tests" / "recorded").glob("files_v*/*.json")),
]
KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "null": type(None),
    "number": (int, float),
    "integer": int,
}


def is_of(value, kinds):
    named = [kinds] if isinstance(kinds, str) else kinds
    if isinstance(value, bool):
        return "boolean" in named
    return any(isinstance(value, KINDS[kind]) for kind in named)


def fits(value, schema):
    """As much of JSON Schema as ours is written in."""
    if "$ref" in schema:
        return fits(value, SCHEMA["$defs"][schema["$ref"].removeprefix("#/$defs/")])
    if "anyOf" in schema:
        return any(fits(value, each) for each in schema["anyOf"])
    if "type" not in schema:
        return value in schema.get("enum", [schema.get("const")])
    own = {dict: fits_object, list: fits_list, str: fits_text, int: fits_number}
    known = own.get(type(value), lambda *_: True)
    return is_of(value, schema["type"]) and known(value, schema)


def fits_list(value, schema):
    few = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", 1e9)
    return few and all(fits(each, schema["items"]) for each in value)


def fits_text(value, schema):
    return re.search(schema.get("pattern", ""), value) is not None


def fits_number(value, schema):
    return value >= schema.get("minimum", value)


def fits_object(value, schema):
    own, more = schema.get("properties", {}), schema.get("additionalProperties", True)
    if not all(name in value for name in schema.get("required", [])):
        return False
    for name, each in value.items():
        if name in own:
            if not fits(each, own[name]):
                return False
        elif more is False or (isinstance(more, dict) and not fits(each, more)):
            return False
    return True


@pytest.mark.parametrize("name", INSTANCES)
def test_files_are_what_the_schema_says(name):
    assert fits(json.loads(as_file(fitted(name))), SCHEMA)


@pytest.mark.parametrize(
    "path", FILES, ids=lambda path: f"{path.parent.name} {path.stem}"
)
def test_files_of_earlier_versions_are_what_it_says(path):
    assert fits(json.loads(path.read_text("utf-8")), SCHEMA) == (
        path.stem != "expected"
    )


def test_what_is_not_so_does_not_fit():
    content = json.loads(FILES[1].read_text())

    assert not fits({**content, "version": 2}, SCHEMA)
    assert not fits({**content, "more": 1}, SCHEMA)
    content["estimator"]["model"]["type"] = "unheard of"
    assert not fits(content, SCHEMA)


def test_the_schema_has_all_types_and_their_fields():
    """A field that is renamed is another format: see relvec.model_file.kinds."""
    for name, kind in _CODEC.by_name.items():
        described = SCHEMA["$defs"][name]
        assert described["properties"].keys() - {"type"} == set(kind.fields), name
        needed = set(kind.fields) - kind.optional | {"type"}
        assert set(described["required"]) == needed, name
    types = {name for name in SCHEMA["$defs"] if "." in name or name == "status"}
    assert types == set(_CODEC.by_name)
