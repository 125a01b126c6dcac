"""What all displays share: matplotlib, colours, and the model they draw."""

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from reprlib import Repr
from typing import Any, ClassVar, Self

import numpy as np
from scipy.spatial import cKDTree
from sklearn.utils.validation import check_is_fitted

from relvec.estimators import LSSVC, LSSVR, RVC, RVR
from relvec.inspection import last_step
from relvec.parameters import optional_module
from relvec.typing import AnyArray, Array, Indices

# Colours of M. Okabe and K. Ito, which the colour-blind can tell apart.
BLUE, VERMILLION, GREEN, ORANGE, SKY, PURPLE, YELLOW = COLOURS = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#E69F00",
    "#56B4E9",
    "#CC79A7",
    "#F0E442",
)
MARKERS = "os^Dv<>Ph*"  # and the shapes of classes, for those who cannot
_LOG_RATIO = 4.0  # the largest by the smallest, for a few ticks to be between

Style = Mapping[str, Any] | None
_TOLERANCE = 1e-9  # of the largest entry: rounding of the steps before a model


def matplotlib(module: str) -> Any:
    """Import a module of matplotlib."""
    use = "pictures are drawn with matplotlib"
    return optional_module(f"matplotlib.{module}", use, "plots")


class _ShortRepr(Repr):
    """Abbreviates values; arrays are shown by their shapes."""

    def repr_ndarray(self, array: AnyArray, level: int) -> str:
        """Abbreviate an array; Repr finds this method by the type's name."""
        del level
        return f"<array of shape {array.shape}>"


class ShortReprMixin:
    """A dataclass with a ``repr`` of a line or two."""

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]

    def __repr__(self) -> str:
        brief = _ShortRepr().repr
        shown = [
            f"{each.name}={brief(getattr(self, each.name))}"
            for each in fields(self)
            if each.repr
        ]
        return f"{type(self).__name__}({', '.join(shown)})"


@dataclass(eq=False, repr=False, kw_only=True)
class Display(ShortReprMixin):
    """A display drawn into one pair of axes."""

    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)

    def _open(self, ax: Any) -> None:
        """Draw into the axes given, or those of a new figure."""
        pyplot = matplotlib("pyplot")
        self.ax_ = pyplot.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure


def panels_for(ax: Any, number: int) -> AnyArray:
    """Return the axes given, or those of a new figure, one above the other."""
    if ax is None:
        size = (6.4, 1.0 + 1.6 * number)
        made = matplotlib("pyplot").subplots(
            number, figsize=size, sharex=True, squeeze=False, layout="constrained"
        )
        return made[1][:, 0]
    axes = np.array(ax, dtype=object).reshape(-1)
    if len(axes) != number:
        raise ValueError(
            f"ax must hold {number} axes, one for each quantity; got {len(axes)}: give "
            f"plt.subplots({number})[1], fewer quantities, or leave ax out"
        )
    return axes


def styled(defaults: dict[str, Any], given: Style, artist: str) -> dict[str, Any]:
    """Merge defaults of an artist with the keywords given, including aliases."""
    module, name = artist.rsplit(".", 1)
    kind = getattr(matplotlib(module), name)
    keywords = matplotlib("cbook").normalize_kwargs(dict(given or {}), kind)
    if "c" in keywords:  # of scatter, where it is not an alias
        defaults = {key: value for key, value in defaults.items() if key != "color"}
    return {**defaults, **keywords}


def circled(ax: Any, places: Array, label: str, given: Style, **own: Any) -> Any:
    """Circle the vectors (k, 2), as in the figures of the papers."""
    style = {
        "s": 90,
        "facecolor": "none",
        "edgecolor": text_colour(),
        "linewidth": 1.4,
        "zorder": 4,
        "label": label if len(places) else None,
        **own,
    }
    return ax.scatter(*places.T, **styled(style, given, "collections.PathCollection"))


def by_ratio(axis: Any, values: Array) -> None:
    """Make an axis logarithmic, with plain numbers, if values differ enough."""
    if values.max() < _LOG_RATIO * values.min():
        return
    ticker = matplotlib("ticker")
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def whole_numbers(axis: Any) -> None:
    """Put ticks at whole numbers only."""
    axis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True))


def text_colour() -> str:
    """Text colour of the current style."""
    return str(matplotlib("pyplot").rcParams["text.color"])


def class_colours(number: int) -> Sequence[Any]:
    """Choose a colour for each class."""
    if number <= len(COLOURS):
        return COLOURS[:number]
    return list(matplotlib("pyplot").get_cmap("turbo")(np.linspace(0.05, 0.95, number)))


