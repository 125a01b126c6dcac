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

# Of M. Okabe and K. Ito, which the colour-blind can tell apart.
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
    """A module of matplotlib, which is imported with the first picture."""
    use = "pictures are drawn with matplotlib"
    return optional_module(f"matplotlib.{module}", use, "plots")


class _ShortRepr(Repr):
    """Shows values in a few letters, arrays by their shapes."""

    def repr_ndarray(self, array: AnyArray, level: int) -> str:
        """Called for arrays by the name of their type."""
        del level
        return f"<array of shape {array.shape}>"


class ShortReprMixin:
    """A dataclass whose ``repr`` fits into a line or two, whatever it holds."""

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
    """What is drawn into one pair of axes."""

    ax_: Any = field(init=False, repr=False)
    figure_: Any = field(init=False, repr=False)

    def _open(self, ax: Any) -> None:
        """Draw into the axes given, or those of a new figure."""
        pyplot = matplotlib("pyplot")
        self.ax_ = pyplot.subplots(layout="constrained")[1] if ax is None else ax
        self.figure_ = self.ax_.figure


def panels_for(ax: Any, number: int) -> AnyArray:
    """As many axes, one above the other: those given, or those of a new figure."""
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
    """Keywords of an artist: those given, whatever they are called, before others."""
    module, name = artist.rsplit(".", 1)
    kind = getattr(matplotlib(module), name)
    keywords = matplotlib("cbook").normalize_kwargs(dict(given or {}), kind)
    if "c" in keywords:  # of scatter, where it is not an alias
        defaults = {key: value for key, value in defaults.items() if key != "color"}
    return {**defaults, **keywords}


def circled(ax: Any, places: Array, label: str, given: Style, **own: Any) -> Any:
    """Circles about vectors, (k, 2), as in the figures of the papers."""
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
    """A logarithmic axis in plain numbers, if values differ enough for one."""
    if values.max() < _LOG_RATIO * values.min():
        return
    ticker = matplotlib("ticker")
    axis.axes.set(**{f"{axis.axis_name}scale": "log"})
    axis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(ticker.StrMethodFormatter("{x:g}"))
    axis.set_minor_formatter(ticker.NullFormatter())


def whole_numbers(axis: Any) -> None:
    """Ticks at whole numbers only."""
    axis.set_major_locator(matplotlib("ticker").MaxNLocator(integer=True))


def text_colour() -> str:
    """That of a style, dark or light."""
    return str(matplotlib("pyplot").rcParams["text.color"])


def class_colours(number: int) -> Sequence[Any]:
    """One for each class; of many they are no longer easy to tell apart."""
    if number <= len(COLOURS):
        return COLOURS[:number]
    return list(matplotlib("pyplot").get_cmap("turbo")(np.linspace(0.05, 0.95, number)))


@dataclass(frozen=True, eq=False)
class Vectors:
    """Where a model's vectors are, as rows were given."""

    rows: Indices  # of X that are vectors
    elsewhere: Array | None  # (k, d) those that are no rows of X; None if hidden

    def places(self, X: AnyArray) -> Array:
        """All of them (k, d)."""
        among = X[self.rows]
        if self.elsewhere is None:
            return among
        return np.concatenate([among, self.elsewhere])


@dataclass(frozen=True, eq=False)
class Subject:
    """A fitted model, perhaps at the end of a pipeline or of a search for it."""

    whole: Any  # as it was given, but for a search
    before: Any  # the steps before; None without
    model: Any

    @classmethod
    def of(cls, estimator: Any, display: type) -> Self:
        """Or refuse what is not fitted or not of relvec."""
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
        """Of the kind of model."""
        return type(self.model).__name__

    def found(self, attribute: str, remedy: str) -> Any:
        """A fitted attribute that not every fit has, or the way to get it."""
        if not hasattr(self.model, attribute):
            raise ValueError(f"this {self.name} has no {attribute}: {remedy}")
        return getattr(self.model, attribute)

    def rows(self, X: Any) -> Any:
        """Rows as the model sees them."""
        return X if self.before is None else self.before.transform(X)

    def feature_names(self, X: Any, number: int) -> list[str]:
        """Of the columns of X, or of the fit's; x0, x1 and so on without."""
        names = getattr(X, "columns", getattr(self.whole, "feature_names_in_", None))
        return numbered(number) if names is None else [str(name) for name in names]

    def seen_names(self, number: int) -> list[str]:
        """Of the features that the model sees, after the steps before it."""
        names = getattr(self.model, "feature_names_in_", None)
        if names is None and hasattr(self.before, "get_feature_names_out"):
            names = self.before.get_feature_names_out()
        return numbered(number) if names is None else [str(name) for name in names]

    @property
    def kind_of_vectors(self) -> str:
        """What its vectors are called."""
        sparse = hasattr(self.model, "relevance_")
        return "relevance vectors" if sparse else "support vectors"

    def vectors(self, X: Any) -> Vectors:
        """Where they are; nowhere if the model has none, or all rows are such."""
        sparse = hasattr(self.model, "relevance_")
        vectors = (
            self.model.relevance_vectors_ if sparse else self.model.support_vectors_
        )
        numbers = self.model.relevance_ if sparse else self.model.support_
        every = not sparse and len(vectors) >= len(X)
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
    """Which row each vector is; -1 for none."""
    near = _TOLERANCE * max(np.abs(seen).max(), 1.0)
    distance, rows = cKDTree(seen).query(vectors)
    rows = np.where(distance <= near, rows, -1)
    # Of rows that are alike, the one of the fit.
    inside = np.flatnonzero((numbers >= 0) & (numbers < len(seen)))
    own = numbers[inside]
    same = np.abs(seen[own] - vectors[inside]).max(axis=1, initial=0.0) <= near
    rows[inside[same]] = own[same]
    return rows


def numbered(number: int) -> list[str]:
    """Names of features without names, as scikit-learn gives them to several."""
    return ["x"] if number == 1 else [f"x{feature}" for feature in range(number)]


def as_given(X: Any, rows: Array) -> Any:
    """Rows with the columns' names of X, if it has any."""
    if not hasattr(X, "columns"):
        return rows
    return type(X)(dict(zip(X.columns, rows.T, strict=True)))


def checked_table(X: Any, number: int, display: type, remedy: str) -> Array:
    """X as an array of so many features, or refuse."""
    table = np.asarray(X)
    if table.ndim != 2 or table.shape[1] != number:
        raise ValueError(
            f"{display.__name__} draws {number} feature(s); got X of shape "
            f"{table.shape}: {remedy}"
        )
    return table.astype(np.float64)


def spread_over(table: Array, number: int, margin: float) -> Array:
    """Evenly spaced places (number, d) over the rows, and a share of that beyond."""
    low, high = table.min(axis=0), table.max(axis=0)
    beyond = margin * (high - low)
    return np.linspace(low - beyond, high + beyond, number)
