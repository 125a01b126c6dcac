"""Intervals of a table like those of house sales: many columns of text, few that count.

About 2 900 rows, 28 columns of numbers and 45 of text with 2 to 28 values each. The
price is a smooth function of seven numbers and five texts, with 12 % of noise.
"""

import numpy as np
import pandas as pd
import pytest

from cli.sessions import run

N_ROWS, N_NUMBERS, N_TEXTS = 2900, 28, 45
WITHIN_90 = 1.645  # standard deviations


def houses(seed=0):
    rng = np.random.default_rng([38, seed])
    mixing = np.eye(N_NUMBERS) + 0.6 * rng.standard_normal((N_NUMBERS, N_NUMBERS)) / 5
    numbers = rng.standard_normal((N_ROWS, N_NUMBERS)) @ mixing
    for column in range(N_NUMBERS):
        values = numbers[:, column]
        if column % 4 == 1:  # skewed, as areas are
            values = np.exp(0.5 * values)
        elif column % 4 == 2:  # whole numbers, as grades are
            values = np.round(2 * values)
        if column % 7 == 3:  # mostly none, as pools are
            values = np.where(rng.random(N_ROWS) < 0.6, 0.0, np.abs(values))
        numbers[:, column] = values
    z = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    log_price = (
        12
        + 0.25 * z[:, 0]
        + 0.12 * np.tanh(z[:, 1])
        + 0.1 * z[:, 2]
        + 0.08 * np.sin(z[:, 5])
        + 0.05 * z[:, 9]
        - 0.02 * z[:, 11] ** 2
        + 0.03 * z[:, 0] * z[:, 20]
    )
    texts = {}
    for column in range(N_TEXTS):
        size = int(np.round(np.exp(rng.uniform(np.log(2), np.log(28)))))
        share = 0.98 * rng.dirichlet(np.full(size, 0.5)) + 0.02 / size
        codes = rng.choice(size, N_ROWS, p=share / share.sum())
        texts[f"text{column}"] = [f"v{code}" for code in codes]
        if column % 9 == 0:
            log_price += 0.1 * rng.standard_normal(size)[codes]
    table = pd.DataFrame(numbers, columns=[f"number{k}" for k in range(N_NUMBERS)])
    table = pd.concat([table, pd.DataFrame(texts)], axis=1)
    price = np.exp(log_price) * (1 + 0.12 * rng.standard_normal(N_ROWS))
    return table.assign(price=price.round())


@pytest.mark.coverage
def test_intervals_of_a_wide_table_hold_over_five_folds(tmp_path):
    table = houses()
    fold = np.random.default_rng(38).permutation(N_ROWS) % 5
    known, new = tmp_path / "known.csv", tmp_path / "new.csv"
    model, out = tmp_path / "model.json", tmp_path / "out.csv"
    within = []
    for number in range(5):
        table[fold != number].to_csv(known, index=False)
        table[fold == number].to_csv(new, index=False)
        fit = run(f"fit {known} --target price --holdout 0 --output {model}")
        assert fit.exit_code == 0, fit.output
        done = run(f"predict {model} {new} --output {out}")
        assert done.exit_code == 0, done.output
        found = pd.read_csv(out)
        apart = np.abs(found["price"] - found["mean"]) / found["std"]
        within.append(np.mean(apart < WITHIN_90))

    assert 0.85 <= np.mean(within) <= 0.95, within
