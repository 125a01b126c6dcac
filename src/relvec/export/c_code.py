"""A program as a C99 function with constants and a self-test.

Values that several loops need, or that a loop would compute again and again, are kept
in buffers. All others are computed where they are used. Nothing is allocated.
"""

import re
from collections import ChainMap, Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar

import numpy as np

from relvec.export.expressions import (
    ELEMENTWISE,
    ExportError,
    Expression,
    Program,
    bare,
    bracketed,
    economized_polynomial,
)
from relvec.export.plan import Plan
from relvec.typing import AnyArray

_AS_THEY_ARE = {"input", "constant", "expand_dims", "take"}


def buffered(program: Program) -> set[int]:
    """Return the ids of the values that are kept in buffers."""
    users = defaultdict(list)
    order = list(program)
    for one in order:
        for part in one.operands:
            users[id(part)].append(one)
    kept: set[int] = set()
    loops: dict[int, set[int]] = defaultdict(set)
    for output in program.outputs.values():
        loops[id(output)].add(-id(output))
    again: set[int] = set()
    for one in reversed(order):
        for user in users[id(one)]:
            ends = user.op not in ELEMENTWISE and user.op not in _AS_THEY_ARE
            own = {id(user)} if ends or id(user) in kept else loops[id(user)]
            loops[id(one)] |= own
            if _repeats(one, user) or (user.op in _AS_THEY_ARE and id(user) in again):
                again.add(id(one))
        if one.op in _AS_THEY_ARE:
            continue
        if id(one) in again or len(loops[id(one)]) > 1:
            kept.add(id(one))
    return kept


def _repeats(one: Expression, user: Expression) -> bool:
    """Whether the user needs entries of this value more than once."""
    if user.op in {"matmul", "squared_distances"}:
        return user.shape[-1] > 1
    if user.op == "concatenate":
        return True
    if user.op == "take":
        return False
    return user.op in ELEMENTWISE and one.size < user.size


_BINARY = {"add": "+", "subtract": "-", "multiply": "*", "divide": "/"}
_FUNCTIONS = {
    "maximum": "fmax",
    "minimum": "fmin",
    "exp": "exp",
    "log": "log",
    "sqrt": "sqrt",
    "absolute": "fabs",
    "tanh": "tanh",
    "sin": "sin",
    "remainder": "fmod",
}
_LARGEST_PRODUCT = 6  # largest exponent written as a product
_LONGEST = 60  # characters of a term that is written inline
_LARGEST_INT = 32_767
_WIDTH = 88
_INT = 4  # bytes
Index = tuple[str, ...]


