"""Transformers of scikit-learn in a model file.

No transformer is restored by its ``__dict__``, which differs between versions. Scalers
get their public attributes back; others are fitted again to a tiny table from which
they learn the same.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted

from relvec.model_file import Kind, ModelFileError
from relvec.typing import AnyArray

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
# Parameters that earlier versions of scikit-learn lack.
_NEWER: dict[Any, frozenset[str]] = {MaxAbsScaler: frozenset({"clip"})}
# Parameters that are reconstructed or do not change results.
_LEFT_OUT = ("transformers", "remainder", "n_jobs", "force_int_remainder_cols")


def kept_params(transformer: Any) -> dict[str, Any]:
    """Parameters that are saved; any other must have its default."""
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
        f"{cls.__name__} with {given} cannot be saved in a model file: leave {name} at "
        "its default, or keep the model by joblib.dump"
    )


def check_params(cls: Any, params: Any, n_features: int) -> None:
    """Require exactly the saved parameters, each of a suitable type."""
    check_names(cls.__name__, params, _KEPT[cls], _NEWER.get(cls, frozenset()))
    for name, value in params.items():
        fits = _TYPES.get(name)
        known = fits is None or fits(value, n_features)
        if not known or (name in _FLAGS and type(value) is not bool):
            raise ModelFileError(f"{name} of {cls.__name__} is not as it should be")


def check_names(
    owner: str, params: Any, wanted: Any, optional: frozenset[str] = frozenset()
) -> None:
    """Refuse unknown or missing parameters."""
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
    """A rule, None, or one entry per feature."""
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
    [
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
    ]
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


_LATER = "_relvec_later"


def set_later(transformer: Any, **attributes: Any) -> None:
    """Set attributes after the self-test.

    Its rows have no feature names. A transformer that knows names would warn or refuse,
    and silencing warnings affects other threads.
    """
    vars(transformer).setdefault(_LATER, {}).update(attributes)


def finished(model: Any) -> Any:
    """Set the postponed attributes of a model and all its parts."""
    for part in _parts(model):
        finished(part)
    if not isinstance(model, str):
        for name, value in vars(model).pop(_LATER, {}).items():
            setattr(model, name, value)
    return model


def _parts(model: Any) -> list[Any]:
    if isinstance(model, Pipeline):
        return [step for _, step in model.steps if step is not None]
    if isinstance(model, ColumnTransformer):
        return [*(one for _, one, _ in model.transformers), model.remainder]
    return []


_SCALERS: dict[Any, tuple[str, ...]] = {
    StandardScaler: ("mean_", "var_", "scale_", "n_samples_seen_"),
    MinMaxScaler: (
        *("min_", "scale_", "data_min_", "data_max_", "data_range_"),
        "n_samples_seen_",
    ),
    MaxAbsScaler: ("scale_", "max_abs_", "n_samples_seen_"),
    RobustScaler: ("center_", "scale_"),
}
# Attributes that are None if one of these parameters is false.
_NEEDLESS: dict[str, tuple[str, ...]] = {
    "mean_": ("with_mean",),
    "var_": ("with_std",),
    "scale_": ("with_std", "with_scaling"),
    "center_": ("with_centering",),
}
_TABLE_TYPES = frozenset(np.dtype(letter).str for letter in "?bhiqBHIQefdO")
_COMMON = ("params", "n_features", "names")


def transformer_kinds() -> list[Kind]:
    """Kinds of transformers of one table."""
    scalers = [_scaler(cls, names) for cls, names in _SCALERS.items()]
    encoders = [_encoder(OneHotEncoder), _encoder(OrdinalEncoder)]
    return [*scalers, *encoders, _imputer()]


def common_fields(transformer: Any) -> dict[str, Any]:
    """Parameters and feature names."""
    check_is_fitted(transformer)
    check_output(transformer)
    names = getattr(transformer, "feature_names_in_", None)
    return {
        "params": kept_params(transformer),
        "n_features": transformer.n_features_in_,
        "names": None if names is None else [str(name) for name in names],
    }


def check_output(transformer: Any) -> None:
    """Refuse transformers that return data frames, which need another library."""
    config = getattr(transformer, "_sklearn_output_config", {})
    if config.get("transform", "default") != "default":
        raise ModelFileError(
            f"{type(transformer).__name__} makes data frames: leave set_output at its "
            "default, or keep the model by joblib.dump"
        )


def check_features(n_features: Any, names: Any) -> None:
    """Check the number of features and their names."""
    if type(n_features) is not int or not 0 < n_features < 2**31:
        raise ModelFileError(f"n_features is {n_features!r}")
    if names is None:
        return
    known = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not known or len(names) != n_features:
        raise ModelFileError("names of features are not as many as features")


def note_names(transformer: Any, n_features: int, names: list[str] | None) -> None:
    """Set what scikit-learn knows about the features."""
    transformer.n_features_in_ = n_features
    if names is not None:
        set_later(transformer, feature_names_in_=np.array(names, dtype=object))


def made_with(cls: Any, params: Any, n_features: Any, names: Any) -> Any:
    """Construct a transformer whose parameters scikit-learn has validated."""
    check_features(n_features, names)
    check_params(cls, params, n_features)
    given = dict(params)
    if "dtype" in given:
        given["dtype"] = _scalar_type(given["dtype"])
    found = cls(**given)
    found._validate_params()
    found.n_features_in_ = n_features
    return found


def _scalar_type(name: Any) -> Any:
    """The type of an encoder's output."""
    if not isinstance(name, str) or name not in _TABLE_TYPES:
        raise ModelFileError(f"an encoder makes a table of {name!r}")
    return np.dtype(name).type


