"""How much each feature matters to the fitted function."""

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from relvec.parameters import check_count
from relvec.plots.drawing import BLUE, Display, styled
from relvec.plots.length_scales import LEARN, named
from relvec.plots.subject import Subject
from relvec.typing import Array


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
        names = named(feature_names, number, subject.seen_names(number))
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
