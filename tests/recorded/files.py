"""Model files and exports of every kind, small ones, as a version writes them.

They are written once for a version, with the sources of that version:

    PYTHONPATH=src:tests python -m recorded.files

This makes the folders ``files_v...`` and ``exports_v...`` beside this file. They are
never written again: later versions have to read them. The definitions here use public
names of relvec only.
"""

import json
import warnings
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.gaussian_process import kernels as processes
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    RobustScaler,
    StandardScaler,
)

import relvec
from recorded.make import write_lines
from relvec import LSSVC, LSSVR, RVC, RVR, kernels
from relvec.export import to_c, to_onnx, to_python

HERE = Path(__file__).parent
VERSIONS = ("0.2.0",)  # whose files are here


def folder(kind, version=relvec.__version__):
    """Where the files of a version are; a kind is "files" or "exports"."""
    return HERE / f"{kind}_v{version.replace('.', '_')}"


def read_expected(version):
    """What the models of a version say, by name."""
    return json.loads((folder("files", version) / "expected.json").read_text("utf-8"))


# ------------------------------------------------------------------ the problems


def numbers(n_rows=12, n_features=2):
    chance = np.random.default_rng(0)
    X = chance.uniform(-2, 2, (n_rows, n_features))
    return X, np.sin(X[:, 0]) + 0.5 * X[:, -1] + 0.1 * chance.standard_normal(n_rows)


def varied(n_rows=40):
    """With noise from 0.05 to 1."""
    chance = np.random.default_rng(3)
    X = chance.uniform(-2, 2, (n_rows, 1))
    level = 0.05 * 20 ** ((X[:, 0] + 2) / 4)
    return X, np.sin(X[:, 0]) + level * chance.standard_normal(n_rows)


def several():
    X, y = numbers()
    return X, np.column_stack([y, 10 * X[:, 0] + y])


def rounded():
    X, y = numbers()
    return X, np.round(3 * np.exp(y))


def positive():
    X, y = numbers()
    return np.abs(X), y


def classes(n_classes=3, n_rows=15):
    chance = np.random.default_rng(1)
    y = np.arange(n_rows) % n_classes
    angle = 2 * np.pi * y / n_classes
    X = 1.5 * np.column_stack([np.cos(angle), np.sin(angle)])
    return X + 0.8 * chance.standard_normal(X.shape), y


def labelled(*labels):
    X, y = classes(len(labels))
    return X, np.array(labels)[y]


def table():
    """Columns of numbers, one of them with holes, and of words."""
    X, y = numbers(14)
    X[::7, 1] = np.nan
    words = np.array(["red", "green", "blue"], dtype=object)[np.arange(14) % 3]
    sizes = np.array(["S", "M"], dtype=object)[np.arange(14) % 2]
    frame = pd.DataFrame(X, columns=["width", "höhe"])
    return frame.assign(colour=words, size=sizes), y + (words == "red")


# -------------------------------------------------------------------- the models

# Error bars by a process take most of a file: some models have them, others do not.
DEFAULTS = {"gamma": 0.5, "uncertainty": "plain"}
FULL = {"uncertainty": "augmented"}


def fitted(model, problem):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(*problem)


def rvr(problem=numbers, kernel="rbf", **params):
    return fitted(RVR(kernel, **DEFAULTS | params), problem())


def rvc(problem=classes, kernel="rbf", **params):
    return fitted(RVC(kernel, **DEFAULTS | params), problem())


def lssvr(problem=numbers, **params):
    return fitted(LSSVR(**{"gamma": 0.5, "C": 10.0, **params}), problem())


def lssvc(problem=classes, **params):
    return fitted(LSSVC(**{"gamma": 0.5, **params}), problem())


def by_kernel_values(make, problem):
    X, y = problem()
    return make(kernel="precomputed").fit(kernels.Gaussian(1.0)(X, X), y)


def in_parts():
    X, y = numbers()
    return RVR(gamma=0.5).partial_fit(X[:6], y[:6]).partial_fit(X[6:], y[6:])


