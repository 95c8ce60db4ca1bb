"""g_θ: one small network for all roles.

Source   the paper, "Two competence estimators", Eqs. racer-kernel-summary and racer-kernel-gamma.
Symbols  u summary · g_θ network · Γ_θ = sigm(g_θ(u))

    u = ( ā, log(1 + N), log(1 + S), p, R, margin, H, μ_{e,0} ),      g_θ(u) = w₂ᵀ relu(W₁ u + b₁) + b₂

Size is not given; one hidden layer of 16 is ours. Two readings of the same weights: `logit` on rows of summaries, for
fitting, and `logit_at_pairs`, which multiplies what no expert changes (p, R, margin, H) once for all experts and keeps
each block of hidden units in cache.
"""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor, nn

from racer.cases import RoleState
from racer.competence.pairs import RolePairs
from racer.errors import ShapeError
from racer.learning import seeded_linear
from racer.pooling import KernelPool

__all__ = ["N_FEATURES", "RoleNetwork", "SummaryNetwork", "summarise"]

N_FEATURES = 8
OF_EXPERT, OF_QUERY = [0, 2, 1, 7], [3, 4, 5, 6]
"""Columns of u that differ between experts, in the order (ā, log S, log N, μ), and those that do not."""
BLOCK = 1 << 18
"""Hidden units held at once: 1 MB in float32."""


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
        hidden = len(self.b1)
        shapes = [tuple(one.shape) for one in (self.w1, self.b1, self.w2, self.b2)]
        if shapes != [(hidden, N_FEATURES), (hidden,), (hidden,), ()]:
            raise ShapeError(
                "The layers of a role network do not fit together.",
                f"Got shapes {shapes}.",
                f"Expected (hidden, {N_FEATURES}), (hidden,), (hidden,), ().",
            )

    def logit(self, u: Float[Tensor, "row feature"]) -> Float[Tensor, " row"]:
        """g_θ of each summary."""
        return torch.relu(u @ self.w1.to(u).T + self.b1.to(u)) @ self.w2.to(u) + self.b2.to(u)

    def logit_at_pairs(self, pool: KernelPool, state: RoleState, pairs: RolePairs) -> Float[Tensor, "expert pair"]:
        """g_θ at the pairs asked for."""
        w1, w2 = self.w1.to(pool.mean), self.w2.to(pool.mean)[None]
        shared = self._shared(state, pairs, w1)
        of_expert = [
            pairs.take(pool.mean),
            pairs.take(pool.log_mass),
            pool.count.to(pool.mean).log1p()[:, pairs.role],
            pool.accuracy[:, None].expand(-1, len(pairs.role)),
        ]
        w_expert = w1[:, OF_EXPERT]
        step = max(1, BLOCK // max(1, shared.numel()))
        logits = []
        for first in range(0, len(pool.accuracy), step):
            u = torch.stack([one[first : first + step] for one in of_expert], 1)
            n = len(u)
            hidden = torch.baddbmm(shared.expand(n, -1, -1), w_expert.expand(n, -1, -1), u).relu_()
            logits.append((w2 @ hidden)[:, 0])
        return torch.cat(logits) + self.b2.to(pool.mean)

    def _shared(self, state: RoleState, pairs: RolePairs, w1: Tensor) -> Float[Tensor, "hidden pair"]:
        role_by_item = torch.stack([state.posterior.T, state.rank.T, state.margin.T])
        at_pairs = torch.cat([pairs.take(role_by_item), state.entropy[pairs.item][None]])
        return torch.addmm(self.b1.to(w1)[:, None], w1[:, OF_QUERY], at_pairs)
