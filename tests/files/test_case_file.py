"""Files of cases: what is written comes back, and each mistake is said with the file's name."""

import numpy as np
import pyarrow as pa
import pytest
import torch
from filed import IDS, LABEL, NAMES, POSTERIOR, case_arrays, case_npz, case_parquet, nothing_left
from hypothesis import given
from hypothesis import strategies as st
from refusal import refused

from racer import Cases
from racer.errors import (
    ClassNamesError,
    DuplicateItemError,
    FileFormatError,
    LabelError,
    MissingColumnError,
    NonFiniteError,
    PosteriorError,
    ShapeError,
    TooFewRolesError,
    ZeroEmbeddingError,
)
from racer.files import read_cases, write_cases

KINDS = ["npz", "parquet", "pq"]


def four():
    return Cases(case_arrays()["embedding"], POSTERIOR)


# written and read


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("label", "found"),
    [
        (None, [-1, -1, -1, -1]),
        (LABEL, [0, 1, 2, 0]),
        ([0, 1, 2, 0], [0, 1, 2, 0]),
        (torch.tensor([0, 1, -1, 0]), [0, 1, -1, 0]),
        ([0.0, float("nan"), 2.0, 0.0], [0, -1, 2, 0]),
        ([0, None, 2, 0], [0, -1, 2, 0]),
        (["cat", None, "owl", " "], [0, -1, 2, -1]),
        (["cat", float("nan"), "owl", ""], [0, -1, 2, -1]),
        ([b"cat", b"", b"owl", b"cat"], [0, -1, 2, 0]),
        ([None] * 4, [-1, -1, -1, -1]),
    ],
    ids=str,
)
def test_what_is_written_comes_back(kind, label, found, tmp_path):
    label = np.array(label, "S3") if isinstance(label, list) and isinstance(label[0], bytes) else label
    write_cases(tmp_path / f"cases.{kind}", IDS, four(), label, NAMES)
    file = read_cases(tmp_path / f"cases.{kind}")
    assert (file.ids, file.classes, len(file)) == (IDS, NAMES, 4)
    assert torch.equal(file.cases.embedding, four().embedding)
    assert torch.equal(file.cases.posterior, four().posterior)
    assert file.labels(NAMES).tolist() == found


@pytest.mark.parametrize("kind", KINDS)
def test_no_cases_are_cases_of_a_width(kind, tmp_path):
    write_cases(tmp_path / f"none.{kind}", [], four()[:0], [], NAMES)
    found = read_cases(tmp_path / f"none.{kind}").cases
    assert (len(found), found.n_features, found.n_roles) == (0, 2, 3)


@pytest.mark.parametrize("kind", KINDS)
def test_cases_in_double_precision_are_read_in_single(kind, tmp_path):
    double = Cases(four().embedding.double(), four().posterior.double())
    write_cases(tmp_path / f"cases.{kind}", IDS, double)
    assert read_cases(tmp_path / f"cases.{kind}").cases.dtype == torch.float32


@given(st.lists(st.text(max_size=8).map(str.strip).filter(bool), unique=True, min_size=1), st.sampled_from(KINDS))
def test_any_text_is_an_id(tmp_path_factory, ids, kind):
    path = tmp_path_factory.mktemp("ids") / f"cases.{kind}"
    ids = [one for one in ids if "\0" not in one] or ["a"]
    try:
        "".join(ids).encode()
    except UnicodeEncodeError:
        with refused(ShapeError, "no Unicode"):
            write_cases(path, ids, four()[[0] * len(ids)])
        return
    write_cases(path, ids, four()[[0] * len(ids)])
    assert read_cases(path).ids == tuple(ids)


@pytest.mark.parametrize(
    ("ids", "found"),
    [
        ([7, 8, 9, 10], ("7", "8", "9", "10")),
        ([7.0, 8.0, 9.0, 10.0], ("7", "8", "9", "10")),
        (["007", "1e5", "nan", "é"], ("007", "1e5", "nan", "é")),
        ([" a", "b ", "c", "d"], ("a", "b", "c", "d")),
        (np.array([b"a", b"b", b"c", "é".encode()]), ("a", "b", "c", "é")),
    ],
    ids=str,
)
def test_ids_are_text_whatever_the_file_holds(ids, found, tmp_path):
    assert read_cases(case_npz(tmp_path, id=np.array(ids))).ids == found
    assert read_cases(case_parquet(tmp_path, id=list(ids))).ids == found


