"""Fitting by parts of the rows, which may be anywhere."""

from relvec.partition.fit import divide_and_conquer, fit_partitioned
from relvec.partition.settings import (
    Incremental,
    Partition,
    SplitMerge,
    WorkingSet,
    as_partition,
    check_partition,
)
from relvec.partition.sources import DatasetSummary, DistributedRows
from relvec.partition.thesis import check_size

__all__ = [
    "DatasetSummary",
    "DistributedRows",
    "Incremental",
    "Partition",
    "SplitMerge",
    "WorkingSet",
    "as_partition",
    "check_partition",
    "check_size",
    "divide_and_conquer",
    "fit_partitioned",
]
