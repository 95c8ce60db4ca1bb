"""Appending: what was there stays as it was, and parts appended are the whole built at once."""

import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from panels import answer_sheets, evidence, numbered_cases, random_queries, tensors
from refusal import refused

from racer import Cases, Context, Panel
from racer.errors import DuplicateAnswerError, ShapeError
from racer.pooling import same_role_mean, same_role_neighbours

LABEL = [0, 1, 1]


@pytest.fixture
def panel():
    return Panel(numbered_cases(3, 2), LABEL, [[0, -1, -1], [0, 0, -1]], experts=["ada", "bo"])


def shares_bank(one, other):
    n = min(len(one.cases), len(other.cases))
    return one.cases[:n].embedding.data_ptr() == other.cases[:n].embedding.data_ptr()


def assert_same_estimates(one, other, experts):
    queries = random_queries(one.n_roles)
    for read in (same_role_mean, lambda *args: same_role_mean(*args, temperature=0.005)):
        a, b = read(queries, one), read(queries, other)
        at, to = ([panel.position(expert) for expert in experts] for panel in (one, other))
        torch.testing.assert_close(a.mean[at], b.mean[to])
        torch.testing.assert_close(a.log_mass[at], b.log_mass[to])
        assert torch.equal(a.count[at], b.count[to])
    near = [same_role_neighbours(queries, panel, k=2) for panel in (one, other)]
    torch.testing.assert_close(near[0][at], near[1][to])


# parts are the whole


@given(answer_sheets(), st.data())
def test_parts_over_one_bank_are_the_whole_built_at_once(sheet, data):
    """Each answer goes into one of three parts, in any order."""
    n = len(sheet.answers())
    part = np.array(data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n)), dtype=int)
    grown = sheet.from_answers(np.flatnonzero(part == 0))
    seen = []
    for i in (1, 2):
        seen.append((grown, evidence(grown), tensors(grown)))
        grown = grown.append(sheet.from_answers(np.flatnonzero(part == i), cases=grown.cases))
    whole = sheet.from_matrix()
    assert grown.experts == whole.experts and grown.n_answers == whole.n_answers
    assert evidence(grown) == evidence(whole)
    assert torch.equal(grown.answer_matrix(), whole.answer_matrix())
    assert torch.equal(grown.group, whole.group) and torch.equal(grown.offset, whole.offset)
    assert len(grown.cases) == len(sheet.cases)
    assert shares_bank(grown, seen[0][0])
    if sheet.experts:
        assert_same_estimates(grown, whole, sheet.experts)
    for old, said, kept in seen:
        assert evidence(old) == said
        assert all(torch.equal(one, same) for one, same in zip(tensors(old), kept, strict=True))


@given(st.lists(answer_sheets(min_experts=1), min_size=2, max_size=4), st.randoms())
def test_parts_over_other_banks_put_their_cases_behind(sheets, random):
    """Other cases, other experts, each time; the order of grouping does not matter."""
    k, parts, start = 3, [], 0
    for sheet in sheets:
        n = len(sheet.cases)
        label, answer = sheet.label.clip(max=k - 1), sheet.answer.clip(max=k - 1)
        ids = random.sample("abcdefgh", len(sheet.experts))
        parts.append(Panel(numbered_cases(n, k, start), label, answer, ids))
        start += n
    kept = [tensors(part) for part in parts]
    left = parts[0]
    for part in parts[1:]:
        left = left.append(part)
    right = parts[-1]
    for part in reversed(parts[:-1]):
        right = part.append(right)
    whole: dict[str, list] = {}
    for part in parts:
        for expert, said in evidence(part).items():
            whole[expert] = sorted(whole.get(expert, []) + said)
    assert evidence(left) == evidence(right) == whole
    assert list(left.experts) == list(whole)
    assert len(left.cases) == start and left.n_answers == sum(part.n_answers for part in parts)
    assert (left.group.diff() >= 0).all()
    assert_same_estimates(left, right, left.experts)
    for part, before in zip(parts, kept, strict=True):
        assert all(torch.equal(one, same) for one, same in zip(tensors(part), before, strict=True))


