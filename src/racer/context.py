"""Context: one expert's labelled past answers.

Source   the paper, "Problem setup and competence target": C_e = {(x_i, y_i, m_i)}, a_i = 1[m_i = y_i].
Symbols  C_e context · y_i label · m_i answer · a_i right
"""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Int
from numpy.typing import ArrayLike
from torch import Tensor

from racer.cases import Cases, require_cases
from racer.classes import NO_ANSWER, refuse_unlabelled, to_classes

__all__ = ["Context"]


@final
@dataclass(frozen=True, eq=False, init=False)
class Context:
    """One expert's labelled past answers; −1 where the expert did not answer.

    >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.4, 0.6]])
    >>> Context(cases, label=[0, 1], answer=[0, 0]).right
    tensor([ True, False])
    """

    cases: Cases
    label: Int[Tensor, " item"]
    answer: Int[Tensor, " item"]

    def __init__(self, cases: Cases, label: ArrayLike | Tensor, answer: ArrayLike | Tensor) -> None:
        require_cases(cases, "cases")
        object.__setattr__(self, "cases", cases)
        object.__setattr__(self, "label", to_classes(label, cases.n_roles, "label", (len(cases),)))
        object.__setattr__(self, "answer", to_classes(answer, cases.n_roles, "answer", (len(cases),)))
        refuse_unlabelled(self.label, self.answer[None])

    @classmethod
    def empty(cls, like: Cases) -> "Context":
        """No answers yet, in the space of some cases: an expert nobody has met.

        >>> len(Context.empty(Cases([[1.0, 0.0]], [[0.9, 0.1]])))
        0
        """
        none = torch.empty(0, dtype=torch.int64)
        return cls(like[:0], none, none)

    def __repr__(self) -> str:
        return f"Context({len(self)} answers, {int(self.right.sum())} right, {self.cases!r})"

    def __len__(self) -> int:
        return int(self.answered.sum())

    @property
    def answered(self) -> Bool[Tensor, " item"]:
        """Which cases the expert answered."""
        return self.answer != NO_ANSWER

    @property
    def right(self) -> Bool[Tensor, " item"]:
        """a_i: answered as the label says."""
        return self.answered & (self.answer == self.label)
