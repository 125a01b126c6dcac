"""Transformers of scikit-learn as a model file has them.

None is restored by its ``__dict__``, which differs from version to version: scalers get
their public attributes, others are fitted again, to a tiny table that has all that the
first one has taught.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
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

_SCALERS: dict[Any, tuple[str, ...]] = {
    StandardScaler: ("mean_", "var_", "scale_", "n_samples_seen_"),
    MinMaxScaler: (
        "min_",
        "scale_",
        "data_min_",
        "data_max_",
        "data_range_",
        "n_samples_seen_",
    ),
    MaxAbsScaler: ("scale_", "max_abs_", "n_samples_seen_"),
    RobustScaler: ("center_", "scale_"),
}
_COMMON = ("params", "n_features", "names")


def transformer_kinds() -> list[Kind]:
    """Of those that work on one table."""
    scalers = [_scaler(cls, names) for cls, names in _SCALERS.items()]
    encoders = [_encoder(OneHotEncoder), _encoder(OrdinalEncoder)]
    return [*scalers, *encoders, _imputer()]


def common_fields(transformer: Any) -> dict[str, Any]:
    """Parameters, and what is known of features."""
    check_is_fitted(transformer)
    check_output(transformer)
    names = getattr(transformer, "feature_names_in_", None)
    return {
        "params": transformer.get_params(deep=False),
        "n_features": transformer.n_features_in_,
        "names": None if names is None else [str(name) for name in names],
    }


def check_output(transformer: Any) -> None:
    """Refuse what makes data frames, for which a file would need their library."""
    config = getattr(transformer, "_sklearn_output_config", {})
    if config.get("transform", "default") != "default":
        raise ModelFileError(
            f"{type(transformer).__name__} makes data frames: leave set_output at its "
            "default, or keep the model by joblib.dump"
        )


def note_names(transformer: Any, n_features: Any, names: Any) -> None:
    """What scikit-learn knows of the features that it has seen."""
    if type(n_features) is not int or not 0 < n_features < 2**31:
        raise ModelFileError(f"n_features is {n_features!r}")
    transformer.n_features_in_ = n_features
    if names is None:
        return
    known = isinstance(names, list) and all(isinstance(name, str) for name in names)
    if not known or len(names) != n_features:
        raise ModelFileError("names of features are not as many as features")
    transformer.feature_names_in_ = np.array(names, dtype=object)


def made_with(cls: Any, params: Any) -> Any:
    """An instance, whose parameters scikit-learn has looked at."""
    found = cls(**params)
    found._validate_params()
    return found


def _scaler(cls: Any, attributes: tuple[str, ...]) -> Kind:
    def take(scaler: Any) -> Mapping[str, Any]:
        fitted = {name: getattr(scaler, name) for name in attributes}
        return {**common_fields(scaler), "fitted": fitted}

    def make(params: Any, n_features: Any, names: Any, fitted: Any) -> Any:
        scaler = made_with(cls, params)
        if set(fitted) != set(attributes):
            raise ModelFileError(f"a scaler has {list(fitted)}")
        for name, value in fitted.items():
            if isinstance(value, np.ndarray) and value.shape != (n_features,):
                raise ModelFileError(f"{name} is not one for each feature")
            setattr(scaler, name, value)
        note_names(scaler, n_features, names)
        return scaler

    name, fields = f"sklearn.{cls.__name__}", (*_COMMON, "fitted")
    return Kind(name, cls, fields, frozenset(), take, make)


def _encoder(cls: Any) -> Kind:
    def take(encoder: Any) -> Mapping[str, Any]:
        found = common_fields(encoder)
        params = {**found["params"], "dtype": np.dtype(encoder.dtype).str}
        rare = ("min_frequency", "max_categories")
        if any(params.get(name) is not None for name in rare):
            raise ModelFileError(
                f"{cls.__name__} with {' or '.join(rare)} has no place in a model "
                "file: leave them out, or keep the model by joblib.dump"
            )
        return {**found, "params": params, "categories": encoder.categories_}

    def make(params: Any, n_features: Any, names: Any, categories: Any) -> Any:
        given = {**params, "dtype": np.dtype(params["dtype"]).type}
        if len(categories) != n_features or not all(map(_is_column, categories)):
            raise ModelFileError("categories are not those of each feature")
        encoder = made_with(cls, {**given, "categories": categories})
        encoder.fit(_table(categories))
        # A table has one type, and its columns may have had several.
        encoder.categories_ = categories
        encoder.categories = given["categories"]
        note_names(encoder, n_features, names)
        return encoder

    name, fields = f"sklearn.{cls.__name__}", (*_COMMON, "categories")
    return Kind(name, cls, fields, frozenset(), take, make)


def _is_column(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and len(value) > 0


def _table(columns: list[AnyArray]) -> AnyArray:
    """Each column repeated to the length of the longest."""
    longest = max(map(len, columns))
    whole = [np.resize(column, longest) for column in columns]
    numbers = all(column.dtype.kind in "biuf" for column in whole)
    if numbers:
        return np.column_stack(whole)
    table = np.empty((longest, len(whole)), dtype=object)
    for place, column in enumerate(whole):
        table[:, place] = column.tolist()
    return table


def _imputer() -> Kind:
    def take(imputer: Any) -> Mapping[str, Any]:
        indicator = imputer.indicator_
        return {
            **common_fields(imputer),
            "statistics": np.asarray(imputer.statistics_),
            "missing": None if indicator is None else indicator.features_,
        }

    def make(
        params: Any, n_features: Any, names: Any, statistics: Any, missing: Any
    ) -> Any:
        if not _is_column(statistics) or len(statistics) != n_features:
            raise ModelFileError("statistics are not one for each feature")
        imputer = made_with(SimpleImputer, params)
        rows = np.stack([statistics, statistics])
        if missing is not None:
            rows[1, missing] = imputer.missing_values
        imputer.fit(rows)
        imputer.statistics_ = statistics
        note_names(imputer, n_features, names)
        return imputer

    fields = (*_COMMON, "statistics", "missing")
    name = "sklearn.SimpleImputer"
    return Kind(name, SimpleImputer, fields, frozenset(), take, make)
