"""Error bars where there are data and where there are none, by four ways to make them.

Every table is split by chance, and along its first principal component: rows of the
lower 70 % are fitted, the others predicted. Beside the model's own bars ("plain") and
those of the library stand two others, written here in a few lines: RVM* of Rasmussen
and Quiñonero-Candela (2005), which lets a function at the row to predict join the
model, and what is left of the prior variance beside the pivots alone.
"""

import argparse
import sys
import time
import warnings
from copy import copy
from dataclasses import replace

import numpy as np
from learning_problems import load
from markdown import decimals, table
from scipy.stats import norm
from tables_data import standardised

from relvec import RVR

LOWER = 0.7  # of the first principal component, that is fitted
SHARE = 0.75  # of the rows, that is fitted if they are drawn
TABLES = ("boston", "abalone", "kin8nm", "ccpp")
HEADER = ["rows", "splits", "vectors", "plain", "augmented", "RVM*", "left over"]


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
    # Either end of the component is the lower one, by the seed.
    scaled = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-12)
    along = scaled @ np.linalg.svd(scaled, full_matrices=False)[2][0]
    order = np.argsort(along if seed % 2 else -along)
    cut = int(LOWER * len(X))
    # And another draw of nine tenths of the rows.
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


def judged(mean, variance, noise, y):
    """Negative log density per row, and coverage of 90 % intervals."""
    std = np.sqrt(variance + noise)
    z = (y - mean) / std
    loss = 0.5 * np.log(2 * np.pi * std**2) + 0.5 * z**2
    return float(np.mean(loss)), float(np.mean(np.abs(z) <= norm.ppf(0.95)))


def time_of(model, X, times=15):
    """Of predictions with their bars."""
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
    scores = [judged(mean, way(X), bars.noise, y) for way in ways]
    best = 0.5 * np.log(2 * np.pi * np.e * np.mean((y - mean) ** 2))
    many = np.resize(X, (2000, X.shape[1]))
    plain = copy(model)
    plain.model_ = bars.plain
    ratio = time_of(model, many) / time_of(plain, many)
    return len(model.relevance_), scores, best, ratio


def outcomes(names, seeds, settings):
    """A row of the table for each data set and kind of split."""
    for name in names:
        found = {}
        for seed in seeds:
            for kind, split in parts(name, seed):
                found.setdefault(kind, []).append(trial(split, settings))
                print(name, kind, seed, file=sys.stderr)
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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", nargs="*", default=["gap", *TABLES])
    parser.add_argument("--splits", type=int, default=20)
    parser.add_argument("--first", type=int, default=100, help="seed of the first")
    parser.add_argument("--gamma", default="learn")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(arguments.first, arguments.first + arguments.splits)
    header = [*HEADER, "best constant bar", "times as long"]
    print("Nats per row, means over splits; coverage of 90 % intervals in brackets.\n")
    print(table(header, outcomes(arguments.only, seeds, {"gamma": arguments.gamma})))


if __name__ == "__main__":
    main()
