"""``relvec predict``: a model and a table to a table with predictions."""

from pathlib import Path

import rich_click as click

from relvec.cli.options import FILE
from relvec.cli.output import Output, with_output


@click.command(
    epilog="Example: relvec predict houses.json new.csv --output predicted.csv"
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "-o", "--output", "path", type=FILE, required=True, help="Where the table goes."
)
@click.option(
    "--only", is_flag=True, help="Write predictions alone, without the columns of DATA."
)
@click.option(
    "--prefix", default="", help="What the names of columns of predictions begin with."
)
@with_output
def predict(
    *, output: Output, model: Path, data: Path, path: Path, only: bool, prefix: str
) -> None:
    """Add predictions to a table: mean and std, or the class and probabilities.

    Columns are found by name, in any order; those that the model does not know are
    kept as they are. Rows are read and written in blocks, however many there are.
    """
    from relvec.cli.predicting import predict_to_file

    output.summary(predict_to_file(output, path, model, data, only=only, prefix=prefix))
