"""Trial: what each expert shows, and what each is then asked.

Of an expert's n labelled answers, min(context size, ⌊n/2⌋) become the context, of each class in proportion; the rest
are asked. So nobody's context holds an answer that is asked of the same expert, and both have the mix of classes that
the cases have: contexts balanced over the classes, as in the paper, would use up the rare ones and ask about none.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from racer.cases import Cases
from racer.errors import SettingError, TooFewAnswersError
from racer.learning import in_proportion
from racer.panel import Panel

__all__ = ["Trial", "split_answers"]


@final
@dataclass(frozen=True, eq=False)
class Trial:
    """Contexts and questions. `asked` says who is asked what, `right` who was right about it."""

    contexts: Panel
    queries: Cases
    label: Int[Tensor, " item"]
    asked: Bool[Tensor, "expert item"]
    right: Bool[Tensor, "expert item"]

    @property
    def experts(self) -> tuple[str, ...]:
        """Who is on trial."""
        return self.contexts.experts

    @property
    def model_right(self) -> Bool[Tensor, " item"]:
        """Whether the model was."""
        return self.queries.prediction == self.label

    @property
    def context_accuracy(self) -> Float[Tensor, " expert"]:
        """(right + 1) / (answers + 2) in the context: one right answer makes nobody the best."""
        n = self.contexts.count.sum(-1)
        return (self.contexts.n_right.sum(-1) + 1.0) / (n + 2.0)


def split_answers(panel: Panel, context_size: int, rng: np.random.Generator) -> Trial:
    """Part of each expert's answers as context, the rest as questions. Experts without answers are left out.

    >>> from racer import Cases, Panel
    >>> cases = Cases([[1.0, 0.0]] * 6, [[0.9, 0.1]] * 6)
    >>> trial = split_answers(Panel(cases, [0, 1] * 3, [[0] * 6]), context_size=2, rng=np.random.default_rng(0))
    >>> trial.contexts.count, int(trial.asked.sum())
    (tensor([[1, 1]]), 4)
    """
    if isinstance(context_size, bool) or not isinstance(context_size, int | np.integer) or context_size < 0:
        raise SettingError(
            "'context_size' counts answers.",
            f"Got {context_size!r}.",
            "Give a whole number of at least 0, such as 100.",
        )
    n = panel.count.sum(-1)
    if not n.any():
        raise TooFewAnswersError(
            "There is nothing to evaluate.", f"{panel!r}.", "Give answers to cases whose truth is known."
        )
    somebody = panel.subset([panel.experts[row] for row in n.nonzero()[:, 0].tolist()])
    n = n[n > 0]
    expert, item, role = (one.numpy() for one in (somebody.expert, somebody.item, somebody.role))
    shown = np.zeros(len(item), dtype=bool)
    shown[in_proportion(rng, expert, role, np.minimum(context_size, n.numpy() // 2))] = True
    query, column = np.unique(item[~shown], return_inverse=True)
    asked = torch.zeros(len(somebody), len(query), dtype=torch.bool)
    right = torch.zeros_like(asked)
    at = torch.from_numpy(expert[~shown]), torch.from_numpy(column)
    asked[at] = True
    right[at] = somebody.right[torch.from_numpy(~shown)]
    rows = torch.from_numpy(query)
    return Trial(_only(somebody, shown), somebody.cases[rows], somebody.label[rows], asked, right)


def _only(panel: Panel, shown: Bool[np.ndarray, " answer"]) -> Panel:
    place = torch.from_numpy(np.flatnonzero(shown))
    used, item = torch.unique(panel.item[place], return_inverse=True)
    return Panel.from_answers(
        panel.cases[used],
        panel.label[used],
        expert=panel.expert[place],
        item=item,
        answer=panel.answer[place],
        experts=panel.experts,
    )
