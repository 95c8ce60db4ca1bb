"""RACER-KNN: how often the expert was right on the nearest past cases of the same role.

Source   the paper, "Two competence estimators", Eq. racer-knn; ties as in `racer.pooling.neighbours`.
Symbols  k · μ_{e,0} context accuracy

    Γ(x, y, C) = mean of a_i over the min(k, N_{e,y}) same-role answers nearest to x

The paper does not give k; 10 is ours.
"""

from dataclasses import dataclass, field
from numbers import Integral
from typing import ClassVar, Self, final

from jaxtyping import Float
from torch import Tensor

from racer.cases import Cases
from racer.competence.method import AbstractCompetence
from racer.competence.pairs import RolePairs
from racer.errors import SettingError
from racer.panel import Panel
from racer.pooling import ContextPrior, pool_neighbours, similarity

__all__ = ["RacerKNN"]


@final
@dataclass(frozen=True)
class RacerKNN(AbstractCompetence):
    """Nonparametric, needs no fitting, and each estimate can be shown as k past cases.

    >>> from racer import Cases, Context
    >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.8, 0.2]])
    >>> RacerKNN(k=1).competence(cases, Context(cases, label=[0, 0], answer=[0, 1]))
    tensor([[1.0000, 0.5000],
            [0.0000, 0.5000]])
    """

    name: ClassVar[str] = "racer-knn"

    k: int = 10
    prior: ContextPrior = field(default_factory=ContextPrior)

    def __post_init__(self) -> None:
        if not isinstance(self.k, Integral) or isinstance(self.k, bool) or self.k < 1:
            raise SettingError("'k' counts neighbours.", f"Got {self.k}.", "Give an integer of at least 1.")

    def fit(self, panel: Panel, *, context_size: int = 100, seed: int = 0, progress: bool | None = None) -> Self:
        """Nothing to fit."""
        return self

    def role_competence(self, queries: Cases, panel: Panel, pairs: RolePairs) -> Float[Tensor, "expert pair"]:
        """Γ at the pairs asked for."""
        accuracy = self.prior.context_accuracy(panel, queries.dtype)
        return pairs.take(pool_neighbours(similarity(panel.cases, queries), panel, self.k, accuracy))
