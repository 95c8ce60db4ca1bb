"""Route by the classifier's own doubt: the baseline every method must beat.

Source   the paper, table of implemented objectives: score −p_max, no expert in it.
"""

from dataclasses import dataclass
from typing import ClassVar, Self, final

from jaxtyping import Float
from torch import Tensor

from racer.cases import Cases
from racer.competence.method import AbstractMethod, for_each_expert
from racer.panel import Context, Panel

__all__ = ["ClassifierConfidence"]


@final
@dataclass(frozen=True)
class ClassifierConfidence(AbstractMethod):
    """Hand over what the classifier is least sure of, whoever the expert is.

    `score = −max_y p(y|x)`

    >>> from racer import Cases, Context
    >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.4, 0.6]])
    >>> ClassifierConfidence().deferral_score(cases, Context.empty(cases))
    tensor([-0.9000, -0.6000])
    """

    name: ClassVar[str] = "classifier-confidence"

    def fit(self, panel: Panel, *, context_size: int = 100, seed: int = 0, progress: bool | None = None) -> Self:
        """Nothing to fit."""
        return self

    def competence(self, queries: Cases, evidence: Context | Panel) -> None:
        """None: says nothing about experts."""

    def expert_correctness(self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0) -> None:
        """None: says nothing about experts."""

    def deferral_score(
        self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0
    ) -> Float[Tensor, "*expert item"]:
        """−p_max."""
        return for_each_expert(-queries.confidence, evidence)

    def posterior(self, queries: Cases, evidence: Context | Panel) -> Float[Tensor, "*expert item role"]:
        """The classifier's posterior."""
        return for_each_expert(queries.posterior, evidence)