def named():
    X, y = numbers()
    return RVR(**DEFAULTS).fit(pd.DataFrame(X, columns=["width", "höhe"]), y)


def single_precision():
    X, y = numbers()
    return X.astype(np.float32), y


def noise_alone():
    return numbers()[0], np.random.default_rng(3).standard_normal(12)


def scaled(scaler, model, problem=numbers):
    return make_pipeline(scaler, model).fit(*problem())


def columns(model, target=lambda y: y):
    X, y = table()
    holes = make_pipeline(SimpleImputer(add_indicator=True), StandardScaler())
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    before = ColumnTransformer(
        [
            ("numbers", holes, ["width", "höhe"]),
            ("words", words, ["colour"]),
            ("sizes", OrdinalEncoder(), ["size"]),
        ]
    )
    return make_pipeline(before, model).fit(X, target(y))


def columns_by_number(model):
    X, y = table()
    words = OneHotEncoder(drop="first", sparse_output=False)
    before = ColumnTransformer(
        [("words", words, slice(2, 3)), ("size", "drop", [3])],
        remainder=SimpleImputer(),
    )
    return make_pipeline(before, model).fit(X.to_numpy(), y)


OWN_KERNELS = {
    "radial": kernels.Gaussian([0.8, 1.5])
    + kernels.Matern(1.2, nu=1.5)
    + kernels.RationalQuadratic(1.2, 0.7)
    + kernels.InverseMultiquadric(0.6),
    "featurewise": kernels.Laplacian(1.7) + kernels.Periodic(1.1, 5.0),
    "compact": kernels.Polynomial(2, 0.4, 1.0) * kernels.Taper(2.0)
    + kernels.CompactMatern(1.2, nu=0.5, support=2.0),
    "products": kernels.Sigmoid(0.2, -0.5) + 2.0 * kernels.Linear(columns=[0]) + 0.5,
    "process": 2.0 * processes.RBF(1.2) + processes.DotProduct(0.5) ** 2,
    "processes": processes.Matern(1.2, nu=1.5) * processes.ExpSineSquared(1.0, 5.0)
    + processes.RationalQuadratic(1.0, 0.7)
    + processes.WhiteKernel(0.1),
}

