"""``relvec fit``: a table to a model in a file."""

from dataclasses import replace
from pathlib import Path

import rich_click as click

from relvec.cli.choices import EVERY_STEP, KERNELS
from relvec.cli.options import FILE, Source, holdout_option, with_source
from relvec.cli.output import Output, with_output


@click.command(
    epilog="Example: relvec fit houses.csv --target price --output houses.json"
)
@with_source
@click.option(
    "-o", "--output", "path", type=FILE, required=True, help="Where the model goes."
)
@click.option(
    "--kernel",
    type=click.Choice(KERNELS),
    default="auto",
    show_default=True,
    help="How predictions vary; its length scales are learned.",
)
@holdout_option(
    "Share of rows that the model is tried on and not fitted to; 0 is none."
)
@click.option(
    "--refit",
    is_flag=True,
    help="Having tried a model, write one that is fitted to all rows.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    help="When a search has to end; what was found by then is the model.",
)
@click.option(
    "--stream/--no-stream",
    default=None,
    help="Read rows in blocks, numbers only; by default above 1 GB.",
)
@with_output
def fit(
    *,
    output: Output,
    source: Source,
    path: Path,
    kernel: str,
    holdout: float,
    refit: bool,
    max_seconds: float | None,
    stream: bool | None,
) -> None:
    """Fit a model to a table, try it on rows held out, and write it to a file.

    DATA is a CSV, Parquet or Arrow file with names of columns. Columns of text are
    one-hot encoded, numbers are scaled, and the kernel's length scales are learned.
    """
    from relvec.cli.fitting import fit_to_file

    verbose = EVERY_STEP if output.lively else 0
    choices = replace(
        source.choices,
        kernel=kernel,
        holdout=holdout,
        max_seconds=max_seconds,
        verbose=verbose,
    )
    source = replace(source, choices=choices)
    with output.working(f"Fitting {source.data.name}", max_seconds) as begin:
        document = fit_to_file(path, source, stream=stream, refit=refit, begin=begin)
    output.summary(document)
