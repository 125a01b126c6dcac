"""What is asked of a fitted model, on the rows to test of a split."""

import numpy as np
from scipy.special import ndtri
from sklearn.metrics import log_loss

COVERED = 0.9  # of the rows, by intervals that are right


def by_search(model, _split=None):
    """Rounds of relvec and how they ended; nothing of others."""
    if not hasattr(model, "status_"):
        return {}
    return {"rounds": int(model.n_iter_), "status": model.status_.name}


def by_intervals(model, split):
    """RMSE, and of relvec the negative log density and the coverage of intervals."""
    if not hasattr(model, "status_"):
        return {"error": split.rmse(model)}
    mean, std = model.predict(split.X_test, return_std=True)
    distance = (split.y_test - mean) / std
    density = 0.5 * distance**2 + np.log(std) + 0.5 * np.log(2 * np.pi)
    within = np.abs(distance) <= ndtri(0.5 + COVERED / 2)
    return {
        "error": float(np.sqrt(np.mean((split.y_test - mean) ** 2))),
        "log_loss": float(np.mean(density)),
        "coverage": float(np.mean(within)),
        **by_search(model),
    }


def by_classes(model, split):
    """Error rate, and the log loss of those that have probabilities."""
    if not hasattr(model, "predict_proba"):
        wrong = model.predict(split.X_test) != split.y_test
        return {"error": float(np.mean(wrong)), **by_search(model)}
    p = model.predict_proba(split.X_test)
    wrong = model.classes_[p.argmax(axis=1)] != split.y_test
    loss = log_loss(split.y_test, p, labels=model.classes_)
    return {
        "error": float(np.mean(wrong)),
        "log_loss": float(loss),
        **by_search(model),
    }
