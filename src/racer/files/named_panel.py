"""A panel with the names that its files gave to cases and classes.

Which column of the posterior is which class? In this order of belief: what the caller says; the names in the file of
cases; else, where labels and answers are names and there are as many as columns, those names sorted, which is how
scikit-learn orders them. Numbers are columns already. Names beyond the columns are classes the classifier never gives.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import torch

from racer.answer_table import as_text, read_answers
from racer.classes import NO_ANSWER
from racer.errors import ClassNamesError, LabelError, UnknownItemError
from racer.files.answer_file import AnswerFile, is_number, read_answer_file
from racer.files.case_file import CaseFile, read_cases
from racer.files.saying import said_of
from racer.panel import Panel

__all__ = ["NamedPanel", "read_panel"]

TEXT = pa.large_string()


@final
@dataclass(frozen=True, eq=False)
class NamedPanel:
    """What a file of cases and a table of answers say together.

    `items` are the ids of the panel's cases, which are those with an answer and a truth. `classes` are None where
    classes are numbers. `is_sorted_guess` says that the order of the names was nowhere written down. `n_unlabelled`
    answers had no truth and `n_unknown` no case; both were left out.
    """

    panel: Panel
    items: tuple[str, ...]
    classes: tuple[str, ...] | None
    is_sorted_guess: bool
    n_unlabelled: int
    n_unknown: int

    def items_of(self, expert: str) -> tuple[str, ...]:
        """Ids of the cases an expert answered, in the order of `panel[expert]`: to name them where the expert joins."""
        place, _ = self.panel.answers_of(torch.tensor([self.panel.position(expert)]))
        return tuple(self.items[row] for row in self.panel.item[place].sort().values.tolist())


def read_panel(
    cases: CaseFile | str | PathLike[str],
    answers: str | PathLike[str],
    *,
    classes: Sequence[str] | None = None,
    skip_unknown: bool = False,
) -> NamedPanel:
    """Read cases and answers. The truth is the table's `label`, and where that is missing the cases' own.

    An answer to an item that no case carries is refused, or left out with `skip_unknown`.

    >>> import tempfile
    >>> from pathlib import Path
    >>> folder = Path(tempfile.mkdtemp())
    >>> np.savez(folder / "cases.npz", id=["a", "b"], embedding=np.eye(2), posterior=[[0.9, 0.1], [0.4, 0.6]])
    >>> _ = (folder / "answers.csv").write_text("item,expert,answer,label\\na,ada,cat,cat\\nb,ada,cat,dog\\n")
    >>> named = read_panel(folder / "cases.npz", folder / "answers.csv")
    >>> named.panel, named.classes
    (Panel(1 experts, 2 answers, 2 cases, 2 roles), ('cat', 'dog'))
    """
    file = (cases if isinstance(cases, CaseFile) else read_cases(cases)).of_classes(classes)
    table = read_answer_file(answers)
    names, is_guess = _settled(file, table)
    with said_of(table.path, table.place, table.unit):
        return _named(file, table, names, is_guess, skip_unknown)


def _settled(file: CaseFile, table: AnswerFile) -> tuple[tuple[str, ...] | None, bool]:
    """The names of the classes in the order of the posterior's columns, and whether that order is a guess."""
    if file.classes is not None:
        return file.classes, False
    names = sorted({*table.names(), *file.label_names})
    numbers = [one for one in names if is_number(one)]
    if numbers == names:
        return None, False
    if numbers:
        raise LabelError(
            "Classes are names in some places and numbers in others.",
            f"{numbers[0]!r} beside {', '.join(repr(one) for one in names if one not in numbers)[:60]}, "
            f"in '{table.path}' and '{file.path}'.",
            "Give all as names, or all as numbers from 0; where the names are numbers, --classes lists them.",
            names=names,
        )
    if len(names) != file.cases.n_roles:
        shown = ", ".join(names[:12]) + f", … ({len(names)})" * (len(names) > 12)
        raise ClassNamesError(
            "Which column of the posterior is which class is not known.",
            f"'{table.path}' and '{file.path}' have {len(names)} names ({shown}); the posterior has "
            f"{file.cases.n_roles} columns.",
            "Name the columns in their order, and after them answers that the classifier cannot give: "
            "--classes \"a,b,other\" (classes=[…] in Python), or an array 'classes' in the file of cases.",
            names=names,
        )
    return tuple(names), True


