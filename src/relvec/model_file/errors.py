"""The one way in which a model file is refused."""

_BEGINNING, _END = 600, 200  # characters that a longer text keeps


class ModelFileError(ValueError):
    """A file that is no model, or a model that no file can hold; the text says why."""

    def __init__(self, text: str = "") -> None:
        # What a file holds may be quoted, and a file may hold anything.
        if len(text) > _BEGINNING + _END:
            text = f"{text[:_BEGINNING]} … {text[-_END:]}"
        super().__init__(text)
