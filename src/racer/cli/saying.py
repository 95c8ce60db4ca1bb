"""What commands print: results on standard output, remarks on standard error."""

import sys
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from racer.files import NamedPanel
from racer.panel import Panel

__all__ = ["experts_table", "say", "say_reading", "table"]


FEW = 12
"""Experts whose names are worth a line: a column that is no expert shows."""


def say(text: str) -> None:
    """A result. Names of experts are printed as they are, not read as markup."""
    Console(highlight=False, markup=False, soft_wrap=True).print(text)


def remark(text: str) -> None:
    """Something to know, not part of the result."""
    print(f"note: {text}", file=sys.stderr)


def say_reading(named: NamedPanel) -> None:
    """What was read, and what was left out of it."""
    panel = named.panel
    right = float(panel.right.double().mean())
    model = float((panel.cases.prediction == panel.label).double().mean())
    say(
        f"{len(panel):,} experts, {panel.n_answers:,} labelled answers to {len(panel.cases):,} cases, "
        f"{panel.n_roles} classes; experts right {right:.1%}, the model {model:.1%}"
    )
    if len(panel) <= FEW:
        say(f"experts: {', '.join(panel.experts)}")
    if named.n_unlabelled:
        remark(f"answers left out because their case has no label: {named.n_unlabelled:,}.")
    if named.n_unknown:
        remark(f"answers left out because no case carries their item: {named.n_unknown:,}.")
    if named.is_sorted_guess and named.classes:
        remark(
            f"the posterior's columns were taken to be, in this order: {', '.join(named.classes)}. "
            "If they are not, say so with --classes."
        )


def table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """A table; the first column is text, the others are numbers."""
    drawn = Table(box=None, pad_edge=False, show_edge=False)
    for place, name in enumerate(columns):
        drawn.add_column(name, justify="right" if place else "left", no_wrap=True)
    for row in rows:
        drawn.add_row(*(Text(" ".join(cell.split())) for cell in row))
    console = Console(highlight=False)
    # into a file or a pipe it goes whole; a terminal's width is the reader's
    console.print(drawn, width=None if console.is_terminal else console.measure(drawn).maximum)


def experts_table(panel: Panel, most: int = 30) -> None:
    """Who is enrolled, with how many answers, and how often they were right."""
    n, right = panel.count.sum(1).tolist(), panel.n_right.sum(1).tolist()
    roles = (panel.count > 0).sum(1).tolist()
    rows = [
        (expert, f"{answers:,}", f"{correct / answers:.3f}" if answers else "–", f"{shown} of {panel.n_roles}")
        for expert, answers, correct, shown in list(zip(panel.experts, n, right, roles, strict=True))[:most]
    ]
    table(["expert", "answers", "right", "classes shown"], rows)
    if len(panel) > most:
        say(f"… and {len(panel) - most:,} more")
