"""An evaluation says what is so: in worlds where the answer is known, and number by number."""

import json

import numpy as np
import pytest
import torch
from evaluation.worlds import make_panel

from racer import ClassifierConfidence, GlobalAccuracy, Panel, RacerKNN
from racer.evaluation import evaluate, to_plain_evaluation
from racer.evaluation.estimates import estimate
from racer.evaluation.evaluation import QUANTILES
from racer.evaluation.group import all_rows, judge
from racer.evaluation.trial import Trial, split_answers
from racer.metrics import aursac, bootstrap_gain, brier, ece

METHOD = GlobalAccuracy()


def test_good_experts_help_a_poor_model():
    found = evaluate(METHOD, make_panel(n_items=200, skill=0.95, model=0.5), context_size=20)
    assert found.everybody.verdict.helps and str(found).startswith("Deferring helps: handing ")
    assert "among these 6 experts" in str(found)


def test_poor_experts_make_a_good_model_worse():
    found = evaluate(METHOD, make_panel(n_items=400, skill=0.2, model=0.97), context_size=20)
    assert found.everybody.verdict.over_model.is_below_zero
    assert str(found).startswith("Deferring makes it worse, even at the best budget found: ")


def test_where_experts_are_as_good_as_the_model_one_cannot_tell():
    told = []
    for seed in range(20):
        panel = make_panel(seed, n_experts=1, n_items=100, skill=0.7, model=0.7, share=1.0)
        told.append(str(evaluate(ClassifierConfidence(), panel, context_size=10)).startswith("One cannot tell"))
    # the model is right where it is sure, no more often than elsewhere: there is nothing to gain by any order
    assert sum(told) >= 16


def test_few_cases_get_a_report_but_no_verdict():
    found = evaluate(METHOD, make_panel(n_items=12, share=1.0), context_size=4)
    assert found.everybody.verdict is None
    assert str(found).startswith("Too few cases to say whether deferring helps: ")
    assert json.dumps(to_plain_evaluation(found, list("abc")), allow_nan=False)


def test_a_single_question_is_no_reason_to_fail():
    one = make_panel(n_experts=1, n_items=1, share=1.0)
    found = evaluate(METHOD, one, context_size=10)
    assert found.everybody.rules == () and found.everybody.gain_alone is None
    assert found.experts[0].n_context == 0 and found.experts[0].n_asked == 1


def test_seen_and_unseen_experts_are_told_apart():
    panel = make_panel()
    found = evaluate(METHOD, panel, context_size=10, seen=["e0", "e2", "stranger"])
    assert {group.name: group.experts for group in found.groups} == {
        "all": panel.experts,
        "seen": ("e0", "e2"),
        "unseen": ("e1", "e3", "e4", "e5"),
    }
    assert [row.is_seen for row in found.experts] == [True, False, True, False, False, False]
    everybody_seen = evaluate(METHOD, panel, context_size=10, seen=panel.experts)
    assert [group.name for group in everybody_seen.groups] == ["all"] and everybody_seen.is_everybody_seen
    nobody_seen = evaluate(METHOD, panel, context_size=10)
    assert [group.name for group in nobody_seen.groups] == ["all"] and not nobody_seen.is_everybody_seen


def test_a_group_is_what_it_would_be_alone():
    """The unseen are not helped by those seen: their numbers are those of a trial with nobody else."""
    panel = make_panel()
    found = evaluate(METHOD, panel, context_size=10**6, seen=["e0", "e1", "e2"])
    unseen = found.groups[2]
    trial = split_answers(panel, 10**6, np.random.default_rng(0))
    asked = trial.asked[3:].any(0)
    assert unseen.n_cases == int(asked.sum()) and unseen.n_answers == int(trial.asked[3:].sum())
    assert unseen.model_accuracy == pytest.approx(float(trial.model_right[asked].double().mean()))
    right = trial.right[3:][trial.asked[3:]]
    assert unseen.expert_accuracy == pytest.approx(float(right.double().mean()))
    alone = Trial(
        trial.contexts.subset(panel.experts[3:]),
        trial.queries[asked],
        trial.label[asked],
        trial.asked[3:][:, asked],
        trial.right[3:][:, asked],
    )
    again = judge("alone", METHOD.name, alone, estimate(METHOD, alone), all_rows(alone), np.random.default_rng(0))
    assert unseen.rule(METHOD.name).aursac.estimate == pytest.approx(again.rules[0].aursac.estimate, abs=1e-9)
    assert unseen.rule("best expert").aursac.estimate == pytest.approx(again.rules[1].aursac.estimate, abs=1e-9)


