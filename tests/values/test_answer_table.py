"""Long tables: whatever holds one, ids as they were written, and every mistake by its row."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from panels import answers_in, numbered_cases
from refusal import refused

from racer import Panel
from racer.errors import (
    DuplicateAnswerError,
    LabelError,
    MissingColumnError,
    ShapeError,
    UnknownExpertError,
    UnknownItemError,
)

NAMES = ["cat", "dog", "owl"]
COLUMNS = {"expert": ["ada", "bo", "ada"], "item": ["x", "x", "y"], "answer": [0, 2, 1]}


def read(table, items=("x", "y"), label=(0, 1), classes=None, n_roles=3):
    return Panel.from_table(numbered_cases(len(items), n_roles), list(items), table, label=label, classes=classes)


def matrix(panel):
    return dict(zip(panel.experts, panel.answer_matrix().tolist(), strict=True))


def as_csv(columns, folder, name="answers.csv"):
    pd.DataFrame(columns).to_csv(folder / name, index=False)
    return folder / name


def as_parquet(columns, folder):
    pa.parquet.write_table(pa.table(columns), folder / "answers.parquet")
    return str(folder / "answers.parquet")


HOLDERS = {
    "dict": lambda columns, folder: columns,
    "pandas": lambda columns, folder: pd.DataFrame(columns),
    "pandas, its own index": lambda columns, folder: pd.DataFrame(columns, index=[7, 5, 3]),
    "pandas categories": lambda columns, folder: pd.DataFrame(columns).astype({"expert": "category"}),
    "arrow": lambda columns, folder: pa.table(columns),
    "arrow in chunks": lambda columns, folder: pa.concat_tables(
        [pa.table(columns).slice(0, 1), pa.table(columns).slice(1)]
    ),
    "CSV": as_csv,
    "CSV, path as text": lambda columns, folder: str(as_csv(columns, folder)),
    "parquet": as_parquet,
    "other columns too": lambda columns, folder: {**columns, "minutes": [1.5, 2.5, None]},
    "crowd-kit": lambda columns, folder: {
        "worker": columns["expert"],
        "task": columns["item"],
        "label": columns["answer"],
    },
}


@pytest.mark.parametrize("hold", HOLDERS.values(), ids=HOLDERS)
@pytest.mark.parametrize("named", [False, True], ids=["numbers", "names"])
def test_any_holder_gives_the_same_panel(hold, named, tmp_path):
    columns = {**COLUMNS, "answer": [NAMES[one] for one in COLUMNS["answer"]]} if named else COLUMNS
    panel = read(hold(columns, tmp_path), classes=NAMES if named else None)
    assert matrix(panel) == {"ada": [0, 1], "bo": [2, -1]}
    assert panel.label.tolist() == [0, 1]


@given(st.data())
def test_a_table_in_any_order_says_the_same(data):
    pairs = data.draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), unique=True, min_size=1))
    answers = data.draw(st.lists(st.integers(-1, 2), min_size=len(pairs), max_size=len(pairs)))
    order = data.draw(st.permutations(range(len(pairs))))
    ids = [f"case {i}" for i in range(6)]

    def table(rows):
        return {
            "expert": [f"e{pairs[r][0]}" for r in rows],
            "item": [ids[pairs[r][1]] for r in rows],
            "answer": [answers[r] for r in rows],
        }

    one, other = (read(table(rows), items=ids, label=[0] * 6) for rows in (range(len(pairs)), order))
    assert set(one.experts) == set(other.experts) == {f"e{who}" for who, _ in pairs}
    assert matrix(one) == matrix(other)
    told = {(f"e{who}", item): answer for (who, item), answer in zip(pairs, answers, strict=True)}
    assert all(told.get((who, i), -1) == row[i] for who, row in matrix(one).items() for i in range(6))


@pytest.mark.parametrize(
    "ids", [["007", "7"], ["1e5", "100000"], ["True", "true"], ["2024-01-01", "2024-1-1"], ["nan", "x"]]
)
def test_ids_in_a_csv_stay_as_they_are_written(ids, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("item,expert,answer\n" + "".join(f"{one},{one},{k}\n" for k, one in enumerate(ids)))
    panel = read(file, items=ids)
    assert panel.experts == tuple(ids)
    assert matrix(panel) == {ids[0]: [0, -1], ids[1]: [-1, 1]}


def test_numbers_and_text_are_the_same_id():
    table = {"expert": [1, 2], "item": [10, 20], "answer": [0, 1]}
    for items in ([10, 20], ["10", "20"], np.array([10, 20]), pd.Series([10.0, 20.0])):
        assert matrix(read(table, items=items)) == {"1": [0, -1], "2": [-1, 1]}


def test_classes_that_look_like_other_things_are_names(tmp_path):
    file = as_csv({"expert": ["ada", "ada"], "item": ["x", "y"], "answer": ["True", "01"]}, tmp_path)
    assert matrix(read(file, classes=["01", "True", "1"])) == {"ada": [1, 0]}


@pytest.mark.parametrize("blank", [None, float("nan"), "", pd.NA], ids=repr)
def test_an_empty_cell_is_no_answer_and_its_expert_stays(blank):
    table = pd.DataFrame(
        {"expert": ["ada", "bo"], "item": ["x", "y"], "answer": pd.Series(["cat", blank], dtype=object)}
    )
    panel = read(table, classes=NAMES)
    assert panel.experts == ("ada", "bo") and panel.n_answers == 1


def test_empty_cells_among_numbers_in_a_csv(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("expert,item,answer\nada,x,\nbo,x,2\nbo,y,-1\n")
    assert matrix(read(file)) == {"ada": [-1, -1], "bo": [2, -1]}


def test_the_truth_may_stand_in_the_table():
    table = {**COLUMNS, "label": ["cat", "cat", "dog"], "answer": ["cat", "owl", "dog"]}
    panel = read(table, label=None, classes=NAMES)
    assert answers_in(panel["ada"]) == [(0, 0, 0), (1, 1, 1)] and answers_in(panel["bo"]) == [(0, 0, 2)]


def test_the_truth_given_beside_may_be_names_too():
    panel = read({**COLUMNS, "answer": ["cat", "owl", "dog"]}, label=["cat", "dog"], classes=NAMES)
    assert panel["ada"].right.tolist() == [True, True]


def test_an_empty_table_is_an_empty_panel():
    panel = read({"expert": [], "item": [], "answer": []})
    assert len(panel) == 0 and panel.n_answers == 0


def changed(**columns):
    return {**COLUMNS, **columns}


BAD = {
    "no column": ({"expert": ["ada"], "item": ["x"]}, {}, MissingColumnError, "lacks 'answer'", "'expert', 'item'"),
    "no columns": ({}, {}, MissingColumnError, "(none)", "crowd-kit"),
    "a class too many": (changed(answer=[0, 3, 1]), {}, LabelError, "Row 1 holds 3", "0 to 2"),
    "a class below": (changed(answer=[0, -2, 1]), {}, LabelError, "Row 1 holds -2", "leave the cell empty"),
    "half a class": (changed(answer=[0, 0.5, 1]), {}, LabelError, "Row 1 holds 0.5", "classes=[…]"),
    "infinitely much": (changed(answer=[0, float("inf"), 1]), {}, LabelError, "Row 1 holds inf", "0 to 2"),
    "names without names": (
        changed(answer=["cat", "dog", "owl"]),
        {},
        LabelError,
        "Row 0 holds 'cat'",
        "3 class names",
    ),
    "a misspelt class": (changed(answer=["cat", "dgo", "owl"]), {"classes": NAMES}, LabelError, "'dgo'", "order of"),
    "too few names": (COLUMNS, {"classes": ["cat", "dog"]}, LabelError, "Got 2 names", "every class"),
    "a name twice": (COLUMNS, {"classes": ["cat", "dog", "cat"]}, LabelError, "2 of them different", "every class"),
    "names in no order": (COLUMNS, {"classes": {"cat", "dog", "owl"}}, ShapeError, "Got a set", "Give a list"),
    "an item too many": (changed(item=["x", "z", "y"]), {}, UnknownItemError, "Row 1 asks for 'z'", "compared as text"),
    "an item of none": (changed(item=["x", None, "y"]), {}, UnknownItemError, "Row 1 asks for None", "drop the rows"),
    "nobody's answer": (changed(expert=["ada", None, "bo"]), {}, UnknownExpertError, "Row 1 has an answer", "Name the"),
    "a pair twice": (
        changed(item=["x", "x", "x"]),
        {},
        DuplicateAnswerError,
        "'ada' on item 'x'",
        "for example the last",
    ),
    "an id twice": (COLUMNS, {"items": ["x", "x"]}, ShapeError, "'x' stands there 2 times", "unique"),
    "ids too few": (COLUMNS, {"items": ["x"], "label": [0, 1]}, LabelError, None, None),
    "uneven columns": (
        {"expert": ["ada"], "item": ["x", "y"], "answer": [0]},
        {},
        ShapeError,
        "raised",
        "equal lengths",
    ),
    "no table": (7, {}, ShapeError, "a int", "data frame"),
    "no file": ("nowhere.csv", {}, ShapeError, "nowhere.csv", "path of a CSV or parquet"),
    "no truth": (COLUMNS, {"label": None}, LabelError, "The truth is missing", "Give label"),
    "an unknown truth": (COLUMNS, {"label": [0, -1]}, LabelError, "Case 1 was answered", "give the label"),
    "lists for ids": (changed(item=[["x"], ["x"], ["y"]]), {}, ShapeError, "'item' must hold text", "one plain id"),
}


@pytest.mark.parametrize(("table", "given", "error", "said", "fix"), BAD.values(), ids=BAD)
def test_a_bad_table_is_refused_by_row_and_remedy(table, given, error, said, fix):
    if said is None:  # the cases themselves do not fit the ids
        with refused(ShapeError, "'items' must hold one id per case"):
            Panel.from_table(numbered_cases(2, 3), ["x"], table, label=[0, 1])
        return
    with refused(error, said, fix):
        read(table, **given)


@pytest.mark.parametrize(
    "content", [b"", b"\x00\x01\x02", b"PAR1 and then nothing", b"expert,item,answer\nada,x\n", "é".encode("latin-1")]
)
@pytest.mark.parametrize("name", ["a.csv", "a.parquet"])
def test_a_file_that_holds_no_table_is_refused(content, name, tmp_path):
    (tmp_path / name).write_bytes(content)
    with pytest.raises((ShapeError, MissingColumnError)) as caught:
        read(tmp_path / name)
    assert len(str(caught.value).splitlines()) == 3


@pytest.mark.parametrize("mark", [";", "\t"])
def test_another_separator_is_named(mark, tmp_path):
    file = tmp_path / "a.csv"
    file.write_text(mark.join(["expert", "item", "answer"]) + "\n" + mark.join(["ada", "x", "0"]) + "\n")
    with refused(MissingColumnError, f"separated by {mark!r}", "pandas.read_csv"):
        read(file)


def test_one_bad_row_among_many_is_found():
    n = 200_000
    table = pa.table(
        {"expert": pa.array(np.arange(n) // 1000), "item": np.arange(n) % 1000, "answer": np.arange(n) % 3}
    )
    answer = table["answer"].to_numpy().copy()
    answer[123_456] = 9
    with refused(LabelError, "Row 123456 holds 9", "1 of 200000 rows"):
        read(table.set_column(2, "answer", pa.array(answer)), items=range(1000), label=[0] * 1000)


# the truth beside the table


def test_a_truth_given_by_id_is_put_in_the_order_of_the_cases():
    by_id = {"y": 1, "x": 0}
    for label in (by_id, pd.Series(by_id), pd.Series([1, 0], index=["y", "x"])):
        assert read(COLUMNS, label=label).label.tolist() == [0, 1]
    assert read(COLUMNS, label=pd.Series([0, 1])).label.tolist() == [0, 1]
    numbered = {"expert": ["ada", "ada"], "item": [10, 20], "answer": [0, 1]}
    assert read(numbered, items=[10, 20], label=pd.Series([1, 0], index=[20, 10])).label.tolist() == [0, 1]


def test_a_series_whose_index_says_something_else_is_refused():
    with refused(UnknownItemError, "none for 'x'", "series.to_numpy()"):
        read(COLUMNS, label=pd.Series([0, 1], index=[5, 7]))


def test_classes_that_are_numbers_name_the_truth_too():
    table = {"expert": ["a"] * 4, "item": [0, 1, 2, 3], "answer": [0, 1, 0, 1]}
    for label in ([0, 1, 0, 1], np.array([0, 1, 0, 1]), [0.0, 1.0, 0.0, 1.0]):
        panel = read(table, items=[0, 1, 2, 3], label=label, classes=[1, 0], n_roles=2)
        assert panel["a"].right.all() and panel.label.tolist() == [1, 0, 1, 0]
    in_table = read({**table, "label": [0, 1, 0, 1]}, items=[0, 1, 2, 3], label=None, classes=[1, 0], n_roles=2)
    assert in_table["a"].right.all()
    with refused(LabelError, "'label' holds what is no class"):
        read({**table, "answer": [1, 1, 1, 1]}, items=[0, 1, 2, 3], label=[1, 1, 1, 3], classes=[1, 2], n_roles=2)


def test_a_truth_in_the_table_keeps_the_bank():
    cases, table = numbered_cases(2, 3), {**COLUMNS, "label": [0, 0, 1]}
    one = Panel.from_table(cases, ["x", "y"], table)
    with refused(DuplicateAnswerError, "'ada'"):
        one.append(Panel.from_table(one.cases, ["x", "y"], table))
    later = {"expert": ["cy"], "item": ["y"], "answer": [2]}
    assert len(one.append(Panel.from_table(one.cases, ["x", "y"], later, label=[0, 1])).cases) == 2


def test_a_generator_of_ids_will_do():
    assert Panel.from_table(numbered_cases(2, 3), (one for one in "xy"), COLUMNS, label=[0, 1]).n_answers == 3
