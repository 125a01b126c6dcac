"""Relevance vector classification."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets

from relvec.estimators.base import SparseKernelModel
from relvec.estimators.kernel_model import lazy_on_collections
from relvec.estimators.kernels import (
    KernelChoice,
    as_list,
    by_classifier,
    check_by_class,
    listed,
)
from relvec.estimators.validation import (
    check_class_weight,
    check_multi_class,
    check_one_model,
    check_several,
    has_probabilities,
    note_features,
    weighted_by_class,
)
from relvec.evidence import Deadline, Solver, check_noise_settings
from relvec.kernel_search import proposed_kernels
from relvec.modelling import (
    FittedModel,
    Monitor,
    Mrvm1,
    PairwiseModel,
    Specification,
    TrainingRows,
    checked_by_folds,
    checked_fit,
    class_family,
    coupling_for,
    fit_pairwise,
    fit_with_learned,
    is_one_against,
    logged,
    own_solver,
    remark_on_lost_classes,
)
from relvec.typing import AnyArray, Array, Indices


class ClassPredictions(ClassifierMixin, SparseKernelModel):
    """A sparse model of classes."""

    @lazy_on_collections
    def decision_function(self, X: Any) -> Array:
        """Log odds of the second of two classes, or log probabilities of several.

        The uncertainty of the weights is integrated out. With
        ``OneAgainstOne("votes")`` it is the votes of several classes, to which between
        -1/3 and 1/3 is added for the log odds of their pairs.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to decide on; for ``kernel="precomputed"`` kernel values between them
            and all training rows.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            Of two classes, positive where the second is more probable.
        """
        return self._predictive(X).decision

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    @lazy_on_collections
    def predict_proba(self, X: Any) -> Array:
        """Probability of each class, the uncertainty of the weights integrated out.

        The frequencies of the classes have as much of a share as rows that are
        predicted without themselves ask for. Votes are none: with
        ``OneAgainstOne("votes")`` there is no such method.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            Probabilities in the order of ``classes_``.
        """
        return self._predictive(X).probabilities

    @lazy_on_collections
    def predict(self, X: Any) -> AnyArray:
        """The most probable class of each row, or the one with most votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), RowBlocks or Dask collection
            Rows to classify.

        Returns
        -------
        ndarray of shape (n_samples,)
            Labels from ``classes_``; the first of those that are equally probable.
        """
        return self._predictive(X).predicted

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def sample_posterior(self, X: Any, n: int = 1, random_state: Any = None) -> Array:
        """Probabilities of the classes by functions drawn from the posterior.

        Each draw is one set of functions of X that the data leave possible, at all rows
        together, and what they make of the classes. ``predict_proba`` is their mean.
        Models of "ovr" and "ovo" are drawn each by itself and then coupled, so theirs
        is that about.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Rows to classify.
        n : int, default=1
            How many draws.
        random_state : int, RandomState instance or None, default=None
            For the draws. None is always the same.

        Returns
        -------
        ndarray of shape (n, n_samples, n_classes)
            Probabilities in the order of ``classes_``.

        Examples
        --------
        >>> from relvec import RVC
        >>> from relvec.data import two_mixtures
        >>> X, y = two_mixtures(200, seed=0)
        >>> model = RVC().fit(X, y)
        >>> p = model.sample_posterior(X[:5], 100)
        >>> p.shape
        (100, 5, 2)
        >>> bool(abs(p.mean(axis=0) - model.predict_proba(X[:5])).max() < 0.05)
        True
        """
        functions = self._drawn(X, n, random_state)
        return np.array([self.model_.given(one).probabilities for one in functions])


_DEFAULT_TOL = 1e-4  # as in RVR


class RVC(ClassPredictions):
    """Relevance vector classification of two or more classes.

    A kernel classifier that keeps a handful of training rows, learns the width of its
    kernel and returns probabilities that know how certain the model is; there is
    nothing to tune [1]_, [2]_.
    Several classes are one model with the same vectors for all [3]_.

    Parameters
    ----------
    kernel : {"rbf", "auto", "laplacian", "linear", "poly", "polynomial", "sigmoid", \
"cosine", "chi2", "additive_chi2", "precomputed"}, callable, list or dict of these, or \
None, default="rbf"
        The kernel, as in :class:`RVR`; with None it is sparse logistic regression. A
        dict gives every classifier of "ovr" and "ovo" its own: by class label, or by
        pair of labels in the order of ``classes_``.
    gamma, degree, coef0, fit_intercept : object
        As in :class:`RVR`.
    kernel_learning, solver : object
        What is learned of the kernel, and how the evidence is maximised, as in
        :class:`RVR`.
    multi_class : {"auto", "mrvm1", "mrvm2", "softmax", "ovr", "ovo"}, Mrvm1, Mrvm2, \
