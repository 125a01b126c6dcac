"""The text of a C file: a function, its constants, and a test of itself."""

import re
from collections.abc import Iterator

import numpy as np

from relvec.export.c_source import CFunction, wrapped
from relvec.export.errors import ExportError
from relvec.export.plan import Plan

_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KINDS = {"float32": "float", "float64": "double"}


def c_text(plan: Plan, name: str) -> str:
    """All of the file."""
    if not isinstance(name, str) or not _WORD.fullmatch(name):
        raise ExportError(
            f"name must be one that C allows, of letters, digits and underscores; got "
            f"{name!r}"
        )
    same = plan.arithmetic is plan.kind
    function = CFunction(
        plan.program.written_out, plan.arithmetic, f"{name}_", same=same
    )
    guard = f"{name.upper()}_INCLUDED"
    lines = [*_comment(plan, function, name), f"#ifndef {guard}", f"#define {guard}"]
    lines += ["#include <math.h>", ""]
    lines += [f"typedef {_KINDS[plan.precision]} {name}_number;"]
    lines += [f"#define number {name}_number", ""]
    lines += [*_interface(plan, function, name), "", *function.table_lines(), ""]
    lines += [*_function(plan, function, name), "", *_self_test(plan, function, name)]
    return "\n".join([*lines, "#undef number", "#endif", ""])


def _comment(plan: Plan, function: CFunction, name: str) -> Iterator[str]:
    ram = function.ram
    yield f"/* {_safe(plan.title)}"
    yield " *"
    yield f" * {_signature(plan, name)};"
    for line in _meaning(plan):
        yield f" * {line}"
    yield " *"
    if plan.feature_names is not None:
        yield " * The features are"
        for line in wrapped([_safe(each) for each in plan.feature_names]):
            yield f" * {line}"
        yield " *"
    yield f" * Constants: {function.flash} bytes of flash. RAM: {ram} bytes of stack,"
    yield " * beside scalars. Nothing is allocated, and nothing but math.h is needed."
    yield f" * Arithmetic is that of {function.real}."
    yield " * With RELVEC_SELF_TEST defined the file is a program that tests itself: it"
    yield " * prints the largest error, relative to the size of an output. */"


def _safe(text: str) -> str:
    """That neither ends a comment nor begins one, in printable signs of one line."""
    shown = "".join(sign if sign.isprintable() else " " for sign in text)
    return re.sub(r"(?<=\*)(?=/)|(?<=/)(?=\*)|(?<=\?)(?=\?)", " ", shown)


def _meaning(plan: Plan) -> Iterator[str]:
    if plan.program.labels is None:
        for place, output in enumerate(plan.program.outputs):
            yield f"out[{place}] is the {output} of the target."
        return
    (what,) = plan.program.outputs
    yield f"out has the {what} of all classes, in their order; the place of the"
    yield "largest is returned, the first of those that are equal. The classes are"
    for place, label in enumerate(plan.program.labels.tolist()):
        yield f"  {place}: {_safe(str(label))}"


def _signature(plan: Plan, name: str) -> str:
    returned = "void" if plan.program.labels is None else "int"
    count = sum(one.size for one in plan.program.outputs.values())
    row = f"const {name}_number x[{plan.program.n_features}]"
    return f"{returned} {name}_predict({row}, {name}_number out[{count}])"


def _interface(plan: Plan, function: CFunction, name: str) -> Iterator[str]:
    features, outputs = plan.program.n_features, function.n_outputs
    yield f"enum {{ {name}_features = {features}, {name}_outputs = {outputs} }};"
    yield f"{_signature(plan, name)};"


def _function(plan: Plan, function: CFunction, name: str) -> Iterator[str]:
    yield _signature(plan, name)
    yield "{"
    if not any("x[" in line for line in function.lines):
        yield "    (void)x;"
    yield from function.lines
    if plan.program.labels is not None:
        yield "    int best = 0;"
        yield f"    for (int i = 1; i < {function.n_outputs}; ++i)"
        yield "        if (out[i] > out[best])"
        yield "            best = i;"
        yield "    return best;"
    yield "}"


def _self_test(plan: Plan, function: CFunction, name: str) -> Iterator[str]:
    rows, expected = plan.self_test.rows, plan.self_test.together
    scale = plan.self_test.scale
    yield "#ifdef RELVEC_SELF_TEST"
    yield "#include <stdio.h>"
    yield ""
    yield from _table("number", f"{name}_rows", rows)
    yield from _table("double", f"{name}_expected", expected)
    yield from _table("double", f"{name}_scale", scale[None])
    yield f"""
int main(void)
{{
    double largest = 0;
    for (int i = 0; i < {len(rows)}; ++i) {{
        number out[{name}_outputs];
        {name}_predict({name}_rows + i * {name}_features, out);
        for (int j = 0; j < {name}_outputs; ++j) {{
            const double known = {name}_expected[i * {name}_outputs + j];
            const double error = fabs((double)out[j] - known) / {name}_scale[j];
            if (error > largest)
                largest = error;
            else if (!(error <= largest)) /* not a number is no small error */
                largest = HUGE_VAL;
        }}
    }}
    printf("%.17g\\n", largest);
    return !(largest <= {plan.tolerance});
}}
#endif
"""


def _table(kind: str, name: str, values: np.ndarray) -> Iterator[str]:
    yield f"static const {kind} {name}[{values.size}] = {{"
    yield from wrapped([f"{float(value):.17g}" for value in values.flat])
    yield "};"
