"""A file is whole at any moment, and what cannot be kept is not written."""

import errno
import os
import stat
import subprocess
import sys

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import relvec
from model_file.instances import fitted, regression
from relvec import LSSVR, RVR, ModelFileError
from relvec.kernels import CallableKernel, Gaussian
from relvec.model_file import document, write_whole


def own_kernel(X, Z):
    return rbf_kernel(X, Z)


@pytest.mark.parametrize(
    "kernel",
    [own_kernel, CallableKernel(own_kernel), Gaussian() + CallableKernel(own_kernel)],
)
def test_functions_are_refused_with_the_remedy(kernel, tmp_path):
    model = RVR(kernel).fit(*regression())
    with pytest.raises(ModelFileError, match=r"relvec\.kernels.*joblib.*skops"):
        model.save(tmp_path / "model")
    assert list(tmp_path.iterdir()) == []


def test_kernels_of_objects_are_refused(tmp_path):
    def likeness(X, Z):
        return np.array([[float(x == z) for z in Z] for x in X])

    model = RVR(likeness).fit(["a", "b", "c", "a", "b"], [0.0, 1.0, 2.0, 0.1, 1.1])
    with pytest.raises(ModelFileError, match="function"):
        model.save(tmp_path / "model")


@pytest.mark.parametrize("step", [PCA(1), OneHotEncoder(max_categories=1)])
def test_other_transformers_are_refused_with_the_remedy(step, tmp_path):
    X, y = regression()
    if isinstance(step, OneHotEncoder):
        X, step = np.sign(X), step.set_params(sparse_output=False)
    pipeline = make_pipeline(step, LSSVR()).fit(X, y)
    with pytest.raises(ModelFileError, match="joblib"):
        relvec.save(pipeline, tmp_path / "model")


def test_data_frames_between_steps_are_refused(tmp_path):
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, RVR(gamma=0.5)).fit(*regression())
    with pytest.raises(ModelFileError, match="set_output"):
        relvec.save(pipeline, tmp_path / "model")


def test_other_estimators_are_refused(tmp_path):
    class Derived(RVR):
        pass

    with pytest.raises(ModelFileError, match="Ridge"):
        relvec.save(Ridge().fit(*regression()), tmp_path / "model")
    with pytest.raises(ModelFileError, match="Derived"):
        relvec.save(Derived(gamma=0.5).fit(*regression()), tmp_path / "model")
    with pytest.raises(NotFittedError):
        relvec.save(RVR(), tmp_path / "model")


@pytest.mark.parametrize(
    "chance", [np.random.RandomState(0), np.random.default_rng(0), 3]
)
def test_of_a_generator_nothing_is_kept(chance, tmp_path):
    seeded = 0 if not isinstance(chance, int) else chance
    model = RVR(gamma=0.5, random_state=seeded).fit(*regression())
    model.set_params(random_state=chance).save(tmp_path / "model")
    again = relvec.load(tmp_path / "model")

    assert again.random_state == (chance if isinstance(chance, int) else None)


def test_permissions_and_links_stay(tmp_path):
    model, path = fitted("rvr"), tmp_path / "model"
    model.save(path)
    mask = os.umask(0o027)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask

    path.chmod(0o600)
    link = tmp_path / "link"
    link.symlink_to(path)
    model.save(link)
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("failing", ["write", "fsync", "replace", "chmod"])
def test_a_full_disk_leaves_the_old_file(failing, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    if failing == "write":
        monkeypatch.setattr(document, "open", Full, raising=False)
    else:
        monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space"):
        write_whole(path, b"new")

    monkeypatch.undo()
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["model"]


class Full:
    """A file on a disk that takes two bytes."""

    def __init__(self, path, mode):
        self.file = open(path, mode)  # noqa: SIM115

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.file.close()

    def write(self, content):
        self.file.write(content[:2])
        self.file.flush()
        raise OSError(errno.ENOSPC, "No space left on device")


KILLING = """
import os, random, signal, sys, time
from relvec.model_file import write_whole

path, size, chance = sys.argv[1], 2_000_000, random.Random(0)
write_whole(path, b"0" * size)
for number in range(20):
    child = os.fork()
    if child == 0:
        while True:
            for letter in (b"a", b"b"):
                write_whole(path, letter * size)
    time.sleep(chance.uniform(0, 0.03))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    content = open(path, "rb").read()
    assert len(content) == size and content == content[:1] * size, number
print("whole")
"""


def test_a_process_that_is_killed_leaves_a_whole_file(tmp_path):
    command = [sys.executable, "-W", "ignore", "-c", KILLING, str(tmp_path / "model")]
    found = subprocess.run(command, capture_output=True, text=True, check=False)

    assert found.stdout.strip() == "whole", found.stderr


def test_special_files_are_not_replaced(tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link"
    os.mkfifo(pipe)
    link.symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(OSError, match="special file"):
            write_whole(path, b"new")
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    with pytest.raises(OSError, match="special file"):
        write_whole(os.devnull, b"new")
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path, b"new")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link", "pipe"]


def test_names_of_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    long = "ö" * 120 + "n" * 10 + ".json"
    for name in (b"bytes", long, "n" * 255):
        write_whole(name, b"new")
    assert {each.name for each in tmp_path.iterdir()} == {"bytes", long, "n" * 255}
    for name in ("new" + os.sep, "", "."):
        with pytest.raises(IsADirectoryError):
            write_whole(name, b"new")
    with pytest.raises(FileNotFoundError, match=r"'no/such/file'$"):
        write_whole("no/such/file", b"new")
    assert relvec.load(_saved(os.fsencode("model"))).n_iter_ > 0


def _saved(path):
    fitted("rvr").save(path)
    return path


def test_read_only_files_are_replaced_and_hard_links_parted(tmp_path):
    path, other = tmp_path / "model", tmp_path / "other"
    path.write_bytes(b"old")
    path.chmod(0o400)
    os.link(path, other)
    write_whole(path, b"new")

    assert (path.read_bytes(), other.read_bytes()) == (b"new", b"old")
    assert stat.S_IMODE(path.stat().st_mode) == 0o400


def test_pipelines_that_are_not_fitted_are_refused(tmp_path):
    model, path = fitted("rvr"), tmp_path / "model"
    inner = make_pipeline(StandardScaler())
    for steps in ([StandardScaler(), model], [inner, model], [StandardScaler(), RVR()]):
        with pytest.raises(NotFittedError):
            relvec.save(make_pipeline(*steps), path)
    with pytest.raises(ModelFileError, match="no steps"):
        relvec.save(Pipeline([]), path)
    with pytest.raises(ModelFileError, match="no steps"):
        relvec.save(make_pipeline(Pipeline([]), model), path)
    assert not path.exists()
