"""``relvec inspect``: what a model file holds."""

from pathlib import Path

import rich_click as click

from relvec.cli.options import FILE
from relvec.cli.output import Output, with_output


@click.command(epilog="Example: relvec inspect houses.json")
@click.argument("model", type=FILE)
@with_output
def inspect(output: Output, model: Path) -> None:
    """Show what a model file holds."""
    from relvec.cli.inspecting import held

    output.result(held(model))