def _scaler(cls: Any, attributes: tuple[str, ...]) -> Kind:
    def take(scaler: Any) -> Mapping[str, Any]:
        return {"fitted": {name: getattr(scaler, name) for name in attributes}}

    def make(scaler: Any, fitted: Any) -> Any:
        if type(fitted) is not dict or set(fitted) != set(attributes):
            raise ModelFileError("a scaler has other attributes than it should")
        for name, value in fitted.items():
            if not _is_fitted_to(scaler, name, value, scaler.n_features_in_):
                raise ModelFileError(f"{name} is not one for each feature")
            setattr(scaler, name, value)
        return scaler

    return _kind(cls, ("fitted",), take, make)


def _kind(
    cls: type,
    fields: tuple[str, ...],
    take: Callable[[Any], Mapping[str, Any]],
    make: Callable[..., Any],
) -> Kind:
    """A transformer with common fields and its own, without its features' names."""
    name = f"sklearn.{cls.__name__}"

    def taken(transformer: Any) -> Mapping[str, Any]:
        return {**common_fields(transformer), **take(transformer)}

    def made(params: Any, n_features: Any, names: Any, **own: Any) -> Any:
        transformer = make(made_with(cls, params, n_features, names), **own)
        note_names(transformer, n_features, names)
        return transformer

    return Kind(name, cls, (*_COMMON, *fields), taken, made, costly=True)


def _is_fitted_to(scaler: Any, name: str, value: Any, n_features: int) -> bool:
    """Whether a value has one number per feature, or is None if parameters say so."""
    if name == "n_samples_seen_" and not isinstance(value, np.ndarray):
        # Sums of weights are floats.
        return type(value) in (int, float) and 0 <= value < 2**62
    if value is None:
        params = scaler.get_params(deep=False)
        return any(params.get(one) is False for one in _NEEDLESS.get(name, ()))
    known = isinstance(value, np.ndarray) and value.shape == (n_features,)
    return known and value.dtype.kind in ("iuf" if name == "n_samples_seen_" else "f")


def _encoder(cls: Any) -> Kind:
    def take(encoder: Any) -> Mapping[str, Any]:
        params = {**kept_params(encoder), "dtype": np.dtype(encoder.dtype).str}
        return {"params": params, "categories": encoder.categories_}

    def make(encoder: Any, categories: Any) -> Any:
        n_features, given = encoder.n_features_in_, encoder.categories
        several = type(categories) is list and len(categories) == n_features
        if not several or not all(map(_is_column, categories)):
            raise ModelFileError("categories are not those of each feature")
        encoder.categories = categories
        encoder.fit(_first_row(categories))
        # Restore column types, since a table has a single type.
        encoder.categories_ = categories
        encoder.categories = given
        return encoder

    return _kind(cls, ("categories",), take, make)


def _is_column(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 0


def _first_row(columns: list[AnyArray]) -> AnyArray:
    """The first category of each feature, since a table of all would be large."""
    if all(column.dtype.kind in "biuf" for column in columns):
        return np.column_stack([column[:1] for column in columns])
    row = np.empty((1, len(columns)), dtype=object)
    row[0] = [column.tolist()[0] for column in columns]
    return row


def _imputer() -> Kind:
    def take(imputer: Any) -> Mapping[str, Any]:
        indicator = imputer.indicator_
        return {
            "statistics": np.asarray(imputer.statistics_),
            "missing": None if indicator is None else indicator.features_,
        }

    def make(imputer: Any, statistics: Any, missing: Any) -> Any:
        n_features = imputer.n_features_in_
        if not _is_column(statistics) or len(statistics) != n_features:
            raise ModelFileError("statistics are not one for each feature")
        if (missing is not None) != imputer.add_indicator:
            raise ModelFileError("missing features require add_indicator")
        rows = np.stack([statistics, statistics])
        if missing is not None:
            rows[1, _checked_places(missing, n_features)] = imputer.missing_values
        imputer.fit(_in_numbers(rows, imputer))
        imputer.statistics_ = statistics
        return imputer

    return _kind(SimpleImputer, ("statistics", "missing"), take, make)


def _checked_places(places: Any, count: int) -> AnyArray:
    """Check increasing indices of features."""
    known = isinstance(places, np.ndarray) and places.ndim == 1
    if not known or places.dtype.kind not in "iu":
        raise ModelFileError("missing features are not given by indices")
    if len(places) and not (places[0] >= 0 and places[-1] < count):
        raise ModelFileError("missing features have indices out of range")
    if np.any(places[1:] <= places[:-1]):
        raise ModelFileError("indices of missing features are not in order")
    return places


def _in_numbers(rows: AnyArray, imputer: SimpleImputer) -> AnyArray:
    """Convert to floats; constants are saved as objects."""
    constant = imputer.strategy == "constant"
    cells = (imputer.missing_values, *rows.ravel().tolist())
    if constant and all(isinstance(cell, int | float) for cell in cells):
        return rows.astype(np.float64)
    return rows
