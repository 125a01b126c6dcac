"""Ways to tell several classes apart by one model: by name, or with settings."""

from dataclasses import dataclass, fields
from typing import Any

from relvec.evidence import Mrvm2, PrecisionOfEach, PublishedMrvm1, Solver
from relvec.modelling.families.classes import (
    ClassFamily,
    ClassWiseProbit,
    Logit,
    PluggedIn,
    Probit,
    TwoClasses,
)
from relvec.parameters import check_choice
from relvec.parametric import Parametric
from relvec.typing import AnyArray


@dataclass(frozen=True, eq=False, repr=False)
class Mrvm1(Parametric):
    """Settings of ``multi_class="mrvm1"``.

    Parameters
    ----------
    posterior : {"mode", "moments", "full"}, default="mode"
        Whether the posterior of the weights is Laplace's approximation at their mode,
        without what couples the classes, or the one whose mean and variance match those
        of the likelihood for every row (expectation propagation), which has better
        probabilities and takes longer. With "full" the search is that of "mode", and
        the posterior of the model found has all couplings: a matrix of all weights of
        all classes, for models that are small.
    algorithm : {"default", "published"}, default="default"
        Whether the evidence is maximised by ``solver``, or by algorithm 1 of [1]_ as it
        is printed: one function at a time, then one update of the weights and one of
        the auxiliary variables, with an output for every class. Probabilities are then
        those of the weights alone.
    convergence : {"conv1", "conv2"}, optional
        When the published algorithm ends: as soon as no function is to enter or leave
        and the last precision hardly moves, or not before ``passes`` steps for each
        row, which is its default.
    passes : int, optional
        λ of "conv2", by default 1.
    tol : float, optional
        Of the logarithm of a precision, for the published algorithm; by default 1e-2.

    References
    ----------
    .. [1] I. Psorakis, T. Damoulas and M. A. Girolami (2010), "Multiclass relevance
       vector machines: sparsity and accuracy", IEEE Transactions on Neural Networks 21,
       1588-1598.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from relvec import RVC, Mrvm1
    >>> X, y = load_iris(return_X_y=True)
    >>> model = RVC(gamma=0.1, multi_class=Mrvm1(posterior="moments")).fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    >>> model.set_params(multi_class=Mrvm1(algorithm="published")).fit(X, y).n_iter_
    150
    """

    posterior: str = "mode"
    algorithm: str = "default"
    convergence: str | None = None
    passes: int | None = None
    tol: float | None = None

    def __post_init__(self) -> None:
        check_choice("posterior", self.posterior, ("mode", "moments", "full"))
        check_choice("algorithm", self.algorithm, ("default", "published"))
        if self.algorithm == "default" and self._published:
            raise ValueError(
                f"{' and '.join(self._published)} of Mrvm1 is about the published "
                "algorithm: set algorithm='published' or leave it out"
            )
        if self.algorithm == "published" and self.posterior != "mode":
            raise ValueError(
                f"posterior={self.posterior!r} is not for the published algorithm, "
                "which has a covariance of its own: leave out one of the two"
            )
        PublishedMrvm1(**self._published)

    @property
    def _published(self) -> dict[str, Any]:
        """Settings of the published algorithm that were given."""
        named = {field.name: getattr(self, field.name) for field in fields(self)[2:]}
        return {name: value for name, value in named.items() if value is not None}

    @property
    def solver(self) -> Solver | None:
        """That of its own, if it has one."""
        published = self.algorithm == "published"
        return PublishedMrvm1(**self._published) if published else None

    def family(self, labels: AnyArray) -> ClassFamily:
        """Of these classes."""
        if self.algorithm == "published":
            return PluggedIn(labels)
        moments, full = self.posterior == "moments", self.posterior == "full"
        return Probit(labels, moments=moments, coupled=full)


@dataclass(frozen=True, eq=False, repr=False)
class Softmax(Parametric):
    """Settings of ``multi_class="softmax"``.

    Parameters
    ----------
    priors : {"shared", "each"}, default="shared"
        Whether the weights of a function have one prior precision for all classes, or
        one each, as in section 5.1.4 of [1]_. The latter begins with all functions and
        factors a matrix of all weights of all classes in every step: it is for small
        data.
    posterior : {"mode", "full"}, optional
        Whether what couples the classes is left out of the covariance, or not. By
        default it is in where priors are for each, and must be; else it is not.

    References
    ----------
    .. [1] D. Ben-Shimon (2006), "Accelerating the relevance vector machine via data
       partitioning", thesis, Ben-Gurion University of the Negev.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from relvec import RVC, Softmax
    >>> X, y = load_iris(return_X_y=True)
    >>> settings = {"gamma": 0.1, "candidates": 40, "random_state": 0}
    >>> model = RVC(multi_class=Softmax(priors="each"), **settings).fit(X, y)
    >>> model.prior_precision_.shape == model.dual_coef_.shape
    True
    """

    priors: str = "shared"
    posterior: str | None = None

    def __post_init__(self) -> None:
        check_choice("priors", self.priors, ("shared", "each"))
        if self.posterior is not None:
            check_choice("posterior", self.posterior, ("mode", "full"))
        if self.priors == "each" and self.posterior == "mode":
            raise ValueError(
                "priors='each' has precisions that follow from the covariance of all "
                "classes together: leave posterior out"
            )

    @property
    def solver(self) -> Solver | None:
        """That of its own, if it has one."""
        return PrecisionOfEach() if self.priors == "each" else None

    def family(self, labels: AnyArray) -> ClassFamily:
        """Of these classes."""
        return Logit(labels, coupled=self.priors == "each" or self.posterior == "full")


Scheme = Mrvm1 | Mrvm2 | Softmax
_BY_NAME: dict[str, Scheme] = {"mrvm1": Mrvm1(), "mrvm2": Mrvm2(), "softmax": Softmax()}
SINGLE_MODELS = tuple(_BY_NAME)


def class_family(multi_class: str | Scheme, labels: AnyArray) -> ClassFamily:
    """What ``multi_class`` means for these classes; "auto" of several is mRVM1."""
    if multi_class == "auto" and len(labels) == 2:
        return TwoClasses(labels)
    scheme = _scheme(multi_class)
    if scheme is None:
        return Probit(labels)
    return (
        ClassWiseProbit(labels) if isinstance(scheme, Mrvm2) else scheme.family(labels)
    )


def own_solver(multi_class: Any) -> Solver | None:
    """The solver that ``multi_class`` brings along, if it does."""
    scheme = _scheme(multi_class)
    if not isinstance(scheme, Mrvm1 | Softmax):
        return scheme if isinstance(scheme, Mrvm2) else None
    return scheme.solver


def _scheme(multi_class: str | Scheme) -> Scheme | None:
    return _BY_NAME.get(multi_class) if isinstance(multi_class, str) else multi_class
