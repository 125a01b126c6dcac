"""``relvec compare``: several kinds of models on the same folds."""

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import rich_click as click
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.gaussian_process import (
    GaussianProcessClassifier,
    GaussianProcessRegressor,
)
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from relvec import LSSVC, LSSVR
from relvec.cli.exits import Problem
from relvec.cli.options import Source, with_source
from relvec.cli.output import Output, with_output
from relvec.cli.scoring import scores
from relvec.cli.tables import read_table
from relvec.cli.training import Choices, Data, data_of, estimator, prepared
from relvec.typing import AnyArray

_MOST_OF_PROCESS = 1000  # rows, since its time grows with their cube


@dataclass(frozen=True)
class Contender:
    """A kind of model: how it is made, and how many rows it may have."""

    name: str
    make: Callable[[Choices, bool], Any]
    vectors: Callable[[Any], int | None]
    most_rows: int | None = None


def _rvm(choices: Choices, classes: bool) -> Any:
    return estimator(choices, classes=classes)


def _lssvm(choices: Choices, classes: bool) -> Any:
    return (LSSVC if classes else LSSVR)(tune="loo", random_state=choices.seed)


def _svm(choices: Choices, classes: bool) -> Any:
    """With its defaults, for which numbers to predict must be of about unit size."""
    del choices  # nothing is drawn
    if classes:
        return SVC()
    return TransformedTargetRegressor(SVR(), transformer=StandardScaler())


def _process(choices: Choices, classes: bool) -> Any:
    if classes:
        return GaussianProcessClassifier(
            ConstantKernel() * RBF(), random_state=choices.seed
        )
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=choices.seed)


def _boosting(choices: Choices, classes: bool) -> Any:
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(random_state=choices.seed)


def _of_ours(model: Any) -> int:
    return len(model.model_.indices)


def _of_svm(model: Any) -> int:
    return len(getattr(model, "regressor_", model).support_)


def _of_process(model: Any) -> int:
    one = getattr(model, "base_estimator_", model)
    inner = getattr(one, "estimators_", [one])[0]
    return len(inner.X_train_)


CONTENDERS = (
    Contender("RVM", _rvm, _of_ours),
    Contender("LS-SVM", _lssvm, _of_ours),
    Contender("SVM", _svm, _of_svm),
    Contender("GP", _process, _of_process, _MOST_OF_PROCESS),
    Contender("boosting", _boosting, lambda model: None),
)


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
    type=click.Choice([each.name for each in CONTENDERS], case_sensitive=False),
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
    data = data_of(read_table(source.data), source.target, source.choices)
    rows = compared(output, data, source.choices, folds, models)
    output.result(
        {
            "task": data.target.task,
            "target": data.target.name,
            "rows": len(data),
            "folds": folds,
            "models": rows,
        }
    )


def compared(
    output: Output,
    data: Data,
    choices: Choices,
    folds: int,
    models: tuple[str, ...] = (),
) -> list[dict[str, Any]]:
    """Means over folds, of each model chosen; of all of them by default."""
    parts = list(_folds(data, folds, choices.seed))
    chosen = [each for each in CONTENDERS if each.name in models or not models]
    rows: list[dict[str, Any]] = []
    with output.steps(len(chosen) * folds) as tell:
        for contender in chosen:
            tried: list[dict[str, float | None]] = []
            for kept, out in parts:
                tell(contender.name, len(rows) * folds + len(tried))
                tried.append(_tried(contender, data, kept, out, choices))
            rows.append({"model": contender.name, **_mean(tried)})
    return rows


def _folds(data: Data, folds: int, seed: int) -> Iterator[tuple[AnyArray, AnyArray]]:
    smallest = len(data)
    if data.target.classes:
        smallest = int(np.unique(data.target.values, return_counts=True)[1].min())
    if smallest < folds:
        what = "the rarest class has" if data.target.classes else "the table has"
        raise Problem(
            f"{what} {smallest} rows, too few for {folds} folds: choose fewer with "
            "--folds, or remove rows of that class"
        )
    kind = StratifiedKFold if data.target.classes else KFold
    splitter = kind(folds, shuffle=True, random_state=seed)
    return splitter.split(data.X, data.target.values)


def _tried(
    contender: Contender, data: Data, kept: AnyArray, out: AnyArray, choices: Choices
) -> dict[str, float | None]:
    """Scores on one fold, vectors and seconds."""
    if contender.most_rows is not None and len(kept) > contender.most_rows:
        rng = np.random.default_rng(choices.seed)
        kept = np.sort(rng.choice(kept, contender.most_rows, replace=False))
    known, held = data.rows(kept), data.rows(out)
    last = contender.make(replace(choices, verbose=0), data.target.classes)
    steps = [("prepare", prepared(data.columns, impute=choices.impute)), ("last", last)]
    model, started = Pipeline(steps), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a table of figures says it all
        model.fit(known.X, known.target.values)
        seconds = time.perf_counter() - started
        found = scores(model, held.X, held.target)
    found["vectors"] = contender.vectors(model.steps[-1][1])
    return {**found, "rows": float(len(kept)), "seconds": seconds}


def _mean(tried: list[dict[str, float | None]]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in tried[0]:
        values = [value for one in tried if (value := one[name]) is not None]
        means[name] = float(np.mean(values)) if values else None
    return means