@pytest.mark.parametrize(
    "label",
    [
        pa.array(LABEL).dictionary_encode(),
        pa.array(LABEL, pa.large_string()),
        pa.array([0, 1, 2, 0], pa.uint8()),
        pa.array([0, 1, 2, 0], pa.decimal128(5, 0)),
        pa.array([b"cat", b"dog", b"owl", b"cat"]),
        pa.chunked_array([[0, 1], [2, 0]]),
    ],
    ids=lambda one: str(one.type),
)
def test_arrow_has_many_ways_to_hold_labels(label, tmp_path):
    label = label.combine_chunks() if isinstance(label, pa.ChunkedArray) else label
    assert read_cases(case_parquet(tmp_path, label=label)).labels(NAMES).tolist() == [0, 1, 2, 0]


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list, lambda of: pa.list_(of, 3)], ids=["list", "large", "fixed"])
@pytest.mark.parametrize("of", [pa.float16(), pa.float32(), pa.float64()], ids=str)
def test_arrow_has_many_ways_to_hold_rows(kind, of, tmp_path):
    rows = pa.array([[0.5, 0.25, 0.25]] * 4, pa.list_(pa.float64())).cast(pa.list_(of)).cast(kind(of))
    assert read_cases(case_parquet(tmp_path, posterior=rows)).cases.posterior.tolist() == [[0.5, 0.25, 0.25]] * 4


def test_an_unsigned_label_past_all_classes_is_not_an_empty_one(tmp_path):
    with refused(LabelError, "cases.npz"):
        read_cases(case_npz(tmp_path, label=np.array([0, 2**64 - 1, 0, 0], np.uint64))).labels(None)


@given(st.lists(st.sampled_from(["0", "1", "2", " 1", "2.0", ""]), min_size=4, max_size=4))
def test_numbers_written_as_text_are_numbers(tmp_path_factory, label):
    file = read_cases(case_npz(tmp_path_factory.mktemp("text"), label=np.array(label)))
    assert file.labels(None).tolist() == [int(float(one)) if one else -1 for one in label]


# refused


ARRAYS = {
    "no id": ({"id": None}, MissingColumnError, "lacks 'id'"),
    "no embedding": ({"embedding": None, "posterior": None}, MissingColumnError, "'embedding', 'posterior'"),
    "ids too few": ({"id": np.array(["a"])}, ShapeError, "Got 1 for 4 cases"),
    "labels too many": ({"label": np.zeros(5, int)}, ShapeError, "Got 5 for 4 cases"),
    "an id twice": ({"id": np.array(["a", "b", "a", "a"])}, DuplicateItemError, "Row 2 is 'a' again; 2 such rows"),
    "the same id to a blank": ({"id": np.array(["a", "b", "a ", "c"])}, DuplicateItemError, "Row 2 is 'a' again"),
    "no name": ({"id": np.array(["a", " ", "c", ""])}, ShapeError, "Row 1 has none; 2 such"),
    "half an id": ({"id": np.array([1, 2.5, 3, 4])}, ShapeError, "Row 1 holds 2.5"),
    "an id lost": ({"id": np.array([1, 2, np.nan, 4])}, ShapeError, "Row 2 holds nan"),
    "an endless id": ({"id": np.array([1, 2, np.inf, 4])}, ShapeError, "Row 2 holds inf"),
    "ids a float cannot tell apart": ({"id": np.array([1, 2, 1e17, 4])}, ShapeError, "Row 2 holds 1e+17"),
    "ids true and false": ({"id": np.array([True, False] * 2)}, ShapeError, "Got bool"),
    "ids in a square": ({"id": np.array([["a", "b"], ["c", "d"]])}, ShapeError, "shape (2, 2)"),
    "half a surrogate": ({"id": np.array(["a", "\ud800", "c", "d"])}, ShapeError, "no Unicode"),
    "past all of Unicode": ({"id": np.array([5, 2**31 - 1, 6, 7], "u4").view("<U1")}, ShapeError, "no Unicode"),
    "bytes of no text": ({"id": np.array([b"a", b"\xff", b"c", b"d"])}, ShapeError, "no Unicode"),
    "text for numbers": ({"embedding": np.array([["a", "b"]] * 4)}, ShapeError, "starting ['a']"),
    "complex": ({"posterior": POSTERIOR + 0j}, ShapeError, "Got complex64"),
    "flat": ({"embedding": np.ones(4)}, ShapeError, "Got shapes (4,) and (4, 3)"),
    "one class": ({"posterior": np.ones((4, 1))}, TooFewRolesError, "Got 1"),
    "no direction": ({"embedding": np.zeros((4, 2))}, ZeroEmbeddingError, "Row 0 is all zeros"),
    "no number": ({"embedding": np.full((4, 2), np.nan)}, NonFiniteError, "Row 0 has nan"),
    "past single precision": ({"embedding": np.full((4, 2), 1e300)}, NonFiniteError, "Row 0 has inf"),
    "logits": ({"posterior": POSTERIOR * 7}, PosteriorError, "Row 0 sums to 7"),
    "labels in a square": ({"label": np.zeros((4, 1), int)}, LabelError, "int64 of shape (4, 1)"),
    "dates for labels": ({"label": np.array(["2020"] * 4, "M8[Y]")}, LabelError, "Got datetime64"),
    "classes too few": ({"classes": np.array(["cat"])}, ClassNamesError, "Got 1 names"),
    "a class twice": ({"classes": np.array(["cat", "dog", "cat"])}, ClassNamesError, "2 of them different"),
    "a class without name": ({"classes": np.array(["cat", "dog", ""])}, ClassNamesError, "Got 3 names"),
}


