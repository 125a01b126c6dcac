"""``relvec compare``: several kinds of models on the same folds."""

import rich_click as click

from relvec.cli.choices import MODELS
from relvec.cli.options import Source, with_source
from relvec.cli.output import Output, with_output


@click.command(epilog="Example: relvec compare houses.csv --target price")
@with_source
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Parts of the rows, each of which is predicted once.",
)
@click.option(
    "--models",
    type=click.Choice(MODELS, case_sensitive=False),
    multiple=True,
    help="Kind of model to compare; repeatable. By default all of them.",
)
@with_output
def compare(
    output: Output, source: Source, folds: int, models: tuple[str, ...]
) -> None:
    """Compare relevance vector machines with other models, on the same folds.

    The others are least-squares and ordinary support vector machines, Gaussian
    processes (of 1000 rows at most) and gradient-boosted trees. Figures are means over
    folds, seconds those of a fit.
    """
    from relvec.cli.comparing import compared

    output.result(compared(output, source, folds, models or MODELS))
