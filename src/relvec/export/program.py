"""What a model computes for one row, as a graph of values.

A model is written down once, as such a graph, and whatever it is exported to is a
rendering of it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from relvec.export.expressions import Expression
from relvec.typing import AnyArray


@dataclass(frozen=True, eq=False)
class Program:
    """Named outputs of a row; of classes, the labels of the first of them."""

    row: Expression
    outputs: Mapping[str, Expression]
    labels: AnyArray | None = None

    @classmethod
    def of(
        cls, row: Expression, outputs: Mapping[str, Expression], labels: Any = None
    ) -> "Program":
        """In which what is computed twice is one value."""
        whole = cls(row, outputs, labels)
        same: dict[int, Expression] = {}
        known: dict[tuple[Any, ...], Expression] = {}
        for one in whole:
            operands = tuple(same[id(each)] for each in one.operands)
            value = None if one.value is None else one.value.tobytes()
            key = (one.op, tuple(map(id, operands)), one.shape, value)
            fresh = replace(one, operands=operands)
            same[id(one)] = known.setdefault(key, fresh)
        each = {name: same[id(output)] for name, output in outputs.items()}
        return cls(same[id(row)], each, labels)

    @property
    def written_out(self) -> "Program":
        """The same for a language that knows no value by its name."""
        made: dict[int, Expression] = {}
        for one in self:
            operands = tuple(made[id(each)] for each in one.operands)
            short = one.op == "shortened"
            made[id(one)] = operands[0] if short else replace(one, operands=operands)
        each = {name: made[id(output)] for name, output in self.outputs.items()}
        return Program(made[id(self.row)], each, self.labels)

    @property
    def n_features(self) -> int:
        """Of a row."""
        return self.row.shape[0]

    def __iter__(self) -> Iterator[Expression]:
        """All values, each after those it is made of."""
        seen: dict[int, Expression] = {id(self.row): self.row}
        yield self.row
        for output in self.outputs.values():
            yield from _in_order(output, seen)


def _in_order(last: Expression, seen: dict[int, Expression]) -> Iterator[Expression]:
    """A value after all that it is made of, none of them twice."""
    waiting = [last]
    while waiting:
        one = waiting[-1]
        missing = [each for each in one.operands if id(each) not in seen]
        waiting.extend(missing)
        if not missing:
            waiting.pop()
            if id(one) not in seen:
                seen[id(one)] = one
                yield one
