"""The command ``relvec`` and its subcommands: their options and help.

A command imports its implementation when it runs, so that help and tab completion do
not wait for scikit-learn.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import rich_click as click
from click.shell_completion import get_completion_class

from relvec import __version__
from relvec.cli.errors import FAILED, Commands
from relvec.cli.options import (
    DEMONSTRATIONS,
    EVERY_STEP,
    FILE,
    KERNELS,
    LANGUAGES,
    MODELS,
    Source,
    complete_column,
    holdout_option,
    output_option,
    seed_option,
    with_source,
)
from relvec.cli.output import Output, with_output
from relvec.cli.paths import check_readable

_TOLERANCE = 1e-5  # relative error to expect of single precision
_SHELLS = ("bash", "zsh", "fish")


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


@relvec.command(
    epilog="Example: relvec fit houses.csv --target price --output houses.json"
)
@with_source
@output_option("Model file to write.", required=True)
@click.option(
    "--kernel",
    type=click.Choice(KERNELS),
    default="auto",
    show_default=True,
    help="How predictions vary; its length scales are learned.",
)
@holdout_option("Share of rows to test the model on, which are not fitted; 0 is none.")
@click.option(
    "--refit",
    is_flag=True,
    help="After the test, fit all rows and write that model.",
)
@click.option(
    "--max-seconds",
    type=click.FloatRange(0, min_open=True),
    help="Stop the search after this time and keep the model found so far.",
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
    stream: bool | None,
    refit: bool,
    max_seconds: float | None,
    **choices: Any,
) -> None:
    """Fit a model to a table, try it on rows held out, and write it to a file.

    DATA is a CSV, Parquet or Arrow file with names of columns. Columns of text are
    one-hot encoded, numbers are scaled, and the kernel's length scales are learned.
    """
    from relvec.cli.fitting import fit_to_file

    verbose = EVERY_STEP if output.lively else 0
    choices |= {"max_seconds": max_seconds, "verbose": verbose}
    source = replace(source, choices=replace(source.choices, **choices))
    with output.working(f"Fitting {source.data.name}", max_seconds) as begin:
        document = fit_to_file(path, source, stream=stream, refit=refit, begin=begin)
    output.summary(document)


@relvec.command(
    epilog="Example: relvec predict houses.json new.csv --output predicted.csv"
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@output_option("Table to write.", required=True)
@click.option(
    "--only", is_flag=True, help="Write predictions alone, without the columns of DATA."
)
@click.option("--prefix", default="", help="Prefix of the names of predicted columns.")
@with_output
def predict(
    *, output: Output, model: Path, data: Path, path: Path, only: bool, prefix: str
) -> None:
    """Add predictions to a table: mean and std, or the class and probabilities.

    Columns are found by name, in any order; those that the model does not know are
    kept as they are. Rows are read and written in blocks, so tables may be larger than
    memory.
    """
    from relvec.cli.predicting import predict_to_file

    output.summary(predict_to_file(output, path, model, data, only=only, prefix=prefix))


@relvec.command(
    epilog="Example: relvec report houses.json houses.csv --output houses.html"
)
@click.argument("model", type=FILE)
@click.argument("data", type=FILE)
@click.option(
    "--target",
    shell_complete=complete_column,
    help="Column that was predicted; by default the one that is no feature.",
)
@output_option("Report to write; by default beside MODEL, ending in .html.")
@click.option("--title", help="Title of the page.")
@holdout_option("As given to fit, to find the rows that it held out.")
@seed_option("As given to fit; also the seed of other random draws.")
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
    **options: Any,
) -> None:
    """Write one HTML file about a model: how good it is, and what it has learned.

    DATA is the table that it was fitted to, with the target. If fit held rows out,
    these are found again, and scores are of them alone.
    """
    from relvec.cli.reporting import (
        ReportOptions,
        ReportPaths,
        check_report_path,
        report_to_file,
    )

    check_readable(model)
    page = model.with_suffix(".html") if path is None else path
    check_report_path(page, model, data, force=force)
    paths = ReportPaths(model, data, page)
    output.summary(report_to_file(output, paths, ReportOptions(**options)))


@relvec.command(epilog="Example: relvec inspect houses.json")
@click.argument("model", type=FILE)
@with_output
def inspect(output: Output, model: Path) -> None:
    """Show what a model file holds."""
    from relvec.cli.models import inspect_model

    output.result(inspect_model(model))


@relvec.command(
    epilog="Example: relvec export houses.json --to onnx --output houses.onnx"
)
@click.argument("model", type=FILE)
@click.option(
    "--to",
    "language",
    type=click.Choice(LANGUAGES),
    required=True,
    help="Language of the file.",
)
@output_option("File to write.", required=True)
@click.option(
    "--compute",
    type=click.Choice(["auto", "mean", "mean+std", "proba"]),
    default="auto",
    show_default=True,
    help="What the file computes.",
)
@click.option(
    "--precision",
    type=click.Choice(["float32", "float64"]),
    help="Numbers in and out: float32 by default; Python has float64.",
)
@click.option("--name", help="Prefix of the names in a C file.")
@with_output
def export(output: Output, model: Path, path: Path, **given: Any) -> None:
    """Write a model as ONNX, C99 or Python, to run without relvec."""
    from relvec.cli.exporting import export_model

    output.summary(export_model(model, path, **given))


@relvec.command(epilog="Example: relvec verify houses.onnx")
@click.argument("file", type=FILE)
@click.option(
    "--tolerance",
    type=click.FloatRange(0, min_open=True),
    default=_TOLERANCE,
    show_default=True,
    help="Largest error, relative to the largest value of an output.",
)
@with_output
@click.pass_context
def verify(
    context: click.Context, output: Output, file: Path, tolerance: float
) -> None:
    """Test a model file, an ONNX file or a C file on the rows stored in it.

    The exit code is 1 if predictions differ from those stored. A C file is compiled
    and run: verify only files that you trust.
    """
    from relvec.cli.exporting import verify_file

    document = verify_file(file, tolerance)
    output.result(document)
    if not document["passed"]:
        context.exit(FAILED)


@relvec.command(epilog="Example: relvec compare houses.csv --target price")
@with_source
@click.option(
    "--folds",
    type=click.IntRange(2),
    default=5,
    show_default=True,
    help="Folds of cross-validation.",
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
    from relvec.cli.comparing import compare_models

    output.result(compare_models(output, source, folds, models or MODELS))


@relvec.command(epilog="Example: relvec demo --output demo-output")
@output_option(
    "Folder for the files; it is made if it does not exist.",
    default="demo-output",
    show_default=True,
)
@click.option(
    "--data",
    type=click.Choice(DEMONSTRATIONS),
    default=DEMONSTRATIONS[0],
    show_default=True,
    help="A number to predict, or classes.",
)
@with_output
def demo(output: Output, path: Path, data: str) -> None:
    """Fit a small table, predict it, report on it, and say where the files are."""
    from relvec.cli.reporting import run_demo

    output.summary(run_demo(output, path, data))


@relvec.command(epilog='Example: eval "$(relvec completion bash)"')
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options, files and columns.

    Put the example into ~/.bashrc, the same with zsh into ~/.zshrc; for fish write
    relvec completion fish | source into ~/.config/fish/config.fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = context.find_root()
    click.echo(kind(root.command, {}, "relvec", "_RELVEC_COMPLETE").source())
