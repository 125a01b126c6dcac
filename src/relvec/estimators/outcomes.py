"""What users are told of how a fit ended."""

import warnings

from sklearn.exceptions import ConvergenceWarning

from relvec.evidence import Status


class FitWarning(UserWarning):
    """A fit that ended in a special case; the message says what to do."""


def warn_about(status: Status, stacklevel: int = 3, words: str | None = None) -> None:
    """Tell how a fit ended, unless that is how it should."""
    if status in {Status.CONVERGED, Status.STOPPED}:
        return
    category = FitWarning if status.success else ConvergenceWarning
    warnings.warn(words or status.value, category, stacklevel=stacklevel)
