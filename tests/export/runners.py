"""Exports run as their users would: by onnxruntime, by a C compiler, by Python."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime

from relvec.export.c_code import c_text
from relvec.export.onnx_graph import onnx_model
from relvec.export.python_source import python_text

FLAGS = ("-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror")


def session(model):
    """Of a file, or of a ``ModelProto``, on one core."""
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads = settings.inter_op_num_threads = 1
    given = model.SerializeToString() if hasattr(model, "graph") else str(model)
    return onnxruntime.InferenceSession(
        given, settings, providers=["CPUExecutionProvider"]
    )


def ran(model, X):
    """All outputs of an ONNX model by name."""
    running = session(model)
    (row,) = running.get_inputs()
    kind = {"tensor(float)": np.float32, "tensor(double)": np.float64}[row.type]
    names = [each.name for each in running.get_outputs()]
    found = running.run(None, {row.name: X.astype(kind)})
    return dict(zip(names, found, strict=True))


def by_onnx(plan, X):
    """Outputs by name, the labels among them."""
    return ran(onnx_model(plan), X)


def loaded(text):
    """The names of a Python file."""
    names = {"__name__": "exported"}
    exec(compile(text, "exported.py", "exec"), names)
    return names


def by_python(plan, X):
    """Outputs by name, as the file's ``predict`` returns them."""
    found = loaded(python_text(plan))["predict"](X)
    each = found if isinstance(found, tuple) else (found,)
    return dict(zip(plan.program.outputs, each, strict=True))


def compiled(source, program, compiler="gcc", flags=("-O1",)):
    """Without a warning."""
    command = [compiler, *FLAGS, *flags, str(source), "-o", str(program), "-lm"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]


def by_c(plans, each, compiler, flags=("-O1",)):
    """Outputs by name of many plans at their rows, with what was returned as "place".

    All are functions of one program, which is compiled once.
    """
    texts, calls = [], []
    for number, (plan, X) in enumerate(zip(plans, each, strict=True)):
        texts.append(c_text(plan, f"m{number}"))
        label = "" if plan.program.labels is None else "place = "
        calls.append(_CALL.format(name=f"m{number}", label=label, rows=len(X)))
    rows = [X.astype(plan.kind) for plan, X in zip(plans, each, strict=True)]
    return list(_read(_printed(texts, calls, rows, compiler, flags), plans, each))


def by_c_file(path, X, compiler):
    """All outputs of every row, side by side, of a file in double precision."""
    text = path.read_text(encoding="utf-8")
    call = _CALL.format(name="model", label="", rows=len(X))
    return _printed([text], [call], [X], compiler).reshape(len(X), -1)[:, :-1]


def _printed(texts, calls, rows, compiler, flags=("-O1",)):
    """The numbers that a program of these functions and calls prints."""
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder) / "all.c", Path(folder) / "all.exe"
        text = "\n".join([*texts, _MAIN.format(calls="".join(calls))])
        source.write_text(text, encoding="utf-8")
        compiled(source, program, compiler, flags)
        given = b"".join(one.tobytes() for one in rows)
        done = subprocess.run([program], input=given, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()[:4000]
    return np.frombuffer(done.stdout)


def _read(numbers, plans, each):
    place = 0
    for plan, X in zip(plans, each, strict=True):
        shapes = {name: one.shape for name, one in plan.program.outputs.items()}
        width = sum(int(np.prod(shape)) for shape in shapes.values()) + 1
        table = numbers[place : place + len(X) * width].reshape(len(X), width)
        place += table.size
        found, column = {"place": table[:, -1].astype(int)}, 0
        for name, shape in shapes.items():
            size = int(np.prod(shape))
            part = table[:, column : column + size]
            found[name], column = part.reshape(len(X), *shape), column + size
        yield found
    assert place == numbers.size


def missing(compiler):
    """Why a test of it is skipped; None if it is here."""
    return None if shutil.which(compiler) else f"there is no {compiler} here"


_CALL = """
    for (int i = 0; i < {rows}; ++i) {{
        {name}_number x[{name}_features], out[{name}_outputs];
        int place = -1;
        if (fread(x, sizeof *x, {name}_features, stdin) != {name}_features)
            return 1;
        {label}{name}_predict(x, out);
        for (int j = 0; j < {name}_outputs; ++j)
            put(out[j]);
        put(place);
    }}
"""
_MAIN = """
#include <stdio.h>

static void put(double value)
{{
    fwrite(&value, sizeof value, 1, stdout);
}}

int main(void)
{{{calls}    return 0;
}}
"""
