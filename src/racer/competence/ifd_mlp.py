"""IFD-MLP: a learned margin on a classwise profile, for a frozen classifier.

Source   strong2026identity as the paper uses it, table of objectives: L_aug(LCB_y · 1[y = k_best]), score d − max f_y.
Symbols  μ_y, σ²_y mean and variance of Beta(α + t_y, β + n_y − t_y) · k_top = argmax_y p(y|x) · k_best = argmax_y μ_y
         f_y = log p(y|x) · d = MLP(p[k_top], p[k_best], μ[k_top], σ²[k_top], μ[k_best], σ²[k_best]) (`state`)

    LCB_y = max(μ_y − a σ_y, 0),     score = d − max_y f_y

No expert answers about the queries are used, only their labels. Prior, a and the size of the network are not public:
Beta(1, 1), 1 and one layer of 16 are ours. Neither is the tie rule: of equal means the class likelier here is k_best,
of equally likely top classes the one the expert knows better is k_top, so that class names decide nothing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import ClassVar, Self, final

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from racer.cases import Cases
from racer.competence.method import AbstractMethod, for_each_expert
from racer.competence.two_layers import require_two_layers, two_layers
from racer.errors import NotFittedError, SettingError
from racer.evidence import panel_of
from racer.learning import (
    EpisodeSampler,
    deferral_loss,
    fit_with_early_stopping,
    hold_out_experts,
    require_head_settings,
    seeded_linear,
)
from racer.panel import Context, Panel
from racer.pooling import query_chunks

__all__ = ["IFDMLP", "MarginNetwork"]

N_FEATURES = 6
EPISODES, HELD_OUT_EPISODES = 32, 8
LEAST_P = 1e-12
"""A class the classifier does not know has a finite logit, too."""


@final
@dataclass(frozen=True, eq=False)
class MarginNetwork:
    """The MLP as it is used and saved."""

    w1: Float[Tensor, "hidden feature"]
    b1: Float[Tensor, " hidden"]
    w2: Float[Tensor, " hidden"]
    b2: Float[Tensor, ""]

    def __post_init__(self) -> None:
        require_two_layers("margin", N_FEATURES, self.w1, self.b1, self.w2, self.b2)

    def logit(self, state: Float[Tensor, "*row feature"]) -> Float[Tensor, "*row"]:
        """d of each row."""
        return two_layers(state, self.w1, self.b1, self.w2, self.b2)


@final
@dataclass(frozen=True)
class IFDMLP(AbstractMethod):
    """The identity-free rejector: six numbers a case, and one small network. It gives no probability of being right.

    >>> from racer.checks import make_world
    >>> world = make_world()
    >>> method = IFDMLP().fit(world.panel, context_size=16, seed=0)
    >>> method.deferral_score(world.queries, world.strangers).shape
    torch.Size([3, 17])
    """

    name: ClassVar[str] = "ifd-mlp"
    learns_from_experts: ClassVar[bool] = True

    alpha: float = 1.0
    beta: float = 1.0
    caution: float = 1.0  # a
    hidden: int = 16
    varied: float = 0.5
    state: MarginNetwork | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not (0 < self.alpha < float("inf") and 0 < self.beta < float("inf") and 0 <= self.caution < float("inf")):
            raise SettingError(
                "A Beta prior needs positive counts, and 'caution' counts standard deviations.",
                f"Got alpha={self.alpha}, beta={self.beta}, caution={self.caution}.",
                "Beta(1, 1) is the flat prior; caution=0 weighs with the mean itself.",
            )
        require_head_settings(self.hidden, self.varied)

    @torch.inference_mode(False)
    def fit(self, panel: Panel, *, context_size: int = 100, seed: int = 0, progress: bool | None = None) -> Self:
        """Fit the network on episodes of the panel's experts, a fifth of whom are held out to stop by."""
        rng = np.random.default_rng(seed)
        fitted_on, held_out = hold_out_experts(panel, 0.2, rng)
        episodes = self._episodes(fitted_on, context_size, EPISODES, rng)
        held = self._episodes(held_out, context_size, HELD_OUT_EPISODES, rng)
        generator = torch.Generator().manual_seed(int(rng.integers(2**62)))
        first = seeded_linear(N_FEATURES, self.hidden, generator)
        network = nn.Sequential(first, nn.ReLU(), seeded_linear(self.hidden, 1, generator))

        def losses(some: list["_Asked"]) -> Iterator[Tensor]:
            for one in some:
                yield deferral_loss(one.class_logit, network(one.state)[..., 0], one.label, one.weight)

        @torch.no_grad()
        def validate() -> float:
            return float(torch.stack(list(losses(held))).mean())

        fit_with_early_stopping(network, lambda: losses(episodes), validate, label=self.name, progress=progress)
        w1, b1, w2, b2 = (one.detach().clone() for one in network.parameters())
        return replace(self, state=MarginNetwork(w1=w1, b1=b1, w2=w2[0], b2=b2[0]))

    def competence(self, queries: Cases, evidence: Context | Panel) -> None:
        """None: a margin is no probability."""

    def expert_correctness(self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0) -> None:
        """None: a margin is no probability."""

    def deferral_score(
        self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0
    ) -> Float[Tensor, "*expert item"]:
        """d − max_y f_y."""
        if self.state is None:
            raise NotFittedError(
                "IFDMLP has no network yet.",
                "It was not fitted or loaded.",
                "Call method = method.fit(panel), or use IFDScore, which needs no fitting.",
            )
        panel = panel_of(evidence)
        panel.cases.require_same_space(queries, "the queries and the experts' answers")
        margin = queries.posterior.new_empty(len(panel), len(queries))
        for part in query_chunks(len(queries), rows=4 * len(panel) * panel.n_roles):
            margin[:, part] = self.state.logit(self._look(queries[part], panel).state)
        score = margin - queries.confidence.log()
        return score if isinstance(evidence, Panel) else score[0]

    def posterior(self, queries: Cases, evidence: Context | Panel) -> Float[Tensor, "*expert item role"]:
        """The classifier's posterior."""
        return for_each_expert(queries.posterior, evidence)

    def _look(self, queries: Cases, panel: Panel) -> "_Look":
        """The six numbers of every expert and query, and which classes are k_best."""
        right, n = panel.n_right.to(queries.dtype), panel.count.to(queries.dtype)
        total = self.alpha + self.beta + n
        mean = (self.alpha + right) / total
        variance = mean * (1.0 - mean) / (total + 1.0)
        p = queries.posterior.T[None]
        mu, var = mean[:, :, None], variance[:, :, None]
        top = _first_of(p.expand(len(panel), -1, -1), mu, -var)
        best = _first_of(mu.expand(-1, -1, len(queries)), p, -var)
        at = (top.int().argmax(1), best.int().argmax(1))
        seen = [p.expand(len(panel), -1, -1).gather(1, k[:, None])[:, 0] for k in at]
        seen += [one.gather(1, k) for k in at for one in (mean, variance)]
        return _Look(torch.stack(seen, -1), best, (mean - self.caution * variance.sqrt()).clamp(min=0))

    @torch.no_grad()
    def _episodes(self, panel: Panel, context_size: int, n: int, rng: np.random.Generator) -> list["_Asked"]:
        sampler = EpisodeSampler(panel, context_size, varied=self.varied)
        drawn = [sampler.draw(rng) for _ in range(n)]
        return [_Asked.of(self._look(one.queries, one.contexts), one.queries, one.label) for one in drawn]


