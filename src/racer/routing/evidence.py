"""What stands behind a probability: how much, and which past cases speak for and against.

Symbols  p(y|x) posterior · K_i kernel weight · n^eff effective number · a_i right

    evidence(x) = Σ_y p(y|x) n^eff_{e,y}(x),     weight of case i = p(y_i|x) K_i / Σ_{i': y_{i'} = y_i} K_{i'}

The weights of right answers sum to Σ_y p(y|x) ā_{e,y}(x) over supported roles: what the local mean makes of q̂.
"""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from racer.cases import Cases
from racer.errors import SettingError
from racer.panel import Panel
from racer.pooling import effective_count, query_chunks, similarity
from racer.routing.decision import Witnesses

__all__ = ["Behind", "Evidence"]

FIRST_OF_EQUALS = 1e-12


@final
@dataclass(frozen=True, eq=False)
class Behind:
    """Evidence behind each case's candidate."""

    amount: Float[Tensor, " item"]
    speaks_for: Witnesses
    speaks_against: Witnesses


@final
@dataclass(frozen=True)
class Evidence:
    """How evidence is counted: the kernel's temperature, the least amount that suffices, how many cases are shown."""

    temperature: float = 0.1
    least: float = 3.0
    n_shown: int = 3

    def __post_init__(self) -> None:
        if not (self.least >= 0 and self.n_shown >= 0):
            raise SettingError(
                "Evidence is counted in cases.",
                f"Got least={self.least}, n_shown={self.n_shown}.",
                "Give numbers of at least 0.",
            )

    @torch.no_grad()
    def behind(self, queries: Cases, panel: Panel, candidate: Int[Tensor, " item"]) -> Behind:
        """Of each query's candidate, a row of the panel; −1 for none, of whom nothing is known."""
        if not len(panel):
            nothing = _joined([], queries, self.n_shown)
            return Behind(queries.posterior.new_zeros(len(queries)), nothing, nothing)
        amount = queries.posterior.new_zeros(len(queries))
        parts: list[tuple[Witnesses, Witnesses]] = []
        for part in query_chunks(len(queries), rows=max(len(panel.cases), 2 * panel.count.numel(), 1)):
            some, asked = queries[part], candidate[part].clamp(min=0)
            each = torch.arange(len(some))
            number = effective_count(some, panel, self.temperature)[asked, :, each]
            is_somebody = candidate[part] >= 0
            amount[part] = (some.posterior * number).sum(-1) * is_somebody
            near, (right, wrong) = similarity(panel.cases, some), _answers_of(panel, asked)
            right, wrong = right & is_somebody, wrong & is_somebody
            weight = self._weights(some, panel, near, right | wrong)
            parts.append((self._heaviest(weight, near, right), self._heaviest(weight, near, wrong)))
        return Behind(amount, *(_joined([pair[side] for pair in parts], queries, self.n_shown) for side in (0, 1)))

    def _weights(
        self, queries: Cases, panel: Panel, near: Float[Tensor, "bank query"], answered: Bool[Tensor, "bank query"]
    ) -> Float[Tensor, "bank query"]:
        kernel = ((near.double() - 1.0) / self.temperature).exp() * answered
        label = panel.label.clamp(min=0)
        total = kernel.new_zeros(panel.n_roles, len(queries)).index_add_(0, label, kernel)
        share = kernel / total[label].clamp(min=torch.finfo(kernel.dtype).tiny)
        return (share * queries.posterior.double().T[label]).to(near)

    def _heaviest(self, weight: Tensor, near: Tensor, among: Bool[Tensor, "bank query"]) -> Witnesses:
        k = min(self.n_shown, len(weight))
        # topk takes any of equals; the first of them is meant
        earlier_first = 1.0 - FIRST_OF_EQUALS * torch.arange(len(weight), dtype=torch.float64)[:, None] / len(weight)
        _, item = (weight.double() * earlier_first).masked_fill(~among, -1.0).topk(k, dim=0)
        heaviest = weight.masked_fill(~among, -1.0).gather(0, item)
        found = heaviest >= 0
        return Witnesses(
            item=torch.where(found, item, -1).T,
            weight=heaviest.clamp(min=0).T,
            similarity=torch.where(found, near.gather(0, item), 0.0).T,
        )


def _answers_of(panel: Panel, asked: Int[Tensor, " query"]) -> tuple[Tensor, Tensor]:
    """(bank, query) twice: what the expert asked about each query got right, and what wrong."""
    rows, which = torch.unique(asked, return_inverse=True)
    place, n = panel.answers_of(rows)
    outcome = torch.zeros(2, len(panel.cases), len(rows), dtype=torch.bool)
    wrong = ~panel.right[place]
    outcome[wrong.long(), panel.item[place], torch.arange(len(rows)).repeat_interleave(n)] = True
    right, mistaken = outcome[:, :, which]
    return right, mistaken


def _joined(parts: list[Witnesses], queries: Cases, n_shown: int) -> Witnesses:
    item = torch.full((len(queries), n_shown), -1)
    weight, near = queries.posterior.new_zeros(2, len(queries), n_shown)
    start = 0
    for part in parts:
        n, k = part.item.shape
        item[start : start + n, :k] = part.item
        weight[start : start + n, :k], near[start : start + n, :k] = part.weight, part.similarity
        start += n
    return Witnesses(item=item, weight=weight, similarity=near)
