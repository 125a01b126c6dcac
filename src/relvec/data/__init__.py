"""Data: rows from files, tables and iterables; synthetic problems to try things on."""

from relvec.data.blocks import (
    Block,
    RowBlocks,
    each_block,
    fold_blocks,
    is_elsewhere,
    is_row_blocks,
)
from relvec.data.checks import same_kind
from relvec.data.dask_blocks import dask_blocks, is_dask, lazily
from relvec.data.generators import mixtures_and_copies, noisy_sinc, two_mixtures
from relvec.data.scan import scan

__all__ = [
    "Block",
    "RowBlocks",
    "dask_blocks",
    "each_block",
    "fold_blocks",
    "is_dask",
    "is_elsewhere",
    "is_row_blocks",
    "lazily",
    "mixtures_and_copies",
    "noisy_sinc",
    "same_kind",
    "scan",
    "two_mixtures",
]
