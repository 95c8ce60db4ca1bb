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


@pytest.mark.parametrize("size", [10, 100, 200])
def test_what_is_shown_and_what_is_asked_have_the_mix_of_the_file(size):
    """One case in twenty is of class 1: as many in a hundred are shown, and asked."""
    label = (np.arange(400) % 20 == 0).astype(int)
    cases = Cases(np.random.default_rng(0).standard_normal((400, 4)), np.full((400, 2), 0.5))
    trial = split_answers(Panel(cases, label, np.stack([label, 1 - label])), size, np.random.default_rng(0))
    for row in range(2):
        assert abs(int(trial.contexts.count[row, 1]) - size / 20) <= 1
        assert abs(int(trial.label[trial.asked[row]].sum()) - (400 - size) / 20) <= 1


def test_the_models_accuracy_is_that_of_the_file_where_a_class_is_rare():
    rng = np.random.default_rng(0)
    label = (rng.random(600) < 0.05).astype(int)
    said = np.where(label == 1, 0, 0)  # the model never finds the rare class
    posterior = np.where(np.eye(2)[said] == 1, 0.9, 0.1)
    cases = Cases(rng.standard_normal((600, 4)), posterior)
    answers = np.where(rng.random((12, 600)) < 0.9, label, 1 - label)
    trial = split_answers(Panel(cases, label, answers), 100, rng)
    assert abs(float(trial.model_right.double().mean()) - (label == 0).mean()) < 0.01


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
