"""The command ``relvec``."""

import rich_click as click

from relvec import __version__
from relvec.cli.comparing import compare
from relvec.cli.demonstration import demo
from relvec.cli.exits import Commands
from relvec.cli.exporting import export, verify
from relvec.cli.fitting import fit
from relvec.cli.inspecting import inspect
from relvec.cli.predicting import predict
from relvec.cli.reporting import report


@click.group(
    epilog="Example: relvec fit houses.csv --target price --output houses.json",
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="relvec")
def relvec() -> None:
    """Relevance vector machines for tables: fit, predict, inspect, ship.

    Exit codes: 0 fine, 1 verification failed, 2 wrong use or wrong data, 70 a fault of
    relvec, 130 interrupted.
    """


for _command in (fit, predict, report, inspect, export, verify, compare, demo):
    relvec.add_command(_command)
