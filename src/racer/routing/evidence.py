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
from torch.nn.functional import pad

from racer.cases import Cases
from racer.errors import SettingError
from racer.panel import Panel
from racer.pooling import check_evidence_temperature, query_chunks, similarity
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

    @classmethod
    def concatenate(cls, parts: "list[Behind]") -> "Behind":
        """Several batches, end to end."""
        return cls(
            torch.cat([one.amount for one in parts]),
            _end_to_end([one.speaks_for for one in parts]),
            _end_to_end([one.speaks_against for one in parts]),
        )


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
        check_evidence_temperature(self.temperature)
        chunks = list(query_chunks(len(queries), rows=max(len(panel.cases), 1))) or [slice(0, 0)]
        return Behind.concatenate([self._behind(queries[part], panel, candidate[part]) for part in chunks])

    def _behind(self, queries: Cases, panel: Panel, candidate: Int[Tensor, " item"]) -> Behind:
        shown = _Shown.of(panel, candidate)
        near = similarity(panel.cases, queries).T.gather(1, shown.item)
        amount, weight = self._weigh(queries, panel, near, shown)
        speaks_for, speaks_against = (
            self._heaviest(weight, near, shown, right) for right in (shown.right, ~shown.right)
        )
        return Behind(amount, speaks_for, speaks_against)

    def _weigh(
        self, queries: Cases, panel: Panel, near: Float[Tensor, "query place"], shown: "_Shown"
    ) -> tuple[Float[Tensor, " query"], Float[Tensor, "query place"]]:
        """Evidence of each query, and the weight of each answer; all answers weighed are the candidate's own."""
        kernel = ((near.double() - 1.0) / self.temperature).exp() * shown.is_there
        role = panel.label[shown.item].clamp(min=0)
        posterior = queries.posterior.double()
        total, squares = (torch.zeros_like(posterior).scatter_add_(1, role, one) for one in (kernel, kernel.square()))
        least = torch.finfo(kernel.dtype).tiny
        number = total.square() / squares.clamp(min=least)
        weight = kernel / total.clamp(min=least).gather(1, role) * posterior.gather(1, role)
        return (posterior * number).sum(-1).to(near), weight

    def _heaviest(self, weight: Tensor, near: Tensor, shown: "_Shown", among: Bool[Tensor, "query place"]) -> Witnesses:
        k = min(self.n_shown, weight.shape[1])
        # topk takes any of equals; the first of the bank is meant
        earlier_first = 1.0 - FIRST_OF_EQUALS * shown.item.double() / max(int(shown.item.max()) + 1, 1) if k else weight
        some = among & shown.is_there
        _, place = (weight * earlier_first).masked_fill(~some, -1.0).topk(k, dim=1)
        found = some.gather(1, place)
        missing = (0, self.n_shown - k)
        return Witnesses(
            item=pad(torch.where(found, shown.item.gather(1, place), -1), missing, value=-1),
            weight=pad(torch.where(found, weight.gather(1, place), 0.0).to(near), missing),
            similarity=pad(torch.where(found, near.gather(1, place), 0.0), missing),
        )


@final
@dataclass(frozen=True, eq=False)
class _Shown:
    """The answers of each query's candidate, side by side; `is_there` is false beyond the last of them."""

    item: Int[Tensor, "query place"]
    right: Bool[Tensor, "query place"]
    is_there: Bool[Tensor, "query place"]

    @classmethod
    def of(cls, panel: Panel, candidate: Int[Tensor, " query"]) -> "_Shown":
        asked = (candidate >= 0).nonzero()[:, 0]
        place, n = panel.answers_of(candidate[asked])
        width = int(n.max()) if len(n) else 0
        is_there = torch.zeros(len(candidate), width, dtype=torch.bool)
        is_there[asked] = torch.arange(width) < n[:, None]
        item = torch.zeros(len(candidate), width, dtype=torch.int64)
        right = torch.zeros_like(is_there)
        item[is_there], right[is_there] = panel.item[place], panel.right[place]
        return cls(item, right, is_there)


def _end_to_end(parts: list[Witnesses]) -> Witnesses:
    return Witnesses(
        item=torch.cat([one.item for one in parts]),
        weight=torch.cat([one.weight for one in parts]),
        similarity=torch.cat([one.similarity for one in parts]),
    )
