"""Every estimator equals its equation; every q̂ and score follows from it."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import competence as reference
from strategies import TOLERANCE, episodes

from racer import (
    Cases,
    ClassGated,
    ClassifierConfidence,
    GlobalAccuracy,
    IFDScore,
    Panel,
    RacerDeepSets,
    RacerKernel,
    RacerKNN,
)
from racer.competence.global_accuracy import BetaPrior
from racer.competence.racer_deepsets import DeepSetsNetwork
from racer.competence.role_network import RoleNetwork
from racer.pooling import ContextPrior
from racer.pooling.neighbours import tie_width

SEEDS = st.integers(0, 2**32 - 1)


def weights(seed, **shapes):
    rng = np.random.default_rng(seed)
    return {
        name: torch.tensor(rng.normal(scale=0.3, size=shape), dtype=torch.float32) for name, shape in shapes.items()
    }


def kernel_network(seed):
    return RoleNetwork(**weights(seed, w1=(5, 8), b1=5, w2=5, b2=()))


def deepsets_network(seed):
    return DeepSetsNetwork(**weights(seed, a=(3, 6), b=3, w1=(4, 12), b1=4, w2=4, b2=()))


def as_lists(state):
    return {name: value.tolist() for name, value in state.__dict__.items()}


def assert_follows(method, episode, gamma, *arguments):
    """Γ, q̂ and the score of the method against the reference's Γ."""
    rows, tolerance = episode.rows(), TOLERANCE[episode.queries.dtype]
    want = [[gamma(x, p, y, rows, *arguments) for y in range(episode.queries.n_roles)] for x, p in episode.asked()]
    ps = [p for _, p in episode.asked()]
    close = {"atol": tolerance, "rtol": 0}
    got = method.competence(episode.queries, episode.context)
    torch.testing.assert_close(got.double(), torch.tensor(want, dtype=torch.float64), **close)
    q = torch.tensor([reference.correctness(p, g) for p, g in zip(ps, want, strict=True)], dtype=torch.float64)
    torch.testing.assert_close(method.expert_correctness(episode.queries, episode.context).double(), q, **close)
    margin = torch.tensor([reference.score(p, g) for p, g in zip(ps, want, strict=True)], dtype=torch.float64)
    torch.testing.assert_close(method.deferral_score(episode.queries, episode.context).double(), margin, **close)
    assert torch.equal(method.posterior(episode.queries, episode.context), episode.queries.posterior)


@given(episodes(), st.integers(1, 5))
def test_racer_knn(episode, k):
    assert_follows(RacerKNN(k=k), episode, reference.racer_knn, k, tie_width(episode.queries.dtype))


@given(episodes(), st.floats(0.1, 5), st.floats(0.1, 5))
def test_ifd_score(episode, alpha, beta):
    assert_follows(IFDScore(alpha, beta), episode, reference.ifd_score, alpha, beta)


@given(episodes(), st.floats(0.1, 5), st.floats(0.1, 5))
def test_global_accuracy(episode, alpha, beta):
    prior = BetaPrior(*(torch.tensor(one, dtype=torch.float64) for one in (alpha, beta)))
    assert_follows(GlobalAccuracy(state=prior), episode, reference.global_accuracy, alpha, beta)
    assert_follows(GlobalAccuracy(), episode, reference.global_accuracy, 1, 1)


@given(episodes(), st.sampled_from([0.1, 0.03, 0.005]), SEEDS)
def test_racer_kernel(episode, temperature, seed):
    state = kernel_network(seed)
    method = RacerKernel(temperature=temperature, hidden=5, state=state)
    assert_follows(method, episode, reference.racer_kernel, temperature, *as_lists(state).values())


@given(episodes(), st.floats(0, 20), st.floats(0, 5), st.floats(0, 1), SEEDS)
def test_racer_kernel_with_priors(episode, local, population, mean, seed):
    state, prior = kernel_network(seed), ContextPrior(local=local, population=population, population_mean=mean)
    method = RacerKernel(temperature=0.2, prior=prior, hidden=5, state=state)
    weights, priors = as_lists(state).values(), (local, population, mean)
    assert_follows(method, episode, lambda *at: reference.racer_kernel(*at, 0.2, *weights, priors=priors))


@given(episodes(), st.sampled_from([0.1, 0.03, 0.005]), SEEDS)
def test_with_gradients_the_answers_are_the_same(episode, temperature, seed):
    """The path that keeps a graph against the one that does not, roles nobody showed included."""
    method = RacerKernel(temperature=temperature, hidden=5, state=kernel_network(seed))
    plain = method.competence(episode.queries, episode.context)
    parts = episode.queries.embedding, episode.queries.posterior
    queries = Cases(*(part.clone().requires_grad_() for part in parts))
    kept = method.competence(queries, episode.context)
    assert kept.requires_grad
    torch.testing.assert_close(kept.detach(), plain, atol=TOLERANCE[plain.dtype], rtol=0)
    q, scored = (
        method.expert_correctness(queries, episode.context),
        method.expert_correctness(episode.queries, episode.context),
    )
    torch.testing.assert_close(q.detach(), scored, atol=TOLERANCE[plain.dtype], rtol=0)
    q.sum().backward()
    assert queries.embedding.grad.isfinite().all() and queries.posterior.grad.isfinite().all()


@given(episodes(max_answers=8), SEEDS)
def test_racer_deepsets(episode, seed):
    state = deepsets_network(seed)
    assert_follows(RacerDeepSets(hidden=3, state=state), episode, reference.racer_deepsets, *as_lists(state).values())