def test_a_long_chain_of_single_answers_is_the_whole_built_at_once():
    generator = torch.Generator().manual_seed(0)
    cases = numbered_cases(40, 3)
    label, answer = torch.randint(3, (40,), generator=generator), torch.randint(3, (5, 40), generator=generator)
    grown = Panel(cases, label, torch.full((5, 40), -1))
    for flat in torch.randperm(200, generator=generator).tolist():
        who, which = divmod(flat, 40)
        row = torch.full((40,), -1)
        row[which] = answer[who, which]
        grown = grown.append(Panel(grown.cases, label, row[None], experts=[str(who)]))
    assert torch.equal(grown.answer_matrix(), answer)
    assert shares_bank(grown, Panel(cases, label, answer))


# the old panel


def test_what_an_old_panel_worked_out_is_not_handed_on(panel):
    for worked_out in ("offset", "count", "by_role", "wrong_by_answer"):
        getattr(panel, worked_out)
    assert len(panel.cases.role_state.rank) == 3
    larger = panel.append(Panel(numbered_cases(1, 2, start=3), [0], [[1], [0]], experts=["ada", "cy"]))
    assert larger.count.tolist() == [[2, 0], [1, 1], [1, 0]] and panel.count.tolist() == [[1, 0], [1, 1]]
    assert len(larger.wrong_by_answer.item) == 2 and len(panel.wrong_by_answer.item) == 1
    assert "cy" in larger and "cy" not in panel
    assert len(larger.cases.role_state.rank) == 4


def test_two_heirs_do_not_see_each_other(panel):
    parent = panel.append(Panel(numbered_cases(2, 2, start=3), [0, 1], [[0, 0]], experts=["ada"]))
    one = parent.append(Panel(numbered_cases(1, 2, start=10), [0], [[0]], experts=["cy"]))
    other = parent.append(Panel(numbered_cases(1, 2, start=20), [1], [[0]], experts=["dee"]))
    assert evidence(one) == {**evidence(parent), "cy": [(10, 0, 0)]}
    assert evidence(other) == {**evidence(parent), "dee": [(20, 1, 0)]}
    assert len(parent.cases) == 5


# who and which


def test_experts_are_matched_by_id_and_new_ones_come_last(panel):
    more = Panel(panel.cases, LABEL, [[-1, -1, 1], [1, 1, 1]], experts=["bo", "al"])
    larger = panel.append(more)
    assert larger.experts == ("ada", "bo", "al")
    assert evidence(larger) == {"ada": [(0, 0, 0)], "bo": [(0, 0, 0), (1, 1, 0), (2, 1, 1)],
                                "al": [(0, 0, 1), (1, 1, 1), (2, 1, 1)]}  # fmt: skip


def test_new_answers_to_the_panels_own_cases_share_its_bank(panel):
    larger = panel.append(Panel(panel.cases[:2], LABEL[:2], [[-1, 1]], experts=["ada"]))
    assert len(larger.cases) == 3 and shares_bank(larger, panel)
    by_table = Panel.from_table(larger.cases, ["x", "y", "z"], {"expert": ["ada"], "item": ["z"], "answer": [1]}, LABEL)
    assert shares_bank(larger.append(by_table), panel)
    by_context = Panel.from_contexts({"cy": Context(larger.cases, LABEL, [0, 0, 0])})
    assert shares_bank(larger.append(by_context), panel)


@pytest.mark.parametrize(
    ("cases", "label"),
    [
        (lambda own: numbered_cases(3, 2), LABEL),  # the same numbers in other memory
        (lambda own: own[1:], LABEL[1:]),
        (lambda own: own, [0, 0, 0]),
        (lambda own: Cases(own.embedding, [[0.9, 0.1]] * 3), LABEL),
    ],
    ids=["a copy", "other rows", "other truth", "another posterior"],
)
def test_cases_that_differ_in_anything_are_other_cases(cases, label, panel):
    own = cases(panel.cases)
    larger = panel.append(Panel(own, label, [[0] * len(own)], experts=["cy"]))
    assert len(larger.cases) == 3 + len(own)
    assert torch.equal(larger["cy"].label, torch.tensor(label))
    assert torch.equal(larger["cy"].cases.posterior, own.posterior)


