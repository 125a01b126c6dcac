"""Which kernels have length scales to be learned."""

from typing import Any

import numpy as np

from relvec.basis import Functions
from relvec.kernels import Checked, Columns, Kernel
from relvec.kernels.radial import Radial
from relvec.kernels.varying import Varying


def radial_index(kernels: tuple[Kernel, ...], learning: str) -> int:
    """Which of the kernels has length scales to be learned; or refuse."""
    found = [index for index, one in enumerate(kernels) if radial(one) is not None]
    if len(found) == 1:
        return found[0]
    shown = ", ".join(map(_as_given, kernels))
    if not found:
        msg = (
            f"kernel_learning={learning} needs a kernel with a length scale and "
            "derivatives by it, such as 'rbf' or relvec.kernels.Matern(), without "
            f"finite support; got {shown}"
        )
    else:
        msg = (
            f"kernel_learning={learning} learns the length scales of one kernel, and "
            f"the list has {len(found)} that have them: {shown}; leave one, beside "
            "others that have none"
        )
    raise ValueError(msg)


def _as_given(kernel: Any) -> str:
    """What a user has given, without what is around it here."""
    while inner := getattr(kernel, "function", None) or getattr(kernel, "kernel", None):
        kernel = inner
    return "the columns of X" if isinstance(kernel, Columns) else repr(kernel)


def radial(kernel: Kernel) -> Radial | None:
    """The kernel itself, if it has length scales that can be learned."""
    inner = kernel.function if isinstance(kernel, Checked) else kernel
    return inner if isinstance(inner, Radial) and not inner.compact else None


def as_varying(group: Functions) -> Varying | None:
    """Functions that could each have a length scale of its own."""
    if isinstance(group, Varying):
        return group
    kernel = radial(group.kernel)
    if kernel is None:
        return None
    return Varying(kernel, group.centres, np.tile(kernel.scale, (len(group), 1)))
