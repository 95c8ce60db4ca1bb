"""Small files of cases and answers, and one slip at a time in them."""

import contextlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet

NAMES = ("cat", "dog", "owl")
IDS = ("a1", "a2", "a3", "a4")
POSTERIOR = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.25, 0.25, 0.5], [0.5, 0.25, 0.25]], np.float32)
LABEL = ["cat", "dog", "owl", "cat"]


def case_arrays(**changes):
    """The arrays of four cases; None takes one away."""
    embedding = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [2.0, -1.0]], np.float32)
    arrays = {"id": np.array(IDS), "embedding": embedding, "posterior": POSTERIOR, "label": np.array(LABEL), **changes}
    return {name: one for name, one in arrays.items() if one is not None}


def case_npz(folder, name="cases.npz", **changes):
    np.savez(folder / name, **case_arrays(**changes))
    return folder / name


def case_parquet(folder, name="cases.parquet", metadata=None, **changes):
    columns = {name: one if isinstance(one, pa.Array) else pa.array(list(one)) for name, one in changes.items()}
    plain = {name: pa.array(list(one)) for name, one in case_arrays().items()}
    table = pa.table({**plain, **columns}).replace_schema_metadata(metadata)
    pa.parquet.write_table(table, folder / name)
    return folder / name


def answer_csv(folder, text, name="answers.csv"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


def answer_parquet(folder, columns, name="answers.parquet"):
    pa.parquet.write_table(pa.table(columns), folder / name)
    return folder / name


def evidence_of(named):
    """{expert: {(item, truth, answer)}}, whatever the order of rows."""
    panel = named.panel
    rows = zip(panel.expert.tolist(), panel.item.tolist(), panel.answer.tolist(), strict=True)
    said = {expert: set() for expert in panel.experts}
    for expert, item, answer in rows:
        said[panel.experts[expert]].add((named.items[item], int(panel.label[item]), answer))
    return said


@contextlib.contextmanager
def nothing_left(folder):
    """Afterwards the folder holds what it held before, hidden files too."""
    before = sorted(str(one) for one in folder.rglob("*"))
    yield
    assert sorted(str(one) for one in folder.rglob("*")) == before
