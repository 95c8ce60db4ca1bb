"""Decision: for each case who answers, and why."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Bool, Float, Int
from torch import Tensor

from racer.routing.plan import MODEL

__all__ = ["Decision", "Witnesses"]


@final
@dataclass(frozen=True, eq=False)
class Witnesses:
    """Past cases that weigh most in a probability, the heaviest first; −1 where there are no more.

    `item` is a row of `Decision.items`; `weight` the share of q̂ that rests on the case, p(y_i|x) K_i / Σ K.
    """

    item: Int[Tensor, "item place"]
    weight: Float[Tensor, "item place"]
    similarity: Float[Tensor, "item place"]


@final
@dataclass(frozen=True, eq=False)
class Decision:
    """Who answers each case, with which probabilities, on what evidence.

    `who` is a row of `experts`, −1 for the model. `candidate` is the expert asked, or the one who came nearest to it;
    evidence and witnesses are that expert's. `gain` is the deferral score less costs, −∞ where somebody was not
    available. `p_right` is None where the method has no such probability.

    >>> from racer import Budget, Cases, Context, RacerKNN, Router
    >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]] * 10, [[0.9, 0.1], [0.6, 0.4]] * 10)
    >>> router = Router(RacerKNN(), Budget(0.5))
    >>> router.enroll("ada", Context(cases, label=[0] * 20, answer=[0] * 20))
    >>> decision = router.route(cases[:2])
    >>> decision.names, decision.p_right
    ([None, 'ada'], tensor([[1., 1.]]))
    """

    experts: tuple[str, ...]
    items: tuple[str, ...]
    who: Int[Tensor, " item"]
    candidate: Int[Tensor, " item"]
    p_right: Float[Tensor, "expert item"] | None
    gain: Float[Tensor, "expert item"]
    confidence: Float[Tensor, " item"]
    prediction: Int[Tensor, " item"]
    evidence: Float[Tensor, " item"]
    is_insufficient: Bool[Tensor, " item"]
    speaks_for: Witnesses
    speaks_against: Witnesses

    def __len__(self) -> int:
        return len(self.who)

    def __repr__(self) -> str:
        handed = int(self.is_deferred.sum())
        return f"Decision({len(self)} cases, {handed} handed over to {len(set(self.names) - {None})} experts)"

    @property
    def is_deferred(self) -> Bool[Tensor, " item"]:
        """Which cases an expert answers."""
        return self.who != MODEL

    @property
    def names(self) -> list[str | None]:
        """Id of the expert who answers each case, None for the model."""
        return [None if row == MODEL else self.experts[row] for row in self.who.tolist()]

    def why(self, case: int) -> str:
        """One case in words."""
        row, expert = int(self.who[case]), int(self.candidate[case])
        sure = f"the model is right with {float(self.confidence[case]):.0%}"
        if expert == MODEL:
            return f"The model answers: {sure}, and nobody else could be asked."
        name = self.experts[expert]
        p = "" if self.p_right is None else f", {name} with {float(self.p_right[expert, case]):.0%}"
        thin = ", too few to say" if self.is_insufficient[case] else ""
        verb = "The model answers" if row == MODEL else f"{name} answers"
        behind = f"{float(self.evidence[case]):.1f} similar past cases of {name}{thin}"
        return (
            f"{verb}: {sure}{p}, by {behind}. "
            f"For: {self._named(self.speaks_for, case)}. Against: {self._named(self.speaks_against, case)}."
        )

    def _named(self, witnesses: Witnesses, case: int) -> str:
        return ", ".join(self.items[one] for one in witnesses.item[case].tolist() if one >= 0) or "nothing"
