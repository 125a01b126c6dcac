"""Divide and conquer: a model from sets of rows that are fitted one by one."""

from dataclasses import replace

import numpy as np

from relvec.evidence import Status
from relvec.kernel_search import Learning, feature_relevance, learn, length_scales
from relvec.modelling import (
    FittedModel,
    Learned,
    Monitor,
    PartitionSummary,
    Specification,
    TrainingSet,
    calibrated,
    silent,
)
from relvec.partition.settings import Partition
from relvec.partition.sources import RowsInMemory, Source
from relvec.partition.thesis import Begun, LastSet, check_size

_LEARN_FROM = 2000  # rows for the kernel's width, as many as a search looks at at once
# Rows that stand for all: those that sets from several parts are fitted to, and those
# that are left out to calibrate a model.
_JUDGES = 10_000


def fit_partitioned(
    settings: Partition,
    size: int | str,
    learning: Learning | None,
    spec: Specification,
    data: TrainingSet,
    *,
    start: FittedModel | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model of rows in memory."""
    source = RowsInMemory.of(data, spec)
    given = int(data.rows.indices.max()) + 1  # equal rows are counted once
    if not isinstance(size, str):
        check_size(size, max(given, len(data)), spec.family.labels)
        size = min(size, len(data))
    return divide_and_conquer(
        settings, size, learning, spec, source, start=start, monitor=monitor
    )


def divide_and_conquer(
    settings: Partition,
    size: int | str,
    learning: Learning | None,
    spec: Specification,
    source: Source,
    *,
    start: FittedModel | None = None,
    monitor: Monitor = silent,
) -> FittedModel:
    """The model of rows that are fitted by parts."""
    spec, learned, taught = with_kernels(learning, spec, source)
    chosen = settings.sized(size, spec, source)
    if settings.by_themselves and chosen.rows < source.n_rows:
        source.check_sets(chosen.rows)
    parts, deadline = source.parts(chosen.rows), spec.deadline
    noise = source.drawn(1).likelihood.log_parameters
    some = settings.fits(spec, chosen.rows).around(source.drawn(_JUDGES))
    begun = Begun(noise, start, deadline.share(2), some, taught)
    if chosen.rows >= source.n_rows:
        rows = source.drawn(source.n_rows)
        last = LastSet(rows, begun.start or taught, noise)
    else:
        fits = settings.fits(spec.until(begun.until), chosen.rows)
        last = settings.last_set(fits, parts, begun, source)
    if not len(last.rows):
        last = replace(last, rows=source.drawn(chosen.rows))
    # Half of the time that is left is for the polish.
    until = deadline.share(2) if settings.polish else deadline
    model, noise = settings.fits(spec.until(until), chosen.rows).last(
        last.rows,
        parts if settings.noise_from == "all" else begun.around,
        last.log_parameters,
        start=last.start,
        monitor=monitor,
    )
    records = [*last.records, (len(last.rows), len(np.unique(model.indices)))]
    polish = settings.polish and not deadline.passed
    if polish:
        model = source.polished(spec, model, last.rows, noise, monitor)
    else:
        # By rows that the model was fitted to, or some of them.
        every = settings.rows_fitted == "all"
        model = calibrated(model, spec, source.drawn(_JUDGES) if every else last.rows)
    if (last.cut_short or polish < settings.polish) and model.status.success:
        model = model.ended_as(Status.MAX_SECONDS)
    n_rows, n_vectors = np.array(records).T
    summary = PartitionSummary(
        size=chosen.rows,
        number=-(-source.n_rows // chosen.rows),
        sparseness_ratio=chosen.ratio,
        history={"n_rows": n_rows, "n_vectors": n_vectors},
    )
    learned = _described(learned, model, source)
    return replace(model, learned=learned, partition=summary).remarked(chosen.advice)


def _described(learned: Learned, model: FittedModel, source: Source) -> Learned:
    """With what a learned kernel tells of vectors and features."""
    if learned.kernel is None:
        return learned
    rows = source.drawn(_LEARN_FROM)
    return replace(
        learned,
        length_scales=length_scales(model.basis),
        feature_relevance=feature_relevance(model, rows.table, rows.weight),
    )


def with_kernels(
    learning: Learning | None, spec: Specification, source: Source
) -> tuple[Specification, Learned, FittedModel | None]:
    """With the kernels that rows drawn have taught, if they are to be learned.

    And their model: of few rows it may be one that a search from nothing misses.
    """
    if learning is None:
        return spec, Learned(), None
    drawn = source.drawn(_LEARN_FROM)
    model = learn(learning, spec.until(spec.deadline.share(3)), drawn)
    kernels = tuple(group.kernel for group in model.basis.groups)
    found = model.learned
    learned = Learned(found.kernel, weights=found.weights, history=found.history)
    return replace(spec, kernels=kernels), learned, model
