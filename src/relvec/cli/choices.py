"""What a user chooses, by name; nothing here waits for what does the work."""

from dataclasses import dataclass

REGRESSION, CLASSIFICATION = "regression", "classification"
TASKS = (REGRESSION, CLASSIFICATION)
KERNELS = ("auto", "matern32", "matern52", "rbf", "linear")
MODELS = ("RVM", "LS-SVM", "SVM", "GP", "boosting")  # of compare
LANGUAGES = ("onnx", "c", "python")  # of export
EVERY_STEP = 10  # verbose: each step of a search is told, and not every tenth
DEMONSTRATIONS = ("diabetes", "wine")


@dataclass(frozen=True)
class Choices:
    """What a user chooses of a fit."""

    task: str | None = None
    kernel: str = "auto"
    drop: tuple[str, ...] = ()
    impute: bool = False
    most_categories: int = 50
    seed: int = 0
    holdout: float = 0.2
    max_seconds: float | None = None
    verbose: int = 0
