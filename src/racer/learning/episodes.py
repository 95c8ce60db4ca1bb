"""Episodes: what deployment will look like, drawn from experts who answered in the past.

Source   the paper, "Implementation and evaluation protocol": contexts are class-balanced where possible and exclude the
         queries of their episode.

An episode takes some experts, a minibatch of queries, and for each expert a context of past answers to other cases.

The paper's contexts all have B answers, class-balanced. A head that has met no others cannot tell what fewer answers,
or another mix of classes, mean, and is then sure of nonsense. So a share of the experts, `varied`, bring contexts as
they come: of any mix, and of a size that is log-uniform from 1 to 4 B.
"""

from dataclasses import dataclass
from numbers import Integral
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from racer.cases import Cases
from racer.errors import SettingError, TooFewAnswersError
from racer.learning.turns import in_turns
from racer.panel import Panel, require_panel

__all__ = ["Episode", "EpisodeSampler", "hold_out_experts", "require_head_settings"]


Ints = Int[np.ndarray, "..."]
LARGEST_VARIED = 4
"""Varied contexts are up to this many times as large as usual: evidence grows after a head is fitted."""
MOST_QUERIES = 2048
"""In sparse panels many queries are drawn so that each expert answered some of them; this bounds the work."""


@final
@dataclass(frozen=True, eq=False)
class Episode:
    """Contexts, and queries whose outcome is known for some experts."""

    contexts: Panel
    queries: Cases
    label: Int[Tensor, " query"]
    asked: Bool[Tensor, "expert query"]
    right: Bool[Tensor, "expert query"]

    def at_true_role(self, grid: Float[Tensor, "expert role query *rest"]) -> Float[Tensor, "outcome *rest"]:
        """Entries of a grid at the true role of each query an expert answered."""
        return grid[:, self.label, torch.arange(len(self.label))][self.asked]

    @property
    def outcome(self) -> Bool[Tensor, " outcome"]:
        """Whether the expert was right, in the same order."""
        return self.right[self.asked]


