"""What is drawn by chance, always the same for the same seed."""

import numpy as np

# Users draw their data by a seed of 0, too: numbers drawn by the very same generator
# would be those of the data, and rows chosen by them those of its smallest values.
_OURS = 0x72766D


def generator(seed: int, *purpose: int) -> np.random.Generator:
    """Of numbers that belong to a seed, and perhaps to a purpose."""
    return np.random.default_rng([_OURS, seed, *purpose])
