"""Does deferring help here at all?"""

import numpy as np
import pytest
import torch
from reference import system_curve as reference

from racer.errors import NonFiniteError, SettingError, ShapeError, TooFewAnswersError
from racer.metrics import bootstrap_gain, verdict


def world(n_experts, n_items, model_skill, expert_skill, seed):
    rng = np.random.default_rng(seed)
    model = rng.random(n_items) < model_skill
    expert = rng.random((n_experts, n_items)) < expert_skill
    return rng.normal(size=(n_experts, n_items)), expert, model, rng.random(n_items)


def run(score, expert, model, confidence, seed=0, n_replicates=200, **options):
    return verdict(score, expert, model, confidence=confidence, seed=seed, n_replicates=n_replicates, **options)


def test_better_experts_help():
    result = run(*world(12, 300, model_skill=0.6, expert_skill=0.9, seed=0))
    assert result.speaks_of_others and result.helps and result.over_model.low > 0
    assert result.budget == 1.0
    assert result.sentence.startswith("Deferring helps: handing over 100% of the cases changes accuracy by +0.")


def test_coin_flippers_make_it_worse():
    result = run(*world(6, 600, model_skill=0.95, expert_skill=0.5, seed=1))
    assert not result.helps and result.over_model.is_below_zero
    assert result.budget == 0.05
    assert result.sentence.startswith("Deferring makes it worse")


def test_equals_cannot_be_told_apart():
    result = run(*world(6, 100, model_skill=0.7, expert_skill=0.7, seed=2))
    assert not result.helps and not result.over_model.is_below_zero
    assert result.sentence.startswith("One cannot tell")


@pytest.mark.parametrize(("sign", "words"), [(1, "better than"), (-1, "worse than"), (0, "not told apart from")])
def test_the_sentence_says_what_the_score_adds_to_confidence(sign, words):
    rng = np.random.default_rng(3)
    _, expert, model, confidence = world(6, 300, 0.7, 0.8, seed=3)
    score = sign * (expert * 1.0 - model) if sign else rng.normal(size=expert.shape)
    result = run(score, expert, model, confidence)
    assert f"ranks cases {words} confidence alone" in result.sentence


def test_the_sentence_carries_both_intervals():
    result = run(*world(3, 80, 0.6, 0.8, seed=4), level=0.9)
    for interval in (result.over_model, result.over_confidence):
        assert f"{interval.estimate:+.4f} (90% interval {interval.low:+.4f} to {interval.high:+.4f})" in result.sentence
    assert result.sentence.count(". ") == 0 and result.sentence.endswith(".")


def test_the_budget_is_chosen_on_one_half_and_scored_on_the_other():
    score, expert, model, confidence = world(3, 41, 0.6, 0.65, seed=5)
    budgets = [0.1, 0.35, 0.5, 0.9]
    result = run(score, expert, model, confidence, seed=17, n_replicates=2, budgets=budgets)
    order = np.random.default_rng(17).permutation(41)
    halves = order[:20], order[20:]
    curves = [
        [reference.curve(score[e, h].tolist(), expert[e, h].tolist(), model[h].tolist()) for e in range(3)]
        for h in halves
    ]

    def accuracy(half, budget):
        return np.mean([reference.at_budget(curve, budget) for curve in curves[half]])

    gains, chosen = [], []
    for choose, judge in ((0, 1), (1, 0)):
        best = max(budgets, key=lambda b, half=choose: accuracy(half, b))
        chosen.append(best)
        gains.append(accuracy(judge, best) - accuracy(judge, 0))
    assert chosen[0] != chosen[1]
    assert result.over_model.estimate == pytest.approx(np.mean(gains), abs=1e-10)
    assert result.budget == pytest.approx(np.mean(chosen))


def test_choosing_a_budget_flatters_nobody():
    """With nothing to gain, the best budget on the same cases looks like a gain; the verdict does not."""
    naive, honest, helped = [], [], []
    for seed in range(80):
        score, expert, model, confidence = world(1, 60, 0.7, 0.7, seed)
        curve = reference.curve(score[0].tolist(), expert[0].tolist(), model.tolist())
        naive.append(max(curve[3::3]) - curve[0])
        result = run(score, expert, model, confidence, seed=seed, n_replicates=100)
        honest.append(result.over_model.estimate)
        helped.append(result.helps)
    standard_error = np.std(honest) / np.sqrt(len(honest))
    assert np.mean(naive) > 0.03
    assert abs(np.mean(honest)) < 3 * standard_error
    assert np.mean(helped) <= 0.1


