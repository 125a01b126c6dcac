"""A kernel for each of several binary models."""

from typing import Any

from relvec.estimators.coupling import ONE_AGAINST


def check_by_class(kernel: Any, multi_class: Any) -> None:
    """Refuse a dict where there is one model only, or no kernel in it."""
    if not isinstance(kernel, dict):
        return
    if multi_class not in ONE_AGAINST:
        msg = (
            "kernel is a dict, a kernel for each of several classifiers, and "
            f"multi_class={multi_class!r} makes one model of all classes: give one "
            "kernel or a list of kernels, or set multi_class to 'ovr' or 'ovo'"
        )
        raise ValueError(msg)
    if not kernel:
        msg = "kernel={} is empty: give a kernel for each classifier"
        raise ValueError(msg)


def check_keys(kernel: Any, keys: list[Any]) -> None:
    """Refuse a dict that lacks a classifier, or has one that there is not."""
    if not isinstance(kernel, dict):
        return
    wrong = {
        "has no kernel for": [key for key in keys if key not in kernel],
        "has the unknown": [key for key in kernel if key not in keys],
    }
    found = [f"{what} {names}" for what, names in wrong.items() if names]
    if found:
        msg = (
            f"kernel, a dict, {' and '.join(found)}: its keys must be {keys}, classes "
            "for multi_class='ovr' (of two classes the second), pairs of them in the "
            "order of classes_ for 'ovo'"
        )
        raise ValueError(msg)


def by_classifier(kernel: Any, keys: list[Any]) -> list[Any]:
    """The kernel, or list of kernels, of every classifier."""
    if not isinstance(kernel, dict):
        return [kernel] * len(keys)
    return [kernel[key] for key in keys]


def listed(kernel: Any) -> Any:
    """All kernels of a dict in one list; anything else as it is."""
    if not isinstance(kernel, dict):
        return kernel
    return [one for entry in kernel.values() for one in as_list(entry)]


def as_list(kernel: Any) -> list[Any]:
    """Of a kernel or several."""
    return list(kernel) if isinstance(kernel, list | tuple) else [kernel]
