"""Panel: many ways in, one panel; every count as counted by hand; sparse however large."""

import copy
import itertools
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from panels import answer_sheets, answers_in, evidence, numbered_cases, random_queries, tensors
from reference import panel as reference
from refusal import refused
from torch.utils._python_dispatch import TorchDispatchMode

from racer import Cases, Context, Panel
from racer.errors import (
    DuplicateAnswerError,
    DuplicateExpertError,
    LabelError,
    ShapeError,
    UnknownExpertError,
    UnknownItemError,
)
from racer.pooling import same_role_mean

LABEL, ANSWER = [0, 1, 2, 1], [[0, 2, -1, 1], [-1, -1, -1, -1], [1, 1, 2, -1]]


@pytest.fixture
def panel():
    return Panel(numbered_cases(4, 3), LABEL, ANSWER, experts=["ada", "bo", "cy"])


def from_table(sheet, truth_in_table=False):
    expert, item = sheet.answered
    table = {
        "expert": np.array(sheet.experts, dtype=object)[expert],
        "item": item,
        "answer": sheet.answer[expert, item],
        "label": sheet.label[item],
    }
    return Panel.from_table(sheet.cases, range(len(sheet.cases)), table, label=None if truth_in_table else sheet.label)


# one panel, however it came


@given(answer_sheets())
def test_every_way_in_gives_the_same_panel(sheet):
    panel = sheet.from_matrix()
    assert panel.answer_matrix().tolist() == sheet.answer.tolist()
    others = [sheet.from_answers()] + ([sheet.from_contexts()] if sheet.experts else [])
    for other in others:
        assert other.experts == panel.experts == tuple(sheet.experts)
        assert all(torch.equal(one, same) for one, same in zip(tensors(panel), tensors(other), strict=True))


@given(answer_sheets(), st.booleans())
def test_a_table_gives_the_same_evidence_of_everybody_in_it(sheet, truth_in_table):
    """The experts come in the order of the table, and one whom it does not mention is not known."""
    panel = from_table(sheet, truth_in_table)
    assert evidence(panel) == {expert: said for expert, said in evidence(sheet.from_matrix()).items() if said}


@given(answer_sheets())
def test_everything_counted_is_as_counted_by_hand(sheet):
    panel, answers = sheet.from_matrix(), sheet.answers()
    size = (len(sheet.experts), sheet.cases.n_roles)
    assert panel.n_answers == len(answers)
    assert panel.count.tolist() == reference.count(answers, *size)
    assert panel.n_right.tolist() == reference.n_right(answers, *size)
    assert panel.supports_every_role == all(n > 0 for row in reference.count(answers, *size) for n in row)
    assert groups(panel.item, panel.right, panel.offset) == reference.by_outcome(answers, *size)
    assert groups(*vars(panel.by_role).values()) == reference.by_role(answers, *size)
    assert groups(*vars(panel.wrong_by_answer).values()) == reference.wrong_by_answer(answers, *size)
    kept = [panel.expert, panel.item, panel.role, panel.answer]
    assert sorted(zip(*(one.tolist() for one in kept), strict=True)) == sorted(answers)
    assert torch.equal(panel.right, panel.answer == panel.role)


def groups(item, right, offset):
    pairs = list(zip(item.tolist(), right.tolist(), strict=True))
    edges = offset.tolist()
    assert edges[0] == 0 and edges[-1] == len(pairs)
    return [sorted(pairs[first:last]) for first, last in itertools.pairwise(edges)]


@given(answer_sheets())
def test_an_expert_gives_back_the_context(sheet):
    panel = sheet.from_contexts() if sheet.experts else sheet.from_matrix()
    for expert, row in zip(sheet.experts, sheet.answer, strict=True):
        context = Context(sheet.cases, sheet.label, row)
        back = panel[expert]
        assert len(back) == len(context) == len(back.cases)
        assert answers_in(back) == answers_in(context)
        assert back.cases.embedding[:, 0].tolist() == context.cases.embedding[context.answered][:, 0].tolist()


