"""Options that several commands share, and the values users can choose.

Help and tab completion import this module, so it imports nothing slow.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce, wraps
from pathlib import Path
from typing import Any, TypeAlias

import rich_click as click

from relvec.cli.errors import CliError
from relvec.cli.paths import column_names, is_table

REGRESSION, CLASSIFICATION = "regression", "classification"
KERNELS = ("auto", "matern32", "matern52", "rbf", "linear")
MODELS = ("RVM", "LS-SVM", "SVM", "GP", "boosting")  # of compare
LANGUAGES = ("onnx", "c", "python")  # of export
DEMONSTRATIONS = ("diabetes", "wine")
EVERY_STEP = 10  # verbosity that logs every step of a search, not every tenth
# Commands check paths themselves, since their messages name a remedy.
FILE: Any = click.Path(path_type=Path, readable=False)
Option: TypeAlias = Callable[[Callable[..., None]], Callable[..., None]]


@dataclass(frozen=True)
class Choices:
    """Options of a fit."""

    task: str | None = None
    kernel: str = "auto"
    drop: tuple[str, ...] = ()
    impute: bool = False
    most_categories: int = 50
    seed: int = 0
    holdout: float = 0.2
    max_seconds: float | None = None
    verbose: int = 0


@dataclass(frozen=True)
class Source:
    """A table in a file, its target, and the options of a fit to it."""

    data: Path
    target: str
    choices: Choices


def complete_column(
    ctx: click.Context, param: click.Parameter, incomplete: str
) -> list[str]:
    """Complete the name of a column of the table given earlier on the line."""
    del param
    # The option has no value yet, so click leaves all words in ctx.args.
    words = (path for path in map(Path, ctx.args) if path.is_file())
    path = ctx.params.get("data") or next(filter(is_table, words), None)
    try:
        names = column_names(path) if path else []
    except (CliError, OSError):
        return []  # the command itself reports the problem
    return [name for name in names if name.startswith(incomplete)]


def output_option(text: str, **settings: Any) -> Option:
    """Add ``--output``, the file to write."""
    return click.option("-o", "--output", "path", type=FILE, help=text, **settings)


def holdout_option(text: str) -> Option:
    """Add ``--holdout``, the share of rows that are not fitted."""
    share = click.FloatRange(0, 1, max_open=True)
    return click.option(
        "--holdout", type=share, default=0.2, show_default=True, help=text
    )


def seed_option(text: str) -> Option:
    """Add ``--seed``."""
    seeds = click.IntRange(0, 2**32 - 1)
    return click.option("--seed", type=seeds, default=0, show_default=True, help=text)


_SOURCE_OPTIONS: tuple[Option, ...] = (
    click.argument("data", type=FILE),
    click.option(
        "--target",
        required=True,
        help="Column to predict.",
        shell_complete=complete_column,
    ),
    click.option(
        "--task",
        type=click.Choice((REGRESSION, CLASSIFICATION)),
        help="What the target is; by default found from its values.",
    ),
    click.option(
        "--drop",
        multiple=True,
        help="Column to leave out; repeatable.",
        shell_complete=complete_column,
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
    seed_option("Seed of all random draws."),
)


def with_source(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of a table and its target; the command receives a Source."""

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
    return reduce(lambda made, option: option(made), reversed(_SOURCE_OPTIONS), made)
