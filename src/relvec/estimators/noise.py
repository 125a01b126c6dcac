"""What RVR is told of the noise, and what does not go together with it."""

from typing import Any

from relvec.data import is_row_blocks
from relvec.evidence import Solver, check_noise_settings
from relvec.modelling import KnownNoise, TrainingRows, check_noise
from relvec.parameters import check_noise_variance


def is_gaussian(noise: Any) -> bool:
    """Whether it is that of the papers."""
    return isinstance(noise, str) and noise == "gaussian"


def check_noise_model(
    noise: Any, noise_variance: Any, *, solver: Solver, partition: Any
) -> None:
    """Refuse kinds of noise that are none, and what they cannot do."""
    check_noise(noise)
    check_noise_variance(noise_variance)
    if not isinstance(noise_variance, str):
        known = f"noise_variance={noise_variance!r} is known"
        check_noise_settings(solver, known)
    if is_gaussian(noise):
        return
    if not isinstance(noise_variance, str):
        raise ValueError(
            f"noise={noise!r} estimates its scale, and {known}: leave noise_variance "
            "at 'estimate' or noise at 'gaussian'"
        )
    if solver.noise_settings or solver.integrates_noise:
        raise ValueError(
            f"solver={solver!r} has its own idea of Gaussian noise, and noise is "
            f"{noise!r}: use solver='sequential', 'mackay' or 'em' as they are, or "
            "noise='gaussian'"
        )
    if partition is not None:
        raise ValueError(
            f"partition={partition!r} fits parts of the rows, and noise={noise!r} "
            "weighs all of them again and again: leave out one of the two"
        )


def check_rows_stay(noise: Any, rows: TrainingRows) -> None:
    """Refuse rows that would have to be read again and again."""
    if not (is_gaussian(noise) or rows.in_memory):
        raise _not_in_memory(f"noise={noise!r}")


def check_sums_serve(noise: Any, y_std: Any) -> None:
    """Refuse what sums over rows that stay where they are do not tell."""
    if y_std is not None:
        raise _not_in_memory("y_std")
    if not is_gaussian(noise):
        raise _not_in_memory(f"noise={noise!r}")


def known_noise(X: Any, y: Any, sample_weight: Any, y_std: Any) -> KnownNoise:
    """That of rows in memory."""
    if is_row_blocks(X):
        raise _not_in_memory("y_std")
    known = KnownNoise.of(y_std, sample_weight)
    if hasattr(y, "__len__") and len(y) != len(known.weight):
        raise ValueError(
            f"y_std must hold one number per row, {len(y)} in all; got "
            f"{len(known.weight)}"
        )
    return known


def check_nothing_else_known(
    noise: Any, noise_variance: Any, *, solver: Solver, partition: Any
) -> None:
    """Refuse what is at odds with a noise that is known for each row."""
    check_noise_settings(solver, "y_std is known")
    if not isinstance(noise_variance, str):
        raise ValueError(
            f"noise_variance={noise_variance!r} and y_std both say what the noise is: "
            "leave noise_variance at 'estimate', or leave out y_std"
        )
    if not is_gaussian(noise):
        raise ValueError(
            f"y_std are deviations of Gaussian noise, and noise is {noise!r}: set "
            "noise='gaussian', or leave out y_std"
        )
    if partition is not None:
        raise ValueError(
            f"y_std is not for partition={partition!r}: leave out one of the two"
        )


def _not_in_memory(what: str) -> ValueError:
    return ValueError(
        f"{what} is for rows in memory: give X and y as arrays, of fewer rows if these "
        "are too many, or leave it out"
    )
