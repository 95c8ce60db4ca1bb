"""Where a local mean falls back to, and how strongly it is pulled there.

Source   the paper, "Same-role kernel pooling".
Symbols  α₀ local · α_pop population · μ_pop population_mean · μ_{e,0} the context's own accuracy

    μ_{e,0} = (α_pop μ_pop + Σ_i a_i) / (α_pop + B);   1/2 when α_pop + B = 0
"""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from racer.errors import SettingError
from racer.panel import Panel

__all__ = ["ContextPrior"]


@final
@dataclass(frozen=True)
class ContextPrior:
    """Prior strengths, in answers; the paper's own run uses none (α₀ = α_pop = 0).

    `local` counts in kernel weight, where an identical case weighs exp(1/τ).

    >>> ContextPrior(population=2, population_mean=0.7)
    ContextPrior(local=0.0, population=2, population_mean=0.7)
    """

    local: float = 0.0
    population: float = 0.0
    population_mean: float = 0.5

    def __post_init__(self) -> None:
        if not (0 <= self.local < float("inf") and 0 <= self.population < float("inf")):
            raise SettingError(
                "Prior strengths must be finite and at least 0.",
                f"Got local={self.local}, population={self.population}.",
                "Use 0 for no prior.",
            )
        if not 0 <= self.population_mean <= 1:
            raise SettingError(
                "'population_mean' is a probability.",
                f"Got {self.population_mean}.",
                "Give the accuracy of a typical expert, between 0 and 1.",
            )

    def context_accuracy(self, panel: Panel, dtype: torch.dtype) -> Float[Tensor, " expert"]:
        """μ_{e,0} of each expert.

        >>> from racer import Cases, Panel
        >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.4, 0.6]])
        >>> panel = Panel(cases, [0, 1], [[0, 0], [-1, -1]])
        >>> ContextPrior().context_accuracy(panel, torch.float32)
        tensor([0.5000, 0.5000])
        """
        total = self.population + panel.count.sum(-1).double()
        mean = (self.population * self.population_mean + panel.n_right.sum(-1).double()) / total
        return torch.where(total > 0, mean, 0.5).to(dtype)
