"""Parameters of scikit-learn's transformers: which a file has, and what they may be."""

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

from relvec.model_file import ModelFileError

_RARE = ("min_frequency", "max_categories")
_KEPT: dict[Any, frozenset[str]] = {
    cls: frozenset(names.split())
    for cls, names in {
        StandardScaler: "copy with_mean with_std",
        MinMaxScaler: "feature_range copy clip",
        MaxAbsScaler: "copy clip",
        RobustScaler: "with_centering with_scaling quantile_range copy unit_variance",
        OneHotEncoder: "categories drop sparse_output dtype handle_unknown "
        "min_frequency max_categories feature_name_combiner",
        OrdinalEncoder: "categories dtype handle_unknown unknown_value "
        "encoded_missing_value min_frequency max_categories",
        SimpleImputer: "missing_values strategy fill_value copy add_indicator "
        "keep_empty_features",
        ColumnTransformer: "sparse_threshold transformer_weights verbose "
        "verbose_feature_names_out",
    }.items()
}
# Those that earlier versions of scikit-learn do not have.
_NEWER: dict[Any, frozenset[str]] = {MaxAbsScaler: frozenset({"clip"})}
# What is made again, or changes no result.
_LEFT_OUT = ("transformers", "remainder", "n_jobs", "force_int_remainder_cols")


def kept_params(transformer: Any) -> dict[str, Any]:
    """Those that files have; another must be as it is by default."""
    cls, every = type(transformer), transformer.get_params(deep=False)
    for name in every.keys() - _KEPT[cls] - set(_LEFT_OUT):
        default = getattr(cls(), name)
        if every[name] is not default and every[name] != default:
            raise _no_place(cls, name, f"{name}={every[name]!r}")
    found = {name: value for name, value in every.items() if name in _KEPT[cls]}
    if any(found.get(name) is not None for name in _RARE):
        raise _no_place(cls, " or ".join(_RARE), " or ".join(_RARE))
    words = "verbose_feature_names_out"
    if words in found and not isinstance(found[words], bool | np.bool_):
        raise _no_place(cls, words, f"{words} that is a format or a function")
    return found


def _no_place(cls: type, name: str, given: str) -> ModelFileError:
    return ModelFileError(
        f"{cls.__name__} with {given} has no place in a model file: leave {name} as by "
        "default, or keep the model by joblib.dump"
    )


def check_params(cls: Any, params: Any, n_features: int) -> None:
    """Exactly those that files have, each of a type that it may be."""
    check_names(cls.__name__, params, _KEPT[cls], _NEWER.get(cls, frozenset()))
    for name, value in params.items():
        fits = _TYPES.get(name)
        if name in _FLAGS:
            known = type(value) is bool
        else:
            known = fits is None or fits(value, n_features)
        if not known:
            raise ModelFileError(f"{name} of {cls.__name__} is not as it should be")


def check_names(
    owner: str, params: Any, wanted: Any, optional: frozenset[str] = frozenset()
) -> None:
    """Refuse parameters that are unknown, and the lack of others."""
    if type(params) is not dict:
        raise ModelFileError(f"{owner} has no parameters")
    odd = params.keys() ^ set(wanted)
    if odd - (optional - params.keys()):
        names = ", ".join(sorted(map(str, odd)))
        raise ModelFileError(f"{owner} has other parameters than it should: {names}")


def _is_number(value: Any) -> bool:
    return type(value) in (int, float)


def _is_plain(value: Any, _: int) -> bool:
    return value is None or type(value) in (str, bool, int, float)


def _is_range(value: Any, _: int) -> bool:
    pair = type(value) is tuple and len(value) == 2 and all(map(_is_number, value))
    return pair and bool(np.isfinite(value).all()) and value[0] <= value[1]


def _is_word_or_each(value: Any, n_features: int) -> bool:
    """A rule, nothing, or one for each feature."""
    if value is None or type(value) is str:
        return True
    several = type(value) in (list, tuple, np.ndarray) and np.ndim(value) > 0
    return several and len(value) == n_features


def _are_categories(value: Any, n_features: int) -> bool:
    if type(value) is str:
        return value == "auto"
    if type(value) not in (list, tuple) or len(value) != n_features:
        return False
    return all(
        each.ndim == 1 if isinstance(each, np.ndarray) else _are_plain(each)
        for each in value
    )


def _are_plain(values: Any) -> bool:
    listed = type(values) in (list, tuple)
    return listed and all(_is_plain(value, 0) for value in values)


def _is_drop(value: Any, n_features: int) -> bool:
    if not _is_word_or_each(value, n_features):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim == 1
    return value is None or type(value) is str or _are_plain(value)


def _are_weights(value: Any, _: int) -> bool:
    if value is None:
        return True
    return type(value) is dict and all(
        type(name) is str and _is_number(weight) and np.isfinite(weight)
        for name, weight in value.items()
    )


_FLAGS = frozenset(
    {
        "add_indicator",
        "clip",
        "copy",
        "keep_empty_features",
        "sparse_output",
        "unit_variance",
        "verbose_feature_names_out",
        "with_centering",
        "with_mean",
        "with_scaling",
        "with_std",
    }
)
_TYPES: dict[str, Callable[[Any, int], bool]] = {
    "feature_range": _is_range,
    "quantile_range": _is_range,
    "categories": _are_categories,
    "drop": _is_drop,
    "handle_unknown": lambda value, _: type(value) is str,
    "feature_name_combiner": lambda value, _: value == "concat",
    "min_frequency": lambda value, _: value is None,
    "max_categories": lambda value, _: value is None,
    "unknown_value": lambda value, _: value is None or _is_number(value),
    "encoded_missing_value": lambda value, _: _is_number(value),
    "missing_values": _is_plain,
    "strategy": lambda value, _: type(value) is str,
    "fill_value": _is_plain,
    "sparse_threshold": lambda value, _: _is_number(value),
    "transformer_weights": _are_weights,
    "verbose": lambda value, _: type(value) in (bool, int) and value >= 0,
}