@final
@dataclass(frozen=True, eq=False)
class _Look:
    state: Float[Tensor, "expert item feature"]
    best: Bool[Tensor, "expert role item"]
    lower_bound: Float[Tensor, "expert role"]


@final
@dataclass(frozen=True, eq=False)
class _Asked:
    """One episode as the loss needs it. Classes that tie for k_best in everything share the weight."""

    state: Float[Tensor, "expert item feature"]
    class_logit: Float[Tensor, "item role"]
    label: Tensor
    weight: Float[Tensor, "expert item"]

    @classmethod
    def of(cls, look: _Look, queries: Cases, label: Tensor) -> "_Asked":
        is_best = look.best.float() / look.best.sum(1, keepdim=True)
        at_label = is_best[:, label, torch.arange(len(label))]
        weight = look.lower_bound[:, label].float() * at_label
        return cls(look.state.float(), queries.posterior.clamp(min=LEAST_P).log().float(), label, weight)


def _first_of(*keys: Float[Tensor, "..."]) -> Bool[Tensor, "expert role item"]:
    """The roles that are first by the first key, among those by the second, and so on; several where all are equal."""
    chosen = torch.ones_like(keys[0], dtype=torch.bool)
    for key in keys:
        among = key.expand_as(chosen).masked_fill(~chosen, -torch.inf)
        chosen = chosen & (among == among.amax(1, keepdim=True))
    return chosen
