"""What several commands are told: a table, its target and what to do with columns."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce, wraps
from pathlib import Path
from typing import Any, TypeAlias

import rich_click as click

from relvec.cli.choices import TASKS, Choices
from relvec.cli.exits import Problem
from relvec.cli.headers import column_names
from relvec.cli.places import is_table

# Commands look for themselves, to say what to do.
FILE: Any = click.Path(path_type=Path, readable=False)
Option: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]


@dataclass(frozen=True)
class Source:
    """A table in a file, and how to learn from it."""

    data: Path
    target: str
    choices: Choices


def column_completed(
    ctx: click.Context, param: click.Parameter, begun: str
) -> list[str]:
    """Names to complete a word with, of the table that was given before it."""
    del param
    # Since the option has no value yet, click leaves all words as they are.
    words = (path for path in map(Path, ctx.args) if path.is_file())
    path = ctx.params.get("data") or next(filter(is_table, words), None)
    try:
        names = column_names(path) if path else []
    except (Problem, OSError):
        return []  # the command itself will say what is wrong
    return [name for name in names if name.startswith(begun)]


def holdout_option(text: str) -> Option:
    """Of all who split rows as ``relvec fit`` does."""
    share = click.FloatRange(0, 1, max_open=True)
    return click.option(
        "--holdout", type=share, default=0.2, show_default=True, help=text
    )


def seed_option(text: str) -> Option:
    """Of all who draw."""
    seeds = click.IntRange(0, 2**32 - 1)
    return click.option("--seed", type=seeds, default=0, show_default=True, help=text)


_OPTIONS: tuple[Option, ...] = (
    click.argument("data", type=FILE),
    click.option(
        "--target",
        required=True,
        help="Column to predict.",
        shell_complete=column_completed,
    ),
    click.option(
        "--task",
        type=click.Choice(TASKS),
        help="What the target is; by default found from its values.",
    ),
    click.option(
        "--drop",
        multiple=True,
        help="Column to leave out; repeatable.",
        shell_complete=column_completed,
    ),
    click.option(
        "--impute",
        is_flag=True,
        help="Complete missing values: medians, and the most frequent text.",
    ),
    click.option(
        "--max-categories",
        type=click.IntRange(1),
        default=50,
        show_default=True,
        help="Most different texts of a column.",
    ),
    seed_option("For whatever is drawn by chance."),
)


def with_source(command: Callable[..., None]) -> Callable[..., None]:
    """A command that is given a Source."""

    @wraps(command)
    def inner(
        *args: Any,
        data: Path,
        target: str,
        task: str | None,
        drop: tuple[str, ...],
        impute: bool,
        max_categories: int,
        seed: int,
        **given: Any,
    ) -> None:
        choices = Choices(task, "auto", drop, impute, max_categories, seed)
        command(*args, source=Source(data, target, choices), **given)

    made: Callable[..., None] = inner
    return reduce(lambda made, option: option(made), reversed(_OPTIONS), made)
