"""Ways to spoil a model file: by accident, and on purpose."""

import copy
import random

from relvec.model_file import packed, unpacked

# What somebody could put in the place of any value.
NASTY = [
    None,
    True,
    0,
    -1,
    7,
    2**62,
    -(2**63),
    0.5,
    -1e308,
    1e-320,
    "",
    "abc",
    "é" * 50,
    [],
    [[]],
    [0, 1],
    {},
    {"type": "array"},
    {"type": "unheard of"},
    {"type": "number", "value": "nan"},
    {"type": "number", "value": "inf"},
    {"type": "tuple", "items": []},
    {"type": "map", "items": {}},
    {"type": "dict", "items": [[[], 1]]},
    {"type": "slice", "items": [None, None, 0]},
    {"type": "slice", "items": [None, None, -1]},
    {"type": "kernel.Columns"},
    {"type": "kernel.Constant", "value": 1.0, "columns": None},
    {"type": "kernel.Gaussian", "length_scale": 1e-300, "width": None},
    {"type": "kernel.Linear", "columns": [0, 10**9]},
    {"type": "status", "member": "CONVERGED"},
    {"type": "words", "length": 3, "shape": [2], "items": ["a", "b"]},
    {"type": "objects", "shape": [2], "items": ["a", None]},
]


def accidents(text, seed=0):
    """An endless supply of flips, truncations and splices, each another text."""
    chance = random.Random(seed)
    while True:
        kind = chance.choice(["flip", "truncated", "splice", "bytes", "longer"])
        start, stop = sorted(chance.choices(range(len(text)), k=2))
        spoilt = bytearray(text)
        if kind == "flip":
            for _ in range(chance.choice([1, 1, 1, 2, 8])):
                spoilt[chance.randrange(len(text))] ^= 1 << chance.randrange(8)
        elif kind == "truncated":
            del spoilt[start:]
        elif kind == "splice":
            other = chance.randrange(len(text))
            spoilt[start:stop] = text[other : other + chance.choice([1, 64, 4096])]
        elif kind == "bytes":
            spoilt[start : start + 8] = chance.randbytes(8)
        else:
            spoilt += chance.randbytes(chance.choice([1, 10]))
        if bytes(spoilt) != text:
            yield bytes(spoilt)


def places(tree, path=()):
    """Where a value can be put in the place of another."""
    if isinstance(tree, dict):
        for key in tree:
            yield (*path, key)
            yield from places(tree[key], (*path, key))
    elif isinstance(tree, list):
        for number in range(len(tree)):
            yield (*path, number)
            yield from places(tree[number], (*path, number))


def found(tree, path):
    for step in path:
        tree = tree[step]
    return tree


def intrigues(text, seed=0):
    """Contents that somebody has changed and given a right digest."""
    chance, content = random.Random(seed), unpacked(text)
    everywhere = list(places(content))
    while True:
        spoilt = copy.deepcopy(content)
        for _ in range(chance.choice([1, 1, 1, 2, 3])):
            path = chance.choice(everywhere)
            try:
                holder = found(spoilt, path[:-1])
                change(chance, holder, path[-1], content, everywhere)
            except (KeyError, IndexError, TypeError):
                continue  # what was there has gone with an earlier change
        yield packed(spoilt)


def change(chance, holder, key, content, everywhere):
    """Another value in the place of one: nasty, similar, none or from elsewhere."""
    value, way = holder[key], chance.randrange(6)
    if way == 0:
        del holder[key]
    elif way == 1:
        holder[key] = copy.deepcopy(found(content, chance.choice(everywhere)))
    elif way == 2 and isinstance(value, int | float):
        holder[key] = chance.choice([-value, value + 1, value * 1e9, 10**9, 0, 1e300])
    elif way == 3 and isinstance(value, list):
        holder[key] = chance.choice([value[::-1], value * 2, value[:-1], [10**12]])
    elif way == 4 and isinstance(value, str):
        holder[key] = chance.choice([value[::-1], value * 2, value[:-4], "<U9", "auto"])
    else:
        holder[key] = copy.deepcopy(chance.choice(NASTY))
