"""The model file: one strict JSON text that holds all of a fitted model."""

from relvec.model_file.codec import Codec
from relvec.model_file.consistency import (
    check_coupled,
    checked_fitted,
    checked_independent,
    checked_pairwise,
)
from relvec.model_file.document import FORMAT, VERSION, packed, unpacked
from relvec.model_file.errors import ModelFileError
from relvec.model_file.files import Path, read_limited, whole_file, write_whole
from relvec.model_file.kind import Kind, of_dataclass
from relvec.model_file.kinds import CODEC
from relvec.model_file.least_squares import checked_least_squares
from relvec.model_file.savable import Savable

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
