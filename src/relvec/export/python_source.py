"""A program as a Python function that needs numpy only."""

from base64 import b64encode
from collections import Counter
from collections.abc import Iterator

import numpy as np

from relvec.export.expressions import (
    Expression,
    Program,
    bare,
    bracketed,
    uses_expanded_squares,
)
from relvec.export.plan import Plan
from relvec.typing import AnyArray

_BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/", "matmul": "@"}
_FUNCTIONS = {
    "maximum": "np.maximum",
    "minimum": "np.minimum",
    "power": "np.power",
    "exp": "np.exp",
    "log": "np.log",
    "sqrt": "np.sqrt",
    "absolute": "np.abs",
    "tanh": "np.tanh",
    "sin": "np.sin",
    "remainder": "np.fmod",
}
_ALONG = {"expand_dims": "np.expand_dims", "sum": "np.sum", "max": "np.max"}
_LONGEST = 70  # characters of a term that is written inline
_FEW = 8  # numbers that are written out
_WIDTH = 76


class PythonFunction:
    """Lines of a function, and the arrays that it uses."""

    def __init__(self, program: Program) -> None:
        self.lines: list[str] = []
        self.arrays: dict[str, AnyArray] = {}
        self._texts: dict[int, str] = {}
        self._uses = Counter(id(part) for one in program for part in one.operands)
        self._uses.update(id(one) for one in program.outputs.values())
        self._texts[id(program.row)] = "X"
        for one in program:
            if id(one) not in self._texts:
                self._texts[id(one)] = self._text(one)
        self.outputs = {
            name: self._for_every_row(one) for name, one in program.outputs.items()
        }

    def _text(self, one: Expression) -> str:
        if one.is_constant:
            return self._constant(one.number)
        text = self._computed(one)
        if self._uses[id(one)] == 1 and len(text) <= _LONGEST:
            return text
        return self._named(text)

    def _named(self, text: str) -> str:
        name = f"v{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _computed(self, one: Expression) -> str:
        if one.op == "concatenate":
            parts = ", ".join(map(self._for_every_row, one.operands))
            return f"np.concatenate([{parts}], axis=-1)"
        each = [self._texts[id(part)] for part in one.operands]
        if one.op == "squared_distances":
            return self._distances(each[0], each[1], one.operands[1].number)
        if one.op in _BINARY:
            return f" {_BINARY[one.op]} ".join(map(bracketed, each))
        if one.op in _FUNCTIONS:
            return f"{_FUNCTIONS[one.op]}({', '.join(map(bare, each))})"
        if one.op in _ALONG:
            return f"{_ALONG[one.op]}({each[0]}, axis={int(one.number) + 1})"
        others = {
            "take": "{0}[..., {columns}]",
            "if_negative": "np.where({0} < 0, {1}, {2})",
            "polynomial": "np.polyval({1}, {0})",
        }
        columns = one.number.tolist() if one.op == "take" else None
        if one.op == "take":
            each[0] = bracketed(each[0])
        return others[one.op].format(*each, columns=columns)

    def _distances(self, row: str, centres: str, values: AnyArray) -> str:
        if not uses_expanded_squares(values):
            difference = f"{bracketed(row)}[:, None] - {centres}"
            return f"np.sum(({difference}) ** 2, axis=2)"
        row = row if row.isidentifier() else self._named(row)
        squares = f"np.sum({row}**2, axis=1)[:, None] - 2 * {row} @ {centres}.T"
        return f"np.maximum({squares} + np.sum({centres}**2, axis=1), 0)"

    def _constant(self, values: AnyArray) -> str:
        if values.ndim == 0:
            return repr(float(values))
        if values.size <= _FEW and np.all(np.isfinite(values)):
            return f"np.array({values.tolist()})"
        name = f"C{len(self.arrays)}"
        self.arrays[name] = values
        return name

    def _for_every_row(self, one: Expression) -> str:
        text = self._texts[id(one)]
        if not one.is_constant:
            return text
        shape = "".join(f", {length}" for length in one.shape)
        return f"np.broadcast_to({text}, (len(X){shape or ','}))"


def python_text(plan: Plan) -> str:
    """Write the whole file: code first, then numbers."""
    function = PythonFunction(plan.program.written_out)
    names, n_features = list(function.outputs), plan.program.n_features
    features = None if plan.feature_names is None else list(plan.feature_names)
    lines = [f'"""{plan.title}', "", *_described(plan), '"""', ""]
    lines += ["import base64", "", "import numpy as np", ""]
    labels = plan.program.labels
    listed = "None" if labels is None else f"np.array({labels.tolist()!r})"
    lines += [f"FEATURES = {features!r}", f"LABELS = {listed}"]
    lines += [*_PREDICT.format(n_features=n_features).splitlines()]
    lines += [f"    {line}" for line in function.lines]
    lines += [f"    return {', '.join(function.outputs.values())}"]
    lines += _SELF_TEST.splitlines()
    for name, values in function.arrays.items():
        lines += _array(name, values)
    lines += _array("ROWS", plan.self_test.rows)
    for name in names:
        lines += _array(f"EXPECTED_{name.upper()}", plan.self_test.expected[name])
    expected = ", ".join(f"EXPECTED_{name.upper()}" for name in names)
    lines += _MAIN.format(expected=expected, tolerance=plan.tolerance).splitlines()
    return "\n".join([*lines, ""])


def _described(plan: Plan) -> Iterator[str]:
    if plan.program.labels is None:
        what = " and ".join(plan.program.outputs)
        yield f"predict(X) is the {what} of the target of every row, (n_rows,)."
    else:
        (what,) = plan.program.outputs
        yield f"predict(X) has the {what} of every row (n_rows, n_classes);"
        yield "LABELS[argmax] is the class. numpy is all that is needed."
    yield "Run as a program, the file tests itself."


def _array(name: str, values: AnyArray) -> Iterator[str]:
    text = b64encode(np.ascontiguousarray(values, dtype="<f8").tobytes()).decode()
    yield f"{name} = _array("
    for start in range(0, max(len(text), 1), _WIDTH):
        yield f'    "{text[start : start + _WIDTH]}"'
    yield f"    , {values.shape!r})"


_PREDICT = '''

def predict(X, block=1000):
    """What the model says of rows X, (n_rows, {n_features})."""
    X = np.asarray(X, dtype=float).reshape(-1, {n_features})
    with np.errstate(over="ignore", under="ignore"):
        parts = [_of_rows(X[i : i + block]) for i in range(0, max(len(X), 1), block)]
    if not isinstance(parts[0], tuple):
        return np.concatenate(parts)
    return tuple(np.concatenate(part) for part in zip(*parts))


def _of_rows(X):
'''

_SELF_TEST = '''

def self_test():
    """The largest error, relative to the size of an output, on rows kept here."""
    found = predict(ROWS)
    found = found if isinstance(found, tuple) else (found,)
    return max(
        float(np.max(np.abs(one - known)) / max(np.max(np.abs(known)), 1e-300))
        for one, known in zip(found, EXPECTED)
    )


def _array(text, shape):
    return np.frombuffer(base64.b64decode(text), "<f8").reshape(shape)

'''

_MAIN = """EXPECTED = ({expected},)

if __name__ == "__main__":
    error = self_test()
    print(f"largest error: {{error:.1e}}")
    raise SystemExit(not error <= {tolerance})
"""
