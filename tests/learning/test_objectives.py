"""Every objective is its equation, and the deferral loss asks for what the theory says."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from reference import objectives as reference

from racer.learning import class_loss, competence_loss, deferral_loss, one_vs_all_loss, posterior_loss

LOGITS = st.floats(-50, 50) | st.sampled_from([0.0, -0.0, 300.0, -300.0])


@st.composite
def problems(draw):
    n_experts, n_items, n_roles = (draw(st.integers(1, most)) for most in (3, 4, 5))
    n_roles += 1
    return {
        "class_logit": draw(arrays(float, (n_items, n_roles), elements=LOGITS)),
        "deferral_logit": draw(arrays(float, (n_experts, n_items), elements=LOGITS)),
        "label": draw(arrays(int, n_items, elements=st.integers(0, n_roles - 1))),
        "weight": draw(arrays(float, (n_experts, n_items), elements=st.floats(0, 1))),
        "right": draw(arrays(bool, (n_experts, n_items))),
        "adapted_logit": draw(arrays(float, (n_experts, n_items, n_roles), elements=LOGITS)),
    }


ARGUMENTS = {
    class_loss: ("class_logit", "label"),
    deferral_loss: ("class_logit", "deferral_logit", "label", "weight"),
    posterior_loss: ("adapted_logit", "label"),
    one_vs_all_loss: ("class_logit", "deferral_logit", "label", "right"),
}


def tensors(problem, names, dtype):
    given = (torch.from_numpy(problem[name]) for name in names)
    return [one.to(dtype) if one.is_floating_point() else one for one in given]


@pytest.mark.parametrize("objective", ARGUMENTS, ids=lambda one: one.__name__)
@given(problem=problems())
def test_an_objective_equals_its_transcription(objective, problem):
    names = ARGUMENTS[objective]
    expected = getattr(reference, objective.__name__)(*(problem[name].tolist() for name in names))
    assert float(objective(*tensors(problem, names, torch.float64))) == pytest.approx(expected, rel=1e-10, abs=1e-10)
    single = objective(*tensors(problem, names, torch.float32))
    assert single.dtype == torch.float32
    assert float(single) == pytest.approx(expected, rel=1e-5, abs=1e-4)


def test_certainty_at_the_edge_of_float_costs_its_logit():
    logit = torch.tensor([[1e4, -1e4]])
    assert float(class_loss(logit, torch.tensor([1]))) == pytest.approx(2e4)
    none = torch.zeros(1, 1)
    assert float(deferral_loss(logit, torch.tensor([[-1e4]]), torch.tensor([0]), none)) == pytest.approx(0, abs=1e-6)


def test_the_weight_gets_no_gradient():
    weight = torch.rand(2, 3, requires_grad=True)
    f, d = torch.randn(3, 4, requires_grad=True), torch.randn(2, 3, requires_grad=True)
    deferral_loss(f, d, torch.tensor([0, 1, 2]), weight).backward()
    assert weight.grad is None and f.grad.abs().min() > 0 and d.grad.abs().min() > 0


@given(
    eta=arrays(float, 4, elements=st.floats(0.05, 1)),
    gamma=arrays(float, 4, elements=st.floats(0.05, 1)),
)
def test_the_minimiser_of_the_deferral_loss_is_that_of_the_theorem(eta, gamma):
    """Π_y = η_y/(1 + q) and Π_⊥ = q/(1 + q), found by minimising, not by the proof."""
    eta, gamma = torch.from_numpy(eta / eta.sum()), torch.from_numpy(gamma)
    q = float((eta * gamma).sum())
    logit = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [logit], max_iter=500, tolerance_grad=1e-12, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def risk():
        optimiser.zero_grad()
        of_label = [
            eta[y] * deferral_loss(logit[None, :4], logit[4:][None], torch.tensor([y]), gamma[y].view(1, 1))
            for y in range(4)
        ]
        total = sum(of_label)
        total.backward()
        return total

    optimiser.step(risk)
    action = logit.detach().softmax(0)
    torch.testing.assert_close(action[:4], eta / (1 + q), atol=1e-5, rtol=0)
    assert float(action[4]) == pytest.approx(q / (1 + q), abs=1e-5)
    margin = q - float(eta.max())
    assert abs(margin) < 1e-4 or bool(action[4] >= action[:4].max()) == (margin >= 0)


def test_competence_learned_by_cross_entropy_is_the_conditional_probability():
    """On a finite world, BCE over functions of a summary U ends at P(right | U), also where U tells little."""
    generator = torch.Generator().manual_seed(0)
    p_right = torch.rand(6, generator=generator, dtype=torch.float64)
    weight = torch.rand(6, generator=generator, dtype=torch.float64)
    summary = torch.tensor([0, 0, 1, 1, 1, 2])
    logit = torch.zeros(3, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.LBFGS(
        [logit], max_iter=500, tolerance_grad=1e-12, tolerance_change=0, line_search_fn="strong_wolfe"
    )

    def risk():
        optimiser.zero_grad()
        total = logit.new_zeros(())
        for cell in range(6):
            given = logit[summary[cell]].view(1)
            for outcome, share in ((True, p_right[cell]), (False, 1 - p_right[cell])):
                total = total + weight[cell] * share * competence_loss(given, torch.tensor([outcome]))
        total.backward()
        return total

    optimiser.step(risk)
    for u in range(3):
        here = summary == u
        expected = (weight[here] * p_right[here]).sum() / weight[here].sum()
        assert float(logit[u].detach().sigmoid()) == pytest.approx(float(expected), abs=1e-6)


@given(seed=st.integers(0, 10**6), noise=st.floats(0, 1))
def test_the_regret_of_plugging_in_is_within_its_bound(seed, noise):
    """Prop. plugin-regret on random finite worlds: eight inputs, four classes, one expert."""
    rng = torch.Generator().manual_seed(seed)

    def rows(*shape):
        return torch.rand(*shape, generator=rng, dtype=torch.float64)

    mass, eta, gamma = rows(8).softmax(0), (3 * rows(8, 4)).softmax(-1), rows(8, 4)
    p = (1 - noise) * eta + noise * (3 * rows(8, 4)).softmax(-1)
    estimate = (1 - noise) * gamma + noise * rows(8, 4)
    q_true, q_hat = (eta * gamma).sum(-1), (p * estimate).sum(-1)

    def risk(prediction, deferred):
        model_right = eta.gather(1, prediction[:, None])[:, 0]
        return float((mass * (1 - torch.where(deferred, q_true, model_right))).sum())

    regret = risk(p.argmax(-1), q_hat >= p.amax(-1)) - risk(eta.argmax(-1), q_true >= eta.amax(-1))
    bound = (mass * (3 * (p - eta).abs().sum(-1) + (eta * (estimate - gamma).abs()).sum(-1))).sum()
    assert -1e-12 <= regret <= float(bound) + 1e-12