def test_experts_who_differ_widen_the_interval():
    """A dozen alike and a dozen unlike, of one mean skill: the cases say as much about both, other experts do not."""

    def width(skills):
        result = run(*world(12, 400, 0.5, np.array(skills)[:, None], seed=12), budgets=[1.0])
        return result.over_model.high - result.over_model.low

    assert width([0.95] * 6 + [0.45] * 6) > 2 * width([0.7] * 12)


def test_few_experts_are_spoken_of_by_name_of_their_number():
    """Over two or four experts a bootstrap is far too narrow: it is then about the cases alone, and says so."""
    for n_experts, scope in ((1, "for this one expert, handing"), (4, "for these 4 experts, handing")):
        result = run(*world(n_experts, 200, 0.6, 0.8, seed=4))
        assert scope in str(result) and not result.speaks_of_others
    assert ": handing" in str(run(*world(10, 200, 0.6, 0.8, seed=4)))


@pytest.mark.parametrize("n_experts", [1, 3])
def test_twenty_cases_without_a_difference_rarely_look_like_one(n_experts):
    verdicts = [run(*world(n_experts, 20, 0.7, 0.7, seed), n_replicates=100) for seed in range(200)]
    assert np.mean([one.helps for one in verdicts]) <= 0.05
    assert np.mean([one.over_model.is_below_zero for one in verdicts]) <= 0.08


def test_fewer_than_twenty_cases_are_refused():
    with pytest.raises(TooFewAnswersError, match="at least 20"):
        run(*world(1, 19, 0.6, 0.9, seed=0))


def test_helping_and_beating_confidence_are_two_questions():
    _, expert, model, confidence = world(10, 400, 0.5, 0.9, seed=3)
    worse_than_confidence = -(expert * 1.0 - model)
    result = run(worse_than_confidence, expert, model, confidence)
    assert result.helps and not result.beats_confidence and "worse than confidence" in str(result)
    result = run(expert * 1.0 - model, expert, model, confidence)
    assert result.helps and result.beats_confidence


def test_the_difference_to_confidence_is_the_paired_gain():
    score, expert, model, confidence = world(4, 70, 0.6, 0.8, seed=6)
    mask = np.random.default_rng(7).random(expert.shape) < 0.8
    result = run(score, expert, model, confidence, mask=mask)
    gain = bootstrap_gain(score, -confidence, expert, model, mask, seed=0, resample="both", n_replicates=200)
    assert result.over_confidence.estimate == pytest.approx(gain.estimate, abs=1e-12)
    assert result.over_confidence.low == pytest.approx(gain.low, abs=0.02)


def test_the_same_seed_gives_the_same_verdict():
    arguments = world(3, 50, 0.6, 0.7, seed=8)
    first, again, other = run(*arguments, seed=1), run(*arguments, seed=1), run(*arguments, seed=2)
    assert torch.equal(first.over_model.replicates, again.over_model.replicates) and first.sentence == again.sentence
    assert not torch.equal(first.over_model.replicates, other.over_model.replicates)


def test_masked_cells_can_hold_anything():
    score, expert, model, confidence = world(3, 50, 0.6, 0.7, seed=9)
    mask = np.random.default_rng(10).random(expert.shape) < 0.6
    junk = np.where(mask, score, np.nan), np.where(mask, expert, -1)
    assert (
        run(*junk, model, confidence, mask=mask).sentence == run(score, expert, model, confidence, mask=mask).sentence
    )


def test_zero_may_be_a_budget():
    score, expert, model, confidence = world(4, 200, 0.95, 0.4, seed=11)
    result = run(score, expert, model, confidence, budgets=[0.0, 0.5, 1.0])
    assert result.budget == 0 and result.over_model.estimate == 0


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"budgets": []}, SettingError),
        ({"budgets": [1.2]}, SettingError),
        ({"budgets": [float("nan")]}, SettingError),
        ({"level": 0.0}, SettingError),
        ({"confidence": [0.5]}, ShapeError),
        ({"confidence": [float("nan")] * 4}, NonFiniteError),
        ({"mask": [[True, False, False, False]]}, TooFewAnswersError),
    ],
)
def test_bad_input_is_refused_by_name(change, error):
    arguments = {"score": np.zeros((1, 4)), "expert_correct": np.zeros((1, 4)), "model_correct": np.zeros(4)}
    with pytest.raises(error):
        verdict(**{**arguments, "confidence": [0.5] * 4, "seed": 0, **change})
