"""The command: ``python -m benchmarks`` lists all benchmarks, with a name it runs one.

Tables in Markdown go to the standard output, progress to the standard error.
"""

import argparse
import contextlib
import json
import sys
from pathlib import Path

from benchmarks import (
    engine,
    growth,
    intervals,
    kernel_learning,
    lssvm,
    multiclass,
    one_row,
    out_of_the_box,
    scale,
    tables,
    thesis,
    uci,
)
from benchmarks.harness import describe_machine, limited_threads
from benchmarks.reports import Tee, put_into_page, show_machine

MODULES = (
    uci,
    out_of_the_box,
    tables,
    intervals,
    scale,
    growth,
    engine,
    kernel_learning,
    multiclass,
    thesis,
    lssvm,
    one_row,
)
BENCHMARKS = {
    name: benchmark
    for module in MODULES
    for name, benchmark in module.BENCHMARKS.items()
}


def listing():
    """A line for each benchmark."""
    width = max(map(len, BENCHMARKS))
    return "\n".join(
        f"{name:<{width}}  {one.summary}" for name, one in BENCHMARKS.items()
    )


def parser_of(name):
    """The options of a benchmark, and those that all share."""
    benchmark = BENCHMARKS[name]
    parser = argparse.ArgumentParser(
        prog=f"python -m benchmarks {name}",
        description=f"{benchmark.summary[:1].upper()}{benchmark.summary[1:]}.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    benchmark.add_options(parser)
    add = parser.add_argument
    text = "threads and cores to use; no limit if not given"
    add("--threads", type=int, default=benchmark.threads, help=text)
    text = "keep outcomes in this file, and take those that it has"
    add("--json", type=Path, help=text)
    text = "replace the tables of this page, in the sections that name the benchmark"
    add("--page", type=Path, help=text)
    return parser


def run(name, options):
    """Print the report, and put its tables into a page if one is given."""
    benchmark = BENCHMARKS[name]
    asked = {key: str(value) for key, value in vars(options).items() if key != "page"}
    # Fits are kept by the benchmark itself, or its whole report is.
    path = None if benchmark.keeps_fits else options.json
    report = kept_report(path, asked)
    if report is None:
        out = Tee(sys.stdout)
        with contextlib.redirect_stdout(out), limited_threads(options.threads):
            show_machine(describe_machine())
            benchmark.run(options)
        report = out.text
        keep_report(path, asked, report)
    else:
        print(report)
    if options.page is not None:
        put_into_page(options.page, name, report)


def kept_report(path, asked):
    """The report of a file, if the same was asked for; else None."""
    if path is None or not path.exists():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return kept["report"] if kept["asked"] == asked else None


def keep_report(path, asked, report):
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        kept = json.dumps({"asked": asked, "report": report}, indent=1)
        path.write_text(kept, encoding="utf-8")


def main(arguments):
    if not arguments or arguments[0] in ("-h", "--help"):
        print("python -m benchmarks NAME [--help] runs one of these:\n")
        print(listing())
        return
    name, *rest = arguments
    if name not in BENCHMARKS:
        raise SystemExit(f"There is no benchmark {name!r}, but\n\n{listing()}")
    run(name, parser_of(name).parse_args(rest))


if __name__ == "__main__":
    main(sys.argv[1:])
