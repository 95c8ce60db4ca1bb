"""A thousand broken inputs: each is refused in three lines that name it, or read as it should be; none half-written."""

import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from commands import N, racer, require_refusal, router, whole, world, write
from filed import answer_csv, case_npz
from hypothesis import given, settings
from hypothesis import strategies as st

from racer import Router

MANY, SOME = settings(max_examples=250), settings(max_examples=100)


def refused_or_done(command, files, *names, cases="cases.npz", annotations="answers.csv"):
    """Run it on files in a folder of their own; afterwards the output stands whole, or nothing new stands there."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        given = write(folder, whole() | files, cases, annotations)
        out = folder / ("decisions.csv" if command == "route" else "out")
        before = {one.name for one in folder.iterdir()}
        said = racer(command, *([router(), *given[:2]] if command == "route" else given), "--out", out)
        if said.code:
            require_refusal(said, *names)
            assert {one.name for one in folder.iterdir()} == before
        else:
            assert {one.name for one in folder.iterdir()} == before | {out.name}
            assert pa.csv.read_csv(out)["who"] if command == "route" else Router.load(out).experts
    return said


# bytes


@st.composite
def damaged(draw, content):
    """A few bytes flipped, cut, doubled, put in or taken out."""
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(content)))
        end = min(len(content), start + draw(st.sampled_from([0, 1, 1, 2, 8, 100])))
        part = content[start:end]
        middle = draw(
            st.one_of(
                st.just(bytes(255 - one for one in part)),
                st.just(part * 2),
                st.just(bytes(len(part))),
                st.binary(max_size=9),
            )
        )
        content = content[:start] + middle + (b"" if draw(st.integers(0, 9)) == 0 else content[end:])
    return content


@pytest.mark.parametrize("command", ["fit", "route"])
@pytest.mark.parametrize("name", ["cases.npz", "cases.parquet"])
@SOME
@given(st.data())
def test_damaged_cases(command, name, data):
    refused_or_done(command, {name: data.draw(damaged(whole()[name]))}, name, "answers.csv", cases=name)


@pytest.mark.parametrize("name", ["answers.csv", "answers.parquet"])
@MANY
@given(st.data())
def test_damaged_answers(name, data):
    refused_or_done("fit", {name: data.draw(damaged(whole()[name]))}, name, annotations=name)


# cells

NASTY = [
    "",
    " ",
    '"',
    '""',
    ",",
    "\n",
    "\r",
    "\0",
    "nan",
    "-1",
    "0",
    "3",
    "1e999",
    "c00",
    "CAT",
    "é",
    "\ud800",
    "=1+1",
    "a" * 300,
]


@MANY
@given(st.data())
def test_cells_of_a_csv_overwritten(data):
    lines = [line.split(",") for line in whole()["answers.csv"].decode().replace('"', "").splitlines()]
    for _ in range(data.draw(st.integers(1, 4))):
        row = data.draw(st.integers(0, len(lines) - 1))
        change = data.draw(st.sampled_from(["cell", "cell", "cell", "longer", "shorter", "again", "gone"]))
        if change == "cell" and lines[row]:
            lines[row][data.draw(st.integers(0, len(lines[row]) - 1))] = data.draw(st.sampled_from(NASTY))
        elif change == "longer":
            lines[row] = [*lines[row], "x"]
        elif change == "shorter":
            lines[row] = lines[row][:-1]
        elif change == "again":
            lines.insert(row, lines[row])
        elif change == "gone" and len(lines) > 1:
            del lines[row]
    text = data.draw(st.sampled_from(["\n", "\r\n", "\n\n"])).join(",".join(line) for line in lines)
    refused_or_done("fit", {"answers.csv": text.encode("utf-8", "surrogatepass")}, "answers.csv")


# arrays


def spoilt(values, data):
    """One array, in one way wrong or at least unusual."""
    row = data.draw(st.integers(0, len(values) - 1))
    one = values.copy()
    kind = data.draw(
        st.sampled_from(["type", "shape", "value", "object", "shorter", "empty", "twice", "flat", "scalar", "gone"])
    )
    if kind == "type":
        wanted = data.draw(st.sampled_from(["f2", "f8", "i1", "u8", "?", "c8", "S4", "U3", "M8[s]", ">f4", "V4"]))
        try:
            return values.astype(wanted)
        except (ValueError, TypeError):
            return np.zeros(len(values), wanted)
    if kind == "value":
        number = data.draw(st.sampled_from([np.nan, np.inf, -1.0, 0.0, 1e30, 2.0]))
        one[row] = number if one.dtype.kind == "f" else data.draw(st.sampled_from(["", "c00", "cow", "\ud800", "7"]))
        return one
    return {
        "shape": lambda: data.draw(st.sampled_from([values[None], values[..., None], values.T])),
        "object": lambda: np.array([*one.tolist()[:-1], None], object) if one.ndim == 1 else one.astype(object),
        "shorter": lambda: values[:row],
        "empty": lambda: values[:0],
        "twice": lambda: np.concatenate([values, values]),
        "flat": lambda: values.ravel(),
        "scalar": lambda: np.asarray(values.ravel()[0]),
        "gone": lambda: None,
    }[kind]()


@pytest.mark.parametrize("command", ["fit", "route"])
@MANY
@given(st.data())
def test_arrays_that_are_wrong_in_one_way(command, data):
    arrays = dict(world())
    for name in data.draw(st.lists(st.sampled_from(sorted(arrays)), min_size=1, max_size=2, unique=True)):
        arrays[name] = spoilt(arrays[name], data)
    with tempfile.TemporaryDirectory() as folder, np.errstate(all="ignore"):
        content = case_npz(Path(folder), **arrays).read_bytes()
    refused_or_done(command, {"cases.npz": content}, "cases.npz", "answers.csv")


# made by hand

HEAD = "item,expert,answer\n"
TABLES = {
    "nothing": b"",
    "a line end": b"\n",
    "a header": HEAD.encode(),
    "other columns": b"name,age\nada,7\n",
    "no answers": (HEAD + "c00,ada,\n").encode(),
    "an unknown item": (HEAD + "z99,ada,cat\n").encode(),
    "an unknown class": (HEAD + "c00,ada,cow\n").encode(),
    "a number for a name": (HEAD + "c00,ada,0\n").encode(),
    "an answer twice": (HEAD + "c00,ada,cat\nc00,ada,dog\n").encode(),
    "nobody": (HEAD + "c00,,cat\n").encode(),
    "a cell too few": (HEAD + "c00,ada\n").encode(),
    "an open quote": (HEAD + 'c00,"ada,cat\n').encode(),
    "not UTF-8": (HEAD + "c00,José,cat\n").encode("latin-1"),
    "UTF-16": HEAD.encode("utf-16"),
    "a spreadsheet": b"PK\x03\x04",
    "parquet by another name": b"PAR1",
    "an expert twice": b"item,ada,ada\nc00,cat,cat\n",
    "a wide slip": b"item,ada,bo\nc00,cat,cow\n",
}


@pytest.mark.parametrize("content", TABLES.values(), ids=TABLES)
def test_tables_made_by_hand(content):
    assert refused_or_done("fit", {"answers.csv": content}, "answers.csv").code == 2


CASES = {
    "no id": {"id": None},
    "half a posterior": {"posterior": world()["posterior"] / 2},
    "no truth": {"label": None},
    "labels of other classes": {"label": np.array(["cow"] * N)},
    "objects": {"label": np.array([None] * N, object)},
    "classes too few": {"classes": np.array(["cat"])},
    "no cases": {name: values[:0] for name, values in world().items() if name != "classes"},
}


@pytest.mark.parametrize("change", CASES.values(), ids=CASES)
def test_cases_made_by_hand(change, tmp_path):
    content = case_npz(tmp_path, **(world() | change)).read_bytes()
    assert refused_or_done("fit", {"cases.npz": content}, "cases.npz", "answers.csv").code == 2


EVALUATED = {
    "no truth": ({"label": None}, None),
    "other classes": ({"classes": np.array(["dog", "cat", "owl"])}, None),
    "cut": (None, None),
    "an open quote": ({}, TABLES["an open quote"]),
    "an unknown item": ({}, TABLES["an unknown item"]),
    "an unknown class": ({}, TABLES["an unknown class"]),
    "no answers": ({}, TABLES["no answers"]),
    "nothing": ({}, b""),
}


@pytest.mark.parametrize(("change", "table"), EVALUATED.values(), ids=EVALUATED)
def test_an_evaluation_refuses_what_a_fit_refuses(change, table, tmp_path):
    content = whole()["cases.npz"][:99] if change is None else case_npz(tmp_path, **(world() | change)).read_bytes()
    given = write(tmp_path, whole() | {"cases.npz": content} | ({} if table is None else {"answers.csv": table}))
    before = sorted(tmp_path.iterdir())
    said = racer("evaluate", router(), *given, "--out", tmp_path / "report")
    require_refusal(said, "cases.npz", "answers.csv")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("answers_of_each", [1, 2, 24])
def test_an_evaluation_of_few_answers_ends_in_a_report_or_a_reason(answers_of_each, tmp_path):
    lines = whole()["answers.csv"].splitlines(keepends=True)
    given = write(tmp_path, whole() | {"answers.csv": b"".join(lines[: 1 + 3 * answers_of_each])})
    said = racer("evaluate", router(), *given, "--out", tmp_path / "report")
    assert said.code in (0, 2), said.err
    assert (tmp_path / "report" / "index.html").exists() == (said.code == 0)
    assert not list(tmp_path.glob(".*"))


def test_one_bad_row_in_a_million(tmp_path):
    n = 1000
    ids = np.array([f"c{one}" for one in range(n)])
    case_npz(tmp_path, id=ids, embedding=np.ones((n, 2)), posterior=np.full((n, 2), 0.5), label=np.zeros(n, int))
    rows = [f"c{item},reader {expert},{item % 2}" for expert in range(n) for item in range(n)]
    rows[-7] = rows[-7][:-1] + "2"
    answer_csv(tmp_path, HEAD + "\n".join(rows) + "\n")
    files = "--cases", tmp_path / "cases.npz", "--annotations", tmp_path / "answers.csv"
    said = racer("fit", *files, "--out", tmp_path / "out")
    require_refusal(said, f"answers.csv', line {n * n - 5}: holds 2; 1 of 1000000 rows")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["answers.csv", "cases.npz"]