@given(episodes(tied_posteriors=False))
def test_class_gated(episode):
    rows = episode.rows()
    want = [reference.class_gated(p, rows) for _, p in episode.asked()]
    method, tolerance = ClassGated(), TOLERANCE[episode.queries.dtype]
    q = method.expert_correctness(episode.queries, episode.context).double()
    score = method.deferral_score(episode.queries, episode.context).double()
    torch.testing.assert_close(q, torch.tensor([one for one, _ in want], dtype=torch.float64), atol=tolerance, rtol=0)
    torch.testing.assert_close(
        score, torch.tensor([one for _, one in want], dtype=torch.float64), atol=tolerance, rtol=0
    )


@given(episodes())
def test_class_gated_where_largest_classes_tie(episode):
    rows = episode.rows()
    want = [reference.class_gated_by_shares(p, rows) for _, p in episode.asked()]
    method, tolerance = ClassGated(), TOLERANCE[episode.queries.dtype]
    got = [method.expert_correctness, method.deferral_score]
    for ask, column in zip(got, zip(*want, strict=True), strict=False):
        answer = ask(episode.queries, episode.context).double()
        torch.testing.assert_close(answer, torch.tensor(column, dtype=torch.float64), atol=tolerance, rtol=0)


@given(episodes())
def test_classifier_confidence(episode):
    score = ClassifierConfidence().deferral_score(episode.queries, episode.context)
    assert score.tolist() == [-max(p) for _, p in episode.asked()]


@given(episodes(), SEEDS, st.floats(0, 0.5))
def test_skipping_roles_costs_at_most_the_posterior_they_hold(episode, seed, negligible):
    method = RacerKernel(hidden=5, state=kernel_network(seed))
    exact = method.expert_correctness(episode.queries, episode.context)
    skipped = method.expert_correctness(episode.queries, episode.context, negligible=negligible)
    assert float((exact - skipped).abs().max()) <= negligible + TOLERANCE[exact.dtype]


@given(episodes(), SEEDS, st.sampled_from([0.01, 0.1, 0.4]))
def test_in_the_place_of_a_skipped_role_stands_the_accuracy_of_the_context(episode, seed, negligible):
    method = RacerKernel(hidden=5, state=kernel_network(seed))
    gamma = method.competence(episode.queries, episode.context).double()
    got = method.expert_correctness(episode.queries, episode.context, negligible=negligible).double()
    accuracy = reference.global_prior([(z, label, answer) for z, _, label, answer in episode.rows()])
    for i, p in enumerate(episode.queries.posterior.double().tolist()):
        assume(all(abs(sum(q for q in p if q <= one) - negligible) > 1e-6 for one in p))
        kept = [sum(q for q in p if q <= one) > negligible for one in p]
        want = sum(one * (float(g) if keep else accuracy) for one, g, keep in zip(p, gamma[i], kept, strict=True))
        assert float(got[i]) == pytest.approx(want, abs=1e-5)


@given(SEEDS, st.sampled_from([0.001, 0.01, 0.1]))
def test_skipping_does_not_depend_on_who_else_is_asked_about(seed, negligible):
    """Peaked posteriors beside flat ones: alone a case may be worth skipping in, together not, and the reverse."""
    rng = np.random.default_rng(seed)
    flat, peaked = rng.dirichlet(np.full(12, 5.0), size=6), rng.dirichlet(np.full(12, 0.05), size=6)
    posterior = torch.tensor(np.concatenate([flat, peaked]))
    cases = Cases(torch.tensor(rng.normal(size=(12, 3))), posterior)
    panel = Panel(cases, rng.integers(0, 12, 12), rng.integers(-1, 12, (3, 12)))
    method = RacerKernel(hidden=5, state=kernel_network(seed))
    together = method.expert_correctness(cases, panel, negligible=negligible)
    alone = [method.expert_correctness(cases[i], panel, negligible=negligible) for i in range(12)]
    torch.testing.assert_close(together, torch.cat(alone, 1), atol=1e-10, rtol=0)


@given(SEEDS)
def test_skipping_really_skips(seed):
    from racer.competence import RolePairs
    from racer.role_state import role_state

    rng = np.random.default_rng(seed)
    posterior = torch.tensor(rng.dirichlet(np.full(100, 0.05), size=4))
    pairs = RolePairs.likely(role_state(posterior), 0.001)
    kept = torch.zeros(4, 100, dtype=torch.bool)
    kept[pairs.item, pairs.role] = True
    assume(not kept.all())
    dropped = torch.where(kept, 0.0, posterior)
    assert float(dropped.sum(-1).max()) <= 0.001
    # no role that is left out could still be afforded beside those left out already
    cheapest_kept = torch.where(kept, posterior, 2.0).min(-1).values
    assert bool((dropped.sum(-1) + cheapest_kept > 0.001 - 1e-12).all())


def test_network_read_by_rows_equals_network_read_at_pairs():
    from racer.checks import make_world
    from racer.competence import RolePairs
    from racer.competence.role_network import summarise
    from racer.pooling import ContextPrior, pool_queries

    world, network = make_world(), kernel_network(0)
    pool = pool_queries(world.queries, world.strangers, 0.1, ContextPrior())
    u = summarise(pool, world.queries.role_state)
    pairs = RolePairs.grid(world.queries.n_roles, len(world.queries))
    by_rows = network.logit(u.flatten(0, 2)).view(len(world.strangers), -1)
    torch.testing.assert_close(network.logit_at_pairs(pool, world.queries.role_state, pairs), by_rows)


@pytest.mark.parametrize("method", [RacerKernel(), RacerDeepSets()], ids=lambda method: method.name)
def test_an_unfitted_network_says_what_to_do(method):
    from racer.checks import make_world
    from racer.errors import NotFittedError

    world = make_world()
    with pytest.raises(NotFittedError, match="fit"):
        method.competence(world.queries, world.context)
