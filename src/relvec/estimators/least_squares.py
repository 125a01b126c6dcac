"""What least-squares support vector regression and classification share."""

from typing import Any

from sklearn.utils.validation import check_is_fitted

from relvec.data import is_row_blocks
from relvec.design import Budget
from relvec.estimators.kernel_model import KernelModel
from relvec.estimators.validation import as_centres, is_centres
from relvec.lssvm import (
    LANDMARKS,
    METHODS,
    MOST_RANK,
    LeastSquares,
    LeastSquaresModel,
    as_tuning,
    n_drawn,
)
from relvec.modelling import TrainingRows
from relvec.parameters import (
    as_bytes,
    as_share,
    check_choice,
    check_count,
    check_positive,
)
from relvec.typing import AnyArray


class LeastSquaresMachine(KernelModel):
    """A kernel model of all training rows, or of a few landmarks among them."""

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        C: float = 1.0,
        gamma: Any = "scale",
        degree: int = 3,
        coef0: float = 0.0,
        fit_intercept: bool = True,
        method: str = "auto",
        landmarks: Any = "uniform",
        rank: Any = "auto",
        tune: Any = None,
        n_support: Any = None,
        tol: float = 1e-6,
        max_iter: int = 1000,
        memory_budget: Any = "2GB",
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.fit_intercept = fit_intercept
        self.method = method
        self.landmarks = landmarks
        self.rank = rank
        self.tune = tune
        self.n_support = n_support
        self.tol = tol
        self.max_iter = max_iter
        self.memory_budget = memory_budget
        self.random_state = random_state
        self.verbose = verbose

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if isinstance(self.kernel, list | tuple):
            raise ValueError(
                "kernel is a list, and an LS-SVM has one kernel: add kernels instead, "
                "such as relvec.kernels.Gaussian(2.0) + relvec.kernels.Linear()"
            )
        if isinstance(self.gamma, str) and self.gamma == "learn":
            raise ValueError(
                "gamma='learn' is how RVR and RVC learn a width: set gamma='scale' and "
                "tune='loo' or 'evidence'"
            )
        check_positive("C", self.C)
        check_choice("method", self.method, METHODS)
        self._check_landmarks()
        if not (isinstance(self.rank, str) and self.rank == "auto"):
            check_count("rank", self.rank)
        as_tuning(self.tune)
        if self.n_support is not None:
            as_share("n_support", self.n_support, 1)
        check_positive("tol", self.tol)
        check_count("max_iter", self.max_iter)

    def _check_landmarks(self) -> None:
        if not is_centres(self.landmarks):
            check_choice("landmarks", self.landmarks, LANDMARKS)
        given = is_centres(self.landmarks) or self.landmarks != "uniform"
        if given and self.method not in {"auto", "nystrom"}:
            raise ValueError(
                f"landmarks are those of method='nystrom', and method is "
                f"{self.method!r}: leave one of them out"
            )
        if self._kernel_choice.precomputed and self.method not in {"auto", "exact"}:
            raise ValueError(
                f"method={self.method!r} needs rows to evaluate a kernel on, and with "
                "kernel='precomputed' there is its matrix: use method='exact'"
            )

    @property
    def _kernels(self) -> Any:
        # The features themselves as functions of weights with one prior.
        return "linear" if self.kernel is None else self.kernel

    def _training_rows(
        self, X: Any, y: Any, sample_weight: Any, **checks: Any
    ) -> tuple[TrainingRows, AnyArray]:
        drawn = n_drawn(self._rank or MOST_RANK, in_blocks=is_row_blocks(X))
        return self._taken(X, y, sample_weight, n_drawn=drawn, **checks)

    @property
    def _rank(self) -> int | None:
        return None if isinstance(self.rank, str) else int(self.rank)

    def _specification(self, rows: TrainingRows, family: Any) -> LeastSquares:
        """Of a model of these rows."""
        landmarks = self.landmarks
        if is_centres(landmarks):
            landmarks = as_centres(landmarks, rows, name="landmarks")
        choice = self._kernel_choice
        return LeastSquares(
            kernel=choice.resolve(rows)[0],
            family=family,
            precomputed=choice.precomputed,
            C=float(self.C),
            intercept=bool(self.fit_intercept),
            method=self.method,
            rank=self._rank,
            landmarks=landmarks,
            tuning=as_tuning(self.tune),
            n_support=self.n_support,
            tol=float(self.tol),
            max_iter=int(self.max_iter),
            budget=Budget(as_bytes("memory_budget", self.memory_budget)),
        )

    def _attributes(self, model: LeastSquaresModel) -> dict[str, Any]:
        outcome = model.fit
        optional = {
            "leave_one_out_error_": (
                None if outcome.left_out is None else outcome.left_out.mean_square
            ),
            "tuning_history_": outcome.history,
            "calibration_": outcome.calibration,
        }
        return {
            "model_": model,
            "support_": model.indices,
            "support_vectors_": model.centres,
            "dual_coef_": model.weights,
            "intercept_": model.intercept,
            "C_": model.C,
            "kernel_": model.kernel,
            "method_": outcome.method,
            "noise_variance_": model.family.noise_variance,
            "log_evidence_": outcome.log_evidence,
            "n_iter_": outcome.n_iter,
            "status_": outcome.status,
            **{name: value for name, value in optional.items() if value is not None},
        }

    @property
    def coef_(self) -> AnyArray:
        """Weights of the features, for ``kernel="linear"`` and None."""
        check_is_fitted(self)
        if isinstance(self._kernels, str) and self._kernels == "linear":
            return self.dual_coef_ @ self.support_vectors_
        raise AttributeError("coef_ exists only for kernel='linear' and kernel=None")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self._kernel_choice.precomputed
        return tags
