"""The assignment is as good as SciPy's linear programme finds it, on worlds too large for brute force."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog
from scipy.sparse import csr_matrix

from racer.routing import MODEL, Budget, Capacity, Plan, Threshold, solve

KINDS = ("independent", "tied", "rank one", "barred")


def plan_of(kind, n_items, n_experts, seed):
    generator = torch.Generator().manual_seed(seed)
    gain = torch.randn(n_experts, n_items, generator=generator, dtype=torch.float64) * 0.3
    if kind == "tied":
        gain = (gain * 5).round() / 5
    if kind == "rank one":
        gain = gain[:, :1] - torch.rand(n_items, generator=generator, dtype=torch.float64)
    if kind == "barred":
        gain[torch.rand(gain.shape, generator=generator) < 0.6] = -torch.inf
    return Plan(tuple(map(str, range(n_experts))), gain, torch.rand(n_items, generator=generator))


def worth_by_linear_programme(gain, limit, n_handed=None):
    """The largest total gain, or that of exactly `n_handed` cases."""
    n_experts, n_items = gain.shape
    expert, item = np.nonzero(np.isfinite(gain))
    if not len(item):
        return 0.0
    pair = np.arange(len(item))
    of_item = csr_matrix((np.ones(len(pair)), (item, pair)), (n_items, len(pair)))
    of_expert = csr_matrix((np.ones(len(pair)), (expert, pair)), (n_experts, len(pair)))
    of_all = None if n_handed is None else np.ones((1, len(pair)))
    found = linprog(
        -gain[expert, item],
        A_ub=np.vstack([of_item.toarray(), of_expert.toarray()]),
        b_ub=np.r_[np.ones(n_items), limit],
        A_eq=of_all,
        b_eq=None if n_handed is None else [n_handed],
    )
    return -found.fun


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=20)
@given(seed=st.integers(0, 10**6), most=st.integers(1, 12), share=st.sampled_from([None, 0.3, 0.6]))
def test_it_gains_as_much_as_the_linear_programme(kind, seed, most, share):
    plan = plan_of(kind, n_items=40, n_experts=5, seed=seed)
    policy = Threshold(0.0) if share is None else Budget(share)
    who = solve(Capacity(most, policy).refine(plan))
    handed = who != MODEL
    assert int(torch.bincount(who[handed], minlength=5).max()) <= most
    gained = float(plan.gain[who[handed], torch.arange(40)[handed]].sum())
    gain = plan.gain.numpy()
    if share is None:
        positive = np.where(gain >= 0, gain, -np.inf)
        assert gained == pytest.approx(worth_by_linear_programme(positive, np.full(5, most)), abs=1e-6)
    else:
        assert gained == pytest.approx(worth_by_linear_programme(gain, np.full(5, most), int(handed.sum())), abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_plan_is_always_carried_out_in_the_same_way(kind):
    plan = Capacity(9, Budget(0.7)).refine(plan_of(kind, n_items=120, n_experts=8, seed=1))
    assert torch.equal(solve(plan), solve(plan))


def test_many_arrivals_at_one_taker_are_sorted_again():
    """Everybody prefers the first expert, who takes few; hundreds move on to the second, and past it."""
    n = 600
    gain = torch.stack([torch.linspace(1, 2, n), torch.linspace(2, 1, n) - 1.5, torch.zeros(n)]).double()
    who = solve(Capacity({"a": 5, "b": 200}).refine(Plan(("a", "b", "c"), gain, torch.zeros(n))))
    handed = who != MODEL
    gained = float(gain[who[handed], torch.arange(n)[handed]].sum())
    positive = np.where(gain.numpy() >= 0, gain.numpy(), -np.inf)
    assert gained == pytest.approx(worth_by_linear_programme(positive, np.array([5, 200, n])), abs=1e-6)


def test_a_limit_past_all_numbers_is_no_limit():
    plan = plan_of("independent", n_items=10, n_experts=2, seed=0)
    assert torch.equal(solve(Capacity(10**30).refine(plan)), solve(Threshold().refine(plan)))
