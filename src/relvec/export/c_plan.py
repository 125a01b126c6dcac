"""Which values of a program are kept in memory while it runs.

All others are computed where they are used, inside the loop of what uses them. Kept is
what would be computed again and again: values that a loop of more entries asks for, or
that two loops do.
"""

from collections import defaultdict

from relvec.export.expressions import ELEMENTWISE, Expression
from relvec.export.program import Program

_AS_THEY_ARE = {"input", "constant", "wider", "take"}


def buffered(program: Program) -> set[int]:
    """Their identities."""
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
    """Whether entries of a value are asked for more than once by one of its users."""
    if user.op in {"matmul", "squared_distances"}:
        return user.shape[-1] > 1
    if user.op == "concatenate":
        return True
    if user.op == "take":
        return False
    return user.op in ELEMENTWISE and one.size < user.size
