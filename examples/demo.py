"""Relevance vector machines beside support vector machines, on two small problems.

It prints two tables and draws two pictures, into
``demo-output`` or the folder given on the command line.
"""

import sys
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.svm import SVC, SVR

from relvec import RVC, RVR
from relvec.data import noisy_sinc, two_mixtures

INK, BLUE, RED, GREY = "#222222", "#2b6a99", "#c4572e", "#8a8a8a"
FOLDS = KFold(5, shuffle=True, random_state=0)
STYLE = {
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.titlelocation": "left",
    "legend.frameon": False,
    "savefig.dpi": 100,
}


def timed_fit(model, X, y):
    started = time.perf_counter()
    model.fit(X, y)
    return model, time.perf_counter() - started


def row(name, *cells):
    print(f"  {name:21}" + "".join(f"{cell:>10}" for cell in cells))


def circle(ax, points, label):
    """Rings around the relevance vectors."""
    style = {"s": 110, "facecolors": "none", "edgecolors": INK, "linewidths": 1.4}
    ax.scatter(*points.T, label=label, zorder=4, **style)


def regression(folder):
    X, y = noisy_sinc(100, noise=0.1)
    truth = np.sinc(X[:, 0] / np.pi)
    rvr, rvr_seconds = timed_fit(RVR(), X, y)
    grid = {"C": [1, 10, 100], "epsilon": [0.03, 0.1], "gamma": [0.03, 0.1, 0.3, 1]}
    search = GridSearchCV(SVR(), grid, cv=FOLDS)
    svr, svr_seconds = timed_fit(search, X, y)
    rvr_error, svr_error = (
        np.sqrt(np.mean((model.predict(X) - truth) ** 2)) for model in (rvr, svr)
    )
    print("Regression: sin(x)/x with noise of 0.1, 100 points\n")
    row("", "vectors", "RMSE", "noise", "seconds")
    found = len(rvr.relevance_), f"{rvr_error:.3f}", f"{rvr.noise_variance_**0.5:.3f}"
    row("RVR", *found, f"{rvr_seconds:.2f}")
    found = len(svr.best_estimator_.support_), f"{svr_error:.3f}", ""
    row("SVR and its search", *found, f"{svr_seconds:.2f}")

    line = np.linspace(-12, 12, 481)[:, None]
    mean, std = rvr.predict(line, return_std=True)
    fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    band = (line[:, 0], mean - 2 * std, mean + 2 * std)
    ax.fill_between(*band, color=BLUE, alpha=0.16, lw=0, label="±2 std, noise included")
    ax.plot(line, np.sinc(line / np.pi), "--", color=RED, lw=1.3, label="true function")
    ax.plot(line, mean, color=BLUE, lw=2, label="RVR")
    ax.plot(X, y, ".", color=GREY, ms=5, label="data")
    chosen = np.column_stack([X, y])[rvr.relevance_]
    circle(ax, chosen, f"{len(chosen)} relevance vectors")
    ax.set(xlabel="x", ylabel="y", xlim=(-12, 12), title="Noisy sinc")
    ax.legend(loc="upper left", fontsize=9)
    fig.savefig(folder / "regression.png")


def classification(folder):
    X, y = two_mixtures(250)
    X_test, y_test = two_mixtures(5000, seed=1)
    rvc, rvc_seconds = timed_fit(RVC(), X, y)
    grid = {"C": [0.1, 1, 10, 100], "gamma": [0.3, 1, 3, 10]}
    search = GridSearchCV(SVC(), grid, cv=FOLDS)
    svc, svc_seconds = timed_fit(search, X, y)
    rvc_error, svc_error = (1 - model.score(X_test, y_test) for model in (rvc, svc))
    loss = log_loss(y_test, rvc.predict_proba(X_test))
    print("\nClassification: two mixtures, 250 points; errors on 5000 others\n")
    row("", "vectors", "error", "log loss", "seconds")
    found = len(rvc.relevance_), f"{rvc_error:.1%}", f"{loss:.3f}"
    row("RVC", *found, f"{rvc_seconds:.2f}")
    found = len(svc.best_estimator_.support_), f"{svc_error:.1%}", ""
    row("SVC and its search", *found, f"{svc_seconds:.2f}")

    sides = np.linspace(-1.35, 1.05, 241), np.linspace(-0.3, 1.3, 201)
    plane = np.stack(np.meshgrid(*sides), axis=-1)
    odds = rvc.predict_proba(plane.reshape(-1, 2))[:, 1].reshape(plane.shape[:2])
    fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
    shades = LinearSegmentedColormap.from_list("", [BLUE, "#f7f7f7", RED])
    ax.pcolormesh(*sides, odds, cmap=shades, vmin=0, vmax=1, alpha=0.45)
    levels = {"levels": [0.25, 0.5, 0.75], "linestyles": [":", "-", ":"]}
    lines = ax.contour(*sides, odds, colors=INK, linewidths=1.1, **levels)
    ax.clabel(lines, fmt="%.2f", fontsize=8)
    for label, colour, marker in ((0, BLUE, "o"), (1, RED, "s")):
        ax.plot(*X[y == label].T, marker, c=colour, ms=3.5, label=f"class {label}")
    circle(ax, rvc.relevance_vectors_, f"{len(rvc.relevance_)} relevance vectors")
    ax.set(xlabel="$x_1$", ylabel="$x_2$", title="Probability of class 1")
    ax.legend(loc="lower right", bbox_to_anchor=(1, 0.99), fontsize=9, ncols=3)
    fig.savefig(folder / "classification.png")


if __name__ == "__main__":
    output = Path(sys.argv[1] if len(sys.argv) > 1 else "demo-output")
    output.mkdir(parents=True, exist_ok=True)
    plt.switch_backend("Agg")
    with plt.rc_context(STYLE):
        regression(output)
        classification(output)
    print(f"\nPictures: {output / 'regression.png'}, {output / 'classification.png'}")
