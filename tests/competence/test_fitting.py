"""What fitting learns, from whom, and that it hears what it was told."""

import math

import numpy as np
import pytest
import torch
from reference import competence as reference
from torch.nn.functional import binary_cross_entropy

from racer import Cases, Context, GlobalAccuracy, Panel, RacerDeepSets, RacerKernel, RacerKNN
from racer.checks import make_world
from racer.competence import racer_deepsets, racer_kernel
from racer.learning import EpisodeSampler
from racer.pooling import ContextPrior, pool_queries

N_ROLES = 4


def specialists(seed, n_experts, n_cases, cases_seed=0):
    """Each expert is right with .95 on one kind of case of each class, with .35 on the other."""
    rng = np.random.default_rng(seed)
    world = np.random.default_rng(cases_seed)
    centre = world.normal(size=(N_ROLES, 2, 8))
    kind, label = rng.integers(2, size=n_cases), rng.integers(N_ROLES, size=n_cases)
    posterior = torch.tensor(rng.normal(size=(n_cases, N_ROLES)) + 0.7 * np.eye(N_ROLES)[label]).softmax(-1)
    cases = Cases(centre[label, kind] + rng.normal(scale=0.3, size=(n_cases, 8)), posterior)
    favourite = rng.integers(2, size=(n_experts, N_ROLES))[:, label]
    right = rng.random(favourite.shape) < np.where(favourite == kind, 0.95, 0.35)
    answer = np.where(right, label, (label + rng.integers(1, N_ROLES, right.shape)) % N_ROLES)
    return cases, label, answer


@pytest.mark.parametrize("method", [RacerKernel(), RacerDeepSets()], ids=lambda method: method.name)
def test_a_fitted_head_tells_what_strangers_know_from_what_they_do_not(method):
    """Γ at the true role has far less log loss than any constant has."""
    cases, label, answer = specialists(seed=1, n_experts=20, n_cases=300)
    fitted = method.fit(Panel(cases, label, answer), context_size=80, progress=False)
    cases, label, answer = specialists(seed=2, n_experts=8, n_cases=300)
    strangers = Panel(cases[:100], label[:100], answer[:, :100])
    gamma = fitted.competence(cases[100:], strangers)[:, torch.arange(200), label[100:]]
    right = torch.tensor(answer[:, 100:] == label[100:], dtype=gamma.dtype)
    constant = binary_cross_entropy(right.mean().expand_as(right), right)
    assert binary_cross_entropy(gamma, right) < constant - 0.1
    assert abs(float(gamma.mean() - right.mean())) < 0.05


@pytest.mark.parametrize(("room", "method"), [(racer_kernel, RacerKernel()), (racer_deepsets, RacerDeepSets())])
def test_who_decides_when_to_stop_took_no_part_in_the_fit(room, method, monkeypatch):
    heard = []

    class Recorder(EpisodeSampler):
        def draw(self, rng):
            heard.append(self)
            return super().draw(rng)

    monkeypatch.setattr(room, "EpisodeSampler", Recorder)
    panel = make_world().panel
    method.fit(panel, context_size=9, progress=False)
    groups = {sampler.panel.experts for sampler in heard}
    assert len(groups) == 2
    fitted_on, held_out = groups
    assert not set(fitted_on) & set(held_out) and {*fitted_on, *held_out} == set(panel.experts)
    assert {(sampler.context_size, sampler.varied) for sampler in heard} == {(9, method.varied)}


def test_the_kernel_is_fitted_with_its_own_temperature_and_prior(monkeypatch):
    heard = set()

    def recorder(queries, panel, temperature, prior):
        heard.add((temperature, prior))
        return pool_queries(queries, panel, temperature, prior)

    monkeypatch.setattr(racer_kernel, "pool_queries", recorder)
    method = RacerKernel(temperature=0.2, prior=ContextPrior(local=1.0, population=3.0, population_mean=0.8))
    method.fit(make_world().panel, context_size=9, progress=False)
    assert heard == {(0.2, method.prior)}


def test_a_feature_that_hardly_moved_while_fitting_does_not_run_wild():
    """Contexts of one size, all of them balanced: log(1 + N) is the same everywhere, and its weight stays ordinary."""
    cases, _, answer = specialists(seed=1, n_experts=6, n_cases=400)
    label = np.arange(400) % N_ROLES
    method = RacerKernel(varied=0.0).fit(Panel(cases, label, answer), context_size=8, progress=False)
    assert float(method.state.w1.abs().max()) < 20


def test_priors_are_heard_where_there_is_no_answer():
    world = make_world()
    empty, prior = Context.empty(world.queries), ContextPrior(population=5.0, population_mean=0.9)
    gamma = RacerKNN(prior=prior).competence(world.queries, empty)
    torch.testing.assert_close(gamma, torch.full_like(gamma, 0.9))
    fitted = RacerKernel().fit(world.panel, context_size=16, progress=False)
    plain, pulled = (
        RacerKernel(prior=one, state=fitted.state).competence(world.queries, empty) for one in (ContextPrior(), prior)
    )
    assert float((plain - pulled).abs().max()) > 0.01


@pytest.mark.parametrize(("alpha", "beta"), [(8.0, 2.0), (1.0, 1.0), (20.0, 30.0)])
def test_the_prior_of_global_accuracy_is_the_likeliest(alpha, beta):
    rng = np.random.default_rng(0)
    n = rng.integers(5, 60, size=40)
    right = rng.binomial(n, rng.beta(alpha, beta, size=40))
    answer = np.full((40, 60), -1)
    for expert, (k, r) in enumerate(zip(n, right, strict=True)):
        answer[expert, :k] = (np.arange(k) >= r).astype(int)  # the truth is 0 everywhere
    panel = Panel(Cases(np.ones((60, 1)), np.full((60, 2), 0.5)), np.zeros(60, int), answer)
    state = GlobalAccuracy().fit(panel).state
    pairs = list(zip(right.tolist(), n.tolist(), strict=True))
    got = reference.beta_binomial(pairs, float(state.alpha), float(state.beta))
    grid = [
        reference.beta_binomial(pairs, mean * strength, (1 - mean) * strength)
        for mean in np.linspace(0.02, 0.98, 49)
        for strength in np.geomspace(0.1, 1000, 41)
    ]
    assert got >= max(grid) - 1e-6
    assert float(state.alpha / (state.alpha + state.beta)) == pytest.approx(alpha / (alpha + beta), abs=0.1)


def test_experts_who_are_all_alike_give_a_strong_but_finite_prior():
    answer = np.tile([0, 0, 0, 1], (30, 10))
    panel = Panel(Cases(np.ones((40, 1)), np.full((40, 2), 0.5)), np.zeros(40, int), answer)
    state = GlobalAccuracy().fit(panel).state
    strength = float(state.alpha + state.beta)
    assert 1e3 < strength <= 1.001e4 and math.isclose(float(state.alpha) / strength, 0.75, abs_tol=1e-3)