def test_contexts_over_the_same_cases_share_the_bank():
    cases, others = numbered_cases(3, 2), numbered_cases(2, 2, start=3)
    one, two = Context(cases, [0, 1, 1], [0, 0, -1]), Context(cases, [0, 1, 1], [-1, 1, 1])
    relabelled, elsewhere = Context(cases, [1, 1, 1], [0, 0, 0]), Context(others, [0, 1], [0, 0])
    assert len(Panel.from_contexts({"a": one, "b": two}).cases) == 3
    together = {"a": one, "b": relabelled, "c": two, "d": elsewhere, "e": Context.empty(cases)}
    panel = Panel.from_contexts(together)
    assert len(panel.cases) == 3 + 3 + 2
    assert evidence(panel) == {expert: answers_in(context) for expert, context in together.items()}


def test_a_panel_may_have_a_truth_for_each_reader():
    cases = numbered_cases(3, 3)
    label = [[0, 1, -1], [0, 2, 2], [0, 2, 0]]
    panel = Panel(cases, label, [[0, 1, -1], [1, 2, 2], [0, 0, -1]], experts=["ada", "bo", "cy"])
    assert evidence(panel) == {"ada": [(0, 0, 0), (1, 1, 1)], "bo": [(0, 0, 1), (1, 2, 2), (2, 2, 2)],
                               "cy": [(0, 0, 0), (1, 2, 0)]}  # fmt: skip
    assert panel["ada"].right.all()
    assert len(panel.cases) == 4  # the second case once as class 1 and once, for two readers, as class 2
    assert panel.label.tolist() == [0, 1, 2, 2]


@given(answer_sheets(min_experts=1))
def test_one_truth_for_all_and_the_same_truth_for_each_are_the_same_evidence(sheet):
    repeated = np.broadcast_to(sheet.label, sheet.answer.shape)
    panel = Panel(sheet.cases, repeated, sheet.answer, sheet.experts)
    assert evidence(panel) == evidence(sheet.from_matrix())
    assert len(panel.cases) == len(set(sheet.answered[1].tolist()))


def test_answers_of_minus_one_are_no_answers_in_long_form_either():
    panel = Panel.from_answers(numbered_cases(2, 2), [0, -1], [0, 0, 1], [0, 1, 1], [1, -1, -1], ["ada", "bo"])
    assert evidence(panel) == {"ada": [(0, 0, 1)], "bo": []}


# silence


def test_an_expert_with_no_answers_is_known_and_neutral(panel):
    assert "bo" in panel and len(panel["bo"]) == 0
    assert panel.count[1].tolist() == panel.n_right[1].tolist() == [0, 0, 0]
    assert same_role_mean(panel.cases, panel).mean[1].unique().tolist() == [0.5]


@given(answer_sheets(min_experts=1))
def test_silent_experts_and_unanswered_cases_change_nobody_else(sheet):
    more = numbered_cases(len(sheet.cases) + 2, sheet.cases.n_roles)
    answer = np.full((len(sheet.experts) + 1, len(more)), -1)
    answer[1:, : len(sheet.cases)] = sheet.answer
    panel = Panel(more, [*sheet.label, 0, 1], answer, ["silent", *sheet.experts])
    queries = random_queries(more.n_roles)
    one, other = same_role_mean(queries, panel), same_role_mean(queries, sheet.from_matrix())
    torch.testing.assert_close(one.mean[1:], other.mean)
    torch.testing.assert_close(one.log_mass[1:], other.log_mass)
    assert panel.n_answers == (sheet.answer >= 0).sum()


# ids


def test_experts_without_names_are_numbered(panel):
    assert Panel(panel.cases, LABEL, ANSWER).experts == ("0", "1", "2")
    assert Panel(panel.cases, LABEL, ANSWER, experts=[7, 8, 9])["8"].answer.tolist() == []


