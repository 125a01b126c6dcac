"""Error bars and intervals: where there are no data, and what intervals cover.

Every table is split by chance. For bars where there are no data it is also split along
its first principal component: rows of the lower 70 % are fitted, the others predicted.
Beside the model's own bars ("plain") and those of the library stand two others, written
here in a few lines: RVM* of Rasmussen and Quiñonero-Candela (2005), which lets a
function at the row to predict join the model, and what is left of the prior variance
beside the pivots alone.
"""

import time
import warnings
from copy import copy
from dataclasses import replace

import numpy as np
from scipy.special import ndtri

from benchmarks.harness import COVERAGE, Benchmark, negative_log_density, say
from benchmarks.problems import load, standardised
from benchmarks.reports import decimals, show_table
from relvec import LSSVR, RVR

# Bars where there are no data


LOWER = 0.7  # of the first principal component, that is fitted
SHARE = 0.75  # of the rows, that is fitted if they are drawn
BARS_TABLES = ("boston", "abalone", "kin8nm", "ccpp")
BARS_HEADER = ["rows", "splits", "vectors", "plain", "augmented", "RVM*", "left over"]


def wave(x, rng):
    """Tipping's example, with noise."""
    return x[:, None], np.sinc(x / np.pi) + 0.1 * rng.standard_normal(len(x))


def gap(seed):
    """Rows on both sides of the peak, and rows at it."""
    rng = np.random.default_rng(seed)
    sides = np.concatenate([rng.uniform(-10, -3, 100), rng.uniform(3, 10, 100)])
    return wave(sides, rng), wave(rng.uniform(-3, 3, 100), rng)


def parts(name, seed):
    """Splits of a table by their names."""
    rng = np.random.default_rng(seed)
    if name == "gap":
        (X, y), (far, values) = gap(seed)
        order = rng.permutation(len(X))
        cut = int(SHARE * len(X))
        everything = np.vstack([X, far]), np.concatenate([y, values])
        beyond = np.arange(len(X), len(X) + len(far))
        yield "drawn", standardised(*everything, order[:cut], order[cut:])
        yield "shifted", standardised(*everything, np.arange(len(X)), beyond)
        return
    X, y = load(name)
    order = rng.permutation(len(X))
    cut = int(SHARE * len(X))
    yield "drawn", standardised(X, y, order[:cut], order[cut:])
    # The seed decides which end of the component is the lower one.
    scaled = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    along = scaled @ np.linalg.svd(scaled, full_matrices=False)[2][0]
    order = np.argsort(along if seed % 2 else -along)
    cut = int(LOWER * len(X))
    # Each seed fits another nine tenths of these rows.
    fitted = rng.choice(order[:cut], int(0.9 * cut), replace=False)
    yield "shifted", standardised(X, y, fitted, order[cut:])


class Bars:
    """Variances of latent values, by different ways."""

    def __init__(self, model, split):
        self.model, self.X = model.model_, split.X
        self.noise = model.noise_variance_
        self.plain = replace(self.model, surroundings=None)

    def augmented(self, X):
        return self.model.latent(X)[1][:, 0]

    def own(self, X):
        return self.plain.latent(X)[1][:, 0]

    def rvm_star(self, X):
        """v + e²/(1/a + s), as published, with all training rows."""
        basis, kernel = self.model.basis, self.model.basis.groups[0].kernel
        whitener, a = self.model.posterior.whitener[0], self._amplitude
        rows, functions = basis(self.X), basis(X)
        k = kernel(self.X, X)
        pulled = whitener @ (rows.T @ k) / self.noise
        e = kernel.diagonal(X) - np.einsum("ni,in->n", functions @ whitener.T, pulled)
        s = np.sum(k * k, axis=0) / self.noise - np.sum(pulled**2, axis=0)
        return self.own(X) + e**2 / (1 / a + s)

    def left_over(self, X):
        """v + a(k(x, x) − what pivots describe of it)."""
        found = self.model.surroundings
        turned, prior = found.turned(X, self.model.basis(X))
        left = prior * found.left_without_noise(turned)
        return self.own(X) + self._amplitude * left

    @property
    def _amplitude(self):
        return float(self.model.surroundings.amplitude[0])


def loss_and_coverage(mean, variance, noise, y):
    """Negative log density per row, and coverage of 90 % intervals."""
    std = np.sqrt(variance + noise)
    within = np.abs(y - mean) <= ndtri(0.5 + COVERAGE / 2) * std
    return np.mean(negative_log_density(y, mean, std)), np.mean(within)


def time_of(model, X, times=15):
    """Median seconds of predictions with their bars."""
    laps = []
    for _ in range(times):
        started = time.process_time()
        model.predict(X, return_std=True)
        laps.append(time.process_time() - started)
    return float(np.median(laps))


