"""Files that look fine to whoever wrote them: what is wrong is said, and the remedy."""

import gzip
import os

import numpy as np
import pandas as pd
import pytest

from cli.sessions import N_ROWS, check_refused, document, numbers, run

FIT = "fit {} --target price --output m.json"
PREDICT = "predict numbers.json {} --output p.csv"


def text(table=None, **columns):
    found = numbers() if table is None else table
    return found.assign(**columns).to_csv(index=False)


def semicolons():
    head, *rows = text().splitlines()
    return "\n".join([head, *(row.replace(",", ";") for row in rows)])


def with_nul(name, cell="fine"):
    """In the third row of a column."""
    cells = [cell] * N_ROWS
    cells[2] += "\0"
    return text(**{name: cells})


DAMAGED = bytearray(gzip.compress(text().encode()))
DAMAGED[20:28] = 8 * b"\xff"
DAMAGED = bytes(DAMAGED)
DATES = pd.date_range("2020-01-01", periods=N_ROWS)
MONEY = [f"${1 + row}.50" for row in range(N_ROWS)]
THOUSANDS = [f"{1000 + row:,}" for row in range(N_ROWS)]
# What is in a file, its name, the command, and the beginning of a remedy.
FILES = {
    "semicolons": (text().replace(",", ";"), "t.csv", FIT, "commas between cells"),
    "tabs": (text().replace(",", "\t"), "t.csv", PREDICT, "separated by tabs"),
    "semicolons below a header": (semicolons(), "t.csv", FIT, "instead of semicolons"),
    "packed": (gzip.compress(text().encode()), "t.csv", FIT, "end in .csv.gz"),
    "not packed": (text(), "t.csv.gz", PREDICT, "end in .csv"),
    "half of a packed file": (
        gzip.compress(text().encode())[:99],
        "t.csv.gz",
        FIT,
        "correct it, or write it again",
    ),
    "a packed file with other bytes in it": (
        DAMAGED,
        "t.csv.gz",
        FIT,
        "t.csv.gz cannot be read",
    ),
    "a packed file to predict, with other bytes in it": (
        DAMAGED,
        "t.csv.gz",
        PREDICT,
        "t.csv.gz cannot be read",
    ),
    "a packed file in blocks, with other bytes in it": (
        DAMAGED,
        "t.csv.gz",
        f"{FIT} --stream",
        "t.csv.gz cannot be read",
    ),
    "packed in another way": (
        b"\x1f\x8b\x07" + DAMAGED[3:],
        "t.csv.gz",
        FIT,
        "t.csv.gz cannot be read",
    ),
    "NUL bytes": (with_nul("z"), "t.csv", FIT, "NUL byte in row 3 of column 'z'"),
    "NUL bytes to predict": (
        with_nul("z"),
        "t.csv",
        PREDICT,
        "NUL byte in row 3 of column 'z'",
    ),
    "NUL bytes in a column to keep": (
        with_nul("note"),
        "t.csv",
        PREDICT,
        "NUL byte in row 3 of column 'note'",
    ),
    "NUL bytes in a name": (
        text().replace("z", "z\0", 1),
        "t.csv",
        PREDICT,
        "NUL byte in the names of its columns",
    ),
    "NUL bytes in blocks": (
        with_nul("price", "cheap"),
        "t.csv",
        f"{FIT} --stream",
        "row 3 (the header not counted), column 'price': it has a NUL byte",
    ),
    "a long name": (text().replace("z", "z" * 200_000, 1), "t.csv", FIT, "field limit"),
    "a long label": (
        text(price=["cheap", "c" * 1_000_000] * (N_ROWS // 2)),
        "t.csv",
        FIT,
        "has a text of 1,000,000 letters in rows 2, 4, ",
    ),
    "a long cell": (
        text(z=[*range(1, N_ROWS), "7" * 1_000_000]),
        "t.csv",
        FIT,
        "7' in row 80 where a number should be: correct it",
    ),
    "a long cell to predict": (
        text(z=[*range(1, N_ROWS), "x" * 1_000_000]),
        "t.csv",
        PREDICT,
        "x' in row 80 where a number should be: correct it",
    ),
    "a long cell in blocks": (
        text(z=["7" * 5_000_000, *range(1, N_ROWS)]),
        "t.csv",
        f"{FIT} --stream",
        "line 2: field larger than field limit",
    ),
    "UTF-16": (text().encode("utf-16"), "t.csv", FIT, "save it as UTF-8"),
    "Latin 1": (text(z="Zürich").encode("latin1"), "t.csv", PREDICT, "iconv"),
    "Latin 1 in names": (
        text().replace("z", "größe", 1).encode("latin1"),
        "t.csv",
        FIT,
        "byte 0xf6",
    ),
    "a spreadsheet": (b"PK\x03\x04...", "t.csv", FIT, "save the table as CSV"),
    "no Parquet": (text(), "t.parquet", PREDICT, "correct it, or write it again"),
    "no Arrow": (text(), "t.arrow", PREDICT, "correct it, or write it again"),
    "blank lines": ("\n\n\n", "t.csv", FIT, "write names of columns"),
    "no header": (text().partition("\n")[2], "t.csv", FIT, "in its first line"),
    "a quote without its end": (
        text().replace("\n", '\n"', 1),
        "t.csv",
        PREDICT,
        "correct it, or write it again",
    ),
    "no rows to predict": ("width,depth,z\n", "t.csv", PREDICT, "write rows to it"),
    "dates": (text(z=DATES.astype(str)), "t.csv", FIT, "make numbers of dates"),
    "money": (text(price=MONEY), "t.csv", FIT, "without signs of money"),
    "percent": (text(z=[f"{n}%" for n in range(N_ROWS)]), "t.csv", FIT, "without %"),
    "thousands": (text(z=THOUSANDS), "t.csv", FIT, "'1,000': write numbers without"),
    "thousands to predict": (
        text(price=THOUSANDS),
        "t.csv",
        FIT,
        "write numbers without commas",
    ),
    "decimal commas": (
        text(z=[f"{n},5" for n in range(N_ROWS)]),
        "t.csv",
        PREDICT,
        "with decimal points",
    ),
    "a constant target": (text(price=5.0), "t.csv", FIT, "is 5.0 in every row"),
    "a thousand classes": (
        text(
            pd.DataFrame({"x": range(3000)}),
            price=[f"c{n % 1000}" for n in range(3000)],
        ),
        "t.csv",
        FIT,
        "choose another column",
    ),
    "overflow": (text(z=1e200), "t.csv", FIT, "change its unit"),
}


@pytest.mark.parametrize("name", FILES)
def test_files(name, folder, unchanged):
    content, file, words, remedy = FILES[name]
    data = content if isinstance(content, bytes) else content.encode()
    (folder / file).write_bytes(data)
    unchanged()

    check_refused(words.format(file), remedy)
    assert len(run(words.format(file)).stderr) < 1200


@pytest.mark.parametrize(
    ("words", "remedy"),
    [
        ("fit - --target price -o m.json", "'-' is no file"),
        ("fit numbers.csv --target price -o -", "'-' is no file"),
        ("predict numbers.json numbers.csv -o -", "'-' is no file"),
        ("inspect -", "'-' is no file"),
        ("predict numbers.csv numbers.json -o p.csv", "name the model"),
        ("predict numbers.json numbers.json -o p.csv", "files end in .csv"),
        ("fit numbers.csv --target price --drop price -o m.json", "is the target"),
    ],
)
def test_words(folder, unchanged, words, remedy):
    unchanged()

    check_refused(words, remedy)


@pytest.mark.skipif(os.name == "nt", reason="devices have no such names there")
@pytest.mark.parametrize(
    "words",
    [
        "fit numbers.csv --target price -o /dev/full",
        "predict numbers.json numbers.csv -o /dev/full",
        "predict numbers.json /dev/null -o p.csv",
    ],
)
def test_devices(folder, unchanged, words):
    unchanged()

    check_refused(words, "name a file")


def test_dates_that_are_no_text(folder, unchanged):
    numbers().assign(z=DATES).to_parquet("t.parquet")
    unchanged()

    check_refused(FIT.format("t.parquet"), "or make numbers of it")


FINE = {
    "a mark of the order of bytes": text().encode("utf-8-sig"),
    "line ends of Windows": text().replace("\n", "\r\n"),
    "line ends of old Macs": text().replace("\n", "\r"),
    "names with blanks and letters of other alphabets": text(
        numbers().rename(columns={"width": " die Größe ", "depth": "深度"})
    ),
    "truth values to tell apart": text(price=numbers()["price"] > 5),
    "a constant feature": text(z=1.0),
    "nothing but text to predict from": text(numbers()[["price"]], x=["a", "b"] * 40),
}


@pytest.mark.parametrize("name", FINE)
def test_what_is_fine(name, folder):
    content = FINE[name]
    data = content if isinstance(content, bytes) else content.encode()
    (folder / "t.csv").write_bytes(data)

    document(FIT.format("t.csv"))
    done = run("predict m.json t.csv --output p.csv")

    assert done.exit_code == 0, done.stderr
    found = pd.read_csv("p.csv")
    assert len(found) == N_ROWS
    assert np.isfinite(found.iloc[:, -1]).all()