def test_an_expert_with_nothing_to_say_is_enrolled(panel):
    larger = panel.append(Panel.from_contexts({"new": Context.empty(panel.cases)}))
    assert larger.experts == ("ada", "bo", "new") and len(larger["new"]) == 0
    assert len(larger.cases) == 3


def test_nobody_and_nothing_can_be_appended(panel):
    nobody = Panel(panel.cases, LABEL, np.empty((0, 3), dtype=int))
    assert evidence(panel.append(nobody)) == evidence(panel)
    assert evidence(nobody.append(panel)) == evidence(panel)
    nothing = Panel.from_contexts({"cy": Context.empty(Cases.empty(2, 2))})
    assert evidence(nothing.append(panel)) == {"cy": [], **evidence(panel)}


# what is refused


def test_an_answer_given_twice_is_refused(panel):
    again = Panel(panel.cases, LABEL, [[-1, 1, -1], [-1, 1, -1]], experts=["ada", "bo"])
    with refused(DuplicateAnswerError, "Expert 'bo' on case 1; 1 such", "a row of its own") as caught:
        panel.append(again)
    assert caught.value.data == {"expert": "bo", "item": 1}
    with refused(DuplicateAnswerError, "'ada' on case 0; 3 such"):
        panel.append(panel)
    assert panel.n_answers == 3


def test_a_second_reading_counts_when_its_case_has_a_row_of_its_own(panel):
    twice = panel.append(Panel(numbered_cases(1, 2), [0], [[1]], experts=["ada"]))
    assert evidence(twice)["ada"] == [(0, 0, 0), (0, 0, 1)]


def test_panels_of_other_classifiers_are_refused(panel):
    for cases, said in (
        (numbered_cases(3, 3), "2 features and 2 roles against 2 features and 3 roles"),
        (Cases(torch.ones(3, 5), torch.full((3, 2), 0.5)), "against 5 features"),
        (Cases(torch.ones(3, 2).double(), torch.full((3, 2), 0.5)), "torch.float32 against torch.float64"),
    ):
        with refused(ShapeError, "the panels", said):
            panel.append(Panel(cases, LABEL, [[0, 0, 0]]))


# elsewhere


def test_a_panel_from_another_process_grows_over_its_own_bank(panel):
    larger = panel.append(Panel(numbered_cases(1, 2, start=3), [0], [[1]], experts=["ada"]))
    back = pickle.loads(pickle.dumps(larger))
    grown = back.append(Panel(back.cases, [*LABEL, 0], [[-1, -1, 1, -1]], experts=["ada"]))
    assert len(grown.cases) == 4
    assert evidence(grown)["ada"] == [(0, 0, 0), (2, 1, 1), (3, 0, 1)]
    with refused(DuplicateAnswerError, "'ada' on case 3"):
        grown.append(Panel(grown.cases, [*LABEL, 0], [[-1, -1, -1, 0]], experts=["ada"]))


def test_a_panel_grown_in_inference_mode_grows_and_trains_outside_it(panel):
    with torch.inference_mode():
        cases = Cases(torch.ones(1, 2), torch.full((1, 2), 0.5))
        panel = panel.append(Panel(cases, [0], [[1]], experts=["ada"]))
    for start in (10, 11, 12, 13):
        panel = panel.append(Panel(numbered_cases(1, 2, start), [1], [[1]], experts=["ada"]))
    panel = panel.append(Panel.from_contexts({"cy": Context.empty(cases)}))
    assert panel.count.tolist() == [[2, 4], [1, 1], [0, 0]]
    x = torch.ones(1, 2, requires_grad=True)
    same_role_mean(Cases(x, cases.posterior), panel).mean.sum().backward()
    assert x.grad.isfinite().all()


def test_a_panel_over_inference_tensors_can_be_appended_to():
    with torch.inference_mode():
        cases = Cases(torch.ones(2, 2) * 2, torch.full((2, 2), 0.5))
    panel = Panel(cases, [0, 1], [[0, 0]], experts=["ada"])
    panel = panel.append(Panel.from_contexts({"cy": Context.empty(numbered_cases(1, 2))}))
    assert panel.append(Panel(numbered_cases(1, 2), [0], [[0]], experts=["cy"])).count.tolist() == [[1, 1], [1, 0]]
