"""How often each row is a relevance vector."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from relvec.inspection import RelevanceStability, relevance_stability
from relvec.plots.drawing import BLUE, Display, styled, whole_numbers


@dataclass(eq=False, repr=False, kw_only=True)
class StabilityDisplay(Display):
    """A bar for each row, as high as it was often a vector, classes side by side.

    Make it of what :func:`relvec.inspection.relevance_stability` has found, or by
    :meth:`from_estimator`.

    Parameters
    ----------
    stability : RelevanceStability
        Counts by row.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : matplotlib LineCollection
        The bars.
    borders_ : list of matplotlib Line2D
        Lines between classes.

    Examples
    --------
    >>> from relvec import RVC
    >>> from relvec.data import two_mixtures
    >>> from relvec.inspection import relevance_stability
    >>> from relvec.plots import StabilityDisplay
    >>> X, y = two_mixtures(60, seed=1)
    >>> found = relevance_stability(RVC(gamma=4.0), X, y, cv=4, n_repeats=1)
    >>> display = StabilityDisplay(stability=found).plot()
    >>> len(display.borders_)
    1
    """

    stability: RelevanceStability
    bars_: Any = field(init=False, repr=False)
    borders_: list[Any] = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        cv: Any = 10,
        n_repeats: int = 10,
        random_state: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Fit over repeated folds, and draw.

        Parameters
        ----------
        estimator : RVR, RVC, or a pipeline or search that ends in one
            Is cloned, and need not be fitted.
        X, y : array-like
            Rows and targets.
        cv, n_repeats, random_state : object
            As for :func:`relvec.inspection.relevance_stability`.
        ax : matplotlib Axes, optional
            Where; a new figure by default.
        **kwargs : dict
            For :meth:`plot`.

        Returns
        -------
        StabilityDisplay
            With what was drawn.
        """
        folds = {"cv": cv, "n_repeats": n_repeats, "random_state": random_state}
        found = relevance_stability(estimator, X, y, **folds)
        return cls(stability=found).plot(ax, **kwargs)

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; a new figure by default.
        **kwargs : dict
            Keywords of matplotlib for the bars.

        Returns
        -------
        StabilityDisplay
            Itself.
        """
        counts, labels = self.stability.counts, self.stability.labels
        order = np.arange(len(counts))
        self._open(ax)
        self.borders_, xlabel = [], "row"
        if labels is not None:
            order = np.argsort(labels, kind="stable")
            ordered = labels[order]
            self.borders_ = [
                self.ax_.axvline(border + 0.5, color="0.5", linestyle="--", linewidth=1)
                for border in np.flatnonzero(ordered[1:] != ordered[:-1])
            ]
            if np.any(np.diff(order) < 0):
                xlabel = "row, in the order of classes"
        style = {"color": BLUE, "linewidth": 1.5}
        style = styled(style, kwargs, "collections.LineCollection")
        rows = np.arange(len(order))
        self.bars_ = self.ax_.vlines(rows, 0, counts[order], **style)
        self.ax_.set(
            xlabel=xlabel,
            ylabel=f"times a relevance vector, of {self.stability.fits.max()}",
            xlim=(-1, len(order)),
            ylim=(0, None),
        )
        whole_numbers(self.ax_.yaxis)
        return self
