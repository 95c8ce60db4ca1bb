"""`racer fit`: from cases and answers to a router."""

from pathlib import Path
from typing import Annotated

import typer

from racer.cli.options import Annotations, CasesFile, Classes, ContextSize, Seed, SkipUnknown, listed

__all__ = ["fit"]

FEW = 10
"""Experts below which a fitted head may be worse than none."""


def fit(
    cases: CasesFile,
    annotations: Annotations,
    out: Annotated[Path, typer.Option("--out", help="The router's folder.")],
    method: Annotated[str, typer.Option("--method", help="Which method; their names stand above.")] = ("racer-kernel"),
    context_size: ContextSize = 100,
    seed: Seed = 0,
    classes: Classes = None,
    skip_unknown: SkipUnknown = False,
) -> None:
    """Learn from past answers whom to ask.

    Writes a router: the fitted method, and every expert with all labelled answers. New experts join it later without
    another fit.

    Methods: classifier-confidence, global-accuracy, class-gated, ifd-score, ifd-mlp, racer-knn, racer-kernel,
    racer-deepsets.
    """
    from racer.cli.cautions import doubts
    from racer.cli.saying import remark, say, say_reading
    from racer.files import read_panel
    from racer.methods import method_class
    from racer.routing import Origin, Router
    from racer.routing.router_file import OURS
    from racer.writing import whole_folder

    kind = method_class(method)
    if (out / "router.json").exists():
        remark(f"this replaces the router in {out}, with everybody who joined it.")
    with whole_folder(out, OURS) as folder:
        named = read_panel(cases, annotations, classes=listed(classes), skip_unknown=skip_unknown)
        say_reading(named)
        for doubt in doubts(named):
            remark(doubt)
        shown = int(named.panel.count.sum(1).median())
        if shown < context_size:
            remark(f"experts gave {shown} answers (median), fewer than --context-size {context_size}.")
        if kind.learns_from_experts and len(named.panel) < FEW:
            remark(
                f"{method} learns from experts, and {len(named.panel)} are few: it stops by a fifth of them. Compare "
                "with racer-knn and ifd-score, which need no fitting, and with global-accuracy."
            )
        fitted = kind().fit(named.panel, context_size=context_size, seed=seed)
        origin = Origin(named.classes, named.panel.experts, context_size, seed)
        Router(fitted, panel=named.panel, items=named.items, origin=origin).write(folder)
    say(f"Fitted {method}; the router is in {out}")