OneAgainstOne or Softmax, default="auto"
        How classes are told apart. "mrvm1" is one model with the multinomial probit and
        one prior for a vector in all classes [3]_; of two classes it keeps only vectors
        that are worth a nat of evidence. "mrvm2" has a prior for each vector and class,
        and begins with all functions, so it is for small data. "softmax" is one model
        with the multinomial logit. :class:`Mrvm1`, :class:`Mrvm2` and :class:`Softmax`
        are these with settings. The others are several models for two classes each:
        "ovr" has one for each class against the rest, whose probabilities are scaled to
        sum to 1; "ovo" one for each pair, coupled by the second method of Wu, Lin and
        Weng [4]_, or voting, by :class:`OneAgainstOne`.
        Their ``gamma``, learned or not, is that of all rows, ``max_iter`` is for each
        and ``max_seconds`` for all. Of two classes both are the model of "auto", which
        is logistic; of more classes "auto" is "mrvm1".
    class_weight : dict, "balanced" or None, default=None
        By how much the weights of all rows of a class are multiplied, by its label; 1
        for classes that are not named. "balanced" gives all classes the same weight,
        and leaves that of all rows together as it is. Probabilities are then those of
        classes of these weights. Not for rows that stay where they are.
    uncertainty : {"augmented", "plain"}, default="augmented"
        Whether probabilities know where the data are: with a process about the model,
        as in :class:`RVR`, classes are as probable as they are frequent far away.
    design, candidates, partition, partition_size, tol, max_iter, max_seconds, \