def _named(
    file: CaseFile, table: AnswerFile, names: tuple[str, ...] | None, is_guess: bool, skip_unknown: bool
) -> NamedPanel:
    answer = table.class_column("answer", names)
    case_of = pc.index_in(as_text(table.table["item"].combine_chunks(), "item"), value_set=pa.array(file.ids, TEXT))
    answered = answer.is_valid()
    unknown = pc.and_(answered, case_of.is_null())
    n_unknown = pc.sum(unknown).as_py() or 0
    _refuse_unknown(file, table, unknown, n_unknown, skip_unknown)
    truth = _truth(file, table, names, case_of)
    unlabelled = pc.and_(pc.and_(answered, truth.is_null()), pc.invert(unknown))
    n_unlabelled = pc.sum(unlabelled).as_py() or 0
    kept = pc.invert(pc.or_(unknown, unlabelled))
    long = {
        "expert": table.table["expert"],
        "item": table.table["item"],
        "answer": pc.if_else(kept, answer, pa.scalar(None, answer.type)),
        "label": truth,
    }
    read = read_answers(pa.table(long), file.ids, names, file.cases.n_roles)
    if read.label is None or not len(read.answer):
        raise LabelError(
            "No answer has a known truth, so none can show competence.",
            f"{n_unlabelled} answers to cases without a label, {n_unknown} to unknown cases.",
            "Give 'label' in the file of cases or beside the answers.",
        )
    # a case whose truth depends on who is asked takes a row for each truth; cases nobody answered take none
    n_roles = file.cases.n_roles
    pair, row = np.unique(read.item * n_roles + read.label, return_inverse=True)
    case = pair // n_roles
    panel = Panel.from_answers(
        file.cases[torch.from_numpy(case)],
        torch.from_numpy(pair % n_roles),
        expert=read.expert,
        item=row,
        answer=read.answer,
        experts=read.experts,
    )
    return NamedPanel(panel, tuple(file.ids[one] for one in case.tolist()), names, is_guess, n_unlabelled, n_unknown)


def _truth(file: CaseFile, table: AnswerFile, names: tuple[str, ...] | None, case_of: pa.Array) -> pa.Array:
    """The truth of each row: beside the answer, else the case's own; null where neither is known."""
    own = file.labels(names).numpy()
    of_case = np.where(case_of.is_valid(), own[np.asarray(case_of.fill_null(0))], NO_ANSWER)
    missing = of_case == NO_ANSWER
    if names is None:
        by_case: pa.Array = pa.array(of_case, mask=missing)
    else:
        by_case = pa.array(np.array(names, dtype=object)[of_case], TEXT, mask=missing)
    if not table.has_label:
        return by_case
    beside = table.class_column("label", names)
    kind = TEXT if names is not None else pa.int64() if pa.types.is_integer(beside.type) else pa.float64()
    return pc.coalesce(beside.cast(kind, safe=False), by_case.cast(kind))


def _refuse_unknown(file: CaseFile, table: AnswerFile, unknown: pa.Array, n_unknown: int, skip_unknown: bool) -> None:
    n_answers = len(unknown)
    if not n_unknown or (skip_unknown and n_unknown < n_answers):
        return
    rows = np.flatnonzero(unknown.to_numpy(zero_copy_only=False))
    item = table.table["item"][int(rows[0])].as_py()
    said = "An empty cell" if item is None else repr(item)
    raise UnknownItemError(
        "Answers name items that no case carries.",
        f"{said}; {n_unknown} of {n_answers} answers. The cases in '{file.path}' are called {file.ids[0]!r} "
        f"to {file.ids[-1]!r}."
        if file.ids
        else f"{said}; '{file.path}' holds no cases.",
        "Mend the ids, which are compared as text, or leave such answers out with --skip-unknown "
        "(skip_unknown=True in Python).",
        rows=rows.tolist(),
        column="item",
    )
