"""Random draws that depend on a seed only."""

import numpy as np

# Users draw data with a seed of 0, too. The same generator here would repeat the
# numbers of the data, and choose the rows of their smallest values.
_OURS = 0x72766D


def generator(seed: int, *purpose: int) -> np.random.Generator:
    """Return the random generator of a seed, and perhaps of a purpose."""
    return np.random.default_rng([_OURS, seed, *purpose])
