"""Router: a fitted method, the experts it may ask, and a policy."""

from collections.abc import Collection, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any, final

import torch
from jaxtyping import Bool
from numpy.typing import ArrayLike
from torch import Tensor

from racer.cases import Cases, require_cases, to_tensor
from racer.classes import refuse_unordered
from racer.competence import AbstractMethod
from racer.context import Context
from racer.errors import DuplicateExpertError, ShapeError, UnknownExpertError
from racer.learning import progress_bar
from racer.methods import load
from racer.naming import did_you_mean, some_names
from racer.panel import Panel
from racer.routing.decision import Decision
from racer.routing.evidence import Behind, Evidence
from racer.routing.origin import Origin
from racer.routing.plan import MODEL, NEVER, Plan
from racer.routing.policy import AbstractPolicy, Threshold
from racer.routing.router_file import OURS, StoredRouter, read_router, write_router
from racer.routing.solve import best_expert, solve
from racer.writing import whole_folder

__all__ = ["Router"]

AT_ONCE = 2048
"""Queries between two steps of the progress bar."""


@final
class Router:
    """Who answers each case? Experts come and go without refitting.

    >>> from racer import RacerKNN
    >>> side = torch.eye(2).repeat(20, 1)                                 # two kinds of case, all of class 0
    >>> cases = Cases(side, torch.tensor([[0.6, 0.4]]).expand(40, 2))
    >>> router = Router(RacerKNN(), policy=Threshold(0.0))
    >>> router.enroll("ada", Context(cases, [0] * 40, [0, 1] * 20))       # right on the first kind
    >>> router.enroll("bo", Context(cases, [0] * 40, [1, 0] * 20))        # and on the second
    >>> router.route(cases[:3]).names
    ['ada', 'bo', 'ada']
    """

    def __init__(
        self,
        method: AbstractMethod,
        policy: AbstractPolicy | None = None,
        *,
        panel: Panel | None = None,
        items: Sequence[Any] | None = None,
        evidence: Evidence | None = None,
        origin: Origin | None = None,
    ) -> None:
        """`panel` enrolls its experts at once; `items` are the ids of its cases, to name them in explanations."""
        self.method, self.policy, self.evidence = method, policy or Threshold(), evidence or Evidence()
        self.origin = origin or Origin()
        self._panel: Panel | None = None
        self._items: tuple[str, ...] = ()
        if panel is not None:
            self._panel, self._items = panel, _names(items, len(panel.cases), "case")

    def __repr__(self) -> str:
        return f"Router({self.method!r}, {self.policy!r}, {len(self.experts)} experts)"

    @classmethod
    def load(cls, folder: str | PathLike[str], *others: type[AbstractMethod]) -> "Router":
        """Read a router that `save` wrote; name your own methods' classes in `others`. Runs no code of the files."""
        stored, method = read_router(Path(folder)), load(folder, *others)
        return cls(
            method,
            stored.policy,
            panel=stored.panel,
            items=stored.items,
            evidence=stored.evidence,
            origin=stored.origin,
        )

    def save(self, folder: str | PathLike[str]) -> None:
        """Write method, experts, answers and policy to a folder of its own, whole or not at all."""
        with whole_folder(folder, OURS) as hidden:
            self.write(hidden)

    def write(self, folder: Path) -> None:
        """Write the files of a router into a folder that is already there."""
        self.method.save(folder)
        write_router(StoredRouter(self._panel, self._items, self.policy, self.evidence, self.origin), folder)

    @property
    def experts(self) -> tuple[str, ...]:
        """Who may be asked, in the order of enrolment."""
        return () if self._panel is None else self._panel.experts

    @property
    def panel(self) -> Panel | None:
        """Everybody's answers; None before the first expert."""
        return self._panel

    @property
    def items(self) -> tuple[str, ...]:
        """Ids of the panel's cases."""
        return self._items

    def enroll(self, expert: str, context: Context, items: Sequence[Any] | None = None) -> None:
        """A new expert, by past answers; none is fine. `items` are ids of the context's cases."""
        if expert in self.experts:
            raise DuplicateExpertError(
                f"Expert {expert!r} is enrolled already.",
                f"With {int(self._known().count[self._known().position(expert)].sum())} answers.",
                "Use observe(…) for more answers, or retire(…) first.",
                expert=expert,
            )
        panel = Panel.from_contexts({expert: context})
        cases = self._in_our_type(context.cases)
        if cases is not context.cases:
            panel = Panel.from_contexts({expert: Context(cases, context.label, context.answer)})
        self._add(panel, items, len(cases))

    def observe(
        self,
        expert: str,
        cases: Cases,
        label: ArrayLike | Tensor,
        answer: ArrayLike | Tensor,
        items: Sequence[Any] | None = None,
    ) -> None:
        """More answers of somebody enrolled. The method stays as it was fitted."""
        self._known().position(expert)
        require_cases(cases, "cases")
        cases = self._in_our_type(cases)
        self._add(Panel.from_contexts({expert: Context(cases, label, answer)}), items, len(cases))

    def retire(self, expert: str) -> None:
        """Ask this expert no more, and forget the answers."""
        panel = self._known()
        panel.position(expert)
        self._panel, self._items = _some(panel, self._items, [one for one in panel.experts if one != expert])

    def route(
        self,
        queries: Cases,
        *,
        experts: Sequence[str] | None = None,
        available: ArrayLike | Tensor | Mapping[str, Any] | None = None,
        policy: AbstractPolicy | None = None,
        negligible: float = 0.0,
        progress: bool | None = False,
    ) -> Decision:
        """Decide a batch. `experts` are those on duty, by default all; `available` is (expert, item) or {expert: mask}.

        Who is missing in an `available` mapping is available for every case. `progress` shows a bar; None means in a
        terminal.
        """
        require_cases(queries, "queries")
        queries, used = self._in_our_type(queries), policy or self.policy
        self.require_enrolled(sorted(used.named))
        panel, items = self._on_duty(queries, experts)
        parts = [slice(start, start + AT_ONCE) for start in range(0, max(len(queries), 1), AT_ONCE)]
        with progress_bar("routing", 2 * len(parts) + 1, progress) as step:
            scored = []
            for part in parts:
                scored.append(self.method.scored(queries[part], panel, negligible=negligible))
                step("asking the method")
            score = torch.cat([one.score for one in scored], -1)
            gain = torch.where(_mask(available, panel, len(queries)), score, NEVER)
            plan = used.refine(Plan(panel.experts, gain, queries.confidence))
            who = solve(plan)
            step("decided")
            candidate = torch.where(who != MODEL, who, best_expert(plan.gain))
            found = []
            for part in parts:
                found.append(self.evidence.behind(queries[part], panel, candidate[part]))
                step("looking up past cases")
        behind = Behind.concatenate(found)
        p_right = [one.p_right for one in scored if one.p_right is not None]
        return Decision(
            experts=panel.experts,
            items=items,
            who=who,
            candidate=candidate,
            p_right=torch.cat(p_right, -1) if p_right else None,
            gain=plan.gain.to(queries.dtype),
            confidence=queries.confidence,
            prediction=queries.prediction,
            evidence=behind.amount,
            is_insufficient=behind.amount < self.evidence.least,
            speaks_for=behind.speaks_for,
            speaks_against=behind.speaks_against,
        )

    def require_enrolled(self, names: Collection[str]) -> None:
        """Refuse names of people the router does not know."""
        known = set(self.experts)
        strangers = [name for name in names if name not in known]
        if strangers:
            raise UnknownExpertError(
                f"Nobody called {strangers[0]!r} is enrolled.",
                f"The router knows {some_names(self.experts)}.",
                did_you_mean(strangers[0], self.experts) or "Check the name, or enroll that expert first.",
                expert=strangers[0],
            )

    def _in_our_type(self, cases: Cases) -> Cases:
        """In the floating type of the cases that are held: embeddings come in both, and nothing hangs on it."""
        if self._panel is None or cases.dtype == self._panel.cases.dtype:
            return cases
        dtype = self._panel.cases.dtype
        return Cases(cases.embedding.to(dtype), cases.posterior.to(dtype))

    def require_same_space(self, cases: Cases) -> None:
        """Refuse cases of another classifier than the one whose cases the experts answered."""
        if self._panel is not None:
            self._panel.cases.require_same_space(self._in_our_type(cases), "the router's cases and these")

    def _known(self) -> Panel:
        if self._panel is None:
            raise UnknownExpertError(
                "Nobody is enrolled.", "The router knows no experts.", "Call router.enroll(expert, context) first."
            )
        return self._panel

    def _on_duty(self, queries: Cases, experts: Sequence[str] | None) -> tuple[Panel, tuple[str, ...]]:
        if self._panel is None and not experts:
            nobody = torch.empty(0, dtype=torch.int64)
            return Panel(queries[:0], nobody, nobody.view(0, 0), experts=[]), ()
        if experts is None:
            return self._known(), self._items
        refuse_unordered(experts, "experts")
        return _some(self._known(), self._items, experts)

    def _add(self, more: Panel, items: Sequence[Any] | None, n_cases: int) -> None:
        expert = more.experts[0]
        before = 0 if self._panel is None else len(self._panel.cases)
        panel = more if self._panel is None else self._panel.append(more)
        n_new = len(panel.cases) - before
        names = _names(items, n_cases, f"{expert}, case")
        # over the panel's own cases nothing is added, and those have their names
        self._items += names[:n_new]
        self._panel = panel


