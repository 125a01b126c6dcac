"""What a fit says while it runs, to a log and to whoever else wants to know."""

import logging
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol

from relvec.evidence import Callback, EvidenceFit, Snapshot

logger = logging.getLogger("relvec")
logger.addHandler(logging.NullHandler())


class Monitor(Protocol):
    """Somebody who is told of every step of every search."""

    def search(
        self, model_of: Callable[[EvidenceFit], Any]
    ) -> AbstractContextManager[Callback | None]:
        """What to call after every step of a search; a true answer stops it.

        ``model_of`` makes a model of what the search has come to.
        """
        ...


class Silent:
    """Nobody."""

    def search(
        self, model_of: Callable[[EvidenceFit], Any]
    ) -> AbstractContextManager[None]:
        return nullcontext()


SILENT = Silent()


@dataclass(frozen=True)
class Logged:
    """A line now and then in the log, and all news passed on."""

    verbose: int
    inner: Monitor = SILENT

    @contextmanager
    def search(
        self, model_of: Callable[[EvidenceFit], Any]
    ) -> Iterator[Callback | None]:
        interval = max(1, 10 // self.verbose) if self.verbose else 0
        with self.inner.search(model_of) as told:

            def log(news: Snapshot) -> bool:
                if news.iteration % interval == 0 or news.iteration == 1:
                    line = "%5d> L = %.3f  Gamma = %.2f (nz = %d)  s = %.3f"
                    size = (news.gamma, news.n_vectors, news.noise_std)
                    logger.info(line, news.iteration, news.log_evidence, *size)
                return told is not None and bool(told(news))

            yield log if interval else told


@contextmanager
def heard(verbose: int) -> Iterator[None]:
    """Let the log be heard, on stderr unless logging is set up."""
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
