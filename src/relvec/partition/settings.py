"""Ways to fit by parts of the rows: by name, or with settings."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from relvec.modelling import Specification
from relvec.parameters import check_choice, check_count, check_flag, check_fraction
from relvec.parametric import Parametric
from relvec.partition.parts import Parts
from relvec.partition.sources import Source
from relvec.partition.thesis import (
    Begun,
    LastSet,
    PartitionSize,
    SetFits,
    found_size,
    incremental,
    split_and_merge,
    working_set,
)

# Rows that are drawn to find functions, where these are then weighed by all: the model
# of as many takes some seconds.
_DRAWN = 10_000


@dataclass(frozen=True, eq=False, repr=False)
class Partition(Parametric, ABC):
    """What all ways to fit by parts are asked; SplitMerge says what it means."""

    rows: str = "auto"
    noise_from: Any = "all"
    early_stop: str = "auto"
    polish: bool = True
    by_themselves: ClassVar[bool] = True  # whether each set of a part is fitted

    def __post_init__(self) -> None:
        check_choice("rows", self.rows, ("auto", "all", "partition"))
        if isinstance(self.noise_from, str):
            check_choice("noise_from", self.noise_from, ("all", "partition"))
        elif isinstance(self.noise_from, float):
            check_fraction("noise_from", self.noise_from)
        else:
            check_count("noise_from", self.noise_from)
        if self.rows == "all" and self.noise_from != "all":
            raise ValueError(
                f"rows='all' has the noise of all rows, and noise_from is "
                f"{self.noise_from!r}: leave out one of the two"
            )
        choices = ("auto", "partition", "set", "never")
        check_choice("early_stop", self.early_stop, choices)
        check_flag("polish", self.polish)

    @property
    def rows_fitted(self) -> str:
        """The rows that functions are fitted to, "all" or the "partition"."""
        if self.rows != "auto":
            return self.rows
        return "all" if self.noise_from == "all" else "partition"

    def fits(self, spec: Specification, size: int) -> SetFits:
        """How sets of so many rows are fitted."""
        rule = self.early_stop
        if rule == "auto":
            rule = "partition" if spec.family.labels is None else "set"
        return SetFits(spec, size, self.rows_fitted, self.noise_from, rule)

    def sized(
        self, size: int | str, spec: Specification, source: Source
    ) -> PartitionSize:
        """As given, or by a look at some rows."""
        if isinstance(size, str):
            return found_size(spec, source)
        return PartitionSize(size)

    @abstractmethod
    def last_set(
        self, fits: SetFits, parts: Parts, begun: Begun, source: Source
    ) -> LastSet:
        """The set whose model is the result, from more rows than one set has."""


@dataclass(frozen=True, eq=False, repr=False)
class SplitMerge(Partition):
    """Settings of ``partition="split-merge"``, section 4.1.1 of [1]_.

    Every partition is fitted by itself, and the relevance vectors of two are a set to
    be fitted again, until one set is left. Fits of one stage do not depend on each
    other: within :func:`relvec.parallel` they run side by side.

    Parameters
    ----------
    rows : {"auto", "all", "partition"}, default="auto"
        The rows that the functions of a set are fitted to: all (but no more than 8192
        of the part that the set is from, before the last stage), or only those that the
        functions are centred on, which is quicker and finds worse ones. "auto" is
        "all", unless ``noise_from`` says otherwise; the thesis' own figures ask for
        "all".
    noise_from : {"all", "partition"}, int or float, default="all"
        The rows whose errors the noise is estimated from while a set is fitted: all,
        the set itself, or so many, or such a share, drawn by chance.
    early_stop : {"auto", "partition", "set", "never"}, default="auto"
        When a fit that is not the last one ends before it has converged: as soon as it
        has half as many vectors as a partition has rows, or half as many as the set at
        hand; "auto" is the former for regression and the latter for classes, as the
        thesis has it. It is for solvers that begin with all functions and come down to
        that number; one that begins with none is below it and ends by itself.
    polish : bool, default=True
        Whether all rows and all candidates are looked at in the end, by the sequential
        search, beginning with the model found; not with solvers that maximise something
        other than the evidence. The thesis does not: its model is that of the last set.
    merge : {"pairwise", "union"}, default="pairwise"
        Whether two sets at a time are merged, as in the thesis, or all of them at once.

    References
    ----------
    .. [1] D. Ben-Shimon (2006), "Accelerating the relevance vector machine via data
       partitioning", thesis, Ben-Gurion University of the Negev.

    Examples
    --------
    >>> from relvec import RVR, SplitMerge
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(400, seed=0)
    >>> thesis = SplitMerge(polish=False)
    >>> model = RVR(gamma=1 / 9, partition=thesis, partition_size=50)
    >>> model.fit(X, y).n_partitions_
    8
    """

    merge: str = "pairwise"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice("merge", self.merge, ("pairwise", "union"))

    def last_set(
        self, fits: SetFits, parts: Parts, begun: Begun, source: Source
    ) -> LastSet:
        first, pairwise = source.drawn(fits.size), self.merge == "pairwise"
        return split_and_merge(fits, parts, begun, first, pairwise=pairwise)


@dataclass(frozen=True, eq=False, repr=False)
class Incremental(Partition):
    """Settings of ``partition="incremental"``, section 4.1.2 of the thesis.

    The relevance vectors found so far and the next partition are the set to be fitted
    next. With ``max_seconds`` it ends earlier, with the model of the rows seen by then.

    Parameters
    ----------
    rows, noise_from, early_stop, polish : object
        As in :class:`SplitMerge`.

    Examples
    --------
    >>> from relvec import RVR, Incremental
    >>> from relvec.data import noisy_sinc
    >>> X, y = noisy_sinc(400, seed=0)
    >>> model = RVR(gamma=1 / 9, partition=Incremental(polish=False), partition_size=50)
    >>> len(model.fit(X, y).partition_history_["n_vectors"])
    8
    """

    def last_set(
        self, fits: SetFits, parts: Parts, begun: Begun, source: Source
    ) -> LastSet:
        return incremental(fits, parts, begun, source.drawn(fits.size))


@dataclass(frozen=True, eq=False, repr=False)
class WorkingSet(Partition):
    """Settings of ``partition="working-set"``, thesis 4.1.3 and 5.2.1.3.

    The relevance vectors found so far and the rows that they predict worst are the set
    to be fitted next; of classes, rows that are misclassified, in the proportions of
    the classes, then others.

    Parameters
    ----------
    rows, noise_from, early_stop, polish : object
        As in :class:`SplitMerge`.
    max_sets : int, optional
        Most sets to be fitted: each takes a pass over all rows. By default as many as
        there are partitions, so that every row has been in one; 50 of rows that are not
        in memory.

    Examples
    --------
    >>> from relvec import RVC, WorkingSet
    >>> from relvec.data import two_mixtures
    >>> X, y = two_mixtures(400, seed=0)
    >>> model = RVC(gamma=4.0, partition=WorkingSet(max_sets=5), partition_size=40)
    >>> bool(model.fit(X, y).score(X, y) > 0.85)
    True
    """

    max_sets: int | None = None
    by_themselves: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_sets is not None:
            check_count("max_sets", self.max_sets)

    def last_set(
        self, fits: SetFits, parts: Parts, begun: Begun, source: Source
    ) -> LastSet:
        first, most = source.drawn(fits.size), self.max_sets or source.most_sets
        return working_set(fits, parts, begun, first, max_sets=most)


class Sampled(Partition):
    """``partition="sample"``: rows drawn find functions, all rows weigh them."""

    by_themselves: ClassVar[bool] = False

    def sized(
        self, size: int | str, spec: Specification, source: Source
    ) -> PartitionSize:
        wanted = _DRAWN if isinstance(size, str) else size
        return PartitionSize(min(wanted, source.n_rows))

    def last_set(
        self, fits: SetFits, parts: Parts, begun: Begun, source: Source
    ) -> LastSet:
        rows, start = source.drawn(fits.size), begun.start or begun.taught
        return LastSet(rows, start, begun.log_parameters)


_BY_NAME: dict[str, Partition] = {
    "split-merge": SplitMerge(),
    "incremental": Incremental(),
    "working-set": WorkingSet(),
    "sample": Sampled(noise_from="partition"),
}


def as_partition(value: Any) -> Partition | None:
    """What a user means by ``partition``: a name, an object with settings, or None."""
    if value is None or isinstance(value, Partition):
        return value
    if not isinstance(value, str) or value not in _BY_NAME:
        words = ", ".join(map(repr, _BY_NAME))
        raise ValueError(
            f"partition must be one of {words}, an object with settings, or None; got "
            f"{value!r}"
        )
    return _BY_NAME[value]


def check_partition(
    partition: Any, size: Any, *, at_rows: bool, own_widths: bool
) -> None:
    """Refuse what is no partition, or has no use here.

    ``at_rows`` says that functions are centred on rows, ``own_widths`` that each learns
    a width of its own.
    """
    if not isinstance(size, str):
        check_count("partition_size", size)
    elif size != "auto":
        msg = f"partition_size must be 'auto' or a number of rows; got {size!r}"
        raise ValueError(msg)
    if as_partition(partition) is None:
        return
    if not at_rows:
        raise ValueError(
            "a partition is rows and the functions centred on them, and here functions "
            "are the columns of X or at centres given: leave out partition, or give a "
            "kernel of two rows and no centres"
        )
    if own_widths:
        raise ValueError(
            "kernel_learning gives every function a width of its own here, which "
            "partitions do not pass on: choose 'width', 'ard' or 'auto', or leave out "
            "partition"
        )
