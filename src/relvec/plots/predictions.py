"""Displays of predictions: intervals, and a map over two features."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from relvec.parameters import check_choice, check_count
from relvec.plots.drawing import (
    BLUE,
    MARKERS,
    VERMILLION,
    Display,
    Style,
    Subject,
    as_given,
    checked_table,
    circled,
    class_colours,
    matplotlib,
    spread_over,
    styled,
    text_colour,
)
from relvec.typing import AnyArray, Array

_PLOT_KINDS = ("auto", "line", "scatter", "sorted")
_PALE = 0.5  # how much of a colour a region has


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
        check_choice("kind", kind, _PLOT_KINDS)
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
            shown = _line_values(subject, X, y, predicted, (grid_resolution, margin))
        else:
            shown = _row_values(subject, X, y, predicted, kind)
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
        """Draw the intervals, and return the points of the line."""
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


def _line_values(
    subject: Subject, X: Any, y: Any, predicted: Any, grid: tuple[int, float]
) -> dict[str, Any]:
    """Values to draw over one feature."""
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


def _row_values(
    subject: Subject, X: Any, y: Any, predicted: Any, kind: str
) -> dict[str, Any]:
    """Values to draw of rows with several features."""
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


@dataclass(eq=False, repr=False, kw_only=True)
class RelevanceDisplay(Display):
    """A map of two features, with the vectors circled as in the papers' figures.

    Of a regression it shows the predicted mean, of two classes the probability of the
    second, of several their colours, mixed as the classes are probable. Lines are where
    the two most probable classes are equally so; of two also where one has three
    quarters. Make it by :meth:`from_estimator`.

    Parameters
    ----------
    xx0, xx1 : ndarray of shape (grid_resolution, grid_resolution)
        The features on a grid.
    response : ndarray of shape (grid_resolution, grid_resolution[, n_classes])
        What is predicted there: means, or probabilities.
    X : ndarray of shape (n_samples, 2)
        Rows, as dots.
    y : ndarray of shape (n_samples,), optional
        Their targets.
    vectors : ndarray of shape (n_vectors, 2)
        Vectors, as circles.
    classes : ndarray of shape (n_classes,), optional
        Labels; None for a regression.
    vector_name, xlabel, ylabel, target_name : str
        What is written beside them.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    surface_ : matplotlib QuadContourSet or AxesImage
        Predictions, an image for several classes.
    boundary_ : list of matplotlib QuadContourSet
        Lines between classes.
    points_ : list of matplotlib PathCollection
        Dots, those of each class by themselves.
    vectors_ : matplotlib PathCollection
        Circles.
    colorbar_ : matplotlib Colorbar or None
        Beside the map.

    Examples
    --------
    >>> from relvec import RVC
    >>> from relvec.data import two_mixtures
    >>> from relvec.plots import RelevanceDisplay
    >>> X, y = two_mixtures(200, seed=0)
    >>> model = RVC().fit(X, y)
    >>> display = RelevanceDisplay.from_estimator(model, X, y)
    >>> len(display.vectors) == len(model.relevance_)
    True
    """

    xx0: Array
    xx1: Array
    response: Array
    X: Array
    y: AnyArray | None
    vectors: Array
    classes: AnyArray | None = None
    vector_name: str = "relevance vectors"
    xlabel: str = "x0"
    ylabel: str = "x1"
    target_name: str = "y"
    surface_: Any = field(init=False, repr=False)
    boundary_: list[Any] = field(init=False, repr=False)
    points_: list[Any] = field(init=False, repr=False)
    vectors_: Any = field(init=False, repr=False)
    colorbar_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        grid_resolution: int = 150,
        margin: float = 0.05,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Predict on a grid, and draw.

        Parameters
        ----------
        estimator : RVR, RVC, LSSVR, LSSVC, or a pipeline or search that ends in one
            Fitted on two features.
        X : array-like of shape (n_samples, 2)
            Rows to show. At the end of a pipeline, vectors are circled that are among
            them.
        y : array-like of shape (n_samples,), optional
            Their targets.
        grid_resolution : int, default=150
            Places along each side of the map.
        margin : float, default=0.05
            How far the map goes beyond the rows, as a share of their ranges.
        ax : matplotlib Axes, optional
            Where; a new figure by default.
        **kwargs : dict
            For :meth:`plot`.

        Returns
        -------
        RelevanceDisplay
            With what was drawn.
        """
        check_count("grid_resolution", grid_resolution)
        subject = Subject.of(estimator, cls)
        remedy = "fit the model to two columns, or to two components of sklearn's PCA"
        table = checked_table(X, 2, cls, remedy)
        xx0, xx1 = np.meshgrid(*spread_over(table, grid_resolution, margin).T)
        grid = as_given(X, np.column_stack([xx0.ravel(), xx1.ravel()]))
        response = _predicted_response(subject.model, subject.rows(grid))
        xlabel, ylabel = subject.feature_names(X, 2)
        made = cls(
            xx0=xx0,
            xx1=xx1,
            response=response.reshape(*xx0.shape, *response.shape[1:]),
            X=table,
            y=None if y is None else np.asarray(y),
            vectors=subject.vectors(X).places(table),
            classes=getattr(subject.model, "classes_", None),
            vector_name=subject.kind_of_vectors,
            xlabel=xlabel,
            ylabel=ylabel,
            target_name=getattr(y, "name", None) or "y",
        )
        return made.plot(ax, **kwargs)

    def plot(
        self,
        ax: Any = None,
        *,
        colorbar: bool = True,
        surface_kwargs: Style = None,
        scatter_kwargs: Style = None,
        vector_kwargs: Style = None,
    ) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; a new figure by default.
        colorbar : bool, default=True
            Whether to say beside the map what its colours mean; several classes are in
            the legend.
        surface_kwargs, scatter_kwargs, vector_kwargs : dict, optional
            Keywords of matplotlib for the map (``contourf``, or ``imshow`` of several
            classes), dots and circles.

        Returns
        -------
        RelevanceDisplay
            Itself.
        """
        self._open(ax)
        several = self.response.ndim == 3
        draw = self._regions if several else self._contours
        self.surface_ = draw(surface_kwargs)
        self.boundary_ = self._lines()
        self.points_ = self._dots(scatter_kwargs)
        self.vectors_ = self._circles(vector_kwargs)
        self.colorbar_ = None
        if colorbar and not several:
            meaning = f"predicted {self.target_name}"
            if self.classes is not None:
                meaning = f"probability of {self.classes[1]}"
            self.colorbar_ = self.figure_.colorbar(
                self.surface_, ax=self.ax_, label=meaning
            )
        self.ax_.set(
            xlabel=self.xlabel,
            ylabel=self.ylabel,
            xlim=(self.xx0.min(), self.xx0.max()),
            ylim=(self.xx1.min(), self.xx1.max()),
        )
        if self.ax_.get_legend_handles_labels()[0]:
            self.ax_.legend(fontsize="small", framealpha=0.9)
        return self

    def _contours(self, given: Style) -> Any:
        """Draw contours of a mean or of a probability."""
        style: dict[str, Any] = {"cmap": "viridis", "levels": 12}
        if self.classes is not None:
            two = matplotlib("colors").LinearSegmentedColormap.from_list(
                "two classes", _mix_with_white([BLUE, "white", VERMILLION], _PALE)
            )
            style = {"cmap": two, "levels": np.linspace(0, 1, 11)}
        return self.ax_.contourf(
            self.xx0, self.xx1, self.response, **{**style, **(given or {})}
        )

    def _regions(self, given: Style) -> Any:
        """Mix the colours of the classes by their probabilities."""
        assert self.classes is not None
        colours = np.array(_mix_with_white(class_colours(len(self.classes)), _PALE))
        style = {
            "extent": (*self.xx0[0, [0, -1]], *self.xx1[[0, -1], 0]),
            "origin": "lower",
            "aspect": "auto",
            "interpolation": "bilinear",
        }
        shades = np.clip(self.response @ colours, 0, 1)
        return self.ax_.imshow(shades, **{**style, **(given or {})})

    def _lines(self) -> list[Any]:
        """Draw the lines between classes, and for two also those at 1/4 and 3/4."""
        if self.classes is None:
            return []
        grid, style = (self.xx0, self.xx1), {"colors": "black", "linewidths": 1.2}
        if self.response.ndim == 2:
            levels, dashes = [0.25, 0.5, 0.75], ["dashed", "solid", "dashed"]
            values, style = [self.response], {**style, "linestyles": dashes}
        else:
            levels = [0.0]
            values = [
                self.response[..., k] - np.delete(self.response, k, axis=-1).max(-1)
                for k in range(self.response.shape[-1])
            ]
        return [
            self.ax_.contour(*grid, part, levels=levels, **style)
            for part in values
            if part.min() < levels[-1] and part.max() > levels[0]
        ]

    def _circles(self, given: Style) -> Any:
        """Circle the vectors in black, with a white rim."""
        rim = matplotlib("patheffects").withStroke(linewidth=3, foreground="white")
        own = {"edgecolor": "black", "path_effects": [rim]}
        return circled(self.ax_, self.vectors, self.vector_name, given, **own)

    def _dots(self, given: Style) -> list[Any]:
        """Draw rows, by class in colour and shape or by target in the map's colours."""
        style: dict[str, Any] = {"s": 24, "edgecolor": "white", "linewidth": 0.6}
        kind = "collections.PathCollection"
        if self.y is None or self.classes is None:
            colour: dict[str, Any] = {"color": "0.3"}
            if self.y is not None:
                colour = {"c": self.y, "cmap": self.surface_.cmap}
                colour["norm"] = self.surface_.norm
            style = styled({**style, **colour, "zorder": 3}, given, kind)
            return [self.ax_.scatter(*self.X.T, **style)]
        colours = class_colours(len(self.classes))
        return [
            self.ax_.scatter(
                *self.X[self.y == label].T,
                **styled(
                    {
                        **style,
                        "color": colours[k],
                        "marker": MARKERS[k % len(MARKERS)],
                        "zorder": 3,
                        # A blank before it: matplotlib hides what begins with "_".
                        "label": f" {label}" if str(label)[:1] == "_" else str(label),
                    },
                    given,
                    kind,
                ),
            )
            for k, label in enumerate(self.classes)
        ]


def _predicted_response(model: Any, rows: Any) -> Array:
    """Predict means, the probability of the second of two classes, or of each class."""
    if not hasattr(model, "classes_"):
        return np.asarray(model.predict(rows))
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(rows)
    else:  # votes: all or nothing
        shares = (model.predict(rows)[:, None] == model.classes_).astype(np.float64)
    return shares[:, 1] if shares.shape[1] == 2 else shares


def _mix_with_white(colours: Any, share: float) -> list[Array]:
    """Mix colours with white."""
    rgb = matplotlib("colors").to_rgba_array(list(colours))[:, :3]
    return list(1 - share * (1 - rgb))