def _some(panel: Panel, items: tuple[str, ...], experts: Sequence[str]) -> tuple[Panel, tuple[str, ...]]:
    """Some of the experts, and the names of the cases they answered, which is what is left of the bank."""
    rows = torch.tensor([panel.position(one) for one in experts], dtype=torch.int64)
    place, _ = panel.answers_of(rows)
    return panel.subset(experts), tuple(items[one] for one in torch.unique(panel.item[place]).tolist())


def _names(items: Sequence[Any] | None, n_cases: int, otherwise: str) -> tuple[str, ...]:
    if items is None:
        return tuple(f"{otherwise} {row}" for row in range(n_cases))
    refuse_unordered(items, "items")
    if len(items) != n_cases:
        raise ShapeError(
            "'items' must name every case.",
            f"Got {len(items)} names for {n_cases} cases.",
            "Give one id per case, or leave them out.",
        )
    return tuple(str(one) for one in items)


def _mask(available: Any, panel: Panel, n_items: int) -> Bool[Tensor, "expert item"]:
    if available is None:
        return torch.ones(len(panel), n_items, dtype=torch.bool)
    if isinstance(available, Mapping):
        mask = torch.ones(len(panel), n_items, dtype=torch.bool)
        for expert, when in available.items():
            mask[panel.position(expert)] = _flags(when, f"available[{expert!r}]", (n_items,))
        return mask
    return _flags(available, "available", (len(panel), n_items))


def _flags(values: Any, name: str, shape: tuple[int, ...]) -> Bool[Tensor, "..."]:
    flags = to_tensor([values] if isinstance(values, bool) else values, name)
    if isinstance(values, bool):
        flags = flags.expand(shape)
    if flags.dtype != torch.bool or tuple(flags.shape) != shape:
        raise ShapeError(
            f"'{name}' must hold true or false.",
            f"Got {flags.dtype} of shape {tuple(flags.shape)}; expected booleans of shape {shape}.",
            "Give one a case, for {expert: …}; or one row of them per expert.",
            name=name,
        )
    return flags
