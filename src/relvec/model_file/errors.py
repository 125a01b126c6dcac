"""The one way in which a model file is refused."""


class ModelFileError(ValueError):
    """A file that is no model, or a model that no file can hold; the text says why."""
