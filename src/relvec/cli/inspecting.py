"""What ``relvec inspect`` shows: what a model file holds."""

from pathlib import Path
from typing import Any

import numpy as np

from relvec.cli.models import Model, loaded
from relvec.model_file import read_limited, unpacked


def held(model: Path) -> dict[str, Any]:
    """A document about a model file."""
    found = loaded(model)
    content = unpacked(read_limited(model))
    summary = content["summary"]
    return {
        "model": str(model),
        "bytes": model.stat().st_size,
        "steps": [type(step).__name__ for step in found.steps],
        **found.facts(),
        **_meaning(summary),
        "rounds": summary["n_iter"],
        "seconds": summary["seconds"],
        "classes": [str(label) for label in found.labels] or None,
        "completes_missing_values": found.imputes,
        "written_by": content["written_by"],
        "columns": _columns(found),
        "features": _features(found),
    }


def _meaning(summary: dict[str, Any]) -> dict[str, str]:
    """What the status means, where its name does not say it all."""
    meaning = str(summary["meaning"])
    return {} if meaning == "converged" else {"meaning": meaning}


def _columns(model: Model) -> list[dict[str, Any]]:
    """What a table must have."""
    texts = model.categories()
    return [
        {
            "name": name,
            "holds": "text" if name in texts else "numbers",
            "values": sorted(map(str, texts[name])) if name in texts else None,
        }
        for name in model.names or []
    ]


def _features(model: Model) -> list[dict[str, Any]]:
    """What the kernel sees, and what it has learned of it."""
    last, number = model.estimator, model.estimator.n_features_in_
    unknown = np.full(number, np.nan)
    relevance = getattr(last, "feature_relevance_", unknown)
    kernel = getattr(last, "kernel_", None)
    scales = np.atleast_1d(getattr(kernel, "length_scale", unknown))
    scales = np.broadcast_to(scales, unknown.shape)
    rows = zip(model.feature_names(), relevance, scales, strict=True)
    return [
        {"feature": name, "relevance": float(share), "length_scale": float(scale)}
        for name, share, scale in rows
    ]
