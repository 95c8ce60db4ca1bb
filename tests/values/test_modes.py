"""Gradients, inference mode and default types: whatever mode racer is met in, later work is not spoilt."""

import subprocess
import sys

import pytest
import torch
from refusal import refused

from racer import Cases, Context, Panel, RacerDeepSets, RacerKernel, RacerKNN
from racer.checks import make_world
from racer.errors import ShapeError
from racer.pooling import same_role_mean

HEADS = [RacerKernel(), RacerDeepSets(hidden=4)]


@pytest.mark.parametrize("temperature", [0.1, 0.005])
def test_what_was_kept_without_gradients_does_not_stop_them(temperature):
    world = make_world()
    z = world.queries.embedding.clone().requires_grad_()
    queries = Cases(z, world.queries.posterior)
    with torch.no_grad():
        same_role_mean(queries, world.context, temperature)
    for _ in range(2):  # nor is a graph kept that could be walked once only
        z.grad = None
        same_role_mean(queries, world.context, temperature).mean.sum().backward()
        assert z.grad.abs().sum() > 0


@pytest.mark.parametrize("temperature", [0.1, 0.005])
def test_what_was_kept_in_inference_mode_serves_training(temperature):
    world = make_world()
    with torch.inference_mode():
        same_role_mean(world.queries, world.context, temperature)
    z = world.queries.embedding.clone().requires_grad_()
    queries = Cases(z, world.queries.posterior)
    panel = Panel.from_contexts({"ada": Context(world.queries, [0] * 17, [0, 1] * 8 + [0])})
    same_role_mean(queries, panel, temperature).mean.sum().backward()
    assert z.grad.isfinite().all()


def test_a_panel_carries_no_gradients_however_it_came():
    z = torch.randn(4, 3, requires_grad=True)
    cases = Cases(z, torch.full((4, 2), 0.5))
    panel = Panel(cases, [0, 1, 0, 1], [[0, 0, 1, 1]])
    assert not panel.cases.embedding.requires_grad and not panel.cases.direction.requires_grad
    assert not panel.append(Panel(cases, [0] * 4, [[1] * 4], experts=["new"])).cases.embedding.requires_grad


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_fitting_in_a_mode_without_gradients_fits_all_the_same(head, mode):
    world = make_world()
    outside = head.fit(world.panel, context_size=16, progress=False)
    with mode():
        inside = head.fit(world.panel, context_size=16, progress=False)
    assert all(
        torch.equal(a, b) for a, b in zip(vars(outside.state).values(), vars(inside.state).values(), strict=True)
    )


@pytest.mark.parametrize("head", HEADS, ids=lambda head: head.name)
def test_another_default_type_changes_nothing(head):
    world = make_world()
    usual = head.fit(world.panel, context_size=16, progress=False).deferral_score(world.queries, world.context)
    torch.set_default_dtype(torch.float64)
    try:
        other = head.fit(world.panel, context_size=16, progress=False).deferral_score(world.queries, world.context)
    finally:
        torch.set_default_dtype(torch.float32)
    assert torch.equal(usual, other)


def test_being_imported_in_inference_mode_does_no_harm():
    code = """
import torch
with torch.inference_mode():
    import racer
    racer.RacerKNN(), racer.RacerDeepSets()
from racer.checks import make_world
racer.RacerDeepSets(hidden=2).fit(make_world().panel, context_size=4, progress=False)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_no_experts_are_no_rows():
    world = make_world()
    nobody = world.strangers.subset([])
    assert same_role_mean(world.queries, nobody).mean.shape == (0, 17, 4)
    assert RacerKNN().deferral_score(world.queries, nobody).shape == (0, 17)


WRONG = {
    "an array for cases": (lambda w: Panel(w.queries.embedding, [0] * 17, [[0] * 17]), "'cases' must be a Cases"),
    "an array in a context": (lambda w: Context(w.queries.embedding, [0] * 17, [0] * 17), "'cases' must be a Cases"),
    "a list of contexts": (lambda w: Panel.from_contexts([w.context]), "must map each expert"),
    "cases for contexts": (lambda w: Panel.from_contexts({"ada": w.queries}), "must map each expert"),
    "fitting on a context": (lambda w: RacerKernel().fit(w.context), "takes a Panel"),
    "appending a context": (lambda w: w.panel.append(w.context), "takes a Panel"),
    "the wrong way round": (lambda w: RacerKNN().competence(w.context, w.queries), "'queries' must be a Cases"),
    "a dict for evidence": (lambda w: RacerKNN().competence(w.queries, {}), "a Context or a Panel"),
    "one name for several": (lambda w: w.panel.subset("expert-1"), "must be a list"),
    "a sparse tensor": (lambda w: Cases(torch.eye(2).to_sparse(), torch.full((2, 2), 0.5)), "sparse"),
    "a mask of another length": (lambda w: w.queries[torch.ones(3, dtype=torch.bool)], "3 entries for 17"),
}


@pytest.mark.parametrize(("call", "said"), WRONG.values(), ids=WRONG)
def test_one_thing_for_another_is_refused_in_words(call, said):
    with refused(ShapeError, said):
        call(make_world())


def test_a_panel_is_walked_by_the_ids_of_its_experts():
    panel = make_world().strangers
    assert list(panel) == list(panel.experts) == [expert for expert in panel if expert in panel]


def test_half_precision_posteriors_stay_probabilities_all_the_way():
    p = torch.rand(50, 100, generator=torch.Generator().manual_seed(0)).softmax(-1).half()
    cases = Cases(torch.randn(50, 4), p)
    torch.testing.assert_close(cases.posterior.sum(-1), torch.ones(50), atol=1e-6, rtol=0)
    q = RacerKNN().expert_correctness(cases, Context(cases, [0] * 50, [0] * 50))
    assert float(q.max()) <= 1 + 1e-6


def test_rounding_below_zero_is_put_right_and_more_is_refused():
    assert Cases([[1.0]], [[1.0 + 1e-7, -1e-7]]).posterior.tolist() == [[1.0, 0.0]]
    with pytest.raises(ValueError, match="look like logits"):
        Cases([[1.0]], [[1.001, -1e-3]])


def test_weights_that_are_fitted_get_their_gradients_from_frozen_queries():
    world = make_world()
    state = RacerKernel().fit(world.panel, context_size=16, progress=False).state
    w1 = state.w1.clone().requires_grad_()
    RacerKernel(state=type(state)(w1=w1, b1=state.b1, w2=state.w2, b2=state.b2)).competence(
        world.queries, world.strangers
    ).sum().backward()
    assert w1.grad.abs().sum() > 0
