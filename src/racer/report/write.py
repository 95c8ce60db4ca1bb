"""`index.html`, `metrics.json` and the figures, into one folder."""

import json
from collections.abc import Sequence
from pathlib import Path

import jinja2

from racer.evaluation import Evaluation, to_plain_evaluation
from racer.evaluation.comparison import AT
from racer.report.figures import (
    COUNTS_UP_TO,
    LEAST_IN_BIN,
    MOST_EXPERTS,
    MOST_ROLES,
    accuracy_figure,
    competence_figure,
    evidence_figure,
    reliability_figure,
)
from racer.report.theme import VARIABLES, inline_svg, standalone_svg
from racer.routing import Evidence
from racer.version import VERSION

__all__ = ["REPORT_FILES", "write_report"]

REPORT_FILES = r"index\.html|metrics\.json|(accuracy|reliability|competence|evidence)\.svg"
"""A pattern of the files that a report consists of."""
TITLES = {
    "accuracy": "Accuracy of model and experts together, against the budget",
    "reliability": "How often experts were right, against the probability given",
    "competence": "Estimated competence by expert and true class",
    "evidence": "Effective number of similar past answers, by expert",
}


def write_report(
    found: Evaluation, folder: Path, classes: Sequence[str] | None = None, notes: Sequence[str] = ()
) -> None:
    """Write the report into a folder that is there. `classes` names the posterior's columns; `notes` stand on top."""
    names = [str(one) for one in range(found.n.shape[1])] if classes is None else list(classes)
    drawn = {
        "accuracy": accuracy_figure(found.everybody.rules) if found.everybody.rules else None,
        "reliability": reliability_figure(found),
        "competence": competence_figure(found, names),
        "evidence": evidence_figure(found, Evidence().least),
    }
    svg = {name: inline_svg(figure, name, TITLES[name]) for name, figure in drawn.items() if figure is not None}
    for name, text in svg.items():
        (folder / f"{name}.svg").write_text(standalone_svg(text), encoding="utf-8")
    plain = to_plain_evaluation(found, names, notes)
    (folder / "metrics.json").write_text(json.dumps(plain, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    (folder / "index.html").write_text(_page(found, svg, len(names), notes), encoding="utf-8")


def _page(found: Evaluation, svg: dict[str, str], n_roles: int, notes: Sequence[str]) -> str:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("racer.report", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(
        found=found,
        everybody=found.everybody,
        svg=svg,
        titles=TITLES,
        variables=VARIABLES,
        budgets=AT,
        least=Evidence().least,
        n_roles=n_roles,
        notes=notes,
        least_in_bin=LEAST_IN_BIN,
        counts_up_to=COUNTS_UP_TO,
        most_experts=MOST_EXPERTS,
        most_roles=MOST_ROLES,
        version=VERSION,
    )
