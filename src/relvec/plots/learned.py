"""Displays of what a kernel learned: length scales and feature relevance."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from relvec.parameters import check_count
from relvec.plots.drawing import (
    BLUE,
    VERMILLION,
    Display,
    Style,
    Subject,
    by_ratio,
    numbered,
    styled,
)
from relvec.typing import Array

LEARN = "fit it with gamma='learn' and kernel='rbf', or with kernel_learning='ard'"


@dataclass(eq=False, repr=False, kw_only=True)
class LengthScalesDisplay(Display):
    """Learned length scales, of each feature or of each vector.

    A feature's scale is how far one goes along it until the function has changed: the
    longer, the less the feature matters. Make it by :meth:`from_estimator`.

    Parameters
    ----------
    length_scales : ndarray of shape (n_vectors,) or (n_vectors, n_features)
        ``length_scales_`` of an estimator.
    feature_names : list of str
        Of the features they belong to; one name if all share them.
    places : ndarray of shape (n_vectors,), optional
        Where vectors are along a single feature; by rank without.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    points_ : matplotlib PathCollection
        A dot for each vector, or for all that share a scale, in each feature.
    medians_ : matplotlib PathCollection or None
        The middle scale of each feature, where vectors have scales of their own.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec import RVR
    >>> from relvec.plots import LengthScalesDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(100, 2))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(100)
    >>> model = RVR(kernel_learning="ard").fit(X, y)
    >>> display = LengthScalesDisplay.from_estimator(model)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x0', 'x1']
    """

    length_scales: Array
    feature_names: list[str]
    places: Array | None = None
    points_: Any = field(init=False, repr=False)
    medians_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what was learned.

        Parameters
        ----------
        estimator : RVR, RVC, or a pipeline or search that ends in one
            Fitted, its kernel learned.
        feature_names : list of str, optional
            Names of the features that the kernel sees; by default those of the fit.
        ax : matplotlib Axes, optional
            Where; a new figure by default.
        **kwargs : dict
            For :meth:`plot`.

        Returns
        -------
        LengthScalesDisplay
            With what was drawn.
        """
        subject = Subject.of(estimator, cls)
        scales = subject.found("length_scales_", f"no kernel was learned; {LEARN}")
        places, width = None, 1 if scales.ndim == 1 else scales.shape[1]
        vectors = subject.model.relevance_vectors_
        if scales.ndim == 1 and vectors.ndim == 2 and vectors.shape[1] == 1:
            places = vectors[:, 0]
        names = checked_names(feature_names, width, _scale_names(subject, width))
        made = cls(length_scales=scales, feature_names=names, places=places)
        return made.plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, scatter_kwargs: Style = None) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; a new figure by default.
        scatter_kwargs : dict, optional
            Keywords of matplotlib for the dots.

        Returns
        -------
        LengthScalesDisplay
            Itself.
        """
        rows = np.atleast_2d(self.length_scales.T).T  # one column if all share
        known = np.isfinite(rows).all(axis=1)  # other kernels have none
        if not known.any():
            raise ValueError(
                "there is no vector with a length scale to draw: see status_ and "
                "relevance_kernel_ for the reason"
            )
        shared = bool(np.all(rows[known] == rows[known][0]))
        self._open(ax)
        self.medians_ = None
        if self.length_scales.ndim == 1 and not shared:
            self._by_vector(rows[known, 0], known, scatter_kwargs)
        else:
            self._by_feature(rows[known][:1] if shared else rows[known], scatter_kwargs)
        self.ax_.grid(visible=True, which="major", alpha=0.3)
        self.ax_.set_axisbelow(True)
        return self

    def _by_vector(self, scales: Array, known: Any, given: Style) -> None:
        style = _scale_dots(given, 36)
        if self.places is None:
            scales, places = np.sort(scales), np.arange(1, len(scales) + 1)
            xlabel = "vectors, by their length scale"
        else:
            places, xlabel = (
                self.places[known],
                f"{self.feature_names[0]} of the vector",
            )
        self.points_ = self.ax_.scatter(places, scales, **style)
        self.ax_.set(xlabel=xlabel, ylabel="length scale")
        by_ratio(self.ax_.yaxis, scales)

    def _by_feature(self, rows: Array, given: Style) -> None:
        several, number = len(rows) > 1, rows.shape[1]
        height = np.broadcast_to(np.arange(number), rows.shape)
        style = _scale_dots(given, 24 if several else 48, alpha=0.5 if several else 1.0)
        self.points_ = self.ax_.scatter(rows.ravel(), height.ravel(), **style)
        if several:
            style = {"marker": "|", "s": 220, "linewidth": 2.5, "color": VERMILLION}
            middle = np.median(rows, axis=0)
            self.medians_ = self.ax_.scatter(middle, height[0], **style, label="median")
            self.points_.set_label("vectors")
            self.ax_.legend(frameon=False, fontsize="small")
        self.ax_.set(
            xlabel="length scale",
            yticks=np.arange(number),
            yticklabels=self.feature_names,
            ylim=(number - 0.5, -0.5),
        )
        by_ratio(self.ax_.xaxis, rows)


def checked_names(given: Any, number: int, otherwise: list[str]) -> list[str]:
    """Return the names given, or the default ones; check their number."""
    if given is None:
        return otherwise
    names = [str(name) for name in given]
    if len(names) != number:
        raise ValueError(
            f"feature_names must hold {number} names, one for each feature; got "
            f"{len(names)}"
        )
    return names


def _scale_names(subject: Subject, width: int) -> list[str]:
    features = subject.seen_names(subject.model.n_features_in_)
    if len(features) == width:
        return features
    return ["all features"] if width == 1 else numbered(width)


def _scale_dots(given: Style, size: int, alpha: float = 1.0) -> dict[str, Any]:
    style = {"color": BLUE, "s": size, "alpha": alpha}
    return styled(style, given, "collections.PathCollection")


@dataclass(eq=False, repr=False, kw_only=True)
class FeatureRelevanceDisplay(Display):
    """Bars of ``feature_relevance_``, the most relevant feature on top.

    Make it by :meth:`from_estimator`.

    Parameters
    ----------
    relevance : ndarray of shape (n_features,)
        Shares of the features in how the function varies.
    feature_names : list of str
        Their names.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where it was drawn.
    bars_ : matplotlib BarContainer
        The bars, from the top.

    Examples
    --------
    >>> import numpy as np
    >>> from relvec import RVR
    >>> from relvec.plots import FeatureRelevanceDisplay
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(100, 2))
    >>> y = np.sin(X[:, 1]) + 0.1 * rng.standard_normal(100)
    >>> model = RVR(kernel_learning="ard").fit(X, y)
    >>> display = FeatureRelevanceDisplay.from_estimator(model)
    >>> [label.get_text() for label in display.ax_.get_yticklabels()]
    ['x1', 'x0']
    """

    relevance: Array
    feature_names: list[str]
    bars_: Any = field(init=False, repr=False)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        *,
        feature_names: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw what features mean to a model.

        Parameters
        ----------
        estimator : RVR, RVC, or a pipeline or search that ends in one
            Fitted, its kernel learned.
        feature_names : list of str, optional
            Names of the features that the model sees; by default those of the fit.
        ax : matplotlib Axes, optional
            Where; a new figure by default.
        **kwargs : dict
            For :meth:`plot`.

        Returns
        -------
        FeatureRelevanceDisplay
            With what was drawn.
        """
        subject = Subject.of(estimator, cls)
        remedy = f"no kernel was learned; {LEARN}"
        relevance = subject.found("feature_relevance_", remedy)
        number = len(relevance)
        names = checked_names(feature_names, number, subject.seen_names(number))
        return cls(relevance=relevance, feature_names=names).plot(ax, **kwargs)

    def plot(self, ax: Any = None, *, max_features: int = 20, **kwargs: Any) -> Self:
        """Draw it.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where; a new figure by default.
        max_features : int, default=20
            Most bars to draw.
        **kwargs : dict
            Keywords of matplotlib for the bars.

        Returns
        -------
        FeatureRelevanceDisplay
            Itself.
        """
        check_count("max_features", max_features)
        order = np.argsort(-self.relevance, kind="stable")[:max_features]
        self._open(ax)
        style = styled({"color": BLUE}, kwargs, "patches.Rectangle")
        rows = np.arange(len(order))
        self.bars_ = self.ax_.barh(rows, self.relevance[order], **style)
        left = len(self.relevance) - len(order)
        self.ax_.set(
            xlabel="relevance, of 1 in all",
            ylabel=f"{len(order)} of {len(self.relevance)} features" if left else "",
            yticks=rows,
            yticklabels=[self.feature_names[feature] for feature in order],
            ylim=(len(order) - 0.4, -0.6),
        )
        return self
