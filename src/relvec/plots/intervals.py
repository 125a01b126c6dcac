"""Predictions and the intervals that targets are expected in."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from relvec.parameters import check_choice, check_count
from relvec.plots.drawing import (
    BLUE,
    VERMILLION,
    Display,
    Style,
    circled,
    styled,
    text_colour,
)
from relvec.plots.subject import Subject, as_given, checked_table, spread_over
from relvec.typing import Array

_KINDS = ("auto", "line", "scatter", "sorted")


@dataclass(eq=False, repr=False, kw_only=True)
class PredictiveIntervalDisplay(Display):
    """Predictions of a regression with intervals, beside what was observed.

    Make it by :meth:`from_estimator`.

    Parameters
    ----------
    kind : {"line", "scatter", "sorted"}
        A function of one feature; predictions against observations; or rows in the
        order of their predictions.
    x : ndarray of shape (n_predictions,)
        The feature, the observations, or places in that order.
    prediction, lower, upper : ndarray of shape (n_predictions,)
        Predicted means, and the bounds of the intervals.
    coverage : float
        Probability that a target lies between them.
    points : ndarray of shape (n_samples, 2)
        What was observed, as dots; predictions for "scatter".
    vectors : ndarray of shape (n_vectors, 2)
        Which of these are vectors, as circles.
    vector_name, xlabel, ylabel : str
        What is written beside them.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    line_ : matplotlib Line2D
        Means, or for "scatter" where predictions are what was observed.
    band_ : matplotlib PolyCollection or LineCollection
        Intervals, as a band, or for "scatter" as error bars.
    points_, vectors_ : matplotlib PathCollection
        Dots and circles.

    Examples
    --------
    >>> from relvec import RVR
    >>> from relvec.data import noisy_sinc
    >>> from relvec.plots import PredictiveIntervalDisplay
    >>> X, y = noisy_sinc(100, seed=0)
    >>> model = RVR().fit(X, y)
    >>> display = PredictiveIntervalDisplay.from_estimator(model, X, y, coverage=0.95)
    >>> len(display.vectors) == len(model.relevance_)
    True
    """

    kind: str
    x: Array
    prediction: Array
    lower: Array
    upper: Array
    coverage: float
    points: Array
    vectors: Array
    vector_name: str = "relevance vectors"
    xlabel: str = "x"
    ylabel: str = "y"
    line_: Any = field(init=False, repr=False)
    band_: Any = field(init=False, repr=False)
    points_: Any = field(init=False, repr=False)
    vectors_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        coverage: float = 0.9,
        calibration: str | None = None,
        kind: str = "auto",
        grid_resolution: int = 400,
        margin: float = 0.05,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Predict, and draw.

        Parameters
        ----------
        estimator : RVR, LSSVR, or a pipeline or search that ends in one
            Fitted.
        X : array-like of shape (n_samples, n_features)
            Rows to show; vectors among them are circled.
        y : array-like of shape (n_samples,), optional
            What was observed; only "line" goes without.
        coverage, calibration : float and {None, "loo"}
            As for ``predict_interval``.
        kind : {"auto", "line", "scatter", "sorted"}, default="auto"
            How: a line over one feature; predictions against observations, with error
            bars; or rows in the order of their predictions, with a band. "auto" is
            "line" for one feature and "scatter" for more.
        grid_resolution : int, default=400
            Places at which a line is predicted.
        margin : float, default=0.05
            How far a line goes beyond the rows, as a share of their range.
        ax : matplotlib Axes, optional
            Where; a new figure by default.
        **kwargs : dict
            For :meth:`plot`.

        Returns
        -------
        PredictiveIntervalDisplay
            With what was drawn.
        """
        check_choice("kind", kind, _KINDS)
        check_count("grid_resolution", grid_resolution)
        subject = Subject.of(estimator, cls)
        bounds = subject.found(
            "predict_interval",
            "classes have probabilities in place of intervals, which RelevanceDisplay "
            "and scikit-learn's CalibrationDisplay draw",
        )

        def predicted(rows: Any) -> tuple[Array, Array, Array]:
            seen = subject.rows(rows)
            return subject.model.predict(seen), *bounds(seen, coverage, calibration)

        if kind == "auto":
            kind = "line" if np.ndim(X) == 2 and np.shape(X)[1] == 1 else "scatter"
        if kind == "line":
            shown = _line(subject, X, y, predicted, (grid_resolution, margin))
        else:
            shown = _compared(subject, X, y, predicted, kind)
        name = subject.kind_of_vectors
        made = cls(kind=kind, coverage=coverage, vector_name=name, **shown)
        return made.plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        line_kwargs: Style = None,
        band_kwargs: Style = None,
        scatter_kwargs: Style = None,
        vector_kwargs: Style = None,
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; a new figure by default.
        line_kwargs, band_kwargs, scatter_kwargs, vector_kwargs : dict, optional
            Keywords of matplotlib for line, intervals, dots and circles.

        Returns
        -------
        PredictiveIntervalDisplay
            Itself.
        """
        self._open(ax)
        ends = self._intervals(band_kwargs)
        line = {"color": BLUE, "linewidth": 1.8, "label": "prediction", "zorder": 3}
        if self.kind == "scatter":
            ideal = {"color": text_colour(), "linewidth": 1.0, "linestyle": "--"}
            line |= {**ideal, "label": "prediction = observation", "zorder": 1}
        (self.line_,) = self.ax_.plot(
            *ends, **styled(line, line_kwargs, "lines.Line2D")
        )
        grey = self.kind != "scatter"
        dots = {"color": "0.5" if grey else BLUE, "s": 12, "zorder": 2}
        if len(self.points):
            dots["label"] = "observations" if grey else "predictions"
        dots = styled(dots, scatter_kwargs, "collections.PathCollection")
        self.points_ = self.ax_.scatter(*self.points.T, **dots)
        own: dict[str, Any] = {} if grey else {"edgecolor": VERMILLION}
        given = self.vector_name, vector_kwargs
        self.vectors_ = circled(self.ax_, self.vectors, *given, **own)
        self.ax_.set(xlabel=self.xlabel, ylabel=self.ylabel)
        self.ax_.legend(frameon=False, fontsize="small")
        return self

    def _intervals(self, given: Style) -> tuple[Array, Array]:
        """Draw them, and return what the line is drawn through."""
        label = f"{100 * self.coverage:g} % interval"
        if self.kind == "scatter":
            style = {"color": BLUE, "alpha": 0.3, "linewidth": 1.2, "label": label}
            style = styled(style, given, "collections.LineCollection")
            self.band_ = self.ax_.vlines(self.x, self.lower, self.upper, **style)
            ends = np.array([self.x.min(), self.x.max()])
            return ends, ends
        style = {"facecolor": BLUE, "alpha": 0.2, "linewidth": 0.0, "label": label}
        style = styled(style, given, "collections.PolyCollection")
        self.band_ = self.ax_.fill_between(self.x, self.lower, self.upper, **style)
        return self.x, self.prediction


def _line(
    subject: Subject, X: Any, y: Any, predicted: Any, grid: tuple[int, float]
) -> dict[str, Any]:
    """What is drawn over one feature."""
    remedy = "give a single column, or kind='scatter' or 'sorted'"
    table = checked_table(X, 1, PredictiveIntervalDisplay, remedy)
    line = spread_over(table, *grid)
    mean, lower, upper = predicted(as_given(X, line))
    vectors = subject.vectors(X)
    places = vectors.places(table)
    heights = predicted(as_given(X, places))[0] if len(places) else np.empty(0)
    points = np.empty((0, 2))
    if y is not None:
        observed = np.asarray(y, dtype=np.float64)
        heights[: len(vectors.rows)] = observed[vectors.rows]
        points = np.column_stack([table, observed])
    return {
        "x": line[:, 0],
        "prediction": mean,
        "lower": lower,
        "upper": upper,
        "points": points,
        "vectors": np.column_stack([places[:, 0], heights]),
        "xlabel": subject.feature_names(X, 1)[0],
        "ylabel": getattr(y, "name", None) or "y",
    }


def _compared(
    subject: Subject, X: Any, y: Any, predicted: Any, kind: str
) -> dict[str, Any]:
    """What is drawn of rows of several features."""
    if y is None:
        raise ValueError(
            f"kind={kind!r} compares predictions with what was observed: give y, too"
        )
    observed = np.asarray(y, dtype=np.float64)
    mean, lower, upper = predicted(X)
    rows = subject.vectors(X).rows
    name = getattr(y, "name", None) or "y"
    if kind == "scatter":
        points, order, x = (
            np.column_stack([observed, mean]),
            np.arange(len(y)),
            observed,
        )
        labels = {"xlabel": f"observed {name}", "ylabel": f"predicted {name}"}
    else:
        order = np.argsort(mean, kind="stable")
        x = np.empty(len(mean))
        x[order] = np.arange(len(mean))
        points = np.column_stack([x, observed])
        labels = {"xlabel": "rows, by their prediction", "ylabel": name}
    return {
        "x": x[order],
        "prediction": mean[order],
        "lower": lower[order],
        "upper": upper[order],
        "points": points,
        "vectors": points[rows],
        **labels,
    }