class CFunction:
    """The body of a function, its constants, and what memory both take.

    ``same`` says whether rows have the type of the arithmetic.
    """

    def __init__(
        self, program: Program, kind: type, prefix: str = "", *, same: bool = True
    ) -> None:
        self.kind, self.prefix = kind, prefix
        self.real = "float" if kind is np.float32 else "double"
        self._given = "x[{}]" if same else f"({self.real})x[{{}}]"
        self.lines: list[str] = []
        self.tables: dict[str, AnyArray] = {}
        self.ram = 0
        self._buffered = buffered(program)
        # The int of small processors has 16 bits.
        widest = max(one.size for one in program)
        self._counter = "int" if widest <= _LARGEST_INT else "long"
        self._uses = Counter(id(part) for one in program for part in one.operands)
        self._buffers: dict[int, str] = {}
        self._tables: dict[bytes, str] = {}
        self._depth, self._count = 1, 0
        self._known: list[dict[tuple[int, Index], str]] = [{}]
        for one in program:
            if id(one) in self._buffered:
                self._buffer(one)
        place = 0
        for output in program.outputs.values():
            place = self._written(output, place)
        self.n_outputs = place

    def literal(self, value: float) -> str:
        """Write a number with all digits of its type."""
        if self.kind is np.float32:
            text = f"{float(np.float32(value)):.9g}"
            mark = "f"
        else:
            text, mark = f"{float(value):.17g}", ""
        if not any(sign in text for sign in ".en"):
            text += ".0"
        return text + mark

    def table_lines(self) -> Iterator[str]:
        """Yield the definitions of all constant arrays."""
        for name, values in self.tables.items():
            columns = values.dtype.kind == "i"
            kind = "int" if columns else self.real
            yield f"static const {kind} {name}[{values.size}] = {{"
            write = str if columns else self.literal
            yield from wrapped([write(value) for value in values.flat])
            yield "};"

    @property
    def flash(self) -> int:
        """Bytes of constant arrays."""
        sizes = {"f": np.dtype(self.kind).itemsize, "i": _INT}
        return sum(one.size * sizes[one.dtype.kind] for one in self.tables.values())

    def _written(self, output: Expression, place: int) -> int:
        """Add statements that store an output."""
        with self._loops(output.shape) as index:
            value = self._value(output, index)
            where = _sum([str(place), _flat(index, output.shape)])
            self._line(f"out[{where}] = (number)({bare(value)});")
        return place + output.size

    def _buffer(self, one: Expression) -> None:
        name = self._buffers[id(one)] = self._fresh("b" if one.size > 1 else "v")
        if one.size > 1:
            self._line(f"{self.real} {name}[{one.size}];")
            self.ram += one.size * np.dtype(self.kind).itemsize
        if one.size == 1:
            value = self._computed(one, ("0",) * len(one.shape))
            self._line(f"const {self.real} {name} = {value};")
            return
        with self._loops(one.shape) as index:
            value = self._computed(one, index)
            self._line(f"{name}[{_flat(index, one.shape)}] = {value};")

    @contextmanager
    def _loops(self, shape: tuple[int, ...]) -> Iterator[Index]:
        """Open loops over all entries; axes of length one have index 0."""
        index = ["0" if length == 1 else self._fresh("i") for length in shape]
        opened = [pair for pair in zip(index, shape, strict=True) if pair[1] != 1]
        for name, length in opened:
            self._open(name, length)
        self._known.append({})
        yield tuple(index)
        self._known.pop()
        for _ in opened:
            self._close()

    def _open(self, counter: str, length: int) -> None:
        """Begin a loop with a scope of its own for known values."""
        kind = self._counter
        self._line(f"for ({kind} {counter} = 0; {counter} < {length}; ++{counter}) {{")
        self._depth += 1
        self._known.append({})

    def _close(self) -> None:
        self._known.pop()
        self._depth -= 1
        self._line("}")

    def _value(self, one: Expression, index: Index) -> str:
        """An entry as a term that may be used more than once."""
        if one.op in self._AS_IT_IS:
            return self._AS_IT_IS[one.op](self, one, index)
        if id(one) in self._buffers:
            name = self._buffers[id(one)]
            return name if one.size == 1 else f"{name}[{_flat(index, one.shape)}]"
        known = ChainMap(*self._known).get((id(one), index))
        return known if known is not None else self._term(one, index)

    def _term(self, one: Expression, index: Index) -> str:
        """An entry computed here: a short term, or a new variable."""
        text = self._computed(one, index)
        if self._uses[id(one)] == 1 and len(text) <= _LONGEST:
            return bracketed(text)
        name = text if text.isidentifier() else self._fresh("v")
        if name != text:
            self._line(f"const {self.real} {name} = {text};")
        self._known[-1][id(one), index] = name
        return name

    def _computed(self, one: Expression, index: Index) -> str:
        """The operation that computes an entry."""
        if one.op in self._BY_INDEX:
            return self._BY_INDEX[one.op](self, one, index)
        entrywise = 1 if one.op in {"polynomial", "power"} else len(one.operands)
        each = [self._operand(part, index) for part in one.operands[:entrywise]]
        if one.op in _FUNCTIONS:
            return self._call(_FUNCTIONS[one.op], *each)
        if one.op in _BINARY:
            negative = one.op == "multiply" and each[1] == self.literal(-1.0)
            return f"-{each[0]}" if negative else f" {_BINARY[one.op]} ".join(each)
        if one.op == "if_negative":
            return f"{each[0]} < 0 ? {each[1]} : {each[2]}"
        setting = one.operands[1].number
        if one.op == "polynomial":
            return self._polynomial(each[0], economized_polynomial(setting, self.kind))
        return self._power(each[0], float(setting))

    def _input(self, one: Expression, index: Index) -> str:
        return self._given.format(index[0])

    def _constant(self, one: Expression, index: Index) -> str:
        return self._entry(one.number, index)

    def _expand_dims(self, one: Expression, index: Index) -> str:
        place = int(one.number)
        return self._value(one.operands[0], (*index[:place], *index[place + 1 :]))

    def _taken(self, one: Expression, index: Index) -> str:
        chosen = self._entry(one.number, (index[-1],), "column")
        return self._value(one.operands[0], (*index[:-1], chosen))

    def _operand(self, part: Expression, index: Index) -> str:
        """The entry of an operand that belongs to an entry of the result."""
        own = index[len(index) - len(part.shape) :]
        places = [
            "0" if length == 1 else place
            for place, length in zip(own, part.shape, strict=True)
        ]
        return self._value(part, tuple(places))

    def _call(self, function: str, *arguments: str) -> str:
        suffix = "f" if self.kind is np.float32 else ""
        return f"{function}{suffix}({', '.join(map(bare, arguments))})"

    def _polynomial(self, t: str, coefficients: AnyArray) -> str:
        """Evaluate a polynomial by Horner's rule, in a loop."""
        table, total, counter = (
            self._table(coefficients, "c"),
            self._fresh("s"),
            self._fresh("i"),
        )
        start, stop = f"{self.real} {total} = {table}[0];", len(coefficients)
        self._line(start)
        self._line(f"for (int {counter} = 1; {counter} < {stop}; ++{counter})")
        self._line(f"    {total} = {total} * {t} + {table}[{counter}];")
        return total

    def _power(self, base: str, exponent: float) -> str:
        if exponent == 0.5:
            return self._call("sqrt", base)
        if exponent == -0.5:
            return f"1 / {self._call('sqrt', base)}"
        if exponent == int(exponent) and 1 <= abs(exponent) <= _LARGEST_PRODUCT:
            product = " * ".join([base] * int(abs(exponent)))
            return product if exponent > 0 else f"1 / ({product})"
        return self._call("pow", base, self.literal(exponent))

    def _accumulated(self, one: Expression, index: Index) -> str:
        """Compute a sum or maximum by a loop before the place of use."""
        inner = one.operands[0]
        place = len(inner.shape) - 1 if one.op == "matmul" else int(one.number)
        total, counter = self._fresh("s"), self._fresh("i")
        least = "-HUGE_VALF" if self.kind is np.float32 else "-HUGE_VAL"
        self._line(f"{self.real} {total} = {least if one.op == 'max' else '0'};")
        self._open(counter, inner.shape[place])
        kept = index[:-1] if one.op == "matmul" else index
        value = self._value(inner, (*kept[:place], counter, *kept[place:]))
        if one.op == "matmul":
            weight = self._entry(one.operands[1].number, (counter, index[-1]))
            self._line(f"{total} += {value} * {weight};")
        elif one.op == "sum":
            self._line(f"{total} += {bare(value)};")
        else:
            self._line(f"{total} = {self._call('fmax', total, value)};")
        self._close()
        return total

    def _distance(self, one: Expression, index: Index) -> str:
        """Sum the squares over features by a loop."""
        row, centres = one.operands
        total, counter, difference = map(self._fresh, "sid")
        self._line(f"{self.real} {total} = 0;")
        self._open(counter, row.shape[0])
        value = self._value(row, (counter,))
        place = self._entry(centres.number, (index[0], counter))
        self._line(f"const {self.real} {difference} = {value} - {place};")
        self._line(f"{total} += {difference} * {difference};")
        self._close()
        return total

    def _chosen(self, one: Expression, index: Index) -> str:
        """Select the part of a concatenation that an entry is in."""
        place, value = 0, ""
        for number, part in enumerate(one.operands, start=1):
            at = index[-1] if place == 0 else f"{index[-1]} - {place}"
            at = "0" if part.shape[-1] == 1 else at
            own = self._value(part, (*index[:-1], at))
            place += part.shape[-1]
            last = number == len(one.operands)
            value += own if last else f"{index[-1]} < {place} ? {own} : "
        return value

    _AS_IT_IS: ClassVar = {
        "input": _input,
        "constant": _constant,
        "expand_dims": _expand_dims,
        "take": _taken,
    }
    _BY_INDEX: ClassVar = {
        "concatenate": _chosen,
        "sum": _accumulated,
        "max": _accumulated,
        "matmul": _accumulated,
        "squared_distances": _distance,
    }

    def _entry(self, values: AnyArray, index: Index, kind: str = "c") -> str:
        """An entry of a constant, whose index may have more axes than it."""
        own = index[len(index) - values.ndim :]
        places = [
            "0" if length == 1 else each
            for each, length in zip(own, values.shape, strict=True)
        ]
        if values.size == 1:
            return (
                str(values.flat[0])
                if kind == "column"
                else self.literal(values.flat[0])
            )
        return f"{self._table(values, kind)}[{_flat(tuple(places), values.shape)}]"

    def _table(self, values: AnyArray, kind: str) -> str:
        key = kind.encode() + np.ascontiguousarray(values).tobytes()
        if key not in self._tables:
            self._tables[key] = f"{self.prefix}{kind}{len(self._tables)}"
            self.tables[self._tables[key]] = values
        return self._tables[key]

    def _fresh(self, letter: str) -> str:
        self._count += 1
        return f"{letter}{self._count}"

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._depth + text)


