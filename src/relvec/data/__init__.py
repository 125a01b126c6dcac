"""Data: rows from files, tables and iterables; synthetic problems to try things on."""

from relvec.data.blocks import Block, RowBlocks
from relvec.data.blocks import each_block as each_block
from relvec.data.blocks import fold_blocks as fold_blocks
from relvec.data.blocks import is_distributed as is_distributed
from relvec.data.blocks import is_row_blocks as is_row_blocks
from relvec.data.columns import same_kind as same_kind
from relvec.data.dask_blocks import dask_blocks as dask_blocks
from relvec.data.dask_blocks import is_dask as is_dask
from relvec.data.dask_blocks import lazily as lazily
from relvec.data.generators import mixtures_and_copies, noisy_sinc, two_mixtures
from relvec.data.scan import scan

# What users are to see; the other names are for the rest of the package.
__all__ = [
    "Block",
    "RowBlocks",
    "mixtures_and_copies",
    "noisy_sinc",
    "scan",
    "two_mixtures",
]
