"""Displays of the search: the evidence trace, and the stability of vectors."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from relvec.inspection import RelevanceStability, relevance_stability
from relvec.parameters import check_choice
from relvec.plots.drawing import (
    BLUE,
    COLOURS,
    Display,
    ShortReprMixin,
    Style,
    Subject,
    panels_for,
    styled,
    whole_numbers,
)
from relvec.typing import AnyArray

_QUANTITIES = {
    "log_evidence": "log evidence",
    "n_vectors": "vectors",
    "noise_std": "noise (std)",
    "gamma": "effective parameters",
}
_DEFAULT_QUANTITIES = ("log_evidence", "n_vectors", "noise_std")
_X_LABELS = {"iteration": "step", "seconds": "seconds"}


@dataclass(eq=False, repr=False, kw_only=True)
class EvidenceTraceDisplay(ShortReprMixin):
    """Evidence, number of vectors and noise after every step of a fit.

    Models for each class or pair have a line for each classifier. Make it by
    :meth:`from_estimator`.

    Parameters
    ----------
    history : dict of ndarray
        ``history_`` of an estimator.
    name : str, optional
        For the legend, if several fits are compared.

    Attributes
    ----------
    axes_ : ndarray of matplotlib Axes
        Where it was drawn, one for each quantity.
    figure_ : matplotlib Figure
        Theirs.
    lines_ : dict of lists of matplotlib Line2D
        By quantity, a line for each classifier.

    Examples
    --------
    >>> from relvec import RVR
    >>> from relvec.data import noisy_sinc
    >>> from relvec.plots import EvidenceTraceDisplay
    >>> model = RVR(gamma=1 / 9).fit(*noisy_sinc(100, seed=0))
    >>> display = EvidenceTraceDisplay.from_estimator(model)
    >>> list(display.lines_)
    ['log_evidence', 'n_vectors', 'noise_std']
    """

    history: dict[str, AnyArray]
    name: str | None = None
    axes_: AnyArray = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)
    lines_: dict[str, list[Any]] = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, name: str | None = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw how a fit went.

        Parameters
        ----------
        estimator : RVR, RVC, or a pipeline or search that ends in one
            Fitted.
        name : str, optional
            For the legend.
        ax : sequence of matplotlib Axes, optional
            As many as quantities; a new figure by default.
        **kwargs : dict
            For :meth:`plot`.

        Returns
        -------
        EvidenceTraceDisplay
            With what was drawn.
        """
        subject = Subject.of(estimator, cls)
        remedy = "its system is solved at once; RVR and RVC search, and keep a history"
        history = subject.found("history_", remedy)
        return cls(history=history, name=name).plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        x: str = "iteration",
        quantities: Any = None,
        line_kwargs: Style = None,
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            As many as quantities; a new figure by default.
        x : {"iteration", "seconds"}, default="iteration"
            Against what.
        quantities : list of {"log_evidence", "n_vectors", "noise_std", "gamma"}, \
optional
            Which, by default the first three, as far as the model has them.
        line_kwargs : dict, optional
            Keywords of matplotlib for the lines.

        Returns
        -------
        EvidenceTraceDisplay
            Itself.
        """
        check_choice("x", x, _X_LABELS)
        if not len(self.history["iteration"]):
            raise ValueError(
                "history_ is empty, since the fit has taken no step: see status_ for "
                "the reason"
            )
        names = self._quantities(quantities)
        self.axes_ = panels_for(ax, len(names))
        self.figure_ = self.axes_[0].figure
        self.lines_ = {
            name: self._lines(panel, x, name, line_kwargs)
            for name, panel in zip(names, self.axes_, strict=True)
        }
        for name, panel in zip(names, self.axes_, strict=True):
            panel.set_ylabel(_QUANTITIES[name])
            if name == "n_vectors":
                whole_numbers(panel.yaxis)
        self.axes_[-1].set_xlabel(_X_LABELS[x])
        if self.axes_[0].get_legend_handles_labels()[0]:
            self.axes_[0].legend(frameon=False, fontsize="small")
        return self

    def _quantities(self, wanted: Any) -> list[str]:
        if wanted is None:
            known = [
                np.isfinite(self.history[name]).any() for name in _DEFAULT_QUANTITIES
            ]
            return [
                name
                for name, one in zip(_DEFAULT_QUANTITIES, known, strict=True)
                if one
            ]
        names = [wanted] if isinstance(wanted, str) else list(wanted)
        for name in names:
            check_choice("quantities", name, _QUANTITIES)
        return names

    def _lines(self, ax: Any, x: str, quantity: str, given: Style) -> list[Any]:
        """Draw a line for each classifier, in colours not used in these axes."""
        whose = self.history.get("classifier", np.zeros(len(self.history[x]), int))
        numbers = np.unique(whose)
        drawn = len(ax.lines)
        lines = []
        for place, number in enumerate(numbers):
            steps = whose == number
            own = f"classifier {number}" if len(numbers) > 1 else None
            label = ", ".join(part for part in (self.name, own) if part)
            style = {
                "color": COLOURS[(drawn + place) % len(COLOURS)],
                "linewidth": 1.6,
                "marker": "." if np.sum(steps) <= 50 else None,
                "label": label or None,
            }
            if quantity == "n_vectors":
                style["drawstyle"] = "steps-post"
            values = self.history[x][steps], self.history[quantity][steps]
            lines += ax.plot(*values, **styled(style, given, "lines.Line2D"))
        return lines


@dataclass(eq=False, repr=False, kw_only=True)
class StabilityDisplay(Display):
    """A bar for each row: how often it was a vector, with classes side by side.

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
