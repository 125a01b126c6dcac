"""``relvec report``: a model and a table to one HTML file about both."""

from pathlib import Path
from typing import Any

import rich_click as click

from relvec.cli.options import FILE, column_completed, holdout_option, seed_option
from relvec.cli.output import Output, with_output
from relvec.cli.places import check_readable


@click.command(
    epilog="Example: relvec report houses.json houses.csv --output houses.html"
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "--target",
    shell_complete=column_completed,
    help="Column that was to be predicted; by default the one that is no feature.",
)
@click.option(
    "-o",
    "--output",
    "path",
    type=FILE,
    help="Where the report goes; by default beside MODEL, ending in .html.",
)
@click.option("--title", help="Of the page.")
@holdout_option("As fit was told, to find the rows again that it held out.")
@seed_option("As fit was told, and for whatever is drawn by chance.")
@click.option(
    "--compare/--no-compare",
    default=False,
    show_default=True,
    help="Compare other models, too, on 2000 rows at most; it takes a minute or so.",
)
@click.option(
    "--force", is_flag=True, help="Replace a file that is no report of relvec."
)
@with_output
def report(
    *,
    output: Output,
    model: Path,
    data: Path,
    path: Path | None,
    force: bool,
    **wanted: Any,
) -> None:
    """Write one HTML file about a model: how good it is, and what it has learned.

    DATA is the table that it was fitted to, with the target. If fit held rows out,
    these are found again, and scores are of them alone.
    """
    from relvec.cli.reporting import Files, Wanted, check_place, report_to_file

    check_readable(model)
    page = model.with_suffix(".html") if path is None else path
    check_place(page, model, data, force=force)
    output.summary(report_to_file(output, Files(model, data, page), Wanted(**wanted)))
