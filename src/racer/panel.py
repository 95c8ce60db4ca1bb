"""Panel: several experts' answers over one bank of cases.

Source   the paper, "Problem setup and competence target": C_e = {(x_i, y_i, m_i)}, a_i = 1[m_i = y_i].
Symbols  C_e context · y_i label · m_i answer · a_i right · N_{e,y} count · B number of answers

Inside, a panel keeps one entry an answer, sorted by (expert, right, label). That order *is* the index of same-role
pooling: an expert's wrong answers role by role, then the right ones, each run delimited by two offsets, so that one
sparse product gives Σ K over wrong and over right answers as two blocks (role × query).
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Bool, Int
from numpy.typing import ArrayLike
from torch import Tensor

from racer.answer_table import in_order_of, read_answers, read_classes
from racer.cases import Cases, require_cases, to_tensor
from racer.classes import (
    NO_ANSWER,
    refuse_repeated,
    refuse_unlabelled,
    refuse_unordered,
    to_classes,
    to_positions,
)
from racer.context import Context
from racer.errors import DuplicateExpertError, LabelError, ShapeError, UnknownExpertError
from racer.growable import Bank
from racer.naming import did_you_mean, some_names

__all__ = ["Context", "Panel", "require_panel"]

OUTSIDE_INFERENCE = torch.inference_mode(False)
"""What is kept must serve training too, also where it was first asked for while scoring in inference mode."""


@final
@dataclass(frozen=True, eq=False)
class RoleOrder:
    """Answers sorted by (expert, class); `offset` delimits each such group."""

    item: Int[Tensor, " answer"]
    right: Bool[Tensor, " answer"]
    offset: Int[Tensor, " edge"]


@final
@dataclass(frozen=True, eq=False, init=False)
class Panel:
    """Several experts' answers over one shared bank of cases, sparse inside, append-only.

    `answer` is (expert, item) with −1 where an expert did not answer. Where the truth depends on who is asked (say, the
    consensus of the *other* readers), `label` may be (expert, item) too; a case with several truths then takes several
    rows of the bank.

    >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.4, 0.6]])
    >>> panel = Panel(cases, label=[0, 1], answer=[[0, 0], [-1, 1]], experts=["ada", "bo"])
    >>> panel.experts, panel.n_answers, panel["bo"].answer
    (('ada', 'bo'), 3, tensor([1]))
    """

    experts: tuple[str, ...]
    group: Int[Tensor, " answer"]
    item: Int[Tensor, " answer"]
    answer: Int[Tensor, " answer"]
    _bank: Bank

    def __init__(
        self,
        cases: Cases,
        label: ArrayLike | Tensor,
        answer: ArrayLike | Tensor,
        experts: Sequence[str] | None = None,
    ) -> None:
        require_cases(cases, "cases")
        refuse_unordered(experts, "experts")
        answers = to_classes(answer, cases.n_roles, "answer", (None, len(cases)))
        ids = tuple(str(one) for one in (range(len(answers)) if experts is None else experts))
        if len(ids) != len(answers):
            raise ShapeError(
                "'experts' must name every row of 'answer'.",
                f"Got {len(ids)} ids for {len(answers)} rows.",
                "Give one id per row.",
                experts=len(ids),
                rows=len(answers),
            )
        expert, item = (answers != NO_ANSWER).nonzero(as_tuple=True)
        given = to_tensor(label, "label")
        if given.ndim == 2:
            truth = to_classes(given, cases.n_roles, "label", tuple(answers.shape))
            refuse_unlabelled(truth, answers)
            cases, labels, item = _one_label_a_row(cases, truth[answers != NO_ANSWER], item)
        else:
            labels = to_classes(given, cases.n_roles, "label", (len(cases),))
            refuse_unlabelled(labels, answers)
        panel = _index(ids, cases, labels, expert, item, answers[answers != NO_ANSWER])
        self.__dict__.update(panel.__dict__)

    @classmethod
    def from_answers(
        cls,
        cases: Cases,
        label: ArrayLike | Tensor,
        expert: ArrayLike | Tensor,
        item: ArrayLike | Tensor,
        answer: ArrayLike | Tensor,
        experts: Sequence[str],
    ) -> "Panel":
        """A panel from one row an answer: positions in `experts`, in `cases`, in the classes. Never dense.

        >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.4, 0.6]])
        >>> Panel.from_answers(cases, [0, 1], expert=[1, 0], item=[0, 1], answer=[0, 0], experts=["ada", "bo"])
        Panel(2 experts, 2 answers, 2 cases, 2 roles)
        """
        refuse_unordered(experts, "experts")
        labels = to_classes(label, cases.n_roles, "label", (len(cases),))
        answers = to_classes(answer, cases.n_roles, "answer", (None,))
        who = to_positions(expert, len(experts), "expert", len(answers))
        which = to_positions(item, len(cases), "item", len(answers))
        refuse_unlabelled(labels[which], answers, which)
        keep = answers != NO_ANSWER
        who, which, answers = who[keep], which[keep], answers[keep]
        refuse_repeated(who, which, len(cases), experts)
        return _index(tuple(str(one) for one in experts), cases, labels, who, which, answers)

    @classmethod
    def from_contexts(cls, contexts: Mapping[str, Context]) -> "Panel":
        """A panel from one context an expert. Contexts over the same `Cases` and labels share the bank.

        >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.4, 0.6]])
        >>> lee, ada = Context(cases, [0, 1], [0, 1]), Context(cases, [0, 1], [1, 1])
        >>> panel = Panel.from_contexts({"dr-lee": lee, "dr-ada": ada})
        >>> len(panel.cases), panel["dr-lee"].answer
        (2, tensor([0, 1]))
        """
        if not isinstance(contexts, Mapping) or not all(isinstance(one, Context) for one in contexts.values()):
            raise ShapeError(
                "'contexts' must map each expert to a Context.",
                f"Got a {type(contexts).__name__}.",
                'Give {"dr-lee": Context(cases, label, answer)}.',
            )
        if not contexts:
            raise ShapeError(
                "A panel needs at least one context.",
                "Got an empty mapping.",
                "Give {expert: Context(…)}; Context.empty(cases) for an expert nobody has met.",
            )
        banks: dict[tuple[int, bytes], tuple[int, Context]] = {}
        start, at = 0, []
        for context in contexts.values():
            key = (id(context.cases), context.label.numpy(force=True).tobytes())
            if key not in banks:
                banks[key] = (start, context)
                start += len(context.cases)
            at.append(banks[key][0])
        cases = Cases.concatenate([context.cases for _, context in banks.values()])
        label = torch.cat([context.label for _, context in banks.values()])
        rows = [context.answered.nonzero()[:, 0] for context in contexts.values()]
        counts = torch.tensor([len(row) for row in rows])
        return _index(
            tuple(str(one) for one in contexts),
            cases,
            label,
            expert=torch.arange(len(rows)).repeat_interleave(counts),
            item=torch.cat([row + first for row, first in zip(rows, at, strict=True)]),
            answer=torch.cat([c.answer[row] for c, row in zip(contexts.values(), rows, strict=True)]),
        )

    @classmethod
    def from_table(
        cls,
        cases: Cases,
        items: Sequence[Any],
        table: Any,
        label: ArrayLike | Tensor | None = None,
        classes: Sequence[str] | None = None,
    ) -> "Panel":
        """A panel from a long table: `expert, item, answer[, label]`, or crowd-kit's `task, worker, label`.

        `items` are the ids of the cases. The truth comes from `label`, or else from the table's own column `label`.
        `label` holds one truth a case, in the order of the cases, or by id: {item: truth}, or a pandas Series whose
        index holds the ids.
        Where the table has names for classes, `classes` gives them in the order of the posterior's columns.
        `table` may be a pandas or polars frame, a pyarrow table, columns in a dict, or the path of a CSV or parquet.

        >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.4, 0.6]])
        >>> table = {"task": ["a", "b", "b"], "worker": ["ada", "ada", "bo"], "label": [0, 0, 1]}
        >>> Panel.from_table(cases, ["a", "b"], table, label=[0, 1])["ada"].right
        tensor([ True, False])
        """
        require_cases(cases, "cases")
        items = items if isinstance(items, (str, Mapping)) or hasattr(items, "__len__") else list(items)
        if len(items) != len(cases):
            raise ShapeError(
                "'items' must hold one id per case.",
                f"Got {len(items)} ids for {len(cases)} cases.",
                "Give the ids in the order of the cases.",
            )
        read = read_answers(table, items, classes, cases.n_roles, with_label=label is None)
        if label is None and read.label is None:
            raise LabelError(
                "The truth is missing.",
                "The table has no truth column beside the answers and 'label' was not given.",
                "Give label=…, one class per case.",
            )
        expert, item, answer = (torch.from_numpy(one) for one in (read.expert, read.item, read.answer))
        if label is not None:
            beside = read_classes(in_order_of(items, label, "label"), classes, cases.n_roles, "label")
            labels = to_classes(beside, cases.n_roles, "label", (len(cases),))
            refuse_unlabelled(labels[item], answer, item)
        else:
            truth = torch.from_numpy(read.label)
            refuse_unlabelled(truth, answer, item)
            labels = torch.full((len(cases),), NO_ANSWER)
            labels[item] = truth
            if not torch.equal(labels[item], truth):  # some case has several truths
                cases, labels, item = _one_label_a_row(cases, truth, item)
        return _index(read.experts, cases, labels, expert, item, answer)

    def __reduce__(self) -> tuple[Any, ...]:
        return _panel, (self.experts, self.group, self.item, self.answer, self._bank)

    def __repr__(self) -> str:
        n = (len(self), self.n_answers, len(self.label), self.n_roles)
        return "Panel({} experts, {} answers, {} cases, {} roles)".format(*n)

    def __len__(self) -> int:
        return len(self.experts)

    def __iter__(self) -> Iterator[str]:
        return iter(self.experts)

    def __contains__(self, expert: object) -> bool:
        return expert in self._position

    def __getitem__(self, expert: str) -> Context:
        """The context of one expert, in the order of the bank."""
        row = self.position(expert)
        edge = torch.tensor([row, row + 1]) * 2 * self.n_roles
        first, last = torch.searchsorted(self.group, edge).tolist()
        item, order = self.item[first:last].sort()
        return Context(self.cases[item], self.label[item], self.answer[first:last][order])

    def position(self, expert: str) -> int:
        """Row of an expert."""
        if expert not in self._position:
            raise UnknownExpertError(
                f"No answers from expert {expert!r}.",
                f"The panel holds {len(self)} experts: {some_names(self.experts)}.",
                did_you_mean(str(expert), self.experts) or "Check the id, or append that expert's answers first.",
                expert=expert,
                known=self.experts,
            )
        return self._position[expert]

    @property
    def n_answers(self) -> int:
        """Number of answers held."""
        return len(self.item)

    @property
    def n_roles(self) -> int:
        """Number of candidate roles, K in the paper."""
        return self._bank.posterior.rows.shape[1]

    @cached_property
    def cases(self) -> Cases:
        """The bank."""
        return self._bank.cases()

    @property
    def label(self) -> Int[Tensor, " item"]:
        """The true class of each case of the bank."""
        return self._bank.label.rows

    @property
    def expert(self) -> Int[Tensor, " answer"]:
        """Row of the expert who gave each answer."""
        return self.group // (2 * self.n_roles)

    @property
    def role(self) -> Int[Tensor, " answer"]:
        """True class of the case answered."""
        return self.group % self.n_roles

    @property
    def right(self) -> Bool[Tensor, " answer"]:
        """a_i of each answer."""
        return self.group // self.n_roles % 2 == 1

    @cached_property
    @OUTSIDE_INFERENCE
    def offset(self) -> Int[Tensor, " edge"]:
        """Where each (expert, right, role) group starts among the answers; one more entry closes the last."""
        edges = torch.arange(len(self) * self.n_roles * 2 + 1)
        return torch.searchsorted(self.group, edges)

    @cached_property
    @OUTSIDE_INFERENCE
    def count(self) -> Int[Tensor, "expert role"]:
        """N_{e,y}: answers of each expert on cases of each role."""
        return self.offset.diff().view(len(self), 2, self.n_roles).sum(1)

    @cached_property
    def supports_every_role(self) -> bool:
        """Whether every expert has answered in every role."""
        return bool((self.count > 0).all())

    @cached_property
    @OUTSIDE_INFERENCE
    def n_right(self) -> Int[Tensor, "expert role"]:
        """How many of them were right."""
        return self.offset.diff().view(len(self), 2, self.n_roles)[:, 1]

    @cached_property
    @OUTSIDE_INFERENCE
    def by_role(self) -> "RoleOrder":
        """The same answers sorted by (expert, role), for estimators that look at single answers."""
        order = (self.expert * self.n_roles + self.role).argsort(stable=True)
        offset = torch.nn.functional.pad(self.count.flatten().cumsum(0), (1, 0))
        return RoleOrder(item=self.item[order], right=self.right[order], offset=offset)

    @cached_property
    @OUTSIDE_INFERENCE
    def wrong_by_answer(self) -> "RoleOrder":
        """The wrong answers sorted by (expert, class answered)."""
        wrong = (~self.right).nonzero()[:, 0]
        key = self.expert[wrong] * self.n_roles + self.answer[wrong]
        order = key.argsort(stable=True)
        offset = torch.searchsorted(key[order], torch.arange(len(self) * self.n_roles + 1))
        return RoleOrder(item=self.item[wrong][order], right=self.right[wrong], offset=offset)

    @cached_property
    def _position(self) -> dict[str, int]:
        return {expert: row for row, expert in enumerate(self.experts)}

    def answer_matrix(self) -> Int[Tensor, "expert item"]:
        """All answers as one matrix, −1 where there is none. Dense: for small panels and for looking."""
        matrix = torch.full((len(self), len(self.cases)), NO_ANSWER)
        matrix[self.expert, self.item] = self.answer
        return matrix

    def subset(self, experts: Sequence[str]) -> "Panel":
        """Some of the experts, over those cases of the bank that they answered.

        >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.4, 0.6]])
        >>> panel = Panel(cases, [0, 1], [[0, 0], [-1, 1]], experts=["ada", "bo"])
        >>> len(panel.subset(["bo"]).cases)
        1
        """
        refuse_unordered(experts, "experts")
        ids = tuple(experts)
        rows = torch.tensor([self.position(expert) for expert in ids], dtype=torch.int64)
        mine, n = self.answers_of(rows)
        expert = torch.arange(len(rows)).repeat_interleave(n)
        used, item = torch.unique(self.item[mine], return_inverse=True)
        return _index(ids, self.cases[used], self.label[used], expert, item, self.answer[mine])

    @OUTSIDE_INFERENCE
    def append(self, more: "Panel") -> "Panel":
        """This panel and then another; this one stays as it was.

        Experts are matched by id. When `more` was built over this panel's own `cases`, the bank is shared; otherwise
        its cases are added. Existing answers are neither sorted nor embedded again; one given twice is refused.

        >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.4, 0.6]])
        >>> panel = Panel(cases, [0, 1], [[0, 0]], experts=["ada"])
        >>> larger = panel.append(Panel(cases[:1], [1], [[1], [1]], experts=["ada", "bo"]))
        >>> larger.experts, larger.n_answers, panel.n_answers
        (('ada', 'bo'), 4, 2)
        """
        require_panel(more, "append(more)")
        self.cases.require_same_space(more.cases, "the panels")
        ids = tuple(dict.fromkeys((*self.experts, *more.experts)))
        row = dict(zip(ids, range(len(ids)), strict=True))
        expert = torch.tensor([row[one] for one in more.experts], dtype=torch.int64)[more.expert]
        bank, start = self._bank, 0
        if self._bank.starts_with(more._bank):
            self._refuse_known(expert, more.item, ids)
        else:
            bank, start = self._bank.append(more._bank), len(self._bank)
        group = (expert * 2 + more.right) * self.n_roles + more.role
        order = group.argsort(stable=True)
        at = torch.searchsorted(self.group, group[order], right=True).numpy()

        def merge(ours: Tensor, theirs: Tensor) -> Tensor:
            return torch.from_numpy(np.insert(ours.numpy(), at, theirs[order].numpy()))

        return _panel(
            ids, merge(self.group, group), merge(self.item, more.item + start), merge(self.answer, more.answer), bank
        )

    def answers_of(self, rows: Int[Tensor, " chosen"]) -> tuple[Int[Tensor, " answer"], Int[Tensor, " chosen"]]:
        """Where the answers of some experts stand, expert after expert, and how many each has."""
        first, last = torch.searchsorted(self.group, torch.stack([rows, rows + 1]) * 2 * self.n_roles)
        n = last - first
        return torch.arange(int(n.sum())) + (first - n.cumsum(0) + n).repeat_interleave(n), n

    def _refuse_known(self, expert: Tensor, item: Tensor, experts: Sequence[str]) -> None:
        """Refuse answers that this panel holds already; only the answers of the experts in question are looked at."""
        who = torch.unique(expert)
        mine, n = self.answers_of(who)
        both = torch.cat([self.item[mine], item])
        refuse_repeated(torch.cat([who.repeat_interleave(n), expert]), both, len(self._bank), experts)


def require_panel(value: Any, what: str) -> None:
    """Refuse what is no panel."""
    if not isinstance(value, Panel):
        raise ShapeError(
            f"{what} takes a Panel.",
            f"Got a {type(value).__name__}.",
            'A panel holds several experts: Panel(cases, label, answer), or Panel.from_contexts({"dr-lee": context}).',
        )


def _one_label_a_row(cases: Cases, truth: Tensor, item: Tensor) -> tuple[Cases, Tensor, Tensor]:
    """A bank in which each row has one truth, when the truth came with each answer."""
    pairs, row = torch.unique(item * (cases.n_roles + 1) + truth + 1, return_inverse=True)
    return cases[pairs // (cases.n_roles + 1)], pairs % (cases.n_roles + 1) - 1, row


@OUTSIDE_INFERENCE
def _index(
    experts: tuple[str, ...], cases: Cases, label: Tensor, expert: Tensor, item: Tensor, answer: Tensor
) -> Panel:
    if len(set(experts)) < len(experts):
        twice = next(one for one, n in Counter(experts).items() if n > 1)
        raise DuplicateExpertError(
            "An expert id stands twice in the panel.",
            f"{twice!r}, among {len(experts)} experts.",
            "Give each expert one row; append() adds answers to an expert already there.",
            expert=twice,
        )
    group = (expert * 2 + (answer == label[item])) * cases.n_roles + label[item]
    order = group.argsort(stable=True)
    return _panel(experts, group[order], item[order], answer[order], Bank.of(cases.detached(), label))


def _panel(experts: tuple[str, ...], group: Tensor, item: Tensor, answer: Tensor, bank: Bank) -> Panel:
    panel = object.__new__(Panel)
    panel.__dict__.update(experts=experts, group=group, item=item, answer=answer, _bank=bank)
    return panel
