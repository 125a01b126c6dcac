"""Parts of models that are kept otherwise than by the fields of their class."""

from typing import Any, cast

import numpy as np

from relvec.basis import Group
from relvec.design.pivots import Pivots
from relvec.evidence import EvidenceFit
from relvec.likelihoods import Gaussian
from relvec.lssvm.dual import DualSpread, DualSystem
from relvec.model_file.errors import ModelFileError
from relvec.model_file.kind import Kind
from relvec.modelling.same_functions import Pruned
from relvec.typing import AnyArray

_CONSTANT = "constant"  # as ``relvec.modelling.same_functions`` names it
_KEY_BYTES = 8
_MOST_PRUNED = 1_000_000  # functions that a search could never have begun with


def _fit_fields(fit: EvidenceFit) -> dict[str, Any]:
    """The likelihood is that of the family, but for the noise."""
    noise = fit.likelihood if isinstance(fit.likelihood, Gaussian) else None
    return {
        "noise_precision": None if noise is None else noise.noise_precision,
        "noise_estimated": None if noise is None else noise.estimated,
        "noise_ceiling": None if noise is None else noise.ceiling,
        "posterior": fit.posterior,
        "search_mean": fit.search_mean,
        "log_evidence": fit.log_evidence,
        "history": fit.history,
        "status": fit.status,
        "n_iter": fit.n_iter,
        "n_observations": fit.n_observations,
        "steps_before": fit.steps_before,
    }


def _made_fit(
    noise_precision: Any, noise_estimated: Any, noise_ceiling: Any, **others: Any
) -> EvidenceFit:
    noise = None
    if noise_precision is not None:
        noise = Gaussian(noise_precision, noise_estimated, noise_ceiling)
    # None until the family is known.
    return EvidenceFit(likelihood=cast(Any, noise), **others)


def _dual_fields(spread: DualSpread) -> dict[str, Any]:
    """The factor is made again when it is asked for, as after unpickling."""
    system = spread.system
    if not np.array_equal(system.functions.centres, system.rows):
        msg = "error bars of functions that are not centred on rows have no place here"
        raise ModelFileError(msg)
    return {
        "kernel": system.functions.kernel,
        "rows": system.rows,
        "weight": system.weight,
        "intercept": system.intercept,
        "scales": list(spread.scales),
        "g": spread.g,
        "q": spread.q,
    }


def _made_dual(
    *,
    kernel: Any,
    rows: Any,
    weight: Any,
    intercept: Any,
    scales: Any,
    g: Any,
    q: Any,
) -> DualSpread:
    system = DualSystem(Group(kernel, rows), rows, weight, intercept)
    t, u = scales
    return DualSpread(system, (t, u), g, q, cast(Any, None))


def _pruned_fields(pruned: Pruned) -> dict[str, Any]:
    """Keys in order, each a number of eight bytes."""
    known = sorted(key for key in pruned.keys if key != _CONSTANT)
    if any(not isinstance(centre, bytes) for _, centre in known):
        raise ModelFileError("functions of objects have no place in a model file")
    return {
        "kernels": pruned.kernels,
        "constant": _CONSTANT in pruned.keys,
        "groups": np.array([group for group, _ in known], dtype=np.int64),
        "keys": np.frombuffer(b"".join(key for _, key in known), dtype="<u8"),
    }


def _made_pruned(kernels: Any, constant: Any, groups: Any, keys: Any) -> Pruned:
    _check_keys(groups, keys)
    content = keys.astype("<u8").tobytes()
    pairs = [
        (int(group), content[_KEY_BYTES * place : _KEY_BYTES * (place + 1)])
        for place, group in enumerate(groups)
    ]
    names: list[Any] = [_CONSTANT] if constant else []
    return Pruned(kernels, frozenset([*names, *pairs]))


def _check_keys(groups: AnyArray, keys: AnyArray) -> None:
    known = getattr(groups, "dtype", None), getattr(keys, "dtype", None)
    if known != (np.int64, np.uint64) or groups.ndim != 1 or groups.shape != keys.shape:
        raise ModelFileError("the keys of pruned functions are not as they should be")
    if len(keys) > _MOST_PRUNED:
        raise ModelFileError(f"it has more than {_MOST_PRUNED:,} pruned functions")


_NOISE = ("noise_precision", "noise_estimated", "noise_ceiling")
_SEARCH = ("posterior", "search_mean", "log_evidence", "history", "status", "n_iter")

EVIDENCE_FIT = Kind(
    name="part.EvidenceFit",
    cls=EvidenceFit,
    fields=(*_NOISE, *_SEARCH, "n_observations", "steps_before"),
    optional=frozenset(),
    take=_fit_fields,
    make=_made_fit,
)
DUAL_SPREAD = Kind(
    name="part.DualSpread",
    cls=DualSpread,
    fields=("kernel", "rows", "weight", "intercept", "scales", "g", "q"),
    optional=frozenset(),
    take=_dual_fields,
    make=_made_dual,
)
PIVOTS = Kind(
    name="part.Pivots",
    cls=Pivots,
    fields=("kernel", "rows", "factor"),
    optional=frozenset(),
    take=lambda pivots: {
        "kernel": pivots.kernel,
        "rows": pivots.rows,
        "factor": pivots.factor,
    },
    make=Pivots,
)
PRUNED = Kind(
    name="part.Pruned",
    cls=Pruned,
    fields=("kernels", "constant", "groups", "keys"),
    optional=frozenset(),
    take=_pruned_fields,
    make=_made_pruned,
)
