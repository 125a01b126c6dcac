"""What a fit says while it runs, through the logger "relvec"."""

import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from relvec.estimators.callbacks import Steps
from relvec.evidence import Callback, Snapshot

logger = logging.getLogger("relvec")
logger.addHandler(logging.NullHandler())


@contextmanager
def progress(verbose: int, steps: Steps | None = None) -> Iterator[Callback | None]:
    """A callback that logs a line now and then, on stderr unless logging is set up.

    It passes all news on to ``steps``.
    """
    try:
        if verbose:
            with _logged(verbose, steps) as callback:
                yield callback
        else:
            yield steps
    finally:
        if steps is not None:
            steps.close()


@contextmanager
def _logged(verbose: int, steps: Steps | None) -> Iterator[Callback]:
    interval = max(1, 10 // verbose)

    def log(news: Snapshot) -> bool:
        if news.iteration % interval == 0 or news.iteration == 1:
            line = "%5d> L = %.3f  Gamma = %.2f (nz = %d)  s = %.3f"
            values = (news.log_evidence, news.gamma, news.n_vectors, news.noise_std)
            logger.info(line, news.iteration, *values)
        return steps is not None and steps(news)

    handler = logging.StreamHandler(sys.stderr)
    heard = logging.getLogger().handlers or len(logger.handlers) > 1
    level, unheard = logger.level, not heard
    try:
        logger.setLevel(logging.INFO)
        if unheard:
            logger.addHandler(handler)
        yield log
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
