"""A head fitted for balanced contexts of one size meets others: of any size, of any mix, of none of its roles."""

import functools

import numpy as np
import pytest
import torch
from discovery import concrete_methods
from torch.nn.functional import binary_cross_entropy

from racer import Cases, Panel

N_ROLES, N_EXPERTS, N_CASES, FITTED_FOR = 5, 24, 300, 50


def answers_of(rng, kind, label, n_experts):
    """Each expert is right with .95 on one kind of case and with .4 on the other."""
    favourite = rng.integers(2, size=(n_experts, N_ROLES))[:, label]
    right = rng.random(favourite.shape) < np.where(favourite == kind, 0.95, 0.4)
    return np.where(right, label, (label + rng.integers(1, N_ROLES, right.shape)) % N_ROLES)


@functools.cache
def world():
    rng = np.random.default_rng(0)
    kind, label = rng.integers(2, size=N_CASES * 2), rng.integers(N_ROLES, size=N_CASES * 2)
    centre = rng.normal(size=(N_ROLES, 2, 8))
    logit = rng.normal(size=(len(kind), N_ROLES)) + 2 * np.eye(N_ROLES)[label]
    posterior = torch.tensor(logit).softmax(-1)
    cases = Cases(centre[label, kind] + rng.normal(scale=0.4, size=(len(kind), 8)), posterior)
    first, rest = slice(0, N_CASES), slice(N_CASES, None)
    panel = Panel(cases[first], label[first], answers_of(rng, kind[first], label[first], N_EXPERTS))
    return panel, cases[rest], label[rest], answers_of(rng, kind[rest], label[rest], 8)


@functools.cache
def fitted(method):
    return method().fit(world()[0], context_size=FITTED_FOR, progress=False)


CONTEXTS = {
    "as fitted": slice(0, FITTED_FOR),
    "three answers": slice(0, 3),
    "a fifth": slice(0, FITTED_FOR // 5),
    "four times as many": slice(0, 4 * FITTED_FOR),
    "two roles only": "two roles",
}
PROBABILISTIC = [method for method in concrete_methods() if method.name in ("racer-kernel", "racer-deepsets")]


@pytest.mark.parametrize("method", PROBABILISTIC, ids=lambda method: method.name)
@pytest.mark.parametrize("which", CONTEXTS.values(), ids=CONTEXTS)
def test_a_learned_head_is_never_worse_than_knowing_how_good_experts_are(method, which):
    """Log loss of q̂ against that of the training experts' mean accuracy, the same for everybody."""
    panel, cases, label, answer = world()
    asked = slice(4 * FITTED_FOR, None)
    shown = np.flatnonzero(label[: 4 * FITTED_FOR] < 2) if which == "two roles" else np.arange(len(label))[which]
    contexts = Panel(cases[shown], label[shown], answer[:, shown])
    q = fitted(method).expert_correctness(cases[asked], contexts)
    right = torch.tensor(answer[:, asked] == label[asked], dtype=q.dtype)
    typical = torch.full_like(q, float(panel.right.double().mean()))
    assert binary_cross_entropy(q, right) < binary_cross_entropy(typical, right) + 0.02
