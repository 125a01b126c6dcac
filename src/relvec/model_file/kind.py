"""How objects of a class are kept in a file: by fields, each with a name."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from typing import Any


@dataclass(frozen=True)
class Kind:
    """How objects of a class are kept: by fields, from which it is made again."""

    name: str  # in the file, whatever the class is called
    cls: type
    fields: tuple[str, ...]
    optional: frozenset[str]  # of these, what an older file need not have
    take: Callable[[Any], Mapping[str, Any]]
    make: Callable[..., Any]
    costly: bool = False  # to make one takes long, as files go
    kernel: bool = False  # which may have other kernels in it


def of_dataclass(name: str, cls: Any, *, kernel: bool = False) -> Kind:
    """Its fields, given to its constructor."""
    own = [each for each in fields(cls) if each.init]
    names = tuple(each.name for each in own)
    optional = frozenset(
        each.name
        for each in own
        if each.default is not MISSING or each.default_factory is not MISSING
    )

    def take(value: Any) -> Mapping[str, Any]:
        return {each: getattr(value, each) for each in names}

    return Kind(name, cls, names, optional, take, cls, kernel=kernel)


def of_enumeration(name: str, cls: type[Enum]) -> Kind:
    """By the name of its member."""

    def make(member: Any) -> Any:
        return cls[member]

    return Kind(
        name, cls, ("member",), frozenset(), lambda value: {"member": value.name}, make
    )
