"""A small world to check methods in: experts who know some kinds of case and not others."""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from racer.cases import Cases
from racer.panel import Context, Panel

__all__ = ["World", "make_world"]


@final
@dataclass(frozen=True, eq=False)
class World:
    """Experts to fit on, strangers with contexts of their own, and queries."""

    panel: Panel
    strangers: Panel
    queries: Cases

    @property
    def context(self) -> Context:
        """One stranger's answers."""
        return self.strangers[self.strangers.experts[0]]


def make_world(seed: int = 0, n_roles: int = 4, n_features: int = 6, dtype: torch.dtype = torch.float32) -> World:
    """Clustered cases, a so-so classifier, experts good at some clusters and biased towards some classes.

    >>> make_world().strangers
    Panel(3 experts, 124 answers, 60 cases, 4 roles)
    """
    rng = np.random.default_rng(seed)
    kinds = rng.normal(size=(n_roles, 2, n_features))

    def draw(n: int) -> tuple[Cases, Int[Tensor, " item"], np.ndarray]:
        label = np.arange(n) % n_roles
        kind = rng.integers(2, size=n)
        embedding = kinds[label, kind] + rng.normal(scale=0.4, size=(n, n_features))
        logit = rng.normal(size=(n, n_roles)) + 1.5 * np.eye(n_roles)[label]
        posterior = np.exp(logit) / np.exp(logit).sum(1, keepdims=True)
        cases = Cases(torch.tensor(embedding, dtype=dtype), torch.tensor(posterior, dtype=dtype))
        return cases, torch.from_numpy(label), kind

    def answer(n_experts: int, label: Int[Tensor, " item"], kind: np.ndarray) -> Int[Tensor, "expert item"]:
        skill = rng.choice([0.95, 0.3], size=(n_experts, n_roles, 2))
        right = rng.random((n_experts, len(kind))) < skill[:, label.numpy(), kind]
        # class 0 is the usual mistake, so that class names carry a signal a method could wrongly learn
        mistake = np.where(label.numpy() == 0, 1 + rng.integers(n_roles - 1, size=len(kind)), 0)
        given = np.where(right, label.numpy(), mistake)
        given[rng.random(given.shape) < 1 / 3] = -1
        return torch.from_numpy(given)

    bank, label, kind = draw(60)
    panel = Panel(bank, label, answer(8, label, kind), experts=[f"expert-{i}" for i in range(8)])
    bank, label, kind = draw(60)
    given = answer(3, label, kind)
    strangers = Panel(bank, label, given, experts=["stranger-0", "stranger-1", "stranger-2"])
    return World(panel=panel, strangers=strangers, queries=draw(17)[0])
