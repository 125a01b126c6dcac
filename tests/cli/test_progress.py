"""What whoever waits gets to see."""

import time
from types import SimpleNamespace

import pytest

from cli.sessions import run
from relvec.cli.output import Output, SearchProgress, TimeLeft, clock_time, time_left


def test_time_left_is_that_of_all_kinds_of_work():
    """Each as long as before, as often as is left of it."""
    assert time_left([[1.0, 3.0], [10.0]], rounds=3) == 2.0 + 20.0
    assert time_left([[1.0], [2.0]], rounds=1) == 0.0


def test_nothing_is_said_before_all_kinds_are_known():
    assert time_left([[1.0, 3.0], []], rounds=3) is None


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.4, "0:00"), (59.6, "1:00"), (61, "1:01"), (3600, "1:00:00"), (7384, "2:03:04")],
)
def test_seconds_as_a_clock_has_them(seconds, words):
    assert clock_time(seconds) == words


@pytest.mark.parametrize(
    ("seconds", "shown"), [(None, ""), (-5, ""), (100, "about 1:40 left")]
)
def test_an_estimate_that_is_over_is_not_shown(seconds, shown):
    until = None if seconds is None else time.monotonic() + seconds

    text = TimeLeft().render(SimpleNamespace(fields={"until": until}))

    assert str(text) == shown


def test_a_limit_is_not_an_estimate():
    fields = {"until": time.monotonic() + 100, "known": False}

    assert str(TimeLeft().render(SimpleNamespace(fields=fields))) == "at most 1:40 left"


def test_the_log_of_a_fit_in_plain_words():
    told = SearchProgress()

    lines = [
        told.line(text)
        for text in (
            "design: columns of 8,000 rows × 8,001 functions, 512 MB",
            "   20> L = -203224.161  Gamma = 202.64 (nz = 242)  s = 51712.781",
            "length scale [1.783, 1.667]: auto 24.5855",
            "output 2 of 3",
        )
    ]

    assert lines == [
        "8,000 rows, selecting vectors",
        "8,000 rows, step 20, 242 vectors, log evidence -203,224",
        "8,000 rows, learning length scales, 1 kernel tried",
        "output 2 of 3",
    ]


@pytest.mark.parametrize(
    ("words", "shown"),
    [
        ("fit numbers.csv --target price -o m.json --refit", "Fitting all rows"),
        ("compare numbers.csv --target price --folds 2 --models SVM", "1 of 2"),
    ],
)
def test_progress_is_on_stderr_and_for_a_terminal_alone(
    folder, monkeypatch, words, shown
):
    assert run(words).stderr == ""

    monkeypatch.setattr(Output, "lively", True)
    done = run(words)

    assert shown in done.stderr
    assert shown not in done.stdout
