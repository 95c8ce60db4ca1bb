"""`racer route`: who answers each new case."""

from pathlib import Path
from typing import Annotated

import typer

from racer.cli.options import CasesFile, RouterFolder, by_expert

__all__ = ["route"]

PARQUET = (".parquet", ".pq")


def route(
    router: RouterFolder,
    cases: CasesFile,
    out: Annotated[Path, typer.Option("--out", help="Decisions: .csv, or .parquet.")],
    budget: Annotated[
        float | None,
        typer.Option("--budget", help="Hand over exactly this share of the cases, rounded down: 0.2, say."),
    ] = None,
    threshold: Annotated[
        float | None,
        typer.Option("--threshold", help="Hand over where the gain is at least this; without --budget, 0."),
    ] = None,
    experts: Annotated[
        list[str] | None, typer.Option("--experts", help="Who may be asked, as a,b; otherwise everybody enrolled.")
    ] = None,
    cost: Annotated[
        list[str] | None,
        typer.Option(
            "--cost", help="What asking takes, in accuracy: a=0.05 (again for others), or one number for all."
        ),
    ] = None,
    capacity: Annotated[
        list[str] | None,
        typer.Option("--capacity", help="The most cases somebody takes: a=40 (again for others), or one for each."),
    ] = None,
) -> None:
    """Decide who answers: the model, or which expert.

    One row a case: who, the model's answer and confidence, the probability that the expert is right, how much evidence
    stands behind it, which past cases speak for and against, and every expert's probability.
    """
    if budget is not None and threshold is not None:
        raise typer.BadParameter(
            "give one of them: a share of the batch, or a gain.", param_hint="'--budget', '--threshold'"
        )
    if budget is not None and not 0 <= budget <= 1:
        raise typer.BadParameter(f"{budget:g} is no share of the cases; 0.25 is a quarter.", param_hint="'--budget'")
    if out.suffix.lower() not in (".csv", *PARQUET):
        raise typer.BadParameter("decisions are written as .csv or .parquet.", param_hint="'--out'")
    place = out.resolve()
    if place == cases.resolve() or router.resolve() in place.parents:
        raise typer.BadParameter("that would replace what is read here; name another file.", param_hint="'--out'")
    costs, limits = by_expert(cost or [], "--cost", float), by_expert(capacity or [], "--capacity", int)
    from racer.cli.decisions import on_duty, policy_of, say_decision
    from racer.cli.saying import remark
    from racer.files import read_cases
    from racer.files.saying import said_of
    from racer.routing import Router
    from racer.routing.decision_file import write_decisions
    from racer.writing import whole_file

    with whole_file(out) as hidden:
        found = Router.load(router)
        file = read_cases(cases).of_classes(found.origin.classes)
        policy = policy_of(found, budget, threshold, costs, limits)
        with said_of(cases):
            found.require_same_space(file.cases)
        decision = found.route(file.cases, experts=on_duty(found, experts), policy=policy, progress=None)
        write_decisions(decision, file.ids, found.origin, hidden, is_parquet=out.suffix.lower() in PARQUET)
        again = len(set(file.ids) & set(found.items))
    say_decision(decision)
    if again:
        remark(f"{again:,} of these cases are among the past answers, and speak for themselves.")
    typer.echo(f"The decisions are in {out}")
