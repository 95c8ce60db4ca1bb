"""The commands in this process, and a small study whose files are in order."""

import functools
import io
import tempfile
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest
from filed import answer_parquet, case_npz, case_parquet

from racer.cli import main

N, EXPERTS, NAMES = 24, ("ada", "bo", "cy"), ("cat", "dog", "owl")


@functools.cache
def world():
    rng = np.random.default_rng(0)
    label = np.arange(N) % 3
    return {
        "id": np.array([f"c{n:02d}" for n in range(N)]),
        "embedding": (np.eye(3)[label] + rng.normal(scale=0.3, size=(N, 3))).astype(np.float32),
        "posterior": (np.eye(3)[label] * 0.7 + 0.1).astype(np.float32),
        "label": np.array(NAMES)[label],
        "classes": np.array(NAMES),
    }


@functools.cache
def answers():
    rng = np.random.default_rng(1)
    rows = [(one, expert, NAMES[rng.integers(3)]) for one in world()["id"] for expert in EXPERTS]
    return dict(zip(("item", "expert", "answer"), map(list, zip(*rows, strict=True)), strict=True))


@functools.cache
def whole():
    """{name: bytes} of files that are in order."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        case_npz(folder, **world())
        metadata = {b"racer.classes": b'["cat", "dog", "owl"]'}
        columns = {name: values.tolist() for name, values in world().items() if name != "classes"}
        case_parquet(folder, metadata=metadata, **columns)
        answer_parquet(folder, answers())
        pa.csv.write_csv(pa.table(answers()), folder / "answers.csv")
        return {one.name: one.read_bytes() for one in folder.iterdir()}


@functools.cache
def router():
    folder = Path(tempfile.mkdtemp())
    files = write(folder, whole())
    assert racer("fit", *files, "--out", folder / "router").code == 0
    return folder / "router"


@dataclass
class Said:
    code: int
    out: str
    err: str


def racer(*arguments):
    knn = ("--method", "racer-knn") if arguments[0] == "fit" and "--method" not in arguments else ()
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err, pytest.raises(SystemExit) as end:
        main([str(one) for one in (*arguments, *knn)])
    return Said(end.value.code, out.getvalue(), err.getvalue())


def write(folder, files, cases="cases.npz", annotations="answers.csv"):
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return "--cases", folder / cases, "--annotations", folder / annotations


def require_refusal(said, *names):
    assert said.code == 2, said.err
    assert "Traceback" not in said.err and "mistake of racer's" not in said.err, said.err
    what, values, fix = said.err.partition("racer: ")[2].splitlines()
    assert what.strip() and values.startswith("  ") and fix.startswith("  "), said.err
    assert any(name in said.err for name in names), said.err