@final
@dataclass(frozen=True, eq=False)
class EpisodeSampler:
    """Draws episodes from a panel; the generator is passed in.

    A context has `context_size` answers, or fewer where an expert has not given that many beside the queries; those of
    a share `varied` of the experts are of any size and mix.

    >>> from racer import Cases, Panel
    >>> cases = Cases([[1.0, 0.1 * i] for i in range(40)], [[0.9, 0.1]] * 40)
    >>> panel = Panel(cases, [0, 1, 1, 1] * 10, [[0] * 40, [1] * 40])
    >>> episode = EpisodeSampler(panel, context_size=6, n_queries=4).draw(np.random.default_rng(0))
    >>> episode.contexts.count
    tensor([[3, 3],
            [3, 3]])
    """

    panel: Panel
    context_size: int
    n_queries: int = 128  # an expert, about
    n_experts: int = 32
    varied: float = 0.0

    def __post_init__(self) -> None:
        if min(self.context_size, self.n_queries, self.n_experts) < 1:
            raise SettingError(
                "An episode needs experts, answers in their contexts, and queries.",
                f"Got context_size={self.context_size}, n_queries={self.n_queries}, n_experts={self.n_experts}.",
                "Give integers of at least 1; 'context_size' is how many answers a new expert will bring.",
            )
        _require_share(self.varied)
        if int(self._answers_each.max(initial=0)) < 2:
            raise TooFewAnswersError(
                "Episodes need an expert with at least two answers: one for the context, one to ask.",
                f"{self.panel!r}.",
                "Add answers to the panel.",
            )

    def draw(self, rng: np.random.Generator) -> Episode:
        """One episode."""
        panel = self.panel
        answers = self._answers_each
        able = np.flatnonzero(answers >= 2)
        chosen = np.sort(rng.choice(able, size=min(self.n_experts, len(able)), replace=False))
        entry = self._entries(chosen)
        expert = np.repeat(np.arange(len(chosen)), answers[chosen])
        item = panel.item.numpy()[entry]
        query = self._pick_queries(rng, item, answers[chosen])
        is_query = np.isin(item, query)
        in_context = np.flatnonzero(~is_query)
        role, size = panel.role.numpy()[entry[in_context]], self._sizes(rng, len(chosen))
        # an expert whose context is varied has one class only, as far as taking turns goes
        role = np.where(size.is_varied[expert[in_context]], 0, role)
        taken = in_turns(rng, expert[in_context], role, size.n_answers)
        return self._assemble(chosen, entry, expert, item, query, is_query, in_context[taken])

    def _sizes(self, rng: np.random.Generator, n_experts: int) -> "_Sizes":
        is_varied = rng.random(n_experts) < self.varied
        any_size = np.exp(rng.random(n_experts) * np.log(LARGEST_VARIED * self.context_size + 1))
        n_answers = np.where(is_varied, any_size.astype(np.int64), self.context_size)
        return _Sizes(is_varied=is_varied, n_answers=n_answers)

    @property
    def _answers_each(self) -> Ints:
        each: Ints = self.panel.count.sum(-1).numpy()
        return each

    def _entries(self, chosen: Ints) -> Ints:
        """Answers of the chosen experts; each expert's lie side by side."""
        edge = self.panel.offset[:: 2 * self.panel.n_roles].numpy()
        first, n = edge[chosen], edge[chosen + 1] - edge[chosen]
        entries: Ints = np.arange(n.sum()) + np.repeat(first - (n.cumsum() - n), n)
        return entries

    def _pick_queries(self, rng: np.random.Generator, item: Ints, answers: Ints) -> Ints:
        """Cases some chosen expert answered, few enough that a typical one keeps a whole context, or most of one."""
        typical = float(np.median(answers))
        room = max(typical - self.context_size, typical / 4, 1)
        cases = np.unique(item)
        share_answered = len(item) / (len(cases) * len(answers))
        n = int(np.ceil(min(room, self.n_queries) / share_answered))
        return np.sort(rng.choice(cases, size=min(n, MOST_QUERIES, max(len(cases) - 1, 1)), replace=False))

    def _assemble(
        self,
        chosen: Ints,
        entry: Ints,
        expert: Ints,
        item: Ints,
        query: Ints,
        is_query: Bool[np.ndarray, "..."],
        context: Ints,
    ) -> Episode:
        panel = self.panel
        used, row = np.unique(item[context], return_inverse=True)
        contexts = Panel.from_answers(
            panel.cases[used],
            panel.label[torch.from_numpy(used)],
            expert=expert[context],
            item=row,
            answer=panel.answer[torch.from_numpy(entry[context])],
            experts=[panel.experts[one] for one in chosen],
        )
        asked = torch.zeros(len(chosen), len(query), dtype=torch.bool)
        right = torch.zeros_like(asked)
        at = (torch.from_numpy(expert[is_query]), torch.from_numpy(np.searchsorted(query, item[is_query])))
        asked[at] = True
        right[at] = panel.right[torch.from_numpy(entry[is_query])]
        rows = torch.from_numpy(query)
        return Episode(contexts=contexts, queries=panel.cases[rows], label=panel.label[rows], asked=asked, right=right)


def require_head_settings(hidden: int, varied: float) -> None:
    """Refuse sizes and shares that mean nothing before anything is fitted."""
    if not isinstance(hidden, Integral) or isinstance(hidden, bool) or hidden < 1:
        raise SettingError("'hidden' counts units.", f"Got {hidden!r}.", "Give an integer of at least 1.")
    _require_share(varied)


def _require_share(varied: float) -> None:
    if not 0 <= varied <= 1:
        raise SettingError(
            "'varied' is a share of the experts.",
            f"Got {varied}.",
            "Give a number from 0 (every context of the same size and balanced) to 1.",
        )


def hold_out_experts(panel: Panel, share: float, rng: np.random.Generator) -> tuple[Panel, Panel]:
    """Experts to fit on and experts to stop by, at least one of each.

    Those of a single answer are left out: one answer makes no episode, for there is nothing left to ask.
    """
    require_panel(panel, "fit(panel)")
    able = np.flatnonzero(panel.count.sum(-1).numpy() >= 2)
    if len(able) < 2:
        raise TooFewAnswersError(
            "Fitting needs two experts with two answers each: one is held out, to see if strangers are understood.",
            f"Got {len(able)} such among {len(panel)} experts.",
            "Add answers, or use a method that needs no fitting: racer-knn (RacerKNN), ifd-score (IFDScore).",
        )
    order = rng.permutation(able)
    n_held = min(max(1, round(share * len(able))), len(able) - 1)
    held, kept = np.sort(order[:n_held]), np.sort(order[n_held:])
    return panel.subset([panel.experts[one] for one in kept]), panel.subset([panel.experts[one] for one in held])


@final
@dataclass(frozen=True, eq=False)
class _Sizes:
    """What kind of context each expert brings."""

    is_varied: Bool[np.ndarray, " expert"]
    n_answers: Int[np.ndarray, " expert"]