def trial(split, settings):
    """Losses and coverages of all ways; the constant bar of least loss; times."""
    model = RVR(**settings).fit(split.X, split.y)
    bars, X, y = Bars(model, split), split.X_test, split.y_test
    mean = model.predict(X)
    ways = (bars.own, bars.augmented, bars.rvm_star, bars.left_over)
    scores = [loss_and_coverage(mean, way(X), bars.noise, y) for way in ways]
    best = 0.5 * np.log(2 * np.pi * np.e * np.mean((y - mean) ** 2))
    many = np.resize(X, (2000, X.shape[1]))
    plain = copy(model)
    plain.model_ = bars.plain
    ratio = time_of(model, many) / time_of(plain, many)
    return len(model.relevance_), scores, best, ratio


def bars_outcomes(names, seeds, settings):
    """A row of the table for each data set and kind of split."""
    for name in names:
        found = {}
        for seed in seeds:
            for kind, split in parts(name, seed):
                found.setdefault(kind, []).append(trial(split, settings))
                say(f"{name} {kind} {seed}")
        for kind, trials in found.items():
            vectors, scores, best, ratio = zip(*trials, strict=True)
            means = np.mean(np.array(scores), axis=0)
            cells = [f"{loss:.3f} ({cover:.1%})" for loss, cover in means]
            yield [
                f"{name}, {kind}",
                len(trials),
                f"{np.mean(vectors):.0f}",
                *cells,
                decimals(float(np.mean(best))),
                f"{np.median(ratio):.2f}",
            ]


# What intervals cover

COVERAGE_TABLES = ("boston", "abalone", "ccpp", "kin8nm")
MODELS = {
    "RVR, plain": RVR(uncertainty="plain"),
    "RVR, augmented": RVR(uncertainty="augmented"),
    "LSSVR": LSSVR(method="cholesky", rank=500, tune="loo"),
}
COVERAGE_HEADER = ["rows", "model", "splits", "own", "width", "loo", "width"]


def split_of(name, seed):
    X, y = load(name)
    order = np.random.default_rng(seed).permutation(len(X))
    cut = int(SHARE * len(X))
    return standardised(X, y, order[:cut], order[cut:])


def shares_within(model, split, coverage):
    """Share of the targets within, and median width, of both kinds of intervals."""
    for calibration in (None, "loo"):
        lower, upper = model.predict_interval(split.X_test, coverage, calibration)
        inside = (lower <= split.y_test) & (split.y_test <= upper)
        yield np.mean(inside), np.median(upper - lower) / split.y_test.std()


def coverage_outcomes(options):
    """A row of the table for each data set and model."""
    for name in options.only:
        for title in options.models:
            found = []
            for seed in range(options.first, options.first + options.splits):
                split = split_of(name, seed)
                model = MODELS[title].fit(split.X, split.y)
                found.append(list(shares_within(model, split, options.coverage)))
                say(f"{name} {title} {seed} {found[-1]}")
            (own, wide), (loo, wide_loo) = np.mean(found, axis=0)
            spread = np.std(found, axis=0)[:, 0]
            cells = f"{own:.1%} ± {spread[0]:.1%}", f"{loo:.1%} ± {spread[1]:.1%}"
            widths = f"{wide:.2f}", f"{wide_loo:.2f}"
            yield [name, title, len(found), cells[0], widths[0], cells[1], widths[1]]


def run_bars(options):
    seeds = range(options.first, options.first + options.splits)
    header = [*BARS_HEADER, "best constant bar", "times as long"]
    print("Nats per row, means over splits; coverage of 90 % intervals in brackets.\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = list(bars_outcomes(options.only, seeds, {"gamma": options.gamma}))
    show_table("Error bars where there are no data", header, rows)


def run_coverage(options):
    print("Means over splits, ± a standard deviation of one.\n")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = list(coverage_outcomes(options))
    show_table("Coverage of intervals", COVERAGE_HEADER, rows)


def bars_options(parser):
    add = parser.add_argument
    add("--only", nargs="*", default=["gap", *BARS_TABLES], help="problems")
    add("--splits", type=int, default=20, help="of each")
    add("--first", type=int, default=100, help="seed of the first")
    add("--gamma", default="learn", help="of the Gaussian kernel")


def coverage_options(parser):
    add = parser.add_argument
    add("--only", nargs="*", default=COVERAGE_TABLES, help="tables")
    add("--models", nargs="*", default=list(MODELS), help="by name")
    add("--splits", type=int, default=20, help="of each")
    add("--first", type=int, default=200, help="seed of the first")
    add("--coverage", type=float, default=0.9, help="of intervals")


BENCHMARKS = {
    "error_bars": Benchmark(
        "bars where there are data and where there are none, made in four ways",
        run_bars,
        bars_options,
    ),
    "coverage": Benchmark(
        "what intervals cover, with and without calibration by rows left out",
        run_coverage,
        coverage_options,
    ),
}
