"""`racer evaluate`: does it pay?"""

from pathlib import Path
from typing import Annotated

import typer

from racer.cli.options import Annotations, CasesFile, RouterFolder, Seed, SkipUnknown

__all__ = ["evaluate"]

FEW = 5
"""Experts whose names are worth a line."""
BUDGETS = (0.1, 0.2, 0.5)
"""Those that fit a terminal of eighty columns; the report has more."""


def evaluate(
    router: RouterFolder,
    cases: CasesFile,
    annotations: Annotations,
    out: Annotated[Path, typer.Option("--out", help="The report's folder: index.html, metrics.json, figures.")],
    context_size: Annotated[
        int | None,
        typer.Option("--context-size", min=0, help="How many answers each expert shows; by default as in the fit."),
    ] = None,
    seed: Seed = 0,
    skip_unknown: SkipUnknown = False,
) -> None:
    """Say whether deferring helps, and write a report.

    Each expert shows part of the labelled answers in the file, at most half, and is scored on the others. Experts seen
    in fitting and experts not met before are reported apart. The cases must be others than those of the fit.
    """
    from racer.cli.cautions import cautions, doubts
    from racer.cli.saying import remark, say, say_reading, table
    from racer.evaluation import evaluate as evaluate_method
    from racer.files import read_panel
    from racer.files.saying import said_of
    from racer.report import REPORT_FILES, write_report
    from racer.routing import Router
    from racer.writing import whole_folder

    with whole_folder(out, REPORT_FILES) as folder:
        found = Router.load(router)
        named = read_panel(cases, annotations, classes=found.origin.classes, skip_unknown=skip_unknown)
        with said_of(cases):
            found.require_same_space(named.panel.cases)
        say_reading(named)
        size = context_size if context_size is not None else found.origin.context_size
        result = evaluate_method(
            found.method,
            named.panel,
            context_size=100 if size is None else size,
            seen=found.origin.fitted_on,
            seed=seed,
            progress=None,
        )
        notes = [*doubts(named), *cautions(result, again=len(set(named.items) & set(found.items)))]
        write_report(result, folder, found.origin.classes, notes)
    group = result.everybody
    say(
        f"{group.n_answers:,} answers to {group.n_cases:,} cases asked, the others shown; experts right "
        f"{group.expert_accuracy:.1%}, the model {group.model_accuracy:.1%}"
    )
    rows = [
        (
            one.name,
            f"{one.aursac.estimate:.4f}",
            ""
            if one.behind is None
            else f"{one.behind.estimate:+.4f} ({one.behind.low:+.4f} to {one.behind.high:+.4f})",
            *(f"{one.accuracy_at(budget):.3f}" for budget in BUDGETS),
        )
        for one in result.everybody.rules
    ]
    say("")
    table(["rule", "AURSAC", "racer less this", *(f"at {budget:.0%}" for budget in BUDGETS)], rows)
    for group in result.groups[1:]:
        who = f": {', '.join(group.experts)}" if len(group.experts) <= FEW else ""
        say(f"\n{group.name.capitalize()} in fitting ({len(group.experts)}{who}): {group.sentence}")
    for note in notes:
        remark(note)
    say(f"\nAll ({len(result.experts)}): {result}")
    say(f"\nThe report is in {out / 'index.html'}")
