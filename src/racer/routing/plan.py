"""A plan: what each expert would add to each case, and how much may be handed over.

Source   the paper, "Multi-expert routing".
Symbols  q̂_j − λ_j − p_max gain · τ floor

    j*(x) = argmax_j gain_j(x),   handed over if gain_{j*}(x) ≥ τ

Policies refine a plan one after the other; `solve` carries it out.
"""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["MODEL", "NEVER", "Plan"]

MODEL = -1
"""Stands where the model answers itself."""
NEVER = -torch.inf
"""The gain of an expert who may not be asked."""


@final
@dataclass(frozen=True, eq=False)
class Plan:
    """Gains of every expert, −∞ where one may not be asked, and the limits.

    `limit` is the most cases each expert takes; `n_handed` the exact number handed over, as far as there is somebody
    to take them; `floor` the least gain worth handing over for.
    """

    experts: tuple[str, ...]
    gain: Float[Tensor, "expert item"]
    confidence: Float[Tensor, " item"]
    floor: float = NEVER
    n_handed: int | None = None
    limit: Int[Tensor, " expert"] | None = None

    @property
    def n_items(self) -> int:
        """How many cases."""
        return self.gain.shape[1]
