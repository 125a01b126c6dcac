"""Damaged model files, killed and starved saves: every one refused, every file whole.

python tools/corrupt_model_files.py [accidents] [kills]
python tools/corrupt_model_files.py 100000 200
"""

import errno
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
from pathlib import Path

import relvec
from relvec.model_file import write_whole
from relvec.persistence.files import of_file

FILES = Path(__file__).parents[1] / "tests" / "references" / "model_file_v1"


def accident(chance, texts):
    """A text that was flipped, cut, or spliced with another."""
    text = bytearray(chance.choice(texts))
    place = chance.randrange(len(text))
    way = chance.randrange(5)
    if way == 0:
        text[place] ^= 1 << chance.randrange(8)
    elif way == 1:
        for _ in range(chance.randrange(2, 100)):
            text[chance.randrange(len(text))] ^= 1 << chance.randrange(8)
    elif way == 2:
        del text[place:]
    elif way == 3:
        other = chance.choice(texts)
        text[place:] = other[chance.randrange(len(other)) :]
    else:
        start, length = chance.randrange(len(text)), chance.randrange(1, 200)
        text[place : place + length] = text[start : start + length]
    return bytes(text)


def refuse(count):
    """How long the longest took, and what memory grew by."""
    chance = random.Random(0)
    texts = [
        path.read_bytes() for path in FILES.glob("*.json") if path.stem != "expected"
    ]
    known, slowest, done = set(texts), 0.0, 0
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    reasons = {}
    while done < count:
        text = accident(chance, texts)
        if text in known:
            continue
        start = time.perf_counter()
        try:
            of_file(text)
        except relvec.ModelFileError as error:
            reasons[str(error)[:40]] = reasons.get(str(error)[:40], 0) + 1
        else:
            raise SystemExit(f"accident {done} was loaded")
        slowest, done = max(slowest, time.perf_counter() - start), done + 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "refused": done,
        "slowest_seconds": round(slowest, 4),
        "peak_MB": round(peak / 1e3, 1),
        "grown_by_MB": round((peak - before) / 1e3, 1),
        "reasons": reasons,
    }


def killed(count):
    """Saves that were ended by SIGKILL at any moment.

    Every other one only writes, a file of many pages, where there is most to spoil.
    """
    chance, left = random.Random(1), 0
    models = [relvec.load(FILES / f"{name}.json") for name in ("rvr", "pipeline")]
    seen = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        for number in range(count):
            relvec.save(models[0], path)
            contents = [path.read_bytes() + b" " * 4_000_000, b"x" * 3_000_000]
            child = os.fork()
            if child == 0:
                while True:
                    for model, content in zip(models, contents, strict=True):
                        if number % 2:
                            relvec.save(model, path)
                        else:
                            write_whole(path, content)
            time.sleep(chance.uniform(0, 0.05))
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            found = path.read_bytes()
            name = "large" if found in contents else type(relvec.load(path)).__name__
            seen[name] = seen.get(name, 0) + 1
        left = len(list(Path(folder).glob(".*.tmp")))
    return {"whole": sum(seen.values()), "found": seen, "temporary_files_left": left}


def starved():
    """Disks that fill up at every byte: by limits on the size of a file."""
    content, whole = (FILES / "rvr.json").read_bytes(), 0
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_bytes(content)
        for limit in [*range(0, len(content), 97), len(content) - 1]:
            unlimited = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, unlimited[1]))
            try:
                write_whole(path, content[::-1])
            except OSError as error:
                if error.errno not in {errno.EFBIG, errno.ENOSPC}:
                    raise
            else:
                raise SystemExit("more was written than there was room for")
            finally:
                resource.setrlimit(resource.RLIMIT_FSIZE, unlimited)
            if path.read_bytes() != content or os.listdir(folder) != ["model.json"]:
                raise SystemExit(f"a disk of {limit} bytes has cost the file")
            whole += 1
    return {"whole": whole}


def main():
    """Print what became of all accidents."""
    accidents, kills = (int(each) for each in (*sys.argv[1:], 100_000, 200)[:2])
    print(json.dumps({"accidents": refuse(accidents)}, indent=1))
    print(json.dumps({"full disks": starved()}, indent=1))
    print(json.dumps({"killed": killed(kills)}, indent=1))


if __name__ == "__main__":
    main()
