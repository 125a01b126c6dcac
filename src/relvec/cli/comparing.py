"""What ``relvec compare`` does: several kinds of models on the same folds."""

import pickle
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
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
from threadpoolctl import threadpool_limits

from relvec import LSSVC, LSSVR
from relvec.cli.errors import CliError
from relvec.cli.fitting import (
    Data,
    make_estimator,
    make_preprocessing,
    prepare_data,
    scores,
)
from relvec.cli.options import Choices, Source
from relvec.cli.output import Output, time_left
from relvec.cli.tables import read_table
from relvec.typing import AnyArray

Scores = dict[str, float | None]

_MOST_GP_ROWS = 1000  # rows, since the time grows with their cube
# With fewer rows no model gains by a second thread, and boosting loses much if other
# programs run: its threads wait for each other.
_FEW_ROWS = 2000


@dataclass(frozen=True)
class Contender:
    """A kind of model: how to make it, and its most rows."""

    name: str
    make: Callable[[Choices, bool], Any]
    vectors: Callable[[Any], int | None]
    most_rows: int | None = None


def _rvm(choices: Choices, classes: bool) -> Any:
    return make_estimator(choices, classes=classes)


def _lssvm(choices: Choices, classes: bool) -> Any:
    return (LSSVC if classes else LSSVR)(tune="loo", random_state=choices.seed)


def _svm(choices: Choices, classes: bool) -> Any:
    """Make an SVM with its defaults, which assume a target of unit scale."""
    del choices  # nothing is drawn
    if classes:
        return SVC()
    return TransformedTargetRegressor(SVR(), transformer=StandardScaler())


def _gp(choices: Choices, classes: bool) -> Any:
    if classes:
        return GaussianProcessClassifier(
            ConstantKernel() * RBF(), random_state=choices.seed
        )
    kernel = ConstantKernel() * RBF() + WhiteKernel()
    return GaussianProcessRegressor(kernel, normalize_y=True, random_state=choices.seed)


def _boosting(choices: Choices, classes: bool) -> Any:
    kind = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    return kind(random_state=choices.seed)


def _relvec_vectors(model: Any) -> int:
    return len(model.model_.indices)


def _svm_vectors(model: Any) -> int:
    return len(getattr(model, "regressor_", model).support_)


def _gp_vectors(model: Any) -> int:
    one = getattr(model, "base_estimator_", model)
    inner = getattr(one, "estimators_", [one])[0]
    return len(inner.X_train_)


CONTENDERS = (
    Contender("RVM", _rvm, _relvec_vectors),
    Contender("LS-SVM", _lssvm, _relvec_vectors),
    Contender("SVM", _svm, _svm_vectors),
    Contender("GP", _gp, _gp_vectors, _MOST_GP_ROWS),
    Contender("boosting", _boosting, lambda model: None),
)


def compare_models(
    output: Output, source: Source, folds: int, models: Sequence[str]
) -> dict[str, Any]:
    """Read a table and compare models on the same folds."""
    data = prepare_data(read_table(source.data), source.target, source.choices)
    return {
        "task": data.target.task,
        "target": data.target.name,
        "rows": len(data),
        "folds": folds,
        "models": compare_on_folds(output, data, source.choices, folds, models),
    }


def compare_on_folds(
    output: Output, data: Data, choices: Choices, folds: int, models: Sequence[str]
) -> list[dict[str, Any]]:
    """Compare models on the same folds; return a row of means for each."""
    parts = list(_folds(data, folds, choices.seed))
    chosen = [each for each in CONTENDERS if each.name in models]
    tried: dict[str, list[Scores]] = {each.name: [] for each in chosen}
    with output.steps(len(chosen) * folds) as update:
        # Fit all models on a fold, so that the first fold tells their times.
        for number, (kept, out) in enumerate(parts):
            for place, contender in enumerate(chosen):
                left = time_left(map(_seconds, tried.values()), folds)
                update(contender.name, number * len(chosen) + place, left)
                found = _fold_scores(contender, data, kept, out, choices)
                tried[contender.name].append(found)
    return [{"model": name, **_mean_scores(each)} for name, each in tried.items()]


def _seconds(tried: list[Scores]) -> list[float]:
    return [each["seconds"] or 0.0 for each in tried]


def smallest_class(data: Data) -> int:
    """Count the rows of the rarest class, or all rows of a regression."""
    if not data.target.classes:
        return len(data)
    return int(np.unique(data.target.values, return_counts=True)[1].min())


def _folds(data: Data, folds: int, seed: int) -> Iterator[tuple[AnyArray, AnyArray]]:
    smallest = smallest_class(data)
    if smallest < folds:
        what = "the rarest class has" if data.target.classes else "the table has"
        other = ", or remove its rows" if data.target.classes else ", or add rows"
        raise CliError(
            f"{what} {smallest} row{'s' * (smallest != 1)}, too few for {folds} folds: "
            f"choose fewer with --folds{other}"
        )
    kind = StratifiedKFold if data.target.classes else KFold
    splitter = kind(folds, shuffle=True, random_state=seed)
    return splitter.split(data.X, data.target.values)


def _fold_scores(
    contender: Contender, data: Data, kept: AnyArray, out: AnyArray, choices: Choices
) -> Scores:
    """Fit one fold; return scores, vectors, size and seconds."""
    if contender.most_rows is not None and len(kept) > contender.most_rows:
        rng = np.random.default_rng(choices.seed)
        kept = np.sort(rng.choice(kept, contender.most_rows, replace=False))
    known, held = data.rows(kept), data.rows(out)
    last = contender.make(replace(choices, verbose=0), data.target.classes)
    steps = [
        ("prepare", make_preprocessing(data.columns, impute=choices.impute)),
        ("last", last),
    ]
    model, started = Pipeline(steps), time.perf_counter()
    threads = 1 if len(kept) < _FEW_ROWS else None
    with warnings.catch_warnings(), threadpool_limits(threads):
        warnings.simplefilter("ignore")  # the table of scores shows problems
        model.fit(known.X, known.target.values)
        seconds = time.perf_counter() - started
        found = scores(model, held.X, held.target)
    found["vectors"] = contender.vectors(model.steps[-1][1])
    size = len(pickle.dumps(model)) / 1000  # pickled, since not all have model files
    return {**found, "rows": float(len(kept)), "kilobytes": size, "seconds": seconds}


def _mean_scores(tried: list[Scores]) -> Scores:
    means: Scores = {}
    for name in tried[0]:
        values = [value for one in tried if (value := one[name]) is not None]
        means[name] = float(np.mean(values)) if values else None
    return means
