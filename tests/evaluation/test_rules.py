"""Each rule asks whom its description names, as a case-by-case transcription does."""

import numpy as np
import torch
from evaluation.worlds import make_panel
from hypothesis import given
from hypothesis import strategies as st
from reference.rules import best_expert_choice, method_choice, oracle_gain

from racer import Cases, Panel, RacerKNN, Router, Threshold
from racer.evaluation.comparison import AT, compare, n_replicates
from racer.evaluation.estimates import estimate
from racer.evaluation.rules import N_DRAWS, rules
from racer.evaluation.trial import split_answers
from racer.metrics import aursac, system_curve

METHOD = RacerKNN(k=3)


def setting(seed, share=0.6):
    trial = split_answers(make_panel(seed, n_experts=5, n_items=40, share=share), 8, np.random.default_rng(seed))
    estimates = estimate(METHOD, trial)
    rows = torch.arange(len(trial.experts))
    found, item = rules("m", trial, estimates, rows, np.random.default_rng(seed))
    return trial, estimates, {one.name: one for one in found}, item


@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.1, 0.6, 1.0]))
def test_every_rule_equals_its_transcription(seed, share):
    trial, estimates, found, item = setting(seed, share)
    asked, right = trial.asked[:, item].tolist(), trial.right[:, item].tolist()
    chosen = method_choice(estimates.score[:, item].double().tolist(), asked)
    assert found["m"].score[0].tolist() == [score for score, _ in chosen]
    assert found["m"].right[0].tolist() == [right[who][case] for case, (_, who) in enumerate(chosen)]
    n, n_right = trial.contexts.count.sum(1).tolist(), trial.contexts.n_right.sum(1).tolist()
    best = best_expert_choice(n_right, n, asked)
    assert found["best expert"].right[0].tolist() == [right[who][case] for case, who in enumerate(best)]
    assert found["oracle"].score[0].tolist() == oracle_gain(right, trial.model_right[item].tolist(), asked)


@given(seed=st.integers(0, 10**6))
def test_anybody_is_somebody_who_was_asked(seed):
    trial, _, found, item = setting(seed, 0.3)
    asked, right = trial.asked[:, item], trial.right[:, item]
    somebody, everybody = (asked & right).any(0), (~asked | right).all(0)
    for draw in found["random"].right:
        assert not (draw & ~somebody).any() and not (~draw & everybody).any()


def test_anybody_is_each_with_the_same_chance():
    trial, _, found, item = setting(3, 1.0)
    drawn = found["confidence only"].right.double().mean()
    asked = trial.asked[:, item]
    expected = (trial.right[:, item].double().sum(0) / asked.sum(0)).mean()
    assert abs(drawn - expected) < 4 * 0.5 / (N_DRAWS * len(item)) ** 0.5


def test_the_best_expert_is_best_where_the_cases_are():
    """One is right on the common class, the other on the rare one: the first is right more often."""
    rng = np.random.default_rng(0)
    label = (rng.random(1000) < 0.1).astype(int)
    p_right = np.stack([np.where(label, 0.3, 0.95), np.where(label, 0.99, 0.7)])
    answers = np.where(rng.random((2, 1000)) < p_right, label, 1 - label)
    cases = Cases(rng.standard_normal((1000, 4)), np.full((1000, 2), 0.5))
    trial = split_answers(Panel(cases, label, answers), 100, rng)
    assert trial.context_accuracy.argmax() == 0


def test_the_method_asks_whom_a_router_asks():
    trial, _, found, item = setting(1)
    router = Router(METHOD, Threshold(-10.0), panel=trial.contexts)
    decision = router.route(trial.queries[item], available=trial.asked[:, item])
    right = trial.right[:, item].gather(0, decision.who[None])[0]
    assert torch.equal(right, found["m"].right[0])
    assert torch.allclose(decision.gain.amax(0).double(), found["m"].score[0])


def test_the_oracle_is_above_every_rule_at_every_budget():
    trial, _, found, item = setting(2)
    model = trial.model_right[item].numpy()
    best = system_curve(found["oracle"].score[0], found["oracle"].right[0], model).accuracy
    for one in found.values():
        for score, right in zip(one.score, one.right, strict=True):
            assert (system_curve(score, right, model).accuracy <= best + 1e-12).all()


def test_compared_areas_and_curves_are_those_of_the_metrics():
    trial, _, found, item = setting(4)
    model = trial.model_right[item]
    compared = compare(list(found.values()), model, np.random.default_rng(0))
    for one, rule in zip(compared, found.values(), strict=True):
        areas = [aursac(score, right, model) for score, right in zip(rule.score, rule.right, strict=True)]
        assert abs(one.aursac.estimate - np.mean(areas)) < 1e-12
        assert one.aursac.low <= one.aursac.estimate <= one.aursac.high
        n = len(model)
        curves = [
            np.interp(AT, np.arange(n + 1) / n, system_curve(score, right, model).accuracy)
            for score, right in zip(rule.score, rule.right, strict=True)
        ]
        np.testing.assert_allclose([one.accuracy_at(budget) for budget in AT], np.mean(curves, 0), atol=0.5 / n)
        assert abs(one.curve.accuracy[0] - model.double().mean()) < 1e-12
    method, best = compared[0], compared[1]
    assert method.behind is None
    assert abs(best.behind.estimate - (method.aursac.estimate - best.aursac.estimate)) < 1e-12


def test_differences_are_paired():
    """A rule is not told apart from itself by so much as a rounding error, in any resample."""
    trial, _, found, item = setting(5)
    twice = compare([found["m"], found["m"]], trial.model_right[item], np.random.default_rng(0))
    assert (twice[1].behind.replicates == 0).all()


def test_many_outcomes_are_redrawn_less_often_but_never_hardly():
    assert n_replicates(10) == 1000 and n_replicates(10**6) == 100 and n_replicates(10**12) == 100
