"""Several classes by a binary model for each class or pair of classes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from relvec.data import RowBlocks
from relvec.kernels import Kernel
from relvec.likelihoods.bernoulli import moderated_log_odds
from relvec.modelling.coupling import Coupling
from relvec.modelling.families import class_family
from relvec.modelling.families.probabilities import DoubtOfEach
from relvec.modelling.fitted import FittedModel, latent_of
from relvec.modelling.monitor import Monitor, logger, silent
from relvec.modelling.predictive import ClassDistribution, ClassVotes
from relvec.modelling.several_models import SeveralModels
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import TrainingRows
from relvec.typing import AnyArray, Array, Indices

# ``fit``, or another function of its arguments that learns the kernel as well.
Fit = Callable[..., FittedModel]


def fit_pairwise(
    fit: Fit,
    spec: Specification,
    rows: TrainingRows,
    classes: Indices,
    coupling: Coupling,
    *,
    kernels: Sequence[tuple[Kernel, ...]],
    shared: bool,
    start: Callable[[Any], FittedModel | None],
    monitor: Monitor = silent,
) -> "PairwiseModel":
    """A binary model for each of the coupling's keys.

    ``kernels`` has a tuple for each model; ``shared`` says that these are the same and
    stay as they are, so that models may have functions in common. ``start`` tells
    which model one begins with. Each has an equal share of the time that is left.
    """
    family = class_family("auto", np.array([0, 1]))
    models = []
    for number, (key, own) in enumerate(zip(coupling.keys, kernels, strict=True)):
        logger.info("classifier %d of %d: %s", number + 1, len(kernels), key)
        chosen, sides = coupling.binary(classes, number)
        data = family.encoded(rows.subset(chosen), sides)
        time = spec.deadline.share(len(kernels) - number)
        binary = replace(spec, kernels=own, family=family).until(time)
        models.append(fit(binary, data, start=start(key), monitor=monitor))
    each = accumulate(map(len, kernels[:-1]), initial=0)
    first = (0,) * len(models) if shared else tuple(each)
    return PairwiseModel(tuple(models), first, coupling=coupling)


@dataclass(frozen=True, eq=False)
class PairwiseModel(SeveralModels):
    """Binary models as one."""

    coupling: Coupling = field(kw_only=True)
    noun: ClassVar[str] = "classifier"

    @property
    def keys(self) -> list[Any]:
        return list(self.coupling.keys)

    def predictive(self, X: AnyArray | RowBlocks) -> ClassDistribution | ClassVotes:
        """The distribution of the classes of some rows, or votes for them."""
        return self._coupled(*latent_of(self, X))

    def given(self, values: Array) -> ClassDistribution | ClassVotes:
        """The distribution of classes where outputs (n_rows, n_models) are known."""
        return self._coupled(values, np.zeros_like(values))

    def _coupled(self, mean: Array, variance: Array) -> ClassDistribution | ClassVotes:
        odds = moderated_log_odds(mean.ravel(), variance.ravel()).reshape(mean.shape)
        if self._doubt is not None:
            odds = self._doubt.applied(odds)
        return self.coupling.predictive(odds)

    @cached_property
    def _doubt(self) -> DoubtOfEach | None:
        doubts = [getattr(one.family, "doubt", None) for one in self.models]
        return DoubtOfEach.of(doubts) if any(doubts) else None

    @property
    def labels(self) -> AnyArray:
        return self.coupling.labels

    def start_for(self, key: Any) -> FittedModel | None:
        """The model that decides on a class or pair, if there is one."""
        return dict(zip(self.coupling.keys, self.models, strict=True)).get(key)
