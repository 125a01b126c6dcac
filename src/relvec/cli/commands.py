"""The command ``relvec``."""

import rich_click as click

from relvec import __version__
from relvec.cli.definitions.compare import compare
from relvec.cli.definitions.completion import completion
from relvec.cli.definitions.demo import demo
from relvec.cli.definitions.export import export, verify
from relvec.cli.definitions.fit import fit
from relvec.cli.definitions.inspect import inspect
from relvec.cli.definitions.predict import predict
from relvec.cli.definitions.report import report
from relvec.cli.exits import Commands


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


for _command in (
    fit,
    predict,
    report,
    inspect,
    export,
    verify,
    compare,
    demo,
    completion,
):
    relvec.add_command(_command)
