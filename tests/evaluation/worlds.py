"""Small worlds with known answers."""

import numpy as np

from racer import Cases, Panel


def make_panel(seed=0, n_experts=6, n_items=80, n_roles=3, share=0.7, skill=0.7, model=0.6):
    """Experts right with probability `skill`, a model with `model`, a share of the cells answered."""
    rng = np.random.default_rng(seed)
    label = rng.integers(0, n_roles, n_items)
    right = rng.random((n_experts, n_items)) < skill
    answer = np.where(right, label, (label + 1) % n_roles)
    answer[rng.random(answer.shape) >= share] = -1
    said = np.where(rng.random(n_items) < model, label, (label + 1) % n_roles)
    posterior = np.full((n_items, n_roles), 0.1) + 0.7 * np.eye(n_roles)[said] + rng.random((n_items, n_roles)) * 0.3
    cases = Cases(rng.standard_normal((n_items, 5)), posterior / posterior.sum(1, keepdims=True))
    return Panel(cases, label, answer, experts=[f"e{row}" for row in range(n_experts)])
