"""What methods take as evidence: one expert's context, or a panel of several."""

from racer.context import Context
from racer.errors import ShapeError
from racer.panel import Panel

__all__ = ["panel_of"]


def panel_of(evidence: Context | Panel) -> Panel:
    """The panel itself, or a context as a panel of one, indexed once and kept with the context."""
    if isinstance(evidence, Panel):
        return evidence
    if not isinstance(evidence, Context):
        raise ShapeError(
            "The evidence must be a Context or a Panel.",
            f"Got a {type(evidence).__name__}.",
            "Queries come first: method.competence(queries, context).",
        )
    if "_panel" not in evidence.__dict__:
        panel = Panel(evidence.cases, evidence.label, evidence.answer[None], experts=("context",))
        evidence.__dict__["_panel"] = panel
    kept: Panel = evidence.__dict__["_panel"]
    return kept
