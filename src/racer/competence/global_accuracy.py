"""One shrunk accuracy an expert: the simplest thing that could work, and on real people often hard to beat.

Symbols  t_e right answers · n_e answers · α, β prior counts · B Beta function

    Γ(x, y, C_e) = (α + t_e) / (α + β + n_e),   the same for every query and role

Unfitted, Beta(1, 1). `fit` takes the α, β that make the panel likeliest (empirical Bayes), so that an expert of few
answers is pulled to a typical one:

    max_{α,β} Σ_e log B(α + t_e, β + n_e − t_e) − log B(α, β)
"""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import numpy as np
import torch
from jaxtyping import Float
from scipy.optimize import minimize
from scipy.special import betaln
from torch import Tensor

from racer.cases import Cases
from racer.competence.method import AbstractCompetence
from racer.competence.pairs import RolePairs
from racer.errors import TooFewAnswersError
from racer.panel import Panel, require_panel

__all__ = ["BetaPrior", "GlobalAccuracy"]

STRENGTH_RANGE = (1e-2, 1e4)
"""α + β is kept inside: experts who are all alike would send it to infinity."""


@final
@dataclass(frozen=True, eq=False)
class BetaPrior:
    """α and β."""

    alpha: Float[Tensor, ""]
    beta: Float[Tensor, ""]


@final
@dataclass(frozen=True)
class GlobalAccuracy(AbstractCompetence):
    """How often the expert was right, shrunk.

    >>> from racer import Cases, Context
    >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.8, 0.2]])
    >>> GlobalAccuracy().expert_correctness(cases, Context(cases, label=[0, 0], answer=[0, 0]))
    tensor([0.7500, 0.7500])
    """

    name: ClassVar[str] = "global-accuracy"

    state: BetaPrior | None = None

    def fit(self, panel: Panel, *, context_size: int = 100, seed: int = 0, progress: bool | None = None) -> Self:
        """Learn how accurate experts of this kind are, and how alike."""
        require_panel(panel, "fit(panel)")
        n = panel.count.sum(-1).numpy().astype(float)
        right = panel.n_right.sum(-1).numpy().astype(float)
        if (n > 0).sum() < 2:
            raise TooFewAnswersError(
                "A prior over experts needs at least two of them with answers.",
                f"Got {int((n > 0).sum())} among {len(panel)} experts.",
                "Use GlobalAccuracy() unfitted, with its flat prior.",
            )

        def cost(at: np.ndarray) -> float:
            mean, strength = 1 / (1 + np.exp(-at[0])), np.exp(at[1])
            alpha, beta = mean * strength, (1 - mean) * strength
            return float(-(betaln(alpha + right, beta + n - right) - betaln(alpha, beta)).sum())

        mean = np.clip(right.sum() / n.sum(), 1e-3, 1 - 1e-3)
        start = np.array([np.log(mean / (1 - mean)), np.log(10.0)])
        limits = [(-7.0, 7.0), tuple(np.log(STRENGTH_RANGE))]
        best = minimize(cost, start, method="L-BFGS-B", bounds=limits).x
        mean, strength = 1 / (1 + np.exp(-best[0])), np.exp(best[1])
        alpha, beta = torch.tensor([mean * strength, (1 - mean) * strength], dtype=torch.float64)
        return type(self)(state=BetaPrior(alpha=alpha.clone(), beta=beta.clone()))

    def role_competence(self, queries: Cases, panel: Panel, pairs: RolePairs) -> Float[Tensor, "expert pair"]:
        """One number an expert, at every pair."""
        alpha, beta = (1.0, 1.0) if self.state is None else (float(self.state.alpha), float(self.state.beta))
        n_right, n = panel.n_right.sum(-1).to(queries.dtype), panel.count.sum(-1).to(queries.dtype)
        gamma: Tensor = (alpha + n_right) / (alpha + beta + n)
        return gamma[:, None].expand(-1, len(pairs.role))
