"""What users are told of how a fit ended."""

import warnings
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from relvec.evidence import Status


class FitWarning(UserWarning):
    """A fit that ended in a special case; the message says what to do."""


def tell(model: Any, stacklevel: int) -> None:
    """Warn of how a model's fit ended, unless that is how it should, and remark."""
    if model.status not in {Status.CONVERGED, Status.STOPPED}:
        category = FitWarning if model.status.success else ConvergenceWarning
        warnings.warn(model.outcome, category, stacklevel=stacklevel)
    # A fit that was stopped has said already that more is to be had.
    calibration = model.calibration if model.status.success else None
    if calibration is not None and calibration.warning is not None:
        warnings.warn(calibration.warning, FitWarning, stacklevel=stacklevel)
    for remark in model.remarks:
        warnings.warn(remark, FitWarning, stacklevel=stacklevel)