def _flat(index: Index, shape: tuple[int, ...]) -> str:
    """The position of an entry in memory, row by row."""
    terms, stride = [], 1
    for place, length in zip(reversed(index), reversed(shape), strict=True):
        if place != "0":
            plain = place if place.isidentifier() else f"({place})"
            terms.append(place if stride == 1 else f"{plain} * {stride}")
        stride *= length
    return _sum(terms[::-1])


def _sum(terms: list[str]) -> str:
    kept = [term for term in terms if term != "0"]
    return " + ".join(kept) if kept else "0"


def wrapped(words: list[str]) -> Iterator[str]:
    """Wrap comma-separated words into lines."""
    line = "   "
    for word in words:
        if len(line) + len(word) + 2 > _WIDTH:
            yield line
            line = "   "
        line += f" {word},"
    yield line


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_KINDS = {"float32": "float", "float64": "double"}


def c_text(plan: Plan, name: str) -> str:
    """Write the whole C file."""
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
    features, outputs = plan.program.n_features, function.n_outputs
    lines += [f"enum {{ {name}_features = {features}, {name}_outputs = {outputs} }};"]
    lines += [f"{_signature(plan, name)};", "", *function.table_lines(), ""]
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
    """Make text printable, of one line, and safe inside a C comment."""
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
