"""What is raised where a model cannot be exported."""


class ExportError(ValueError):
    """A model has no form in the language asked for; the message says why."""
