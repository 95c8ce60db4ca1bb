"""g_θ: one small network for all roles.

Source   the paper, "Two competence estimators", Eqs. racer-kernel-summary and racer-kernel-gamma.
Symbols  u summary · g_θ network · Γ_θ = sigm(g_θ(u))

    u = ( ā, log(1 + N), log(1 + S), p, R, margin, H, μ_{e,0} ),      g_θ(u) = w₂ᵀ relu(W₁ u + b₁) + b₂

Size is not given; one hidden layer of 16 is ours. Two readings of the same weights: `logit` on rows of summaries, for
fitting, and `logit_at_pairs`, which multiplies what no expert changes (p, R, margin, H) once for all experts and keeps
each block of hidden units in cache.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from racer.competence.pairs import RolePairs
from racer.competence.two_layers import require_two_layers, two_layers
from racer.learning import seeded_linear
from racer.pooling import KernelPool
from racer.role_state import RoleState

__all__ = ["N_FEATURES", "RoleNetwork", "SummaryNetwork", "summarise"]

N_FEATURES = 8
EVIDENCE, LOG_COUNT, ACCURACY, OF_QUERY = [2, 0], 1, 7, [3, 4, 5, 6]
"""Columns of u: log(1 + S) and ā; log(1 + N), of expert and role; μ, of the expert; and those of the query alone."""
BLOCK = 1 << 20
"""Hidden units held at once: 4 MB in float32."""
Fill = Callable[[slice, Tensor], None]
"""Writes the first layer of a block of experts."""


def summarise(pool: KernelPool, state: RoleState) -> Float[Tensor, "expert role query feature"]:
    """u of every expert, role and query."""
    query_part = torch.stack([state.posterior, state.rank, state.margin, state.entropy[:, None].expand_as(state.rank)])
    p, rank, margin, entropy = query_part.transpose(1, 2).expand(len(pool.accuracy), -1, -1, -1).unbind(1)
    log_count = pool.count.to(pool.mean).log1p()[:, :, None].expand_as(pool.mean)
    accuracy = pool.accuracy[:, None, None].expand_as(pool.mean)
    return torch.stack([pool.mean, log_count, pool.log_mass, p, rank, margin, entropy, accuracy], -1)


@final
class SummaryNetwork(nn.Module):
    """g_θ while it is fitted: inputs are standardised first, with fixed numbers."""

    def __init__(
        self,
        centre: Float[Tensor, " feature"],
        spread: Float[Tensor, " feature"],
        hidden: int,
        generator: torch.Generator,
    ) -> None:
        super().__init__()
        self.centre, self.spread = centre, spread
        self.first = seeded_linear(len(centre), hidden, generator)
        self.last = seeded_linear(hidden, 1, generator)

    def forward(self, u: Float[Tensor, "row feature"]) -> Float[Tensor, " row"]:
        """g_θ of each summary."""
        logit: Tensor = self.last(torch.relu(self.first((u - self.centre) / self.spread)))[:, 0]
        return logit

    @torch.no_grad()
    def frozen(self) -> "RoleNetwork":
        """The same function with the standardisation folded into the first layer."""
        w1 = self.first.weight.double() / self.spread.double()
        b1 = self.first.bias.double() - w1 @ self.centre.double()
        w2, b2 = self.last.weight[0].clone(), self.last.bias[0].clone()
        return RoleNetwork(w1=w1.float(), b1=b1.float(), w2=w2, b2=b2)


@final
@dataclass(frozen=True, eq=False)
class RoleNetwork:
    """g_θ as it is used and saved."""

    w1: Float[Tensor, "hidden feature"]
    b1: Float[Tensor, " hidden"]
    w2: Float[Tensor, " hidden"]
    b2: Float[Tensor, ""]

    def __post_init__(self) -> None:
        require_two_layers("role", N_FEATURES, self.w1, self.b1, self.w2, self.b2)

    def logit(self, u: Float[Tensor, "*row feature"]) -> Float[Tensor, "*row"]:
        """g_θ of each summary."""
        return two_layers(u, self.w1, self.b1, self.w2, self.b2)

    def logit_at_pairs(self, pool: KernelPool, state: RoleState, pairs: RolePairs) -> Float[Tensor, "expert pair"]:
        """g_θ at the pairs asked for."""
        live = (pool.evidence, state.posterior, *vars(self).values())
        if torch.is_grad_enabled() and any(one.requires_grad for one in live):
            return self.logit(pairs.take(summarise(pool, state).movedim(-1, 0)).movedim(0, -1))
        like = pool.evidence
        w1, w2 = self.w1.to(like), self.w2.to(like)[None]
        of_query = self._of_query(state, pairs, w1)
        fill = (self._on_grid if pairs.is_grid else self._on_some)(pool, pairs, of_query, w1)
        step = max(1, min(len(like), BLOCK // max(1, of_query.numel())))
        hidden = like.new_empty(step, *of_query.shape)
        logits = like.new_empty(len(like), 1, len(pairs.role))
        for first in range(0, len(like), step):
            block = slice(first, min(first + step, len(like)))
            units = hidden[: block.stop - first]
            fill(block, units)
            torch.matmul(w2, units.relu_(), out=logits[block])
        return logits[:, 0].add_(self.b2.to(like))

    def _on_grid(self, pool: KernelPool, pairs: RolePairs, of_query: Tensor, w1: Tensor) -> Fill:
        """What is known of each expert and role is spread over the queries while it is added."""
        log_count = pool.count.to(w1).log1p()[:, None]
        of_role = w1[:, LOG_COUNT, None] * log_count + (w1[:, ACCURACY] * pool.accuracy[:, None])[:, :, None]
        shape = (-1, pairs.n_roles, pairs.n_items)
        weight, evidence = w1[:, EVIDENCE], pool.evidence.flatten(2)

        def fill(block: slice, units: Tensor) -> None:
            torch.add(of_query.view(shape), of_role[block][..., None], out=units.view(len(units), *shape))
            units.baddbmm_(weight.expand(len(units), -1, -1), evidence[block])

        return fill

    def _on_some(self, pool: KernelPool, pairs: RolePairs, of_query: Tensor, w1: Tensor) -> Fill:
        """Everything of the expert is picked pair by pair, before the first layer makes it wide."""
        log_count = pool.count.to(w1).log1p()
        picked = log_count.gather(1, pairs.role.expand(len(log_count), -1))
        accuracy = pool.accuracy[:, None].expand_as(picked)
        of_expert = torch.cat([pairs.take(pool.evidence), torch.stack([picked, accuracy], 1)], 1)
        weight = w1[:, [*EVIDENCE, LOG_COUNT, ACCURACY]]

        def fill(block: slice, units: Tensor) -> None:
            n = len(units)
            torch.baddbmm(of_query.expand(n, -1, -1), weight.expand(n, -1, -1), of_expert[block], out=units)

        return fill

    def _of_query(self, state: RoleState, pairs: RolePairs, w1: Tensor) -> Float[Tensor, "hidden pair"]:
        """The part of the first layer that no expert changes."""
        grid = torch.stack([state.posterior.T, state.rank.T, state.margin.T])
        at_pairs = torch.cat([pairs.take(grid), state.entropy[pairs.item][None]])
        return torch.addmm(self.b1.to(w1)[:, None], w1[:, OF_QUERY], at_pairs)
