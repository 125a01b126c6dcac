"""Progress of a fit: a log, and callbacks of the user."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

from relvec.evidence import Callback, EvidenceFit, Snapshot

logger = logging.getLogger("relvec")
logger.addHandler(logging.NullHandler())

# Opens the monitoring of a search. It receives a function that makes a model of the
# present state, and yields a callback for every step; a true answer stops the search.
Monitor = Callable[
    [Callable[[EvidenceFit], Any]], AbstractContextManager[Callback | None]
]


def silent(model_of: Callable[[EvidenceFit], Any]) -> AbstractContextManager[None]:
    """Report nothing."""
    return nullcontext()


def logged(verbose: int, inner: Monitor = silent) -> Monitor:
    """Log a line now and then, and pass every step on."""
    if not verbose:
        return inner
    interval = max(1, 10 // verbose)

    @contextmanager
    def watching(model_of: Callable[[EvidenceFit], Any]) -> Iterator[Callback]:
        with inner(model_of) as told:

            def log(news: Snapshot) -> bool:
                if news.iteration % interval == 0 or news.iteration == 1:
                    line = "%5d> L = %.3f  Gamma = %.2f (nz = %d)  s = %.3f"
                    size = (news.gamma, news.n_vectors, news.noise_std)
                    logger.info(line, news.iteration, news.log_evidence, *size)
                return told is not None and bool(told(news))

            yield log

    return watching


@contextmanager
def log_to_stderr(verbose: int) -> Iterator[None]:
    """Show the log on stderr while a fit runs, unless logging is set up."""
    if not verbose:
        yield
        return
    handler = logging.StreamHandler(sys.stderr)
    unheard = not (logging.getLogger().handlers or len(logger.handlers) > 1)
    level = logger.level
    try:
        logger.setLevel(logging.INFO)
        if unheard:
            logger.addHandler(handler)
        yield
    finally:
        logger.setLevel(level)
        logger.removeHandler(handler)