MODELS = {
    "rvr": partial(rvr, **FULL),
    "rvr_learned": partial(rvr, gamma="learn"),
    "rvr_plain": rvr,
    "rvr_ard": partial(rvr, kernel_learning="ard"),
    "rvr_adaptive": partial(rvr, kernel_learning="adaptive"),
    "rvr_adaptive_ard": partial(rvr, kernel_learning="adaptive-ard"),
    "rvr_yuan": partial(rvr, kernel_learning=relvec.Adaptive(3, 3)),
    "rvr_length_scales": partial(
        rvr, kernel_learning=relvec.LengthScales("width", "loo", 2)
    ),
    "rvr_weights": partial(
        rvr,
        kernel=[kernels.Gaussian(0.5), kernels.Gaussian(2.0)],
        kernel_learning="weights",
    ),
    "rvr_several_kernels": partial(rvr, kernel=["rbf", "linear", kernels.Matern()]),
    "rvr_features": partial(rvr, kernel=None),
    "rvr_linear": partial(rvr, kernel="linear"),
    "rvr_poly": partial(rvr, kernel="poly", degree=2, coef0=1.0),
    "rvr_chi2": partial(rvr, positive, kernel="chi2"),
    "rvr_precomputed": partial(by_kernel_values, RVR, numbers),
    "rvr_mackay": partial(rvr, solver="mackay", max_iter=10),
    "rvr_variational": partial(rvr, solver="variational", max_iter=10),
    "rvr_hyperprior": partial(
        rvr,
        solver=relvec.TopDown(hyperprior=relvec.Hyperprior(c=5.0, d=0.05)),
        max_iter=10,
    ),
    "rvr_greedy": partial(rvr, solver=relvec.BottomUp("greedy"), max_iter=12),
    "rvr_known_noise": partial(rvr, noise_variance=0.01),
    "rvr_counts": partial(rvr, rounded, noise="poisson", **FULL),
    "rvr_varying_noise": partial(rvr, varied, noise="heteroscedastic"),
    "rvr_student_t": partial(rvr, noise=relvec.StudentT(3.0)),
    "rvr_own_centres": partial(rvr, candidates=numbers()[0][:6]),
    "rvr_split_merge": partial(rvr, partition=relvec.SplitMerge(), partition_size=6),
    "rvr_incremental": partial(rvr, partition=relvec.Incremental(), partition_size=6),
    "rvr_working_set": partial(rvr, partition=relvec.WorkingSet(), partition_size=6),
    "rvr_single_precision": partial(rvr, single_precision),
    "rvr_outputs": partial(rvr, several, **FULL),
    "rvr_outputs_apart": partial(rvr, several, outputs="independent"),
    "rvr_names": named,
    "rvr_partial": in_parts,
    "rvr_constant": partial(rvr, noise_alone, gamma=1e-9),
    **{
        f"kernel_{name}": partial(rvr, kernel=kernel)
        for name, kernel in OWN_KERNELS.items()
    },
    "rvc_two": partial(rvc, partial(classes, 2), **FULL),
    "rvc_learned": partial(rvc, gamma="learn"),
    "rvc_mrvm1_of_two": partial(rvc, partial(classes, 2), multi_class="mrvm1"),
    "rvc_mrvm1": partial(rvc, **FULL),
    "rvc_moments": partial(rvc, multi_class=relvec.Mrvm1("moments")),
    "rvc_full": partial(rvc, multi_class=relvec.Mrvm1("full"), **FULL),
    "rvc_published": partial(rvc, multi_class=relvec.Mrvm1(algorithm="published")),
    "rvc_mrvm2": partial(
        rvc, partial(classes, 3, 12), multi_class=relvec.Mrvm2(convergence="A")
    ),
    "rvc_softmax": partial(rvc, multi_class="softmax"),
    "rvc_softmax_each": partial(
        rvc, partial(classes, 3, 9), multi_class=relvec.Softmax("each")
    ),
    "rvc_ovr": partial(rvc, multi_class="ovr"),
    "rvc_ovo": partial(rvc, multi_class="ovo"),
    "rvc_votes": partial(rvc, multi_class=relvec.OneAgainstOne("votes")),
    "rvc_kernels_by_class": partial(
        rvc,
        kernel={0: "rbf", 1: ["rbf", "linear"], 2: kernels.Laplacian()},
        multi_class="ovr",
    ),
    "rvc_precomputed": partial(by_kernel_values, RVC, partial(classes, 2)),
    "rvc_words": partial(rvc, partial(labelled, "no", "perhaps", "ja, øvrig")),
    "rvc_flags": partial(rvc, partial(labelled, False, True), class_weight="balanced"),
    "lssvr": lssvr,
    "lssvr_tuned": partial(lssvr, tune=relvec.Tuning("loo", [1.0, 10.0], [1.0, 2.0])),
    "lssvr_nystrom": partial(lssvr, method="nystrom", rank=6),
    "lssvr_cholesky": partial(lssvr, method="cholesky", rank=6),
    "lssvr_cg": partial(lssvr, method="cg"),
    "lssvr_pruned": partial(lssvr, n_support=6),
    "lssvr_features": partial(lssvr, kernel=None),
    "lssvr_precomputed": partial(by_kernel_values, LSSVR, numbers),
    "lssvc_two": partial(lssvc, partial(labelled, "no", "yes")),
    "lssvc": lssvc,
    "lssvc_nystrom": partial(lssvc, method="nystrom", rank=6),
    "pipeline_standard": partial(scaled, StandardScaler(), RVR(gamma=0.5)),
    "pipeline_min_max": partial(scaled, MinMaxScaler(), RVC(**DEFAULTS), classes),
    "pipeline_largest": partial(scaled, MaxAbsScaler(), LSSVR(C=10.0)),
    "pipeline_robust": partial(scaled, RobustScaler(), LSSVC(), classes),
    "pipeline_columns": partial(columns, RVR(gamma=0.2, uncertainty="plain")),
    "pipeline_of_classes": partial(
        columns,
        RVC(gamma=0.2, uncertainty="plain"),
        lambda y: np.where(y > 0.3, "high", "low"),
    ),
    "pipeline_by_number": partial(columns_by_number, LSSVR()),
}

