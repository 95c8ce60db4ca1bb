"""Context: one expert's answers, where silence is never wrong and nothing changes behind the caller's back."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from panels import numbered_cases, random_queries
from refusal import refused

from racer import Cases, Context
from racer.errors import LabelError, ShapeError
from racer.evidence import panel_of
from racer.pooling import same_role_mean

LABEL, ANSWER = [0, 1, 2, 1], [0, 2, -1, 1]


@pytest.fixture
def cases():
    return numbered_cases(4, 3)


@pytest.fixture
def context(cases):
    return Context(cases, LABEL, ANSWER)


def test_an_answer_is_right_where_it_is_the_label(context):
    assert context.right.tolist() == [True, False, False, True]
    assert context.answered.tolist() == [True, True, False, True]
    assert len(context) == 3


def test_a_case_without_truth_may_stay_unanswered(cases):
    context = Context(cases, [0, -1, 2, -1], [0, -1, 1, -1])
    assert context.right.tolist() == [True, False, False, False]
    assert len(context) == 2


def test_silence_on_a_case_without_truth_is_not_right(cases):
    """−1 equals −1, and yet nobody was right."""
    assert not Context(cases, [-1] * 4, [-1] * 4).right.any()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 2)), max_size=8))
def test_silence_changes_no_estimate(pairs):
    """Leaving a case out and leaving it unanswered are the same evidence."""
    label, answer = (torch.tensor([pair[i] for pair in pairs], dtype=torch.int64) for i in (0, 1))
    cases, spoken = numbered_cases(len(pairs), 3), answer >= 0
    whole, spoken_only = Context(cases, label, answer), Context(cases[spoken], label[spoken], answer[spoken])
    one, other = (same_role_mean(random_queries(3), context) for context in (whole, spoken_only))
    torch.testing.assert_close(one.mean, other.mean)
    torch.testing.assert_close(one.log_mass, other.log_mass)
    assert one.count.tolist() == other.count.tolist()


def test_an_empty_context_is_an_expert_nobody_has_met(cases):
    empty = Context.empty(cases)
    assert (len(empty), len(empty.cases), empty.cases.n_roles, empty.cases.n_features) == (0, 0, 3, 2)
    assert empty.right.shape == empty.answered.shape == (0,)
    assert same_role_mean(cases, empty).mean.unique().tolist() == [0.5]


def test_a_context_in_which_nothing_was_answered_is_empty_too(cases):
    assert len(Context(cases, LABEL, [-1] * 4)) == 0


KINDS = {
    "list": list,
    "tuple": tuple,
    "int8": np.int8,
    "int64": np.int64,
    "big-endian": lambda v: np.array(v, ">i4"),
    "objects": lambda v: np.array(v, object),
    "series": pd.Series,
    "nullable series": lambda v: pd.Series(v, dtype="Int64"),
    "tensor": torch.tensor,
    "small tensor": lambda v: torch.tensor(v, dtype=torch.int8),
    "backwards": lambda v: np.array(v[::-1])[::-1],
    "every other": lambda v: np.repeat(v, 2)[::2],
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_any_holder_of_integers_is_read(kind, cases, context):
    read = Context(cases, kind(LABEL), kind(ANSWER))
    assert torch.equal(read.label, context.label) and torch.equal(read.answer, context.answer)
    assert read.label.dtype == read.answer.dtype == torch.int64


@pytest.mark.parametrize("holder", [np.array, torch.tensor])
def test_labels_and_answers_are_copied(holder, cases):
    label, answer = holder(LABEL), holder(ANSWER)
    context = Context(cases, label, answer)
    label[:], answer[:] = 2, 0
    assert context.label.tolist() == LABEL and context.answer.tolist() == ANSWER


def test_the_index_of_a_context_is_made_once(context):
    assert panel_of(context) is panel_of(context)
    assert panel_of(context).n_answers == 3


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))], ids=["deepcopy", "pickle"])
@pytest.mark.parametrize("indexed", [False, True])
def test_contexts_travel_between_processes(copied, indexed, context):
    if indexed:
        panel_of(context)
    back = copied(context)
    assert torch.equal(back.label, context.label) and torch.equal(back.answer, context.answer)
    assert torch.equal(back.cases.embedding, context.cases.embedding)
    assert torch.equal(panel_of(back).item, panel_of(context).item)


def test_the_repr_counts_and_shows_no_answers(context):
    assert repr(context) == "Context(3 answers, 2 right, Cases(4 cases, 2 features, 3 roles))"


BAD = {
    "answer above": (LABEL, [0, 1, 3, 1], LabelError, "'answer' is outside the 3 classes", "At 2 it is 3; 1 such"),
    "answer below": (LABEL, [-2, 1, 2, 1], LabelError, "At 0 it is -2", "−1 stands for no answer"),
    "label above": ([0, 1, 7, 9], ANSWER, LabelError, "'label' is outside", "At 2 it is 7; 2 such"),
    "label below": ([0, -5, 2, 1], ANSWER, LabelError, "At 1 it is -5"),
    "wrapped −1": (LABEL, np.array([0, 2**64 - 1, 1, 1], "u8"), LabelError, "At 1 it is 18446744073709551615"),
    "no truth": (
        [0, -1, 2, 1],
        ANSWER,
        LabelError,
        "Case 1 was answered but its label is −1; 1 such",
        "give the label",
    ),
    "floats": (np.array(LABEL, float), ANSWER, LabelError, "'label' must hold integers", "torch.float64"),
    "NaN for silence": (LABEL, [0, 2, np.nan, 1], LabelError, "'answer' must hold integers", "−1 for no answer"),
    "None for silence": (LABEL, [0, 2, None, 1], ShapeError, "'answer' is not a rectangular array of numbers"),
    "masked silence": (LABEL, np.ma.masked_equal(ANSWER, -1), ShapeError, "answers with -1"),
    "names": (["cat"] * 4, ANSWER, ShapeError, "'label' is not", "numbers only"),
    "names in an array": (np.array(["cat"] * 4), ANSWER, ShapeError, "'label' is not"),
    "numbers as text": (pd.Series(["0", "1", "2", "1"]), ANSWER, ShapeError, "'label' is not"),
    "complex": (np.array(LABEL) * 1j, ANSWER, LabelError, "complex128"),
    "short label": (LABEL[:3], ANSWER, ShapeError, "'label' has the wrong shape", "Got (3,); expected (4,)"),
    "long answer": (LABEL, [*ANSWER, 0], ShapeError, "'answer' has the wrong shape", "Got (5,)"),
    "one-hot": (np.eye(3, dtype=int)[[0, 1, 2, 1]], ANSWER, ShapeError, "Got (4, 3); expected (4,)"),
    "a number": (1, ANSWER, ShapeError, "Got ()"),
    "several experts": (LABEL, [ANSWER], ShapeError, "Got (1, 4); expected (4,)"),
}


@pytest.mark.parametrize(("label", "answer", "error", "said"), [(*v[:3], v[3:]) for v in BAD.values()], ids=BAD)
def test_bad_values_are_refused_by_name(label, answer, error, said, cases):
    with refused(error, *said):
        Context(cases, label, answer)


def test_where_it_went_wrong_is_kept_for_programs(cases):
    with refused(LabelError) as caught:
        Context(cases, LABEL, [0, 1, 2, 3])
    assert caught.value.data == {"name": "answer", "at": [3]}


def test_two_classes_are_enough_and_booleans_name_them():
    cases = Cases([[1.0], [2.0]], [[0.5, 0.5]] * 2)
    assert Context(cases, [True, False], [True, True]).right.tolist() == [True, False]
