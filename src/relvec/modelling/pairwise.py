"""Several classes by a binary model for each class or pair of classes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from relvec.data import RowBlocks
from relvec.kernels import Kernel
from relvec.modelling.coupling import Coupling
from relvec.modelling.families import class_family
from relvec.modelling.fitted import FittedModel, latent_of
from relvec.modelling.monitor import Monitor, logger, silent
from relvec.modelling.predictive import ClassDistribution, ClassVotes
from relvec.modelling.several_models import SeveralModels
from relvec.modelling.specification import Specification
from relvec.modelling.training_rows import TrainingRows
from relvec.typing import AnyArray, Indices

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
        latent = latent_of(self, X)
        odds = [
            one.family.predictive(*(part[:, i : i + 1] for part in latent)).decision
            for i, one in enumerate(self.models)
        ]
        return self.coupling.predictive(np.column_stack(odds))

    @property
    def labels(self) -> AnyArray:
        return self.coupling.labels

    def start_for(self, key: Any) -> FittedModel | None:
        """The model that decides on a class or pair, if there is one."""
        return dict(zip(self.coupling.keys, self.models, strict=True)).get(key)
