"""What the bootstrap redraws: cases, experts, or both.

A resample is a vector of counts: w_i says how often case i was drawn, v_e how often expert e. Counting instead of
copying means that no expert's cases are ever sorted twice.

    w ~ Multinomial(n, 1/n, …, 1/n),   v ~ Multinomial(E, 1/E, …, 1/E),   independent; 1 where not redrawn
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from racer.errors import SettingError, TooFewAnswersError
from racer.metrics.inputs import require_whole, to_tensor

__all__ = ["Resample", "Resampling", "Seed", "Statistic", "observed", "weighted_mean"]

Seed: TypeAlias = int | np.random.Generator

Statistic: TypeAlias = Callable[[Int[np.ndarray, "draw item"], slice], Float[np.ndarray, "draw expert point"]]
"""From case counts and a slice of the experts to any numbers about each expert, NaN where it has none."""

CELLS = 2**15
"""Cells (draw × expert × item) held at once: a few arrays of 256 kB stay in the processor's cache, and the allocator
reuses them instead of returning them to the system."""


class Resample(StrEnum):
    """What is drawn anew, so what the interval speaks about: other cases, other experts, or both."""

    CASES = "cases"
    EXPERTS = "experts"
    BOTH = "both"


@final
@dataclass(frozen=True)
class Resampling:
    """How often to redraw what.

    >>> Resampling("both", n_replicates=200).what
    <Resample.BOTH: 'both'>
    """

    what: Resample | str = Resample.CASES
    n_replicates: int = 1000

    def __post_init__(self) -> None:
        require_whole("n_replicates", self.n_replicates, least=1)
        if self.what not in list(Resample):
            raise SettingError(
                "'resample' must be one of 'cases', 'experts', 'both'.",
                f"Got {self.what!r}.",
                "Pass resample='cases', say.",
            )
        object.__setattr__(self, "what", Resample(self.what))

    def mean_over_experts(
        self, statistic: Statistic, n_experts: int, n_items: int, seed: Seed
    ) -> Float[Tensor, "replicate point"]:
        """The weighted mean Σ_e v_e T_e(w) / Σ_e v_e of a statistic in every resample; NaN where no expert has a value.

        >>> share_of_first = lambda count, experts: (count[:, :1] / count.sum(-1, keepdims=True))[:, :, None]
        >>> Resampling("cases", n_replicates=3).mean_over_experts(share_of_first, 1, 50, seed=0).shape
        torch.Size([3, 1])
        """
        self._require_enough(n_experts, n_items)
        rng = np.random.default_rng(seed)
        expert_count = np.ones((self.n_replicates, n_experts))
        if self.what is not Resample.CASES:
            expert_count = _counts(rng, self.n_replicates, n_experts).astype(np.float64)
        means = [
            weighted_mean(statistic, case_count, expert_count[rows])
            for rows, case_count in self._case_counts(rng, n_experts, n_items)
        ]
        return torch.cat(means)

    def _case_counts(
        self, rng: np.random.Generator, n_experts: int, n_items: int
    ) -> Iterator[tuple[slice, Int[np.ndarray, "draw item"]]]:
        if self.what is Resample.EXPERTS:
            yield slice(None), np.ones((1, n_items), dtype=np.int64)
            return
        deep = max(1, CELLS // (n_experts * n_items))
        for first in range(0, self.n_replicates, deep):
            n_draws = min(deep, self.n_replicates - first)
            yield slice(first, first + n_draws), _counts(rng, n_draws, n_items)

    def _require_enough(self, n_experts: int, n_items: int) -> None:
        too_few_cases = self.what is not Resample.EXPERTS and n_items < 2
        too_few_experts = self.what is not Resample.CASES and n_experts < 2
        if too_few_cases or too_few_experts:
            raise TooFewAnswersError(
                f"Resampling {self.what} needs at least two of what is redrawn.",
                f"Got {n_experts} experts and {n_items} cases.",
                "Add more, or redraw the other: resample='cases' needs only one expert.",
                n_experts=n_experts,
                n_items=n_items,
            )


def weighted_mean(
    statistic: Statistic, case_count: Int[np.ndarray, "draw item"], expert_count: Float[np.ndarray, "replicate expert"]
) -> Float[Tensor, "replicate point"]:
    """Mean of a statistic over experts, some experts at a time; one draw of cases may serve many draws of experts.

    >>> accuracy = lambda count, experts: np.array([[[0.25], [0.75]]])[:, experts]
    >>> weighted_mean(accuracy, np.ones((1, 4), dtype=int), np.array([[1.0, 1.0], [2.0, 0.0]]))
    tensor([[0.5000],
            [0.2500]], dtype=torch.float64)
    """
    total, weight = np.zeros(()), np.zeros(())
    wide = max(1, CELLS // case_count.size)
    for first in range(0, expert_count.shape[1], wide):
        experts = slice(first, first + wide)
        value = statistic(case_count, experts)
        is_defined = ~np.isnan(value)
        total = total + _weigh(expert_count[:, experts], np.where(is_defined, value, 0.0))
        weight = weight + _weigh(expert_count[:, experts], is_defined.astype(np.float64))
    return to_tensor(np.divide(total, weight, out=np.full(total.shape, np.nan), where=weight > 0))


def observed(statistic: Statistic, n_experts: int, n_items: int) -> Float[Tensor, " point"]:
    """The statistic on the sample itself: every case and every expert once.

    >>> observed(lambda count, experts: np.array([[[0.25], [0.75]]])[:, experts], n_experts=2, n_items=4)
    tensor([0.5000], dtype=torch.float64)
    """
    return weighted_mean(statistic, np.ones((1, n_items), dtype=np.int64), np.ones((1, n_experts)))[0]


def _weigh(
    count: Float[np.ndarray, "replicate expert"], value: Float[np.ndarray, "draw expert point"]
) -> Float[np.ndarray, "replicate point"]:
    # einsum stretches an axis of length one: one draw of cases against every draw of experts
    return np.asarray(np.einsum("re,rep->rp", count, value))


def _counts(rng: np.random.Generator, n_draws: int, n: int) -> Int[np.ndarray, "draw item"]:
    drawn = rng.integers(0, n, size=(n_draws, n)) + n * np.arange(n_draws)[:, None]
    return np.bincount(drawn.ravel(), minlength=n_draws * n).reshape(n_draws, n)
