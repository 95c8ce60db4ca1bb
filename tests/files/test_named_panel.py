"""Cases and answers together: whose truth counts, what is left out, and which name is which column."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from filed import IDS, LABEL, NAMES, POSTERIOR, answer_csv, answer_parquet, case_arrays, case_npz, case_parquet
from filed import evidence_of as evidence
from hypothesis import given
from hypothesis import strategies as st
from refusal import refused

from racer.errors import (
    ClassNamesError,
    DuplicateAnswerError,
    LabelError,
    ShapeError,
    UnknownExpertError,
    UnknownItemError,
)
from racer.files import read_cases, read_panel

LONG = "item,expert,answer\na1,ada,cat\na2,ada,owl\na1,bo,dog\n"
TOLD = {"ada": {("a1", 0, 0), ("a2", 1, 2)}, "bo": {("a1", 0, 1)}}


def read(folder, text, classes=None, skip_unknown=False, **changes):
    path = answer_csv(folder, text)
    return read_panel(case_npz(folder, **changes), path, classes=classes, skip_unknown=skip_unknown)


# what is read


@pytest.mark.parametrize("write", [case_npz, case_parquet])
def test_answers_find_their_cases(write, tmp_path):
    named = read_panel(write(tmp_path), answer_csv(tmp_path, LONG))
    assert evidence(named) == TOLD
    assert named.classes == NAMES and named.is_sorted_guess
    assert (named.n_unlabelled, named.n_unknown) == (0, 0)


def test_cases_nobody_answered_are_left_out_and_the_others_kept_as_they_are(tmp_path):
    named = read(tmp_path, LONG)
    assert named.items == ("a1", "a2")
    assert torch.equal(named.panel.cases.posterior, torch.from_numpy(POSTERIOR[:2]))
    assert torch.equal(named.panel.cases.embedding, torch.from_numpy(case_arrays()["embedding"][:2]))


def test_a_file_of_cases_may_have_been_read_before(tmp_path):
    assert evidence(read_panel(read_cases(case_npz(tmp_path)), answer_csv(tmp_path, LONG))) == TOLD


def test_numbers_need_no_names(tmp_path):
    text = "item,expert,answer\na1,ada,0\na2,ada,2.0\na1,bo,1\na3,bo,-1\na4,bo,\n"
    for label in ([0, 1, 2, 0], ["0", "1", "2", ""], [0.0, 1.0, np.nan, 0.0], [b"0", b"1", b"2", b"0"]):
        named = read(tmp_path, text, label=np.array(label))
        assert evidence(named) == TOLD and named.classes is None and not named.is_sorted_guess


def test_ten_classes_that_are_numbers_in_text_keep_their_order(tmp_path):
    posterior, label = np.full((4, 11), 1 / 11), np.array(["10", "2", "1", "0"])
    named = read(tmp_path, "item,expert,answer\na1,ada,10\na2,ada,1\n", label=label, posterior=posterior)
    assert evidence(named) == {"ada": {("a1", 10, 10), ("a2", 2, 1)}}


def test_answers_beyond_text_and_numbers_of_one_kind_mean_the_same(tmp_path):
    cases = case_npz(tmp_path, label=np.array([0, 1, 2, 0]))
    columns = {"item": ["a1", "a2", "a1"], "expert": ["ada", "ada", "bo"]}
    for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(21, 1), pa.string(), pa.large_string()):
        answer = pa.array([0, 2, 1]).cast(kind)
        for label in (None, pa.array([0, 1, 0]).cast(kind), pa.array([0, None, None]).cast(kind), pa.nulls(3)):
            table = {**columns, "answer": answer, **({} if label is None else {"label": label})}
            assert evidence(read_panel(cases, answer_parquet(tmp_path, table))) == TOLD
    words = pa.array(["0", "2", "1"]).dictionary_encode()
    assert evidence(read_panel(cases, answer_parquet(tmp_path, {**columns, "answer": words}))) == TOLD


def test_ids_that_are_numbers_meet_ids_that_are_text(tmp_path):
    columns = {"expert": [7, 7, 8], "answer": ["cat", "owl", "dog"]}
    for item in ([10, 20, 10], [10.0, 20.0, 10.0], ["10", "20", "10"], [b"10", b"20", b"10"]):
        answers = answer_parquet(tmp_path, {"item": item, **columns})
        for ids in ([10, 20, 30, 40], [10.0, 20.0, 30.0, 40.0], ["10", "20 ", "30", "40"]):
            found = evidence(read_panel(case_npz(tmp_path, id=np.array(ids)), answers))
            assert found == {"7": {("10", 0, 0), ("20", 1, 2)}, "8": {("10", 0, 1)}}


def test_who_answered_nothing_is_known_all_the_same(tmp_path):
    named = read(tmp_path, LONG + "a1,cy,\n,dee,\nelsewhere,eve,\n")
    assert named.panel.experts == ("ada", "bo", "cy", "dee", "eve") and named.panel.n_answers == 3
    assert named.n_unknown == 0


# truth


def test_truth_beside_an_answer_goes_before_that_of_the_case_which_fills_the_gaps(tmp_path):
    named = read(tmp_path, "item,expert,answer,label\na1,ada,cat,owl\na2,ada,owl,\na1,bo,dog,owl\n")
    assert evidence(named) == {"ada": {("a1", 2, 0), ("a2", 1, 2)}, "bo": {("a1", 2, 1)}}


def test_truth_beside_the_answers_is_enough(tmp_path):
    text = "item,expert,answer,label\na1,ada,cat,cat\na2,ada,owl,dog\na1,bo,dog,cat\n"
    assert evidence(read(tmp_path, text, label=None)) == TOLD


def test_each_truth_of_a_case_takes_a_row_of_its_own(tmp_path):
    named = read(tmp_path, "item,expert,answer,label\na1,ada,cat,owl\na1,bo,dog,dog\na1,cy,cat,owl\na2,ada,owl,\n")
    assert named.items == ("a1", "a1", "a2") and named.panel.label.tolist() == [1, 2, 1]
    assert named.panel["ada"].right.tolist() == [False, False] and named.panel["bo"].right.tolist() == [True]


def test_answers_without_a_truth_are_left_out_and_counted(tmp_path):
    named = read(tmp_path, LONG, label=np.array(["cat", "", "owl", "dog"]))
    assert named.n_unlabelled == 1 and evidence(named) == {"ada": {("a1", 0, 0)}, "bo": {("a1", 0, 1)}}


@pytest.mark.parametrize("label", [None, np.array([""] * 4), np.full(4, np.nan), np.full(4, -1)])
def test_without_any_truth_nothing_can_be_learnt(label, tmp_path):
    with refused(LabelError, "3 answers to cases without a label", "answers.csv", "beside the answers"):
        read(tmp_path, LONG, label=label, classes=NAMES)


@pytest.mark.parametrize("text", ["item,expert,answer\n", "item,expert,answer\na1,ada,\n", "item,ada\na1,\n"])
def test_without_any_answer_nothing_can_be_learnt(text, tmp_path):
    with refused(LabelError, "0 answers to cases without a label"):
        read(tmp_path, text)


# items


def test_items_that_no_case_carries_are_refused_or_left_out(tmp_path):
    text = LONG + "z9,ada,cat\n,bo,cat\n"
    with refused(UnknownItemError, "answers.csv', line 5: 'z9'; 2 of 5", "cases.npz", "'a1' to 'a4'", "--skip-unknown"):
        read(tmp_path, text)
    named = read(tmp_path, text, skip_unknown=True)
    assert named.n_unknown == 2 and evidence(named) == TOLD


def test_an_answer_to_no_item_is_refused(tmp_path):
    with refused(UnknownItemError, "line 5: An empty cell; 1 of 4"):
        read(tmp_path, LONG + ",ada,cat\n")


def test_where_every_item_is_unknown_nothing_is_skipped(tmp_path):
    with refused(UnknownItemError, "3 of 3"):
        read(tmp_path, LONG, skip_unknown=True, id=np.array(["b1", "b2", "b3", "b4"]))


def test_no_cases_have_no_items(tmp_path):
    empty = {name: values[:0] for name, values in case_arrays().items()}
    with refused(UnknownItemError, "'a1'; ", "holds no cases"):
        read(tmp_path, LONG, classes=NAMES, **empty)


# names of classes


def test_what_the_caller_says_is_believed(tmp_path):
    named = read(tmp_path, LONG, classes=["owl", "dog", "cat"])
    assert evidence(named) == {"ada": {("a1", 2, 2), ("a2", 1, 0)}, "bo": {("a1", 2, 1)}}
    assert named.classes == ("owl", "dog", "cat") and not named.is_sorted_guess


def test_then_what_the_file_says(tmp_path):
    named = read_panel(case_npz(tmp_path, classes=np.array(["owl", "dog", "cat"])), answer_csv(tmp_path, LONG))
    assert named.classes == ("owl", "dog", "cat") and not named.is_sorted_guess


def test_caller_and_file_must_agree(tmp_path):
    cases, answers = case_npz(tmp_path, classes=np.array(NAMES)), answer_csv(tmp_path, LONG)
    assert read_panel(cases, answers, classes=NAMES).classes == NAMES
    with refused(ClassNamesError, "called cat, dog, owl; asked for dog, cat, owl", "cases.npz"):
        read_panel(cases, answers, classes=["dog", "cat", "owl"])


def test_names_that_are_numbers_are_names_when_said_so(tmp_path):
    text, label = "item,expert,answer\na1,ada,1\na2,ada,3\na1,bo,2\n", np.array(["1", "2", "3", "1"])
    named = read(tmp_path, text, classes=["1", "2", "3"], label=label)
    assert evidence(named) == TOLD and named.classes == ("1", "2", "3")


@pytest.mark.parametrize(
    ("text", "label", "said"),
    [
        (
            "item,expert,answer\na1,ada,cat\n",
            ["cat", "dog", "cat", "dog"],
            "have 2 names (cat, dog); the posterior has 3",
        ),
        ("item,expert,answer\na1,ada,cow\n", LABEL, "(cat, cow, dog, owl); the posterior has 3 columns"),
        ("item,expert,answer\na1,ada,cat\n", [*"abc", "d"], "5 names"),
    ],
)
def test_names_that_do_not_number_the_columns_are_asked_for(text, label, said, tmp_path):
    with refused(ClassNamesError, said, "answers.csv", "cases.npz", "--classes"):
        read(tmp_path, text, label=np.array(label))


@pytest.mark.parametrize(
    ("text", "label"),
    [
        ("item,expert,answer\na1,ada,cat\na2,ada,dog\n", ["cat", "dog", "1", "1"]),
        ("item,expert,answer\na1,ada,cat\na2,ada,dog\n", ["0", "1", "0", "1"]),
    ],
)
def test_names_here_and_numbers_there_are_refused(text, label, tmp_path):
    with refused(LabelError, "names in some places and numbers in others", "answers.csv", "cases.npz"):
        read(tmp_path, text, label=np.array(label))


def test_numbers_for_classes_that_have_names_are_refused(tmp_path):
    with refused(LabelError, "line 2: holds '0'; 1 of 1 rows"):
        read(tmp_path, "item,expert,answer\na1,ada,0\n", classes=NAMES)


# refused by line


BAD = {
    "an answer": (LONG + "\na3,ada,cow\n", NAMES, LabelError, "line 6: holds 'cow'; 1 of 4 rows"),
    "a number too large": ("item,expert,answer\n\na1,ada,3\n", None, LabelError, "line 3: holds 3; 1 of 1 rows"),
    "a truth": ("item,expert,answer,label\n\na1,ada,cat,cow\n", NAMES, LabelError, "line 3: holds 'cow'"),
    "a truth too large": ("item,expert,answer,label\na1,ada,0,9\n", None, LabelError, "line 2: holds 9;"),
    "half a truth": ("item,expert,answer,label\na1,ada,0,0.5\n", None, LabelError, "line 2: holds 0.5;"),
    "nobody": (LONG + "a3,,cat\n", NAMES, UnknownExpertError, "line 5: has an answer but no expert"),
    "an answer twice": (LONG + '"a1","ada",cat\n', NAMES, DuplicateAnswerError, "line 5: is expert 'ada' on item 'a1'"),
    "wide, an answer": (
        "item,ada,bo\na1,cat,dog\n\na2,cat,cow\n",
        NAMES,
        LabelError,
        "line 4, column 'bo': holds 'cow'",
    ),
    "wide, a truth": ("item,ada,label\na1,cat,dog\na2,cat,cow\n", NAMES, LabelError, "line 3, column 'label': holds"),
    "wide, an item": ("id,ada\na1,cat\nz9,cat\n", NAMES, UnknownItemError, "line 3, column 'id': 'z9'"),
    "wide, an item twice": ("id,ada\na1,cat\na1,cat\n", NAMES, DuplicateAnswerError, "line 3, column 'ada': is expert"),
}


@pytest.mark.parametrize(("text", "classes", "error", "said"), BAD.values(), ids=BAD)
def test_a_bad_row_is_refused_where_it_stands(text, classes, error, said, tmp_path):
    with refused(error, f"answers.csv', {said}"):
        read(tmp_path, text, classes=classes, label=np.array([0, 1, 2, 0] if classes is None else LABEL))


def test_a_bad_label_of_a_case_is_not_blamed_on_the_answers(tmp_path):
    with refused(LabelError, "cases.npz': Row 1 holds 'dgo'") as caught:
        read(tmp_path, LONG, classes=NAMES, label=np.array(["cat", "dgo", "owl", "cat"]))
    assert "answers.csv" not in str(caught.value)


def test_items_and_experts_are_plain(tmp_path):
    plain = {"item": ["a1"], "expert": ["ada"], "answer": ["cat"]}
    for name in ("item", "expert"):
        with refused(ShapeError, f"'{name}' must hold text or numbers", "answers.parquet"):
            read_panel(case_npz(tmp_path), answer_parquet(tmp_path, {**plain, name: [["a1"]]}))


# long and wide say the same


@given(st.data())
def test_long_and_wide_csv_and_parquet_say_the_same(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("same")
    cell = st.one_of(st.none(), st.sampled_from(NAMES))
    sheet = data.draw(st.lists(st.lists(cell, min_size=4, max_size=4), min_size=1, max_size=4))
    truth = data.draw(st.lists(st.one_of(st.none(), st.sampled_from(NAMES)), min_size=4, max_size=4))
    has_truth = data.draw(st.booleans())
    experts = [f"reader, {n}" for n in range(len(sheet))]
    beside = {"label": truth} if has_truth else {}
    wide = pd.DataFrame({"item": IDS, **dict(zip(experts, sheet, strict=True)), **beside}, dtype=object)
    long = wide.melt(["item", *beside], var_name="expert", value_name="answer").sample(frac=1, random_state=0)
    cases = case_npz(folder, classes=np.array(NAMES))
    found = []
    for name, frame in (("wide", wide), ("long", long)):
        frame.to_csv(folder / f"{name}.csv", index=False)
        columns = {one: pa.array(frame[one].tolist(), pa.string(), from_pandas=True) for one in frame.columns}
        answer_parquet(folder, columns, f"{name}.parquet")
        for kind in ("csv", "parquet"):
            try:
                named = read_panel(cases, folder / f"{name}.{kind}")
                found.append((evidence(named), named.n_unlabelled, named.n_unknown))
            except LabelError:
                found.append(None)
    known = [one if beside and one else own for one, own in zip(truth, LABEL, strict=True)]
    told = {
        expert: {
            (IDS[i], NAMES.index(known[i]), NAMES.index(answer)) for i, answer in enumerate(row) if answer is not None
        }
        for expert, row in zip(experts, sheet, strict=True)
    }
    assert all(one == ((told, 0, 0) if any(told.values()) else None) for one in found)
