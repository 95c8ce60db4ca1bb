"""The router: experts come and go, decisions carry their reasons."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import pooling, routing
from refusal import refused
from strategies import TOLERANCE, episodes

from racer import Cases, Context, IFDScore, Panel, RacerKNN, Router
from racer.checks import make_world
from racer.errors import DuplicateExpertError, SettingError, ShapeError, UnknownExpertError
from racer.pooling import effective_count
from racer.routing import MODEL, Budget, Capacity, Cost, Evidence, Threshold


@pytest.fixture
def world():
    return make_world()


@pytest.fixture
def router(world):
    return Router(RacerKNN(k=3), Budget(0.5), panel=world.strangers)


def bank_of(n=6, n_roles=2):
    generator = torch.Generator().manual_seed(0)
    return Cases(torch.randn(n, 3, generator=generator), torch.rand(n, n_roles, generator=generator).softmax(-1))


# who is there


def test_experts_come_one_by_one_or_all_at_once(world, router):
    one_by_one = Router(RacerKNN(k=3), Budget(0.5))
    for expert in world.strangers.experts:
        one_by_one.enroll(expert, world.strangers[expert])
    assert one_by_one.experts == router.experts
    ours, theirs = one_by_one.route(world.queries), router.route(world.queries)
    assert ours.names == theirs.names
    torch.testing.assert_close(ours.p_right, theirs.p_right)
    torch.testing.assert_close(ours.evidence, theirs.evidence)


def test_observing_is_enrolling_with_more_answers(world):
    whole = world.strangers["stranger-0"]
    early, late = slice(0, 20), slice(20, None)
    router = Router(IFDScore())
    router.enroll("ada", Context(whole.cases[early], whole.label[early], whole.answer[early]))
    before = router.route(world.queries).p_right
    router.observe("ada", whole.cases[late], whole.label[late], whole.answer[late])
    other = Router(IFDScore())
    other.enroll("ada", whole)
    torch.testing.assert_close(router.route(world.queries).p_right, other.route(world.queries).p_right)
    assert not torch.equal(router.route(world.queries).p_right, before)


def test_who_retires_is_asked_no_more_and_the_others_stay_as_they_were(world, router):
    before = router.route(world.queries)
    router.retire("stranger-1")
    after = router.route(world.queries)
    assert router.experts == ("stranger-0", "stranger-2") == after.experts
    torch.testing.assert_close(after.p_right, before.p_right[[0, 2]])
    assert len(router.items) == len(router.panel.cases)
    router.enroll("stranger-1", world.strangers["stranger-1"])
    assert "stranger-1" in router.experts


def test_a_router_without_experts_leaves_all_to_the_model(world):
    for router in (Router(RacerKNN()), Router(RacerKNN(), Budget(1.0)), Router(RacerKNN(), Capacity(3, Budget(1.0)))):
        decision = router.route(world.queries)
        assert decision.names == [None] * len(world.queries)
        assert decision.experts == () and decision.is_insufficient.all()
        assert "nobody else" in decision.why(0)


def test_the_last_one_may_retire(world):
    router = Router(RacerKNN())
    router.enroll("ada", world.context)
    router.retire("ada")
    assert router.experts == () and router.route(world.queries).names == [None] * len(world.queries)
    router.enroll("bo", world.context)
    assert router.experts == ("bo",)


def test_an_expert_nobody_has_met_can_be_asked(world):
    router = Router(RacerKNN(), Threshold(-1.0))
    router.enroll("new", Context.empty(world.queries))
    decision = router.route(world.queries)
    assert decision.names == ["new"] * len(world.queries)
    torch.testing.assert_close(decision.p_right, torch.full((1, len(world.queries)), 0.5))
    assert decision.is_insufficient.all() and decision.evidence.tolist() == [0.0] * len(world.queries)
    assert (decision.speaks_for.item == -1).all() and (decision.speaks_against.item == -1).all()


def test_no_queries_are_no_decisions(router, world):
    assert len(router.route(world.queries[:0])) == 0


REFUSED = {
    "enrolled twice": (lambda r, w: r.enroll("stranger-0", w.context), DuplicateExpertError, "observe"),
    "observed, unknown": (
        lambda r, w: r.observe("nobody", w.queries, [0] * 17, [0] * 17),
        UnknownExpertError,
        "nobody",
    ),
    "retired, unknown": (lambda r, w: r.retire("nobody"), UnknownExpertError, "nobody"),
    "on duty, unknown": (lambda r, w: r.route(w.queries, experts=["nobody"]), UnknownExpertError, "nobody"),
    "one name": (lambda r, w: r.route(w.queries, experts="stranger-0"), ShapeError, "must be a list"),
    "mask of numbers": (lambda r, w: r.route(w.queries, available=np.ones((3, 17))), ShapeError, "true or false"),
    "mask too short": (lambda r, w: r.route(w.queries, available={"stranger-0": [True]}), ShapeError, "(17,)"),
    "mask of nobody": (lambda r, w: r.route(w.queries, available={"nobody": True}), UnknownExpertError, "nobody"),
    "names too few": (lambda r, w: r.enroll("x", w.context, items=["a"]), ShapeError, "'items' must name"),
    "another classifier": (lambda r, w: r.route(bank_of()), ShapeError, "different classifiers"),
    "nobody there": (lambda r, w: Router(RacerKNN()).retire("ada"), UnknownExpertError, "Nobody is enrolled"),
    "no evidence": (lambda r, w: Evidence(least=-1), SettingError, "least=-1"),
    "evidence too sharp": (
        lambda r, w: Router(RacerKNN(), panel=w.strangers, evidence=Evidence(temperature=1e-4)).route(w.queries),
        SettingError,
        "0.0001",
    ),
}


@pytest.mark.parametrize(("call", "error", "said"), REFUSED.values(), ids=REFUSED)
def test_what_means_nothing_is_refused_and_changes_nothing(router, world, call, error, said):
    before = router.panel
    with refused(error, said):
        call(router, world)
    assert router.panel is before


# who is asked


def test_only_those_on_duty_are_asked(world, router):
    some = router.route(world.queries, experts=["stranger-2", "stranger-0"])
    assert some.experts == ("stranger-2", "stranger-0")
    torch.testing.assert_close(some.p_right, router.route(world.queries).p_right[[2, 0]])
    assert set(some.items) <= set(router.items)


def test_who_is_not_available_is_not_asked(world, router):
    everybody = router.route(world.queries, policy=Threshold(-1.0))
    absent = router.route(world.queries, policy=Threshold(-1.0), available={"stranger-0": False})
    assert "stranger-0" in everybody.names and "stranger-0" not in absent.names
    mask = np.zeros((3, 17), dtype=bool)
    mask[1, 4] = True
    assert router.route(world.queries, policy=Budget(1.0), available=mask).is_deferred.nonzero().tolist() == [[4]]


def test_probabilities_and_gains_are_the_methods(world, router):
    decision = router.route(world.queries, policy=Cost({"stranger-1": 0.1}))
    torch.testing.assert_close(decision.p_right, router.method.expert_correctness(world.queries, world.strangers))
    score = router.method.deferral_score(world.queries, world.strangers)
    torch.testing.assert_close(decision.gain, score - torch.tensor([0.0, 0.1, 0.0])[:, None])
    assert torch.equal(decision.prediction, world.queries.prediction)


def test_the_candidate_is_who_is_asked_or_who_came_nearest(world, router):
    decision = router.route(world.queries, policy=Capacity(1, Threshold(-1.0)))
    asked = decision.is_deferred
    assert torch.equal(decision.candidate[asked], decision.who[asked])
    assert torch.equal(decision.candidate[~asked], decision.gain.argmax(0)[~asked])
    assert asked.sum() == 3


# why


@given(episodes(), st.sampled_from([1.0, 0.1, 0.02]))
def test_the_effective_number_is_kishs(episode, temperature):
    panel = Panel.from_contexts({"ada": episode.context})
    got = effective_count(episode.queries, panel, temperature)[0]
    for i, (x, _) in enumerate(episode.asked()):
        for y in range(episode.queries.n_roles):
            weights = [
                np.exp((pooling.cosine(x, z) - 1) / temperature) for z, _, label, _ in episode.rows() if label == y
            ]
            # float32 rounds a cosine by some 1e-7, which the temperature magnifies
            slack = TOLERANCE[got.dtype] * 20 / temperature
            assert float(got[y, i]) == pytest.approx(routing.effective_number(weights), rel=slack, abs=1e-9)


def witnesses_of(decision, case, side):
    return {
        decision.items[row]: weight
        for row, weight in zip(side.item[case].tolist(), side.weight[case].tolist(), strict=True)
        if row >= 0
    }


@given(episodes(max_answers=8))
def test_witnesses_are_the_answers_that_weigh_most(episode):
    router = Router(RacerKNN(), evidence=Evidence(temperature=0.2, n_shown=2))
    router.enroll("ada", episode.context, items=[f"case-{i}" for i in range(len(episode.context.cases))])
    decision = router.route(episode.queries)
    rows = [i for i, answered in enumerate(episode.context.answered.tolist()) if answered]
    for q, (x, p) in enumerate(episode.asked()):
        kernel = [np.exp((pooling.cosine(x, z) - 1) / 0.2) for z, _, _, _ in episode.rows()]
        weight = {}
        for i, (_, _, label, answer) in enumerate(episode.rows()):
            of_role = sum(k for k, (_, _, other, _) in zip(kernel, episode.rows(), strict=True) if other == label)
            weight[f"case-{rows[i]}"] = (answer == label, p[label] * kernel[i] / of_role)
        for side, is_right in ((decision.speaks_for, True), (decision.speaks_against, False)):
            got = witnesses_of(decision, q, side)
            want = sorted((w for right, w in weight.values() if right == is_right), reverse=True)[:2]
            assert sorted(got.values(), reverse=True) == pytest.approx(want, abs=1e-4)
            assert all(weight[name][0] == is_right for name in got)


def test_the_right_witnesses_together_are_the_local_mean():
    """Σ_i right weights = Σ_y p ā over supported roles, when all are shown."""
    world = make_world()
    router = Router(RacerKNN(), panel=world.strangers, evidence=Evidence(n_shown=60))
    decision = router.route(world.queries)
    from racer.pooling import same_role_mean

    mean = same_role_mean(world.queries, world.strangers, 0.1).mean
    for case, candidate in enumerate(decision.candidate.tolist()):
        expected = float((world.queries.posterior[case] * mean[candidate, case]).sum())
        assert float(decision.speaks_for.weight[case].sum()) == pytest.approx(expected, abs=1e-5)


def test_in_words_it_names_the_expert_the_numbers_and_the_cases():
    side = torch.eye(2).repeat(10, 1)
    cases = Cases(side, torch.tensor([[0.6, 0.4]]).expand(20, 2))
    router = Router(RacerKNN(k=3), evidence=Evidence(n_shown=1))
    router.enroll("ada", Context(cases, [0] * 20, [0, 1] * 10), items=[f"img-{i}" for i in range(20)])
    asked, kept = (router.route(cases[:2]).why(i) for i in (0, 1))
    assert asked.startswith("ada answers: the model is right with 60%, ada with 80%")
    assert "For: img-" in asked and "Against: img-" in asked
    assert kept.startswith("The model answers")


def test_little_evidence_is_flagged(world):
    thin, enough = (Router(RacerKNN(), panel=world.strangers, evidence=Evidence(least=n)) for n in (1e9, 0.0))
    assert thin.route(world.queries).is_insufficient.all()
    assert not enough.route(world.queries).is_insufficient.any()
    assert "too few to say" in thin.route(world.queries).why(0)


def test_chunks_change_nothing(world, router):
    whole = router.route(world.queries)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("racer.pooling.cosine.CHUNK", 200)
        patch.setattr("racer.pooling.cosine.FEWEST", 1)
        parts = router.route(world.queries)
    assert whole.names == parts.names
    torch.testing.assert_close(whole.evidence, parts.evidence)
    assert torch.equal(whole.speaks_for.item, parts.speaks_for.item)


def test_a_tie_does_not_depend_on_the_order_of_the_batch(world):
    order = torch.arange(len(world.queries)).flip(0)
    router = Router(RacerKNN(k=3), Threshold(0.0), panel=world.strangers)
    forwards, backwards = router.route(world.queries), router.route(world.queries[order])
    assert forwards.names == backwards.names[::-1]
    assert MODEL == -1
