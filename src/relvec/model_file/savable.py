"""The method by which an estimator saves itself."""

from importlib import import_module

from relvec.model_file.files import Path


class Savable:
    """What can be kept in a model file."""

    def save(self, path: Path) -> None:
        """Keep the fitted model in a file that :func:`relvec.load` reads.

        Parameters
        ----------
        path : str or path
            Where; a file that is there is replaced, at once and as a whole.
        """
        # As a user would: estimators and pipelines are put together in a room above.
        import_module("relvec").save(self, path)