warm_start, memory_budget, random_state, verbose : object
        How the fit is carried out, as in :class:`RVR`.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    estimators_ : list of RVC
        The models of "ovr", in the order of ``classes_``, or of "ovo", in that of
        pairs of them, where there are more than two classes. Attributes below then have
        a first axis for these classifiers: weights are zero and precisions infinite
        where one does not use a vector of another. ``log_evidence_`` and ``n_iter_``
        are sums, ``history_`` has an array ``classifier`` besides, and ``status_`` is
        the worst.
    relevance_, relevance_kernel_, relevance_vectors_, kernel_weights_ : ndarray
        The relevance vectors and their kernels, as in :class:`RVR`.
    kernel_, length_scales_, feature_relevance_, kernel_history_ : object
        What was learned of the kernel, as in :class:`RVR`; relevance is summed over
        outputs. With "ovr" and "ovo" it is a mean over ``estimators_``, which have
        kernels and histories of their own.
    partition_size_, n_partitions_, sparseness_ratio_, partition_history_ : object
        How a fit by parts went, as in :class:`RVR`; of "ovr" and "ovo" for each model.
    dual_coef_ : ndarray of shape (n_vectors,) or (n_classes, n_vectors)
        Posterior mean of the weights; the logistic model of two classes has one set.
    intercept_ : float or ndarray of shape (n_classes,)
        The constant of the model.
    prior_precision_ : ndarray of shape (n_vectors,) or (n_classes, n_vectors)
        Precision of each weight's prior; one for each class with ``"mrvm2"`` alone.
        It has a lower bound, so that weights of separable classes stay finite: what a
        function adds to the log odds has a prior standard deviation of at most 1e4, as
        a root mean square over the training rows.
    intercept_precision_ : float or ndarray of shape (n_classes,)
        Precision of the constant's prior; infinite if the constant is not a vector.
    calibration_ : Calibration
        How well probabilities hold for training rows that were left out: ``method``
        ("leave-one-out" or "folds"), ``n_rows``, ``log_loss`` and
        ``baseline_log_loss``, that of the frequencies of the classes; means over the
        binary models of "ovr" and "ovo". Not for blocks of which no row was drawn.
    log_evidence_ : float
        Log marginal likelihood by Laplace's approximation; of "mrvm2" a lower bound.
    n_iter_, history_, status_ : object
        The search and how it ended, as in :class:`RVR`; ``noise_std`` is nan.
    model_ : FittedModel
        All of the fitted model in one value, which needs no scikit-learn; with "ovr"
        and "ovo" of more than two classes it is one of several such ``models``.
    n_features_in_, feature_names_in_ : object
        Of the features seen by ``fit``, as in :class:`RVR`.

    See Also
    --------
    RVR : The same for regression.
    sparse_bayes : The same over any dictionary.

    References
    ----------
    .. [1] M. E. Tipping (2001), "Sparse Bayesian learning and the relevance vector
       machine", Journal of Machine Learning Research 1, 211-244.
    .. [2] M. E. Tipping and A. C. Faul (2003), "Fast marginal likelihood maximisation
       for sparse Bayesian models", AISTATS.
    .. [3] I. Psorakis, T. Damoulas and M. A. Girolami (2010), "Multiclass relevance
       vector machines: sparsity and accuracy", IEEE Transactions on Neural Networks 21,
       1588-1598.
    .. [4] T.-F. Wu, C.-J. Lin and R. C. Weng (2004), "Probability estimates for
       multi-class classification by pairwise coupling", Journal of Machine Learning
       Research 5, 975-1005.

    Examples
    --------
    >>> from relvec import RVC
    >>> from relvec.data import two_mixtures
    >>> X, y = two_mixtures(200, seed=0)
    >>> model = RVC().fit(X, y)
    >>> len(model.relevance_) < 10
    True
    >>> bool(model.predict_proba(X[:1])[0, 0] > 0.9)
    True
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: Any = "learn",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        kernel_learning: Any = None,
        solver: Any = "sequential",
        multi_class: Any = "auto",
        class_weight: Any = None,
        design: str = "auto",
        candidates: Any = "auto",
        partition: Any = None,
        partition_size: Any = "auto",
        uncertainty: str = "augmented",
        tol: float = _DEFAULT_TOL,
        max_iter: int = 10_000,
        max_seconds: float | None = None,
        warm_start: bool = False,
        memory_budget: Any = "2GB",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.kernel_learning = kernel_learning
        self.solver = solver
        self.multi_class = multi_class
        self.class_weight = class_weight
        self.design = design
        self.candidates = candidates
        self.partition = partition
        self.partition_size = partition_size
        self.uncertainty = uncertainty
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.warm_start = warm_start
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        check_multi_class(self.multi_class)
        check_by_class(self.kernel, self.multi_class)
        check_class_weight(self.class_weight)
        super()._check_parameters()
        check_noise_settings(self._solver(), "classes have none")
        solver = own_solver(self.multi_class)
        if solver is not None:
            self._check_beside(solver)
        top_down = self._solver().begins_with_all is not None
        if self.multi_class == Mrvm1("moments") and top_down:
            # Its fixed points ask for more digits than cavities have.
            raise ValueError(
                "Mrvm1(posterior='moments') is searched function by function: leave "
                f"solver at 'sequential'; got {self.solver!r}"
            )

    def _check_beside(self, solver: Solver) -> None:
        """Refuse what a solver that comes with the classes would not look at."""
        if not isinstance(self.solver, str) or self.solver != "sequential":
            raise ValueError(
                f"multi_class={self.multi_class!r} is a solver of its own: leave "
                f"solver at 'sequential'; got {self.solver!r}"
            )
        if self.tol != _DEFAULT_TOL and solver.own_tolerance is not None:
            raise ValueError(
                f"tol={self.tol!r} is not what multi_class={self.multi_class!r} ends "
                f"by: give it a tol of its own, multi_class={solver.own_tolerance}"
            )

    def _solver(self) -> Solver:
        return own_solver(self.multi_class) or super()._solver()

    @property
    def _kernels(self) -> Any:
        return listed(self.kernel)

    @property
    def _n_kernels(self) -> int:
        each = self.kernel.values() if isinstance(self.kernel, dict) else [self.kernel]
        return max(len(as_list(one)) for one in each)

    def _fitted(self, X: Any, y: Any, sample_weight: Any, monitor: Monitor) -> Any:
        deadline = Deadline.after(self.max_seconds)
        if self._is_distributed(X):
            return self._fit_distributed_classes(X, y, sample_weight, deadline, monitor)
        rows, values = self._training_rows(X, y, sample_weight)
        check_classification_targets(values)
        rows, values = weighted_by_class(self.class_weight, rows, values)
        labels, classes = np.unique(values, return_inverse=True)
        check_several(labels, self)
        check_one_model(labels, self.multi_class)
        # One of two against the rest or the other is the model of both.
        one_against = is_one_against(self.multi_class)
        family = class_family("auto" if one_against else self.multi_class, labels)
        spec = self._specification(rows, family, deadline)
        self._kernel_names(labels)  # refuses a dict that does not fit the classes
        model: Any
        if one_against and len(labels) > 2:
            model = self._pairwise(spec, rows, classes, labels)
        else:
            data, start = family.encoded(rows, classes), self._start()
            # Learn the kernel, search and calibrate; by folds where closed forms fail.
            fit = self._fit_function(self._learning)
            model = fit(spec, data, start=start, monitor=monitor)
            model = checked_by_folds(model, fit, spec, data)
        remark = remark_on_lost_classes(
            model, rows, classes, labels, at_rows=spec.centres.are_rows
        )
        return model.remarked(remark)

    def _fit_distributed_classes(
        self, X: Any, y: Any, sample_weight: Any, deadline: Deadline, monitor: Monitor
    ) -> FittedModel:
        """Fit classes of distributed rows."""
        if is_one_against(self.multi_class) or own_solver(self.multi_class):
            raise ValueError(
                f"multi_class={self.multi_class!r} needs all rows in memory: 'auto', "
                "'mrvm1' and 'softmax' do with sums over them"
            )
        if self.class_weight is not None:
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows in memory: of rows "
                "that stay where they are give weights instead, as sample_weight of a "
                "Dask collection or weight of relvec.data.scan"
            )
        survey = self._summarised(X, y, sample_weight, classes=True)
        labels = survey.labels
        check_several(labels, self)
        check_one_model(labels, self.multi_class)
        family = class_family(self.multi_class, labels)
        if family.coupled or family.likelihood.ep is not None:
            raise ValueError(
                "a posterior other than 'mode' needs all rows in memory: leave it out"
            )
        return self._fit_distributed(X, survey, family, deadline, monitor)

    def _kernel_names(self, labels: AnyArray) -> list[Any]:
        """What was given as the kernel of every binary classifier."""
        if not is_one_against(self.multi_class):
            return []
        keys = coupling_for(self.multi_class, labels).keys
        return by_classifier(self.kernel, keys)

    def _pairwise(
        self,
        spec: Specification,
        rows: TrainingRows,
        classes: Indices,
        labels: AnyArray,
    ) -> PairwiseModel:
        """A model for each class or pair; callbacks are told of models of all only."""
        kernels = [
            KernelChoice(one, self.gamma, self.degree, self.coef0).resolve(rows)
            for one in self._kernel_names(labels)
        ]
        fit_one = self._fit_function(self._learning)
        if self._learns_width:
            # One width for all, which all classes together have taught.
            family = class_family("mrvm1", labels)
            learned = proposed_kernels(
                self._learning, spec, family.encoded(rows, classes)
            )
            kernels = [learned] * len(kernels)
            fit_one = partial(fit_with_learned, self._fit_function(None))
        return fit_pairwise(
            checked_fit(fit_one),
            spec,
            rows,
            classes,
            coupling_for(self.multi_class, labels),
            kernels=kernels,
            shared=not isinstance(self.kernel, dict) and self.kernel_learning is None,
            start=self._start,
            monitor=logged(int(self.verbose)),
        )

    def _attributes(self, model: Any) -> dict[str, Any]:
        attributes = {**super()._attributes(model), "classes_": model.labels}
        if isinstance(model, PairwiseModel):
            attributes["estimators_"] = self._binaries(model)
        return attributes

    def _binaries(self, model: PairwiseModel) -> list["RVC"]:
        """The models of several classes as estimators of two each."""
        given = self.get_params(deep=False)
        binaries = []
        for kernel, one in zip(
            self._kernel_names(model.labels), model.models, strict=True
        ):
            own = {"multi_class": "auto", "class_weight": None, "kernel": kernel}
            binary = RVC(**{**given, **own})
            note_features(binary, one.features.number, one.features.names)
            binary._keep(binary._attributes(one))
            binaries.append(binary)
        return binaries
