"""What is shown is never asked, and nothing is lost."""

import numpy as np
import pytest
import torch
from evaluation.worlds import make_panel
from hypothesis import given
from hypothesis import strategies as st
from refusal import refused

from racer import Cases, Panel
from racer.errors import SettingError, TooFewAnswersError
from racer.evaluation.trial import split_answers


def rows_of(cases, bank):
    return (cases.embedding[:, None] == bank.embedding).all(-1).int().argmax(1)


@given(seed=st.integers(0, 10**6), context_size=st.integers(0, 60), share=st.sampled_from([0.05, 0.4, 1.0]))
def test_an_answer_is_either_shown_or_asked(seed, context_size, share):
    panel = make_panel(seed, n_experts=4, n_items=30, share=share)
    if not panel.n_answers:
        return
    trial = split_answers(panel, context_size, np.random.default_rng(seed))
    whole = panel.answer_matrix() >= 0
    shown = torch.zeros_like(whole)
    shown[
        [panel.position(trial.experts[row]) for row in trial.contexts.expert.tolist()],
        rows_of(trial.contexts.cases, panel.cases)[trial.contexts.item],
    ] = True
    asked = torch.zeros_like(whole)
    at = trial.asked.nonzero()
    asked[
        [panel.position(trial.experts[row]) for row in at[:, 0].tolist()],
        rows_of(trial.queries, panel.cases)[at[:, 1]],
    ] = True
    assert not (shown & asked).any() and torch.equal(shown | asked, whole)
    n = whole.sum(1)
    assert torch.equal(shown.sum(1), torch.minimum(torch.tensor(context_size), n // 2))


def test_contexts_are_as_even_over_the_classes_as_they_can_be():
    panel = make_panel(n_items=300, share=1.0)
    trial = split_answers(panel, 30, np.random.default_rng(0))
    assert torch.equal(trial.contexts.count, torch.full((6, 3), 10))


def test_right_and_model_right_are_those_of_the_panel():
    panel = make_panel()
    trial = split_answers(panel, 10, np.random.default_rng(0))
    row = rows_of(trial.queries, panel.cases)
    said = panel.answer_matrix()[:, row]
    assert torch.equal(trial.right, (said == panel.label[row]) & trial.asked)
    assert torch.equal(trial.model_right, panel.cases.prediction[row] == panel.label[row])


def test_an_expert_without_answers_is_left_out():
    cases = Cases(np.eye(4), np.full((4, 2), 0.5))
    panel = Panel(cases, [0, 1, 0, 1], [[0, 1, 0, 1], [-1] * 4, [1, -1, -1, -1]], experts=["ada", "nobody", "cy"])
    trial = split_answers(panel, 2, np.random.default_rng(0))
    assert trial.experts == ("ada", "cy")
    assert trial.contexts.count.sum(1).tolist() == [2, 0] and trial.asked.sum(1).tolist() == [2, 1]


def test_one_right_answer_makes_nobody_the_best():
    cases = Cases(np.eye(40), np.full((40, 2), 0.5))
    answer = np.full((2, 40), -1)
    answer[0, :2] = 0
    answer[1] = 0
    trial = split_answers(Panel(cases, [0] * 36 + [1] * 4, answer), 20, np.random.default_rng(0))
    novice, veteran = trial.context_accuracy.tolist()
    assert novice == pytest.approx(2 / 3) and veteran > novice


def test_the_same_seed_gives_the_same_trial():
    first, second = (split_answers(make_panel(), 10, np.random.default_rng(3)) for _ in range(2))
    assert torch.equal(first.asked, second.asked) and torch.equal(first.contexts.item, second.contexts.item)


@pytest.mark.parametrize("size", [-1, 2.5, True])
def test_a_context_size_counts_answers(size):
    with refused(SettingError, repr(size)):
        split_answers(make_panel(), size, np.random.default_rng(0))


def test_nothing_to_evaluate_is_said():
    with refused(TooFewAnswersError, "0 answers"):
        split_answers(make_panel(share=0.0), 10, np.random.default_rng(0))