EXPORTED = (
    "rvr",
    "rvr_several_kernels",
    "rvr_counts",
    "rvr_outputs",
    "rvc_two",
    "rvc_mrvm1",
    "rvc_ovo",
    "lssvr",
    "pipeline_standard",
)


# --------------------------------------------------- what is expected of the files


def rows_for(model):
    """Other rows than those of the fit, the last far away, as the model takes them."""
    if getattr(model, "n_features_in_", 0) == 4:
        rows = table()[0].iloc[3:8].round(3)
        return rows if hasattr(model, "feature_names_in_") else rows.to_numpy()
    chance = np.random.default_rng(9)
    rows = chance.uniform(-2, 2, (5, model.n_features_in_)).round(3)
    rows[-1] *= 10
    if getattr(model, "kernel", None) == "chi2":
        rows = np.abs(rows)
    if hasattr(model, "feature_names_in_"):
        return pd.DataFrame(rows, columns=model.feature_names_in_)
    return rows


def outputs_of(known):
    """What :func:`expected` returned beside the rows."""
    return {name: np.array(one) for name, one in known.items() if name != "rows"}


def said(model, rows):
    """Outputs by name: "mean" and "std", "probabilities", or "label" alone."""
    if hasattr(model, "predict_proba"):
        return {"probabilities": model.predict_proba(rows)}
    if hasattr(model, "classes_"):
        return {"label": model.predict(rows)}
    try:
        mean, std = model.predict(rows, return_std=True)
    except (TypeError, ValueError):  # least squares of kernel values has no error bars
        return {"mean": model.predict(rows)}
    return {"mean": mean, "std": std}


def expected(model):
    """Rows, and what is said of them, as JSON has them; nan is a word there."""
    rows = rows_for(model)
    cells = [
        ["nan" if isinstance(cell, float) and np.isnan(cell) else cell for cell in row]
        for row in np.asarray(rows).tolist()
    ]
    outputs = {name: value.tolist() for name, value in said(model, rows).items()}
    return {"rows": cells, **outputs}


def rows_of(known, model):
    """The rows of what :func:`expected` returned, as a model takes them."""
    cells = [
        [float("nan") if cell == "nan" else cell for cell in row]
        for row in known["rows"]
    ]
    words = any(isinstance(cell, str) for row in cells for cell in row)
    if hasattr(model, "feature_names_in_"):
        return pd.DataFrame(cells, columns=model.feature_names_in_)
    return np.array(cells, dtype=object if words else np.float64)


def export(model, name, where):
    """Write a model in every language; Python as text, which no tool takes for ours."""
    output = "proba" if hasattr(model, "predict_proba") else "mean+std"
    to_python(model, where / f"{name}.py.txt", output=output)
    to_c(model, where / f"{name}.c", output=output, precision="float64")
    to_onnx(model, where / f"{name}.onnx", output=output)


def main():
    files, exports = folder("files"), folder("exports")
    for each in (files, exports):
        each.mkdir()  # and fails if it is there: files are written once
    known = {}
    for name, make in MODELS.items():
        model = make()
        relvec.save(model, files / f"{name}.json")
        known[name] = expected(model)
        if name in EXPORTED:
            export(model, name, exports)
    write_lines(files / "expected.json", known)


if __name__ == "__main__":
    main()
