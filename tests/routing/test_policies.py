"""Policies: each says how much to hand over, and nothing hands over more, or to the wrong one."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import routing as reference
from refusal import refused

from racer.errors import NotFittedError, SettingError, ShapeError, TargetNotReachedError, TooFewAnswersError
from racer.routing import MODEL, Budget, Capacity, Cost, Plan, TargetAccuracy, Threshold, solve

GAINS = st.sampled_from([-0.5, -0.25, 0.0, 0.125, 0.25, 0.5, -math.inf])

FINE = st.integers(-512, 512).map(lambda n: n / 1024)
"""Exact in binary, so that no rounding makes a tie."""


@st.composite
def plans(draw, max_experts=3, max_items=5, gains=GAINS):
    n_experts, n_items = draw(st.integers(1, max_experts)), draw(st.integers(1, max_items))
    gain = [[draw(gains) for _ in range(n_items)] for _ in range(n_experts)]
    confidence = [draw(st.sampled_from([0.3, 0.6, 0.9])) for _ in range(n_items)]
    return Plan(tuple(f"e{j}" for j in range(n_experts)), torch.tensor(gain), torch.tensor(confidence))


@st.composite
def limits(draw, plan):
    return {expert: draw(st.integers(0, 4)) for expert in plan.experts}


def decided(plan, policy):
    return solve(policy.refine(plan))


def taken(who, plan):
    return {expert: int((who == row).sum()) for row, expert in enumerate(plan.experts)}


@given(plans(), st.sampled_from([-0.3, 0.0, 0.125, 0.4]))
def test_a_threshold_decides_each_case_by_itself(plan, at):
    assert decided(plan, Threshold(at)).tolist() == reference.one_by_one(plan.gain.tolist(), at)


@given(plans(), st.sampled_from([0.0, 0.2, 0.34, 0.5, 1.0]))
def test_a_budget_is_exact_and_takes_the_largest_gains(plan, share):
    who = decided(plan, Budget(share))
    n, most = reference.best_of_number(
        plan.gain.tolist(), [9] * len(plan.experts), math.floor(share * plan.n_items + 1e-9)
    )
    assert int((who != MODEL).sum()) == n
    assert reference.total(plan.gain.tolist(), who.tolist()) == pytest.approx(most)


def test_among_equal_gains_the_least_sure_case_goes_first_then_the_first():
    plan = Plan(("ada",), torch.zeros(1, 4), torch.tensor([0.9, 0.5, 0.5, 0.7]))
    assert [decided(plan, Budget(n / 4)).tolist().count(0) for n in range(5)] == [0, 1, 2, 3, 4]
    assert decided(plan, Budget(0.25)).tolist() == [-1, 0, -1, -1]
    assert decided(plan, Budget(0.5)).tolist() == [-1, 0, 0, -1]
    assert decided(plan, Budget(0.75)).tolist() == [-1, 0, 0, 0]


def test_of_equal_experts_the_first_enrolled_is_asked():
    plan = Plan(("ada", "bo"), torch.full((2, 50), 0.2), torch.rand(50, generator=torch.Generator().manual_seed(0)))
    assert decided(plan, Threshold()).tolist() == [0] * 50


@given(st.lists(st.sampled_from([0.1, 0.2, 0.3, -0.5]), min_size=1, max_size=12), st.floats(0, 1))
def test_a_budget_as_threshold_never_hands_over_more_than_the_share(score, share):
    """Of ties at the edge all stay with the model: a threshold cannot part them."""
    score = torch.tensor(score)
    at = Budget(share).threshold(score).at
    handed = int((score.double() >= at).sum())
    n = math.floor(share * len(score) + 1e-9)
    assert handed <= n
    left = score[score.double() < at]
    assert not len(left) or handed + int((left == left.max()).sum()) > n


@given(st.data(), plans(), st.sampled_from([-0.3, 0.0, 0.125]))
def test_capacity_is_optimal_and_never_exceeded(data, plan, floor):
    limit = data.draw(limits(plan))
    who = decided(plan, Capacity(limit, Threshold(floor)))
    gain = plan.gain.tolist()
    best = reference.best_under_floor(gain, list(limit.values()), floor)
    assert all(taken(who, plan)[expert] <= n for expert, n in limit.items())
    n_handed = int((who != MODEL).sum())
    assert reference.total(gain, who.tolist()) - floor * n_handed == pytest.approx(best, abs=1e-9)
    assert all(gain[j][i] >= floor for i, j in enumerate(who.tolist()) if j != MODEL)


@given(st.data(), plans(), st.sampled_from([0.2, 0.5, 0.8, 1.0]))
def test_capacity_under_a_budget_is_optimal_and_hands_over_all_it_can(data, plan, share):
    limit = data.draw(limits(plan))
    who = decided(plan, Capacity(limit, Budget(share)))
    n, best = reference.best_of_number(plan.gain.tolist(), list(limit.values()), Budget(share).n_of(plan.n_items))
    assert all(taken(who, plan)[expert] <= limit[expert] for expert in plan.experts)
    assert int((who != MODEL).sum()) == n
    assert reference.total(plan.gain.tolist(), who.tolist()) == pytest.approx(best, abs=1e-9)


@given(plans(max_experts=3, max_items=6), st.sampled_from([Threshold(0.0), Budget(0.5)]))
def test_limits_that_do_not_bind_change_nothing(plan, policy):
    assert torch.equal(decided(plan, policy), decided(plan, Capacity(plan.n_items, policy)))


@given(plans(gains=FINE), st.integers(1, 400).map(lambda n: n / 1024), st.sampled_from([Threshold(0.0), Budget(0.5)]))
def test_a_dominated_expert_changes_nothing(plan, worse_by, policy):
    worse = Plan((*plan.experts, "worse"), torch.cat([plan.gain, plan.gain[:1] - worse_by]), plan.confidence)
    assert torch.equal(decided(plan, policy), decided(worse, policy))


@given(
    plans(gains=FINE),
    st.integers(0, 300).map(lambda n: n / 1024),
    st.integers(1, 500).map(lambda n: n / 1024),
    st.sampled_from([Threshold(0.0), Budget(0.5), Budget(0.8)]),
)
def test_raising_a_cost_never_attracts_cases(plan, cost, rise, policy):
    before, after = (decided(plan, Cost({"e0": one}, policy)) == 0 for one in (cost, cost + rise))
    assert not (after & ~before).any()


def test_a_cost_may_be_one_number_one_an_expert_one_a_case_or_one_a_pair():
    plan = Plan(("ada", "bo"), torch.tensor([[0.3, 0.3], [0.2, 0.2]]), torch.tensor([0.5, 0.5]))
    assert decided(plan, Cost(0.25)).tolist() == [0, 0]
    assert decided(plan, Cost(0.35)).tolist() == [-1, -1]
    assert decided(plan, Cost({"ada": 0.15})).tolist() == [1, 1]
    assert decided(plan, Cost({"ada": [0.0, 0.15]})).tolist() == [0, 1]
    assert decided(plan, Cost(np.array([[0.2, 0.0], [0.0, 0.0]]))).tolist() == [1, 0]
    assert decided(plan, Cost({"somebody else": 1.0})).tolist() == [0, 0]
    assert decided(plan, Cost({"ada": 0.15}, Capacity({"bo": 1}, Budget(1.0)))).tolist() in ([0, 1], [1, 0])


BAD = {
    "negative cost": (lambda: Cost(-0.1), SettingError, "at least 0"),
    "NaN cost": (lambda: Cost({"e0": math.nan}), SettingError, "finite"),
    "cost of a wrong length": (lambda: Cost({"e0": [0.1] * 7}), ShapeError, "cost['e0']"),
    "cost of a wrong shape": (lambda: Cost(np.zeros((9, 9))), ShapeError, "(9, 9)"),
    "half a case": (lambda: Capacity({"e0": 1.5}), SettingError, "counts cases"),
    "fewer than none": (lambda: Capacity(-1), SettingError, "-1"),
    "a truth": (lambda: Capacity(True), SettingError, "counts cases"),
    "more than all": (lambda: Budget(1.01), SettingError, "1.01"),
    "NaN budget": (lambda: Budget(math.nan), SettingError, "nan"),
    "NaN threshold": (lambda: Threshold(math.nan), SettingError, "nan"),
    "a target of one": (lambda: TargetAccuracy(1.0), SettingError, "target=1.0"),
    "no confidence": (lambda: TargetAccuracy(0.9, confidence=0), SettingError, "confidence=0"),
    "not fitted": (lambda: TargetAccuracy(0.9), NotFittedError, "policy.fit"),
}


@pytest.mark.parametrize(("make", "error", "said"), BAD.values(), ids=BAD)
def test_settings_that_mean_nothing_are_refused(make, error, said):
    plan = Plan(("e0", "e1"), torch.zeros(2, 3), torch.full((3,), 0.5))
    with refused(error, said):
        make().refine(plan)


# target accuracy


def draw(rng, n):
    """The model is right less often the higher the score; the expert with .85, so that some budget is best."""
    score = rng.uniform(-1, 1, n)
    return score, rng.random(n) < 0.85, rng.random(n) < 1 - (score + 1) / 4


def true_accuracy(at):
    """∫ P(right) over the scores, worked out."""
    kept = min(max(at, -1.0), 1.0) + 1
    return (kept - kept**2 / 8) / 2 + (2 - kept) / 2 * 0.85


@pytest.mark.parametrize(("target", "confidence", "n"), [(0.8, 0.9, 300), (0.84, 0.95, 300), (0.86, 0.8, 1500)])
def test_the_promise_holds_in_at_least_the_stated_share_of_five_hundred_repetitions(target, confidence, n):
    rng = np.random.default_rng(0)
    kept = reached = 0
    for _ in range(500):
        try:
            at = TargetAccuracy(target, confidence=confidence).fit(*draw(rng, n)).threshold
        except TargetNotReachedError:
            kept += 1
            continue
        reached += 1
        kept += true_accuracy(at) >= target
    assert kept / 500 >= confidence
    assert reached > 50  # and not by refusing always


def test_more_cases_reach_the_target_with_a_smaller_budget():
    rng = np.random.default_rng(0)
    few, many = (TargetAccuracy(0.8).fit(*draw(rng, n)).threshold for n in (500, 50_000))
    assert few < many and true_accuracy(many) == pytest.approx(0.8, abs=0.01)


def test_a_target_the_model_reaches_alone_hands_over_nothing():
    rng = np.random.default_rng(0)
    policy = TargetAccuracy(0.7).fit(rng.random(2000), rng.random(2000) < 0.3, rng.random(2000) < 0.9)
    assert policy.threshold == math.inf
    plan = policy.refine(Plan(("ada",), torch.tensor([[0.9]]), torch.tensor([0.5])))
    assert solve(plan).tolist() == [MODEL]


def test_a_target_out_of_reach_is_said_with_the_best_there_was():
    with refused(TargetNotReachedError, "0.95", "the best was", "more held-out cases") as caught:
        TargetAccuracy(0.95).fit(*draw(np.random.default_rng(0), 500))
    assert 0.8 < caught.value.data["best"] < 0.95


def test_a_target_needs_cases_one_score_each():
    with refused(TooFewAnswersError, "at least 20"):
        TargetAccuracy(0.8).fit([0.1, 0.2], [1, 1], [0, 1])
    with refused(TooFewAnswersError, "shape (2, 30)"):
        TargetAccuracy(0.8).fit(np.zeros((2, 30)), np.zeros((2, 30)), np.zeros((2, 30)))


@given(st.integers(1, 30), st.floats(0.05, 0.95), st.data())
def test_the_bound_is_the_binomial_tail(n, target, data):
    from scipy.stats import binom

    right = data.draw(st.integers(0, n))
    assert binom.sf(right - 1, n, target) == pytest.approx(reference.clopper_pearson_below(right, n, target), abs=1e-10)
