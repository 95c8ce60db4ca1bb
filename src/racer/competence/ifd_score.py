"""IFD-score: one Beta posterior an expert and class, the same for every query.

Source   strong2026identity as used in the paper, Eq. ifd-background-gamma-restriction: Γ_IFD(x, y, C) = θ_{e,y}.
Symbols  n_{e,y} answers in the class · t_{e,y} right ones · α, β prior counts

    θ_{e,y} = (α + t_{e,y}) / (α + β + n_{e,y})

The prior is not public; Beta(1, 1) is ours.
"""

from dataclasses import dataclass
from typing import ClassVar, Self, final

from jaxtyping import Float
from torch import Tensor

from racer.cases import Cases
from racer.competence.method import AbstractCompetence
from racer.competence.pairs import RolePairs
from racer.errors import SettingError
from racer.panel import Panel

__all__ = ["IFDScore"]


@final
@dataclass(frozen=True)
class IFDScore(AbstractCompetence):
    """A classwise profile: little data needed, nothing local.

    >>> from racer import Cases, Context
    >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.8, 0.2]])
    >>> IFDScore().competence(cases[:1], Context(cases, label=[0, 0], answer=[0, 1]))
    tensor([[0.5000, 0.5000]])
    """

    name: ClassVar[str] = "ifd-score"

    alpha: float = 1.0
    beta: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.alpha < float("inf") and 0 < self.beta < float("inf")):
            raise SettingError(
                "A Beta prior needs positive counts.",
                f"Got alpha={self.alpha}, beta={self.beta}.",
                "Beta(1, 1) is the flat one.",
            )

    def fit(self, panel: Panel, *, context_size: int = 100, seed: int = 0, progress: bool | None = None) -> Self:
        """Nothing to fit."""
        return self

    def role_competence(self, queries: Cases, panel: Panel, pairs: RolePairs) -> Float[Tensor, "expert pair"]:
        """θ at the pairs asked for."""
        right, n = panel.n_right.to(queries.dtype), panel.count.to(queries.dtype)
        profile = (self.alpha + right) / (self.alpha + self.beta + n)
        return profile[:, pairs.role]
