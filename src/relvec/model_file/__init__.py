"""The model file: one strict JSON text that holds all of a fitted model."""

from relvec.model_file.checks import (
    check_coupled,
    checked_fitted,
    checked_independent,
    checked_least_squares,
    checked_pairwise,
)
from relvec.model_file.codec import Codec, Kind, of_dataclass
from relvec.model_file.document import (
    FORMAT,
    VERSION,
    ModelFileError,
    Path,
    Savable,
    packed,
    read_limited,
    unpacked,
    whole_file,
    write_whole,
)
from relvec.model_file.kinds import CODEC

__all__ = [
    "CODEC",
    "FORMAT",
    "VERSION",
    "Codec",
    "Kind",
    "ModelFileError",
    "Path",
    "Savable",
    "check_coupled",
    "checked_fitted",
    "checked_independent",
    "checked_least_squares",
    "checked_pairwise",
    "of_dataclass",
    "packed",
    "read_limited",
    "unpacked",
    "whole_file",
    "write_whole",
]
