"""RACER-DeepSets: the same question with learned pooling in the place of the kernel.

Source   the paper, "Ablation: Role-relative DeepSets competence estimator"; loss L_comp.
Symbols  t_i token of an answer · φ token network · ρ readout (`state` holds both)

    t_i(x, y)  = ( 1[y_i = y], 1[m_i = y], a_i, s_i(x), p(y_i|x_i), log R(y_i; x_i) )
    h_i        = relu(A t_i + b)                                                            φ
    v_y(x)     = [ mean of h_i over answers with y_i = y,  mean of h_i over all answers ]    0 where there are none
    Γ(x, y, C) = sigm(ρ(v_y, log(1 + N_y), μ_{e,0}, p, log R, margin, H)),   ρ one hidden layer

The paper gives the features, not the sizes: two means and one hidden layer each are ours. An answer enters only through
sums, so their order cannot matter; classes only through equality with the role.

No (query × answer × role) array is built. A token takes one of five kinds: same role and right; same role and wrong;
other role and named y; other role and right; other role and wrong. So φ is computed once per case of the bank, query
and kind, shared by all experts, and each sum over answers is one product of `sum_groups`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, replace
from typing import ClassVar, Self, final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from racer.cases import Cases
from racer.competence.method import AbstractCompetence
from racer.competence.pairs import RolePairs
from racer.errors import NotFittedError, ShapeError
from racer.learning import (
    Episode,
    EpisodeSampler,
    competence_loss,
    fit_with_early_stopping,
    hold_out_experts,
    require_head_settings,
    seeded_linear,
)
from racer.panel import Panel
from racer.pooling import ContextPrior, query_chunks, similarity, sum_groups

__all__ = ["DeepSetsNetwork", "RacerDeepSets"]

TOKEN, READOUT = 6, 6
"""Numbers in a token, and those ρ reads beside the two means."""
KINDS = ((1, 0, 0), (1, 1, 1), (0, 0, 0), (0, 0, 1), (0, 1, 0))  # same, named, right
"""Same role and wrong, same and right, other and wrong, other and right, other and named (hence wrong)."""
EPISODES_AN_EPOCH, HELD_OUT_EPISODES = 25, 8


@final
@dataclass(frozen=True, eq=False)
class DeepSetsNetwork:
    """φ (A, b) and ρ."""

    a: Float[Tensor, "hidden token"]
    b: Float[Tensor, " hidden"]
    w1: Float[Tensor, "width readout"]
    b1: Float[Tensor, " width"]
    w2: Float[Tensor, " width"]
    b2: Float[Tensor, ""]

    def __post_init__(self) -> None:
        hidden, width = len(self.b), len(self.b1)
        got = [tuple(getattr(self, one.name).shape) for one in fields(self)]
        expected = [(hidden, TOKEN), (hidden,), (width, 2 * hidden + READOUT), (width,), (width,), ()]
        if got != expected:
            raise ShapeError(
                "The layers of a DeepSets network do not fit together.", f"Got {got}.", f"Expected {expected}."
            )


@final
@dataclass(frozen=True)
class RacerDeepSets(AbstractCompetence):
    """Learns how near is near, where `RacerKernel` has one temperature; slower to fit and to ask.

    >>> from racer.checks import make_world
    >>> world = make_world()
    >>> method = RacerDeepSets(hidden=4).fit(world.panel, context_size=16)
    >>> method.expert_correctness(world.queries, world.strangers).shape
    torch.Size([3, 17])
    """

    name: ClassVar[str] = "racer-deepsets"
    learns_from_experts: ClassVar[bool] = True

    hidden: int = 16
    varied: float = 0.5
    state: DeepSetsNetwork | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        require_head_settings(self.hidden, self.varied)

    @torch.inference_mode(False)
    def fit(self, panel: Panel, *, context_size: int = 100, seed: int = 0, progress: bool | None = None) -> Self:
        """Fit φ and ρ on episodes of the panel's experts, a fifth of whom are held out to stop by."""
        rng = np.random.default_rng(seed)
        fitted_on, held_out = hold_out_experts(panel, 0.2, rng)
        sampler = EpisodeSampler(fitted_on, context_size, n_queries=32, n_experts=16, varied=self.varied)
        held_sampler = EpisodeSampler(held_out, context_size, n_queries=64, varied=self.varied)
        held = [held_sampler.draw(rng) for _ in range(HELD_OUT_EPISODES)]
        network = _Trainable(self.hidden, torch.Generator().manual_seed(int(rng.integers(2**62))))

        def loss(episode: Episode) -> Tensor:
            grid = _logits(network.weights(), episode.queries, episode.contexts)
            return competence_loss(episode.at_true_role(grid), episode.outcome)

        def epoch() -> Iterator[Tensor]:
            for _ in range(EPISODES_AN_EPOCH):
                yield loss(sampler.draw(rng))

        @torch.no_grad()
        def validate() -> float:
            return float(np.mean([float(loss(episode)) for episode in held]))

        fit_with_early_stopping(network, epoch, validate, label=self.name, max_epochs=30, progress=progress)
        return replace(self, state=network.frozen())

    def role_competence(self, queries: Cases, panel: Panel, pairs: RolePairs) -> Float[Tensor, "expert pair"]:
        """Γ at the pairs asked for."""
        if self.state is None:
            raise NotFittedError(
                "RacerDeepSets has no network yet.",
                "It was not fitted or loaded.",
                "Call method = method.fit(panel), or use RacerKNN, which needs no fitting.",
            )
        numbers = self.hidden * (3 * len(KINDS) * len(panel.cases) + 4 * panel.count.numel())
        parts = [_logits(self.state, queries[part], panel) for part in query_chunks(len(queries), rows=numbers)]
        return torch.sigmoid(pairs.take(torch.cat(parts, -1)))


