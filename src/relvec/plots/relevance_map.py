"""A map of two features: what is predicted where, and where the vectors are."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from relvec.parameters import check_count
from relvec.plots.drawing import (
    BLUE,
    MARKERS,
    VERMILLION,
    Display,
    Style,
    circled,
    class_colours,
    matplotlib,
    styled,
)
from relvec.plots.subject import Subject, as_given, checked_table, spread_over
from relvec.typing import AnyArray, Array

_PALE = 0.5  # how much of a colour a region has


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
        response = _response(subject.model, subject.rows(grid))
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
        """Levels of a mean or of a probability."""
        style: dict[str, Any] = {"cmap": "viridis", "levels": 12}
        if self.classes is not None:
            two = matplotlib("colors").LinearSegmentedColormap.from_list(
                "two classes", _pale([BLUE, "white", VERMILLION], _PALE)
            )
            style = {"cmap": two, "levels": np.linspace(0, 1, 11)}
        return self.ax_.contourf(
            self.xx0, self.xx1, self.response, **{**style, **(given or {})}
        )

    def _regions(self, given: Style) -> Any:
        """The classes' colours, each as strong as the class is probable."""
        assert self.classes is not None
        colours = np.array(_pale(class_colours(len(self.classes)), _PALE))
        style = {
            "extent": (*self.xx0[0, [0, -1]], *self.xx1[[0, -1], 0]),
            "origin": "lower",
            "aspect": "auto",
            "interpolation": "bilinear",
        }
        shades = np.clip(self.response @ colours, 0, 1)
        return self.ax_.imshow(shades, **{**style, **(given or {})})

    def _lines(self) -> list[Any]:
        """Where classes are equally probable, and where one of two is likelier."""
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
        """Black, with a rim that dark parts of a map do not swallow."""
        rim = matplotlib("patheffects").withStroke(linewidth=3, foreground="white")
        own = {"edgecolor": "black", "path_effects": [rim]}
        return circled(self.ax_, self.vectors, self.vector_name, given, **own)

    def _dots(self, given: Style) -> list[Any]:
        """Rows: by class in colour and shape, or by target in the map's colours."""
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


def _response(model: Any, rows: Any) -> Array:
    """Means; the probability of the second of two classes; those of several."""
    if not hasattr(model, "classes_"):
        return np.asarray(model.predict(rows))
    if hasattr(model, "predict_proba"):
        shares = model.predict_proba(rows)
    else:  # votes: all or nothing
        shares = (model.predict(rows)[:, None] == model.classes_).astype(np.float64)
    return shares[:, 1] if shares.shape[1] == 2 else shares


def _pale(colours: Any, share: float) -> list[Array]:
    """Colours mixed with white."""
    rgb = matplotlib("colors").to_rgba_array(list(colours))[:, :3]
    return list(1 - share * (1 - rgb))