@dataclass(frozen=True, eq=False)
class Vectors:
    """Places of a model's vectors in the inputs."""

    rows: Indices  # of X that are vectors
    elsewhere: Array | None  # (k, d) those that are no rows of X; None if hidden

    def places(self, X: AnyArray) -> Array:
        """Return the places of all vectors (k, d)."""
        among = X[self.rows]
        if self.elsewhere is None:
            return among
        return np.concatenate([among, self.elsewhere])


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model, perhaps at the end of a pipeline or a search."""

    whole: Any  # as it was given, but for a search
    before: Any  # the steps before; None without
    model: Any

    @classmethod
    def of(cls, estimator: Any, display: type) -> Self:
        """Find the model; refuse estimators not fitted or not of relvec."""
        whole, before, model = last_step(estimator)
        if not isinstance(model, RVR | RVC | LSSVR | LSSVC):
            raise ValueError(
                f"{display.__name__} draws models of relvec; got "
                f"{type(model).__name__}: give RVR, RVC, LSSVR or LSSVC, or a pipeline "
                "or search that ends in one"
            )
        check_is_fitted(estimator)
        check_is_fitted(model)
        return cls(whole, before, model)

    @property
    def name(self) -> str:
        """Name of the estimator's class."""
        return type(self.model).__name__

    def found(self, attribute: str, remedy: str) -> Any:
        """Return a fitted attribute, or raise an error with a remedy."""
        if not hasattr(self.model, attribute):
            raise ValueError(f"this {self.name} has no {attribute}: {remedy}")
        return getattr(self.model, attribute)

    def rows(self, X: Any) -> Any:
        """Transform rows for the model."""
        return X if self.before is None else self.before.transform(X)

    def feature_names(self, X: Any, number: int) -> list[str]:
        """Names of the columns of X or of the fit; otherwise x0, x1, ..."""
        names = getattr(X, "columns", getattr(self.whole, "feature_names_in_", None))
        return numbered(number) if names is None else [str(name) for name in names]

    def seen_names(self, number: int) -> list[str]:
        """Names of the features after preprocessing."""
        names = getattr(self.model, "feature_names_in_", None)
        if names is None and hasattr(self.before, "get_feature_names_out"):
            names = self.before.get_feature_names_out()
        return numbered(number) if names is None else [str(name) for name in names]

    @property
    def kind_of_vectors(self) -> str:
        """Name of the vectors: relevance or support vectors."""
        return "relevance vectors" if self.sparse else "support vectors"

    @property
    def sparse(self) -> bool:
        """Whether the model is a relevance vector machine."""
        return hasattr(self.model, "relevance_")

    @property
    def vectors_and_rows(self) -> tuple[AnyArray, Indices]:
        """The vectors, and the fitted row of each."""
        if self.sparse:
            return self.model.relevance_vectors_, self.model.relevance_
        return self.model.support_vectors_, self.model.support_

    def vectors(self, X: Any) -> Vectors:
        """Find the vectors; none if there are none, or if all rows are vectors."""
        vectors, numbers = self.vectors_and_rows
        every = not self.sparse and len(vectors) >= len(X)
        if every or vectors.ndim != 2 or vectors.dtype == object or not vectors.size:
            return Vectors(np.empty(0, dtype=np.intp), None)
        seen = np.asarray(self.rows(X), dtype=np.float64)
        rows = rows_among(seen, vectors, numbers)
        hidden = self.before is not None
        return Vectors(
            np.unique(rows[rows >= 0]),
            None if hidden else np.unique(vectors[rows < 0], axis=0),
        )


def rows_among(seen: Array, vectors: AnyArray, numbers: Indices) -> Indices:
    """Find the row of each vector; -1 if it is none."""
    near = _TOLERANCE * max(np.abs(seen).max(), 1.0)
    distance, rows = cKDTree(seen).query(vectors)
    rows = np.where(distance <= near, rows, -1)
    # Among equal rows, choose the one of the fit.
    inside = np.flatnonzero((numbers >= 0) & (numbers < len(seen)))
    own = numbers[inside]
    same = np.abs(seen[own] - vectors[inside]).max(axis=1, initial=0.0) <= near
    rows[inside[same]] = own[same]
    return rows


def numbered(number: int) -> list[str]:
    """Name features that have no names, like scikit-learn."""
    return ["x"] if number == 1 else [f"x{feature}" for feature in range(number)]


def as_given(X: Any, rows: Array) -> Any:
    """Give rows the column names of X, if it has any."""
    if not hasattr(X, "columns"):
        return rows
    return type(X)(dict(zip(X.columns, rows.T, strict=True)))


def checked_table(X: Any, number: int, display: type, remedy: str) -> Array:
    """Convert X to an array; refuse another number of features."""
    table = np.asarray(X)
    if table.ndim != 2 or table.shape[1] != number:
        raise ValueError(
            f"{display.__name__} draws {number} feature(s); got X of shape "
            f"{table.shape}: {remedy}"
        )
    return table.astype(np.float64)


def spread_over(table: Array, number: int, margin: float) -> Array:
    """Evenly spaced points (number, d) over the range of the rows and a margin."""
    low, high = table.min(axis=0), table.max(axis=0)
    beyond = margin * (high - low)
    return np.linspace(low - beyond, high + beyond, number)