@final
class _Trainable(nn.Module):
    """The network while it is fitted."""

    def __init__(self, hidden: int, generator: torch.Generator) -> None:
        super().__init__()
        self.token = seeded_linear(TOKEN, hidden, generator)
        self.readout = seeded_linear(2 * hidden + READOUT, hidden, generator)
        self.last = seeded_linear(hidden, 1, generator)

    def weights(self) -> DeepSetsNetwork:
        """The parameters by their names in the equations."""
        return DeepSetsNetwork(
            a=self.token.weight,
            b=self.token.bias,
            w1=self.readout.weight,
            b1=self.readout.bias,
            w2=self.last.weight[0],
            b2=self.last.bias[0],
        )

    def frozen(self) -> DeepSetsNetwork:
        """A copy that is no longer fitted."""
        weights = self.weights()
        return DeepSetsNetwork(**{one.name: getattr(weights, one.name).detach().clone() for one in fields(weights)})


def _logits(network: DeepSetsNetwork, queries: Cases, panel: Panel) -> Float[Tensor, "expert role query"]:
    """ρ of every expert, role and query."""
    like, state = queries.posterior, queries.role_state
    mean_same, mean_all = _means(network, queries, panel)
    hidden = network.b.shape[0]
    w_same, w_all, w_expert, w_query = torch.split(network.w1.to(like), [hidden, hidden, 2, 4], dim=1)
    accuracy = ContextPrior().context_accuracy(panel, like.dtype)
    of_expert = torch.stack([panel.count.to(like).log1p(), accuracy[:, None].expand_as(panel.count)], -1) @ w_expert.T
    entropy = state.entropy[:, None].expand_as(state.rank)
    of_query = torch.stack([state.posterior, state.rank.log(), state.margin, entropy], -1) @ w_query.T
    unit = mean_same @ w_same.T + mean_all @ w_all.T + of_expert[:, :, None] + of_query.transpose(0, 1)
    return torch.relu(unit + network.b1.to(like)) @ network.w2.to(like) + network.b2.to(like)


def _means(network: DeepSetsNetwork, queries: Cases, panel: Panel) -> tuple[Tensor, Tensor]:
    """Mean of h over answers in the role, and over all answers: (expert, role, query, hidden) each."""
    bank, like, hidden = panel.cases, queries.posterior, network.b.shape[0]
    a = network.a.to(like)
    truth = panel.label.clamp(min=0)[:, None]
    of_bank = [bank.role_state.posterior.gather(1, truth), bank.role_state.rank.gather(1, truth).log()]
    plain = similarity(bank, queries)[:, :, None] * a[:, 3] + (torch.cat(of_bank, 1) @ a[:, 4:].T)[:, None]
    kinds = torch.tensor(KINDS, dtype=a.dtype, device=a.device) @ a[:, :3].T + network.b.to(like)
    same_wrong, same_right, other_wrong, other_right, named = (torch.relu(plain + kind).flatten(1) for kind in kinds)
    # right answers read the second half of the stacked rows
    item = panel.item + len(bank) * panel.right
    same = torch.cat([same_wrong, same_right])
    other = torch.cat([other_wrong, other_right])
    grid = (len(panel), 2, panel.n_roles, len(queries), hidden)
    in_role = sum_groups(same, item, panel.offset).view(grid).sum(1)
    swapped = in_role - sum_groups(other, item, panel.offset).view(grid).sum(1)
    everywhere = sum_groups(other, item, panel.offset[:: 2 * panel.n_roles]).view(len(panel), 1, *grid[3:])
    mistaken = panel.wrong_by_answer
    renamed = sum_groups(named - other_wrong, mistaken.item, mistaken.offset).view_as(in_role)
    count = panel.count.to(like)
    mean_same = in_role / count.clamp(min=1)[:, :, None, None]
    mean_all = (everywhere + swapped + renamed) / count.sum(-1).clamp(min=1)[:, None, None, None]
    return mean_same, mean_all
