"""RACER-kernel: the local same-role accuracy, smoothed and calibrated by one network for all roles.

Source   the paper, "Two competence estimators", Eqs. racer-kernel-summary and racer-kernel-gamma; loss L_comp.
Symbols  τ temperature · α₀, α_pop, μ_pop prior · u summary · g_θ network (`state`)

    Γ_θ(x, y, C) = sigm(g_θ(u_{e,y}(x)))

Class names enter only through equality with the role, and g_θ is the same for all roles: renaming the classes changes
nothing. τ = 0.1 and the size of g_θ are ours; the paper gives neither.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from racer.cases import Cases
from racer.competence.method import AbstractCompetence
from racer.competence.pairs import RolePairs
from racer.competence.role_network import RoleNetwork, SummaryNetwork, summarise
from racer.errors import NotFittedError
from racer.learning import (
    EpisodeSampler,
    competence_loss,
    fit_with_early_stopping,
    hold_out_experts,
    require_head_settings,
)
from racer.panel import Panel
from racer.pooling import ContextPrior, check_temperature, pool_queries

__all__ = ["RacerKernel"]

FIT_OUTCOMES, HELD_OUT_OUTCOMES = 120_000, 40_000
"""Outcomes to fit on and to stop by."""
MOST_OUTCOMES_AN_ANSWER, MOST_EPISODES = 50, 400
"""Where fewer do: each answer is asked about in many contexts, but not without end."""
BATCH = 2048
LEAST_SPREAD = 0.1
"""A feature that hardly moved while fitting must not run wild when it does."""


@final
@dataclass(frozen=True)
class RacerKernel(AbstractCompetence):
    """The default: local like a neighbour search, calibrated like a model, and no refit for a stranger.

    >>> import torch
    >>> from racer import Cases, Context, Panel
    >>> side = torch.eye(2).repeat(50, 1)                             # two kinds of case, all of class 0
    >>> cases = Cases(side, torch.tensor([[0.6, 0.4]]).expand(100, 2))
    >>> label = torch.zeros(100, dtype=torch.int64)
    >>> ada, bo = (1 - side).argmax(1), side.argmax(1)                # each is right on one kind
    >>> panel = Panel(cases, label, torch.stack([ada, bo] * 5))
    >>> method = RacerKernel().fit(panel, context_size=20)
    >>> stranger = Context(cases[:20], label[:20], ada[:20])
    >>> method.competence(cases[:2], stranger)[:, 0].round()
    tensor([0., 1.])
    """

    name: ClassVar[str] = "racer-kernel"
    learns_from_experts: ClassVar[bool] = True

    temperature: float = 0.1
    prior: ContextPrior = field(default_factory=ContextPrior)
    hidden: int = 16
    varied: float = 0.5
    state: RoleNetwork | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_temperature(self.temperature)
        require_head_settings(self.hidden, self.varied)

    @torch.inference_mode(False)
    def fit(self, panel: Panel, *, context_size: int = 100, seed: int = 0, progress: bool | None = None) -> Self:
        """Fit g_θ on episodes of the panel's experts, a fifth of whom are held out to stop by."""
        rng = np.random.default_rng(seed)
        fitted_on, held_out = hold_out_experts(panel, 0.2, rng)
        u, right = self._summaries(fitted_on, context_size, FIT_OUTCOMES, rng)
        held_u, held_right = self._summaries(held_out, context_size, HELD_OUT_OUTCOMES, rng)
        torch_rng = torch.Generator().manual_seed(int(rng.integers(2**62)))
        network = SummaryNetwork(u.mean(0), u.std(0, correction=0).clamp(min=LEAST_SPREAD), self.hidden, torch_rng)

        def epoch() -> Iterator[Tensor]:
            for rows in torch.split(torch.randperm(len(u), generator=torch_rng), BATCH):
                yield competence_loss(network(u[rows]), right[rows])

        @torch.no_grad()
        def validate() -> float:
            return float(competence_loss(network(held_u), held_right))

        fit_with_early_stopping(network, epoch, validate, label=self.name, progress=progress)
        return replace(self, state=network.frozen())

    def role_competence(self, queries: Cases, panel: Panel, pairs: RolePairs) -> Float[Tensor, "expert pair"]:
        """Γ_θ at the pairs asked for."""
        if self.state is None:
            raise NotFittedError(
                "RacerKernel has no network yet.",
                "It was not fitted or loaded.",
                "Call method = method.fit(panel), or use RacerKNN, which needs no fitting.",
            )
        pool = pool_queries(queries, panel, self.temperature, self.prior)
        return torch.sigmoid(self.state.logit_at_pairs(pool, queries.role_state, pairs))

    @torch.no_grad()
    def _summaries(
        self, panel: Panel, context_size: int, n_outcomes: int, rng: np.random.Generator
    ) -> tuple[Float[Tensor, "outcome feature"], Tensor]:
        """Summaries at the true role and whether the expert was right, over many episodes."""
        sampler = EpisodeSampler(panel, context_size, varied=self.varied)
        parts: list[tuple[Tensor, Tensor]] = []
        n, n_outcomes = 0, min(n_outcomes, MOST_OUTCOMES_AN_ANSWER * panel.n_answers)
        while n < n_outcomes and len(parts) < MOST_EPISODES:
            episode = sampler.draw(rng)
            pool = pool_queries(episode.queries, episode.contexts, self.temperature, self.prior)
            u = summarise(pool, episode.queries.role_state)
            parts.append((episode.at_true_role(u).float(), episode.outcome))
            n += len(parts[-1][0])
        u, right = (torch.cat(one) for one in zip(*parts, strict=True))
        return u, right
