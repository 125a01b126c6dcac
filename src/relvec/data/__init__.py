"""Data: rows from files, tables and iterables; synthetic problems to try things on."""

from relvec.data.blocks import Block, RowBlocks, is_row_blocks
from relvec.data.generators import mixtures_and_copies, noisy_sinc, two_mixtures
from relvec.data.scan import scan

__all__ = [
    "Block",
    "RowBlocks",
    "is_row_blocks",
    "mixtures_and_copies",
    "noisy_sinc",
    "scan",
    "two_mixtures",
]