def test_who_is_there_can_be_asked(panel):
    assert "ada" in panel and "zoe" not in panel and 0 not in panel
    assert [panel.position(expert) for expert in panel.experts] == [0, 1, 2]
    with refused(UnknownExpertError, "'zoe'", "holds 3 experts: 'ada', 'bo', 'cy'.", "append") as caught:
        panel["zoe"]
    assert caught.value.data == {"expert": "zoe", "known": ("ada", "bo", "cy")}
    with refused(UnknownExpertError, "No answers from expert 0"):
        panel[0]


# some of the experts


@given(answer_sheets(), st.randoms())
def test_a_subset_keeps_its_experts_evidence_and_only_their_cases(sheet, random):
    panel = sheet.from_matrix()
    some = random.sample(sheet.experts, random.randint(0, len(sheet.experts)))
    subset, whole = panel.subset(some), evidence(panel)
    assert subset.experts == tuple(some)
    assert evidence(subset) == {expert: whole[expert] for expert in some}
    assert len(subset.cases) == len({case for expert in some for case, _, _ in whole[expert]})
    assert subset.cases.n_roles == panel.n_roles
    assert [panel.count[panel.position(one)].tolist() for one in some] == subset.count.tolist()


def test_a_subset_takes_any_iterable_of_known_experts_once(panel):
    assert panel.subset(expert for expert in ("cy", "ada")).experts == ("cy", "ada")
    with refused(UnknownExpertError, "'zoe'"):
        panel.subset(["ada", "zoe"])
    with refused(DuplicateExpertError, "'ada'"):
        panel.subset(["ada", "ada"])


# travel


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))], ids=["deepcopy", "pickle"])
def test_panels_travel_between_processes(copied, panel):
    back = copied(panel)
    assert back.experts == panel.experts and evidence(back) == evidence(panel)
    assert (
        torch.equal(back.offset, panel.offset) and back.cases.embedding.data_ptr() != panel.cases.embedding.data_ptr()
    )
    assert torch.equal(same_role_mean(back.cases, back).mean, same_role_mean(panel.cases, panel).mean)


def test_a_sent_panel_takes_neither_caches_nor_room_along(panel):
    fresh = len(pickle.dumps(panel))
    same_role_mean(panel.cases, panel, temperature=0.005)
    panel.wrong_by_answer, panel["ada"]
    assert len(pickle.dumps(panel)) == fresh


def test_the_repr_counts_and_shows_no_answers(panel):
    assert repr(panel) == "Panel(3 experts, 6 answers, 4 cases, 3 roles)"


def test_a_panel_scored_in_inference_mode_can_be_trained_on():
    cases = Cases(torch.randn(4, 2, generator=torch.Generator().manual_seed(0)), torch.full((4, 3), 1 / 3))
    with torch.inference_mode():
        panel = Panel(cases[:], LABEL, ANSWER)
        same_role_mean(cases, panel)
        assert len(panel.by_role.item) + len(panel.wrong_by_answer.item) > 0
    x = torch.ones(1, 2, requires_grad=True)
    same_role_mean(Cases(x, cases.posterior[:1]), panel).mean.sum().backward()
    assert x.grad.isfinite().all()


# what is refused


def test_what_was_given_is_copied():
    label, answer = torch.tensor([0, 1]), torch.tensor([[0, 0]])
    panel = Panel(numbered_cases(2, 2), label, answer)
    label[:], answer[:] = 1, 1
    assert evidence(panel) == {"0": [(0, 0, 0), (1, 1, 0)]}