def test_every_number_of_an_expert_can_be_worked_out_by_hand():
    panel = make_panel(seed=2)
    found = evaluate(RacerKNN(k=3), panel, context_size=12, seed=5)
    trial = split_answers(panel, 12, np.random.default_rng(5))
    q = RacerKNN(k=3).expert_correctness(trial.queries, trial.contexts)
    for row, one in enumerate(found.experts):
        mine = trial.asked[row]
        right, model = trial.right[row, mine], trial.model_right[mine]
        unsure = -trial.queries.confidence[mine]
        score = (q[row] - trial.queries.confidence)[mine]
        assert one.n_asked == int(mine.sum()) and one.n_context == int(trial.contexts.count[row].sum())
        assert one.accuracy == pytest.approx(float(right.double().mean()))
        assert one.model_accuracy == pytest.approx(float(model.double().mean()))
        assert one.mean_p_right == pytest.approx(float(q[row, mine].double().mean()), abs=1e-6)
        assert one.gain == pytest.approx(aursac(score, right, model) - aursac(unsure, right, model), abs=1e-12)
    asked = trial.asked
    assert found.everybody.calibration.brier == pytest.approx(brier(q[asked], trial.right[asked]))
    assert found.everybody.calibration.ece == pytest.approx(ece(q[asked], trial.right[asked]))
    alone = bootstrap_gain(
        (q - trial.queries.confidence).numpy(),
        -trial.queries.confidence.double(),
        trial.right,
        trial.model_right,
        trial.asked,
        seed=0,
        n_replicates=10,
    )
    assert found.everybody.gain_alone.estimate == pytest.approx(alone.estimate, abs=1e-9)
    assert not found.everybody.speaks_of_others


def test_competence_by_class_is_the_mean_at_the_true_role():
    panel = make_panel(seed=3)
    found = evaluate(RacerKNN(k=3), panel, context_size=12)
    trial = split_answers(panel, 12, np.random.default_rng(0))
    gamma = RacerKNN(k=3).competence(trial.queries, trial.contexts)
    for expert in range(len(trial.experts)):
        for role in range(3):
            here = trial.asked[expert] & (trial.label == role)
            assert int(found.n[expert, role]) == int(here.sum())
            assert int(found.n_right[expert, role]) == int(trial.right[expert, here].sum())
            assert found.predicted[expert, role] == pytest.approx(float(gamma[expert, here, role].sum()), abs=1e-4)


def test_evidence_quantiles_rise_and_more_answers_are_more_evidence():
    few, many = (evaluate(METHOD, make_panel(n_items=300), context_size=size) for size in (5, 100))
    assert len(QUANTILES) == few.evidence.shape[1]
    for found in (few, many):
        assert (found.evidence.diff(dim=1) >= 0).all()
    assert (many.evidence[:, 2] > few.evidence[:, 2]).all()


def test_with_ten_experts_the_gain_alone_speaks_of_others():
    found = evaluate(METHOD, make_panel(n_experts=10), context_size=10)
    assert found.everybody.speaks_of_others


def test_a_method_without_probabilities_is_evaluated_too():
    plain = to_plain_evaluation(evaluate(ClassifierConfidence(), make_panel(), context_size=10), list("abc"))
    assert plain["groups"]["all"]["brier"] is None and plain["experts"][0]["competence_by_role"] is None
    assert json.dumps(plain, allow_nan=False)


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others():
    panel = make_panel()
    first, again, other = (
        json.dumps(to_plain_evaluation(evaluate(METHOD, panel, context_size=10, seed=seed), list("abc")))
        for seed in (0, 0, 1)
    )
    assert first == again != other


def test_a_truth_of_each_reader_is_kept_apart():
    """Where the truth depends on who is asked, a case has a row for each truth, and both count."""
    panel = make_panel(n_experts=2, share=1.0)
    truth = torch.stack([panel.label, (panel.label + 1) % 3])
    apart = Panel(panel.cases, truth, panel.answer_matrix(), experts=panel.experts)
    found = evaluate(METHOD, apart, context_size=10)
    assert found.experts[0].accuracy > 0.5 and found.experts[1].accuracy < 0.5