@pytest.mark.parametrize(("change", "error", "said"), ARRAYS.values(), ids=ARRAYS)
def test_arrays_that_are_no_cases_are_refused(change, error, said, tmp_path):
    with refused(error, said, "cases.npz"):
        read_cases(case_npz(tmp_path, **change))


LABELS = {
    "a name too many": (["cat", "dgo", "owl", "cat"], NAMES, "Row 1 holds 'dgo'"),
    "half a class": ([0, 0.5, 1, 2], None, "Row 1 holds 0.5; 1 of 4 rows"),
    "no end of classes": ([0, np.inf, 1, 2], None, "Row 1 holds inf"),
    "a class too many": ([0, 3, 1, 2], None, "At 1 it is 3"),
    "a class below": ([0, -2, 1, 2], None, "At 1 it is -2"),
}


@pytest.mark.parametrize(("label", "classes", "said"), LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("write", [case_npz, case_parquet])
def test_labels_that_are_no_classes_are_refused(write, label, classes, said, tmp_path):
    path = write(tmp_path, label=np.array(label))
    with refused(LabelError, said, path.name):
        read_cases(path).labels(classes)


COLUMNS = {
    "rows of several lengths": ({"embedding": [[1.0], [1.0, 2.0], [1.0], []]}, ShapeError, "row 1 has 2, row 0 has 1"),
    "a row missing": ({"embedding": [[1.0], None, [1.0], [1.0]]}, ShapeError, "row 1 has 0"),
    "the first row missing": ({"embedding": [None, [1.0], [1.0], [1.0]]}, ShapeError, "row 1 has 1, row 0 has 0"),
    "all rows missing": ({"embedding": [None] * 4}, ShapeError, "must hold numbers"),
    "no features": ({"embedding": pa.array([[]] * 4, pa.list_(pa.float32()))}, ShapeError, "has no features"),
    "a hole": ({"posterior": [[0.5, None, 0.5], *POSTERIOR[1:].tolist()]}, NonFiniteError, "Row 0"),
    "text": ({"embedding": [["a"]] * 4}, ShapeError, "must hold numbers"),
    "lists of lists": ({"embedding": [[[1.0]]] * 4}, ShapeError, "must hold numbers"),
    "an id missing": ({"id": ["a", None, "c", "d"]}, ShapeError, "Row 1 has none"),
    "ids with parts": ({"id": [{"a": one} for one in range(4)]}, ShapeError, "Row 0 holds {'a': 0}, a dict"),
    "labels with parts": ({"label": [{"a": one} for one in range(4)]}, ShapeError, "a dict"),
    "bytes of no text": ({"id": pa.array([b"\xff", b"b", b"c", b"d"])}, ShapeError, "no Unicode"),
    "text of no Unicode": ({"id": pa.array([b"\xff", b"b", b"c", b"d"]).view(pa.string())}, FileFormatError, "UTF8"),
}


@pytest.mark.parametrize(("change", "error", "said"), COLUMNS.values(), ids=COLUMNS)
def test_columns_that_are_no_cases_are_refused(change, error, said, tmp_path):
    with refused(error, said, "cases.parquet"):
        read_cases(case_parquet(tmp_path, **change))


@pytest.mark.parametrize("names", [b"", b"{", b'{"cat": 1}', b'["cat"]', b'[["cat"], 1]', b"\xff", b"7"])
def test_metadata_that_names_no_classes_is_refused(names, tmp_path):
    with pytest.raises((FileFormatError, ClassNamesError), match=r"cases\.parquet"):
        read_cases(case_parquet(tmp_path, metadata={b"racer.classes": names}))


def test_a_column_that_stands_twice_is_refused(tmp_path):
    table = pa.table([pa.array(["a"]), pa.array(["b"])], names=["id", "id"])
    pa.parquet.write_table(table, tmp_path / "cases.parquet")
    with refused(FileFormatError, "two columns 'id'"):
        read_cases(tmp_path / "cases.parquet")


@pytest.mark.parametrize("name", ["cases.npz", "cases.parquet", "cases"])
@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"PAR1 and no more", b"\x93NUMPY", b"id,label\na,b\n"])
def test_a_file_of_something_else_is_refused(name, content, tmp_path):
    (tmp_path / name).write_bytes(content)
    with refused(FileFormatError, name):
        read_cases(tmp_path / name)


