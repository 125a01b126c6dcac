"""Parameters of kernels, learned from the evidence."""

from relvec.kernel_learning.weights import Mixed, better_weights

__all__ = ["Mixed", "better_weights"]
