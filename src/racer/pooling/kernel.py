"""Kernel-weighted same-role mean, for all experts, roles and queries of a block.

Source   the paper, "Same-role kernel pooling", Eqs. same-role-mass and local-smoothed-statistic.
Symbols  K_i kernel weight · τ temperature · S_{e,y} mass · N_{e,y} count · ā_{e,y} mean · μ_{e,0} accuracy · α₀ local

    K_i     = exp(s_i / τ)
    S_{e,y} = Σ_i 1[y_i = y] exp(min(s_i / τ, 30))                      (the cap is only here)
    ā_{e,y} = (α₀ μ_{e,0} + Σ_i 1[y_i = y] K_i a_i) / (α₀ + Σ_i 1[y_i = y] K_i);   μ_{e,0} where N_{e,y} = 0

With m = Σ K a / Σ K, a softmax within the role, the mean is ā = μ + w (m − μ), w = sigmoid(log Σ K − log α₀), so
nothing overflows whatever τ is. Two ways to m:

shared  K_i = exp((s_i − 1) / τ) for all experts at once. Exact while exp(−2/τ) is a normal number.
within  The largest s_i of each group is subtracted before the exponential, in float64: for smaller temperatures, where
        a group whose answers are all far away would vanish, and where the rounding of s itself would show.
"""

import math
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from racer.cases import Cases
from racer.errors import SettingError
from racer.panel import Panel
from racer.pooling.cosine import query_chunks, similarity
from racer.pooling.groups import max_groups, sum_groups
from racer.pooling.prior import ContextPrior

__all__ = ["MASS_CAP", "KernelPool", "check_temperature", "needs_wide_similarity", "pool_mean", "pool_queries"]

MASS_CAP = 30.0
"""Largest exponent in the similarity mass."""


@final
@dataclass(frozen=True, eq=False)
class KernelPool:
    """What one block of queries sees of every expert in every role."""

    evidence: Float[Tensor, "expert 2 role query"]
    count: Int[Tensor, "expert role"]
    accuracy: Float[Tensor, " expert"]

    @property
    def mean(self) -> Float[Tensor, "expert role query"]:
        """ā."""
        return self.evidence[:, 1]

    @property
    def log_mass(self) -> Float[Tensor, "expert role query"]:
        """log(1 + S)."""
        return self.evidence[:, 0]


def needs_wide_similarity(temperature: float, dtype: torch.dtype) -> bool:
    """Whether similarities must come in float64 and each group needs its own shift."""
    return 2.0 / temperature > 0.9 * -math.log(torch.finfo(dtype).tiny)


def pool_queries(queries: Cases, panel: Panel, temperature: float, prior: ContextPrior) -> KernelPool:
    """ā, log(1 + S) and N for every expert and role, of queries few enough to hold at once."""
    wide = torch.float64 if needs_wide_similarity(temperature, queries.dtype) else None
    return pool_mean(similarity(panel.cases, queries, wide), panel, temperature, prior, queries.dtype)


def pool_mean(
    near: Float[Tensor, "bank query"], panel: Panel, temperature: float, prior: ContextPrior, dtype: torch.dtype
) -> KernelPool:
    """ā, log(1 + S) and N for every expert and role.

    `near`, the similarities, must be float64 where `needs_wide_similarity` says so; the result has `dtype`.
    """
    accuracy = prior.context_accuracy(panel, dtype)
    if prior.local == 0 and 1.0 / temperature <= MASS_CAP and not needs_wide_similarity(temperature, dtype):
        evidence = _shared_without_prior(near, panel, temperature, accuracy)
    else:
        evidence = _general(near, panel, temperature, prior, accuracy)
    return KernelPool(evidence=evidence.to(dtype), count=panel.count, accuracy=accuracy)


def _shared_without_prior(near: Tensor, panel: Panel, temperature: float, accuracy: Tensor) -> Tensor:
    """The usual case, in the memory of the sums themselves: wrong becomes log(1 + S), right becomes ā."""
    sums = _shared_sums(near, panel, temperature)
    if sums.requires_grad:
        right, total = sums[:, 1], sums.sum(1)
        mean = _fall_back(right / (total + (panel.count == 0)[:, :, None]), panel, accuracy)
        return torch.stack([(total * math.exp(1.0 / temperature)).log1p(), mean], 1)
    total, mean = sums.unbind(1)
    total += mean
    mean /= total
    total.mul_(math.exp(1.0 / temperature)).log1p_()
    if not panel.supports_every_role:
        mean.copy_(_fall_back(mean, panel, accuracy))
    return sums


def _general(near: Tensor, panel: Panel, temperature: float, prior: ContextPrior, accuracy: Tensor) -> Tensor:
    """Any temperature, any prior."""
    unsupported = (panel.count == 0)[:, :, None]
    shift: Tensor | float
    if needs_wide_similarity(temperature, accuracy.dtype):
        right, total, shift = _within(near, panel, temperature)
    else:
        sums, shift = _shared_sums(near, panel, temperature), 1.0 / temperature
        right, total = sums[:, 1], sums.sum(1)
    mean = right / (total + unsupported)
    if prior.local > 0:
        # w = Σ K / (α₀ + Σ K) from log Σ K, so that no sum overflows
        pull = torch.sigmoid((total + unsupported).log() + shift - math.log(prior.local))
        mean = accuracy[:, None, None] + pull * (mean - accuracy[:, None, None])
    capped = (near / temperature).clamp(max=MASS_CAP).exp()
    mass = sum_groups(capped, panel.item, panel.offset).view(len(panel), 2, panel.n_roles, near.shape[1]).sum(1)
    return torch.stack([mass.log1p(), _fall_back(mean, panel, accuracy)], 1)


def _fall_back(mean: Tensor, panel: Panel, accuracy: Tensor) -> Tensor:
    return torch.where((panel.count == 0)[:, :, None], accuracy[:, None, None].to(mean), mean)


def _shared_sums(near: Tensor, panel: Panel, temperature: float) -> Tensor:
    """Σ K over wrong and over right answers, (expert, 2, role, query), over exp(1/τ)."""
    weight = (near - 1.0).mul_(1.0 / temperature).exp_()
    return sum_groups(weight, panel.item, panel.offset).view(len(panel), 2, panel.n_roles, near.shape[1])


def _within(near: Tensor, panel: Panel, temperature: float) -> tuple[Tensor, Tensor, Tensor]:
    """Σ K a, Σ K and the shift they are over, one for every (expert, role, query), as a softmax does."""
    answers, width = panel.by_role, panel.count.flatten()
    each = torch.arange(len(answers.item))
    rights, totals, shifts = [], [], []
    for part in query_chunks(near.shape[1], rows=len(each)):
        column = near[:, part]
        nearest = max_groups(column.detach(), answers.item, answers.offset)
        weight = (column[answers.item] - nearest.repeat_interleave(width, dim=0)).mul_(1.0 / temperature).exp_()
        totals.append(sum_groups(weight, each, answers.offset))
        rights.append(sum_groups(weight * answers.right[:, None], each, answers.offset))
        shifts.append(nearest / temperature)
    shape = (len(panel), panel.n_roles, near.shape[1])
    right, total, shift = (torch.cat(parts, -1).view(shape) for parts in (rights, totals, shifts))
    return right, total, shift


def check_temperature(temperature: float) -> None:
    """Refuse a temperature that is not a positive number."""
    if not 0 < temperature < float("inf") or 1.0 / temperature == float("inf"):
        raise SettingError(
            "'temperature' must be a positive number.",
            f"Got {temperature}.",
            "0.1 is the usual start; smaller looks at nearer cases only.",
            temperature=temperature,
        )