@pytest.mark.parametrize("name", ["cases.npz", "cases.parquet"])
def test_a_file_that_is_not_there_is_said_so(name, tmp_path):
    with refused(FileFormatError, "No such file", ".npz or .parquet"):
        read_cases(tmp_path / name)
    (tmp_path / name).mkdir()
    with refused(FileFormatError, "Is a directory"):
        read_cases(tmp_path / name)


def test_no_pickle_is_opened(tmp_path):
    with refused(FileFormatError, "racer opens no pickles", "dtype=str"):
        read_cases(case_npz(tmp_path, label=np.array(["cat", None, "dog", "owl"], object)))


def test_a_file_that_lacks_all_of_it_is_said_so(tmp_path):
    np.savez(tmp_path / "cases.npz", x=np.eye(2))
    with refused(MissingColumnError, "'id', 'embedding', 'posterior'", "has 'x'"):
        read_cases(tmp_path / "cases.npz")


def test_one_array_is_no_archive(tmp_path):
    with (tmp_path / "cases.npz").open("wb") as file:
        np.save(file, np.eye(3))
    with refused(FileFormatError, "one array, not an archive"):
        read_cases(tmp_path / "cases.npz")


# what cannot be read again is not written


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("ids", "label", "classes", "error"),
    [
        (["a"], None, None, ShapeError),
        (["a", "b", "c", "a"], None, None, DuplicateItemError),
        (IDS, [0], None, ShapeError),
        (IDS, [0, 1, 2, 0.5], None, LabelError),
        (IDS, None, ["cat"], ClassNamesError),
    ],
)
def test_what_could_not_be_read_again_is_not_written(kind, ids, label, classes, error, tmp_path):
    with refused(error, f"cases.{kind}"), nothing_left(tmp_path):
        write_cases(tmp_path / "new" / f"cases.{kind}", ids, four(), label, classes)


def test_a_file_of_cases_has_a_known_ending(tmp_path):
    with refused(FileFormatError, "not '.csv'"), nothing_left(tmp_path):
        write_cases(tmp_path / "cases.csv", IDS, four())


def test_classes_that_are_numbers_become_their_names(tmp_path):
    for kind in KINDS:
        write_cases(tmp_path / f"cases.{kind}", IDS, four(), classes=np.array([3, 1, 2]))
        assert read_cases(tmp_path / f"cases.{kind}").classes == ("3", "1", "2")
