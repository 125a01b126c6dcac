"""Array types used throughout.

Data-sized arrays carry the output axis last, ``(n_samples, n_outputs)``; arrays in
the space of the basis functions carry it first, ``(n_outputs, n_active)``, so that
stacks of small matrices meet numpy's broadcasting rules.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Indices: TypeAlias = NDArray[np.intp]
AnyArray: TypeAlias = NDArray[Any]
