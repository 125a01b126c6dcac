"""The machine, the versions, and how many threads may be used."""

import os
import platform
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from threadpoolctl import threadpool_info, threadpool_limits

import relvec

PACKAGES = ("numpy", "scipy", "scikit-learn", "fastrvm")


@contextmanager
def limited_threads(threads):
    """At most so many threads in BLAS and OpenMP, on as many cores; None is no limit.

    The cores bind those threads too that a library starts by itself.
    """
    if threads is None:
        yield
        return
    pinned = hasattr(os, "sched_setaffinity")
    cores = os.sched_getaffinity(0) if pinned else set()
    with threadpool_limits(threads):
        try:
            if pinned:
                os.sched_setaffinity(0, sorted(cores)[:threads])
            yield
        finally:
            if pinned:
                os.sched_setaffinity(0, cores)


def cores_in_use():
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def processor():
    information = Path("/proc/cpuinfo")
    if information.exists():
        for line in information.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def versions():
    found = {"Python": platform.python_version(), "relvec": relvec.__version__}
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "absent"
    return found


def describe_machine():
    """Processor, cores, threads of each library, and versions."""
    libraries = {
        (library["internal_api"], library["num_threads"])
        for library in threadpool_info()
    }
    return {
        "processor": processor(),
        "system": platform.system(),
        "cores": cores_in_use(),
        "threads": [f"{name} {threads}" for name, threads in sorted(libraries)],
        "versions": versions(),
    }
