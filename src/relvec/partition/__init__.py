"""Fitting by parts of the rows, which may be anywhere."""

from relvec.partition.elsewhere import RowsElsewhere
from relvec.partition.fit import divide_and_conquer, fit_partitioned
from relvec.partition.settings import (
    Incremental,
    Partition,
    SplitMerge,
    WorkingSet,
    as_partition,
    check_partition,
)
from relvec.partition.size import check_size
from relvec.partition.survey import Survey

__all__ = [
    "Incremental",
    "Partition",
    "RowsElsewhere",
    "SplitMerge",
    "Survey",
    "WorkingSet",
    "as_partition",
    "check_partition",
    "check_size",
    "divide_and_conquer",
    "fit_partitioned",
]