IDS = ["ada", "bo", "cy"]
BAD_MATRIX = {
    "answer above": (LABEL, [[0, 2, 3, 1]] * 3, IDS, LabelError, "'answer' is outside", "At [0, 2] it is 3; 3 such"),
    "answer below": (LABEL, [[0, 2, 1, -2]] * 3, IDS, LabelError, "At [0, 3] it is -2"),
    "label above": ([0, 1, 3, 1], ANSWER, IDS, LabelError, "'label' is outside", "At 2 it is 3"),
    "no truth": ([0, 1, -1, 1], ANSWER, IDS, LabelError, "Case 2 was answered but its label is −1; 1 such"),
    "no truth for one reader": (
        [[0, 1, 2, 1], LABEL, [-1, 1, 2, 1]], ANSWER, IDS, LabelError, "Case 0 was answered", "1 such",
    ),
    "float labels": ([0.0, 1.0, 2.0, 1.0], ANSWER, IDS, LabelError, "'label' must hold integers"),
    "NaN cells": (LABEL, [[0, 1, np.nan, 1]] * 3, IDS, LabelError, "'answer' must hold integers", "−1 for no answer"),
    "names": (LABEL, [["cat", "dog", "cat", "cow"]] * 3, IDS, ShapeError, "'answer' is not a rectangular array"),
    "ragged": (LABEL, [[0, 1, 2, 1], [0]], IDS[:2], ShapeError, "as many in each row"),
    "other length": (LABEL[:3], ANSWER, IDS, ShapeError, "'label' has the wrong shape", "Got (3,); expected (4,)"),
    "transposed": (LABEL, np.transpose(ANSWER), IDS, ShapeError, "Got (4, 3); expected ('any', 4)"),
    "one expert": (LABEL, ANSWER[0], IDS[:1], ShapeError, "Got (4,); expected ('any', 4)", "one row per expert"),
    "labels for other readers": ([LABEL], ANSWER, IDS, ShapeError, "Got (1, 4); expected (3, 4)"),
    "an id too few": (LABEL, ANSWER, IDS[:2], ShapeError, "Got 2 ids for 3 rows"),
    "an id twice": (LABEL, ANSWER, ["ada", "bo", "ada"], DuplicateExpertError, "'ada', among 3 experts", "append()"),
    "an id twice as text": (LABEL, ANSWER, ["1", "bo", 1], DuplicateExpertError, "'1'"),
    "ids in no order": (LABEL, ANSWER, set(IDS), ShapeError, "'experts' must be a list", "a set"),
    "ids in a mapping": (LABEL, ANSWER, dict.fromkeys(IDS), ShapeError, "'experts' must be a list", "a dict"),
    "one text": (LABEL, ANSWER, "abc", ShapeError, "'experts' must be a list", "a str"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("label", "answer", "experts", "error", "said"), [(*v[:4], v[4:]) for v in BAD_MATRIX.values()], ids=BAD_MATRIX
)
def test_a_bad_matrix_is_refused_by_name(label, answer, experts, error, said):
    with refused(error, *said):
        Panel(numbered_cases(4, 3), label, answer, experts)


BAD_ANSWERS = {
    "nobody": ([0, 3], [0, 1], [0, 1], UnknownExpertError, "'expert' points outside the 3", "At 1 it is 3; 1 such"),
    "expert −1": ([-1, 0], [0, 1], [0, 1], UnknownExpertError, "At 0 it is -1"),
    "no such case": ([0, 0], [0, 4], [0, 1], UnknownItemError, "'item' points outside the 4", "At 1 it is 4"),
    "case −1": ([0, 0], [-1, 0], [0, 1], UnknownItemError, "At 0 it is -1"),
    "answer above": ([0, 0], [0, 1], [0, 3], LabelError, "At 1 it is 3"),
    "twice": ([2, 0, 2], [1, 1, 1], [0, 1, 1], DuplicateAnswerError, "Expert 'cy' on case 1; 1 such", "Keep one"),
    "fewer experts": ([0], [0, 1], [0, 1], ShapeError, "'expert' has the wrong shape", "Got (1,); expected (2,)"),
    "fewer items": ([0, 0], [0], [0, 1], ShapeError, "'item' has the wrong shape"),
    "float positions": ([0.0, 0.0], [0, 1], [0, 1], LabelError, "'expert' must hold integers"),
    "ids for positions": (["ada", "bo"], [0, 1], [0, 1], ShapeError, "'expert' is not a rectangular array"),
    "a matrix": ([0], [0], ANSWER, ShapeError, "'answer' has the wrong shape"),
}


@pytest.mark.parametrize(
    ("expert", "item", "answer", "error", "said"), [(*v[:4], v[4:]) for v in BAD_ANSWERS.values()], ids=BAD_ANSWERS
)
def test_bad_answers_are_refused_by_name(expert, item, answer, error, said):
    with refused(error, *said):
        Panel.from_answers(numbered_cases(4, 3), LABEL, expert, item, answer, experts=IDS)


def test_bad_ids_and_truths_are_refused_in_long_form_too():
    cases = numbered_cases(2, 2)
    with refused(ShapeError, "'experts' must be a list"):
        Panel.from_answers(cases, [0, 1], [0], [0], [0], experts={"ada"})
    with refused(DuplicateExpertError, "'ada'"):
        Panel.from_answers(cases, [0, 1], [0], [0], [0], experts=["ada", "ada"])
    with refused(LabelError, "Case 1 was answered but its label is −1"):
        Panel.from_answers(cases, [0, -1], [0], [1], [0], experts=["ada"])


def test_bad_contexts_are_refused():
    context = Context(numbered_cases(2, 2), [0, 1], [0, 1])
    with refused(ShapeError, "at least one context", "Context.empty"):
        Panel.from_contexts({})
    with refused(ShapeError, "2 features and 2 roles against 2 features and 3 roles"):
        Panel.from_contexts({"a": context, "b": Context.empty(numbered_cases(0, 3))})
    with refused(DuplicateExpertError, "'1', among 2"):
        Panel.from_contexts({1: context, "1": context})


# size


class LargestResult(TorchDispatchMode):
    """Watches every tensor that torch makes."""

    def __init__(self):
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        for one in out if isinstance(out, (tuple, list)) else [out]:
            if isinstance(one, torch.Tensor):
                self.numel = max(self.numel, one.numel())
        return out


def kept_tensors(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif hasattr(value, "__dict__"):
        for one in vars(value).values():
            yield from kept_tensors(one)


def test_a_million_answers_from_ten_thousand_experts_stay_sparse():
    n_experts, n_cases, each, k = 10_000, 20_000, 100, 10
    generator = torch.Generator().manual_seed(0)
    expert = torch.arange(n_experts).repeat_interleave(each)
    item = (expert * 37 + torch.arange(each).repeat(n_experts) * 7919) % n_cases
    label = torch.randint(k, (n_cases,), generator=generator)
    answer = torch.randint(k, (len(expert),), generator=generator)
    cases, names = numbered_cases(n_cases, k), [f"expert-{i}" for i in range(n_experts)]
    with LargestResult() as largest:
        panel = Panel.from_answers(cases, label, expert, item, answer, names)
        more = Panel.from_answers(panel.cases, label, [5], [int((37 * 5 + 1) % n_cases)], [0], names)
        larger = panel.append(more)
        for one in (panel, larger):
            one.count, one.n_right, one.by_role, one.wrong_by_answer, one["expert-5"]
        panel.subset(names[:100])
    assert largest.numel <= larger.n_answers == 1_000_001
    held = {one.untyped_storage().data_ptr(): one.untyped_storage().nbytes() for one in kept_tensors(panel)}
    answers = 8 * 3 * panel.n_answers
    derived = (8 + 1) * 2 * panel.n_answers + 8 * 8 * n_experts * k
    bank = 4 * n_cases * (2 + 2 + k) + 8 * n_cases
    assert sum(held.values()) < 1.1 * (answers + derived + bank)
    who, which = 1234, slice(1234 * each, 1235 * each)
    assert panel[f"expert-{who}"].answer.tolist() == answer[which][item[which].argsort()].tolist()
