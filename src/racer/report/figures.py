"""The figures of a report, each narrow enough for a phone."""

import unicodedata
from typing import Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter

from racer.evaluation import Compared, Evaluation
from racer.evaluation.comparison import LEVEL
from racer.report.theme import COLOURS, RC

__all__ = [
    "COUNTS_UP_TO",
    "LEAST_IN_BIN",
    "MOST_EXPERTS",
    "MOST_ROLES",
    "accuracy_figure",
    "competence_figure",
    "evidence_figure",
    "reliability_figure",
]

WIDTH = 4.8
MOST_EXPERTS, MOST_ROLES = 40, 18
"""Rows and columns drawn; those with most questions. The page's tables and metrics.json hold all."""
LEAST_IN_BIN = 10
"""Questions for a share of right answers to mean anything."""
COUNTS_UP_TO = 10
"""Roles, for the counts under the estimates to be readable."""
LINES = {
    "best expert": (COLOURS["best"], (0, (6, 2))),
    "confidence only": (COLOURS["confidence"], (0, (3, 1.5))),
    "random": (COLOURS["random"], (0, (1, 1.5))),
    "always the model": (COLOURS["ink"], "-"),
    "oracle": (COLOURS["oracle"], (0, (8, 2, 1, 2))),
}


@matplotlib.rc_context(RC)
def accuracy_figure(rules: tuple[Compared, ...]) -> Figure:
    """System accuracy against the budget, with the method's band."""
    figure, axes = _figure(4.3)
    method = rules[0].curve
    for one in rules[:2]:  # bands of all six would hide each other; metrics.json has them
        colour, curve = LINES.get(one.name, (COLOURS["method"], "-"))[0], one.curve
        axes.fill_between(curve.budget, curve.low, curve.high, color=colour, alpha=0.16, linewidth=0)
    axes.plot(method.budget, method.accuracy, color=COLOURS["method"], linewidth=2.4, label=rules[0].name)
    for one in rules[1:]:
        colour, dashes = LINES[one.name]
        axes.plot(
            one.curve.budget,
            one.curve.accuracy,
            color=colour,
            linestyle=dashes,
            linewidth=1 if dashes == "-" else 1.6,
            label=one.name,
        )
    axes.set(xlabel="budget: share of cases handed over", ylabel="accuracy, model and experts", xlim=(0, 1))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(FuncFormatter(lambda share, _: f"{100 * share:.4g}%"))
    figure.legend(loc="outside lower center", ncols=2, title=f"shaded: {LEVEL:.0%} interval over cases")
    return figure


@matplotlib.rc_context(RC)
def reliability_figure(found: Evaluation) -> Figure | None:
    """How often experts were right, against the probability given; None where a method gives none."""
    known = [group for group in found.groups if group.calibration is not None]
    if not known:
        return None
    figure, axes = _figure(4.6)
    axes.plot([0, 1], [0, 1], color=COLOURS["muted"], linestyle=(0, (2, 2)), linewidth=1, label="as promised")
    marks = {"all": ("method", "o"), "seen": ("confidence", "s"), "unseen": ("best", "^")}
    for group in known:
        table = group.calibration.table if group.calibration else None
        assert table is not None
        colour, mark = marks[group.name]
        some = (table.count >= LEAST_IN_BIN).numpy()
        size = 12 + 160 * (table.count / table.count.sum()).numpy()[some]
        x, y = table.mean_predicted.numpy()[some], table.mean_correct.numpy()[some]
        label = f"{group.name} experts, ECE {table.error:.3f}"
        axes.plot(x, y, color=COLOURS[colour], linewidth=1, alpha=0.6)
        axes.scatter(x, y, s=size, marker=mark, color=COLOURS[colour], alpha=0.8, linewidths=0, label=label)
    axes.set(
        xlabel="probability given that the expert is right", ylabel="share that was right", xlim=(0, 1), ylim=(0, 1)
    )
    figure.legend(loc="outside lower center", ncols=1)
    return figure


@matplotlib.rc_context(RC)
def competence_figure(found: Evaluation, class_names: list[str]) -> Figure:
    """Estimated competence by expert and true class, and under it how many answers were right of how many asked."""
    expert, role = _most_asked(found)
    n = found.n[expert][:, role].numpy()
    happened = np.divide(found.n_right[expert][:, role].numpy(), n, out=np.full(n.shape, np.nan), where=n > 0)
    shown = happened
    if found.predicted is not None:
        shown = np.divide(found.predicted[expert][:, role].numpy(), n, out=np.full(n.shape, np.nan), where=n > 0)
    with_counts = len(role) <= COUNTS_UP_TO
    figure, axes = _figure(1.5 + (0.36 if with_counts else 0.24) * len(expert))
    axes.grid(False)
    for row, column in np.argwhere(n > 0):
        value = shown[row, column]
        # from "hardly ever" to "always"; the text on it stays legible in both themes
        alpha = 0.05 + 0.6 * max(0.0, (value - 0.2) / 0.8) ** 2
        cell = Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=COLOURS["method"], alpha=alpha, linewidth=0)
        axes.add_patch(cell)
        if not with_counts:
            axes.text(column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=7)
        else:
            axes.text(column, row - 0.16, f"{100 * value:.0f}", ha="center", va="center", fontsize=8.5)
            text = f"{found.n_right[expert[row], role[column]]}/{n[row, column]}"
            axes.text(column, row + 0.24, text, ha="center", va="center", fontsize=7, color=COLOURS["ink"])
    _rows(axes, [found.experts[one].expert for one in expert])
    turned: Any = {"rotation": 45, "ha": "right"} if with_counts else {"rotation": 90, "fontsize": 8}
    axes.set_xticks(range(len(role)), [_short(class_names[one], 22) for one in role], **turned)
    axes.set(xlim=(-0.5, len(role) - 0.5), xlabel="true class", ylabel="expert")
    return figure


@matplotlib.rc_context(RC)
def evidence_figure(found: Evaluation, least: float) -> Figure:
    """Effective number of similar same-role answers behind each expert's probabilities."""
    expert, _ = _most_asked(found)
    low, lower, middle, upper, high = found.evidence[expert].numpy().T
    figure, axes = _figure(1.5 + 0.24 * len(expert))
    row = np.arange(len(expert))
    axes.axvspan(0, least, color=COLOURS["best"], alpha=0.12, linewidth=0, label=f"below {least:g}: too few to say")
    axes.hlines(row, low, high, color=COLOURS["method"], linewidth=1.2, label="10 to 90% of the questions")
    axes.hlines(row, lower, upper, color=COLOURS["method"], linewidth=4, alpha=0.55, label="the middle half")
    axes.plot(middle, row, "o", color=COLOURS["method"], markersize=4, label="median")
    _rows(axes, [found.experts[one].expert for one in expert])
    axes.set(xlabel="effective number of similar past answers", ylabel="expert")
    axes.set_xlim(0, max(1.1 * float(high.max()), 1.2 * least))
    figure.legend(loc="outside lower center", ncols=2)
    return figure


def _figure(height: float) -> tuple[Figure, Axes]:
    figure = Figure(figsize=(WIDTH, height), layout="constrained")
    return figure, figure.subplots()


def _rows(axes: Axes, names: list[str]) -> None:
    axes.set_yticks(range(len(names)), [_short(one, 18) for one in names], fontsize=9)
    axes.set_ylim(len(names) - 0.5, -0.5)


def _most_asked(found: Evaluation) -> tuple[list[int], list[int]]:
    """Experts and roles with most questions, in their own order."""
    expert = found.n.sum(1).argsort(descending=True, stable=True)[:MOST_EXPERTS].sort().values
    role = found.n.sum(0).argsort(descending=True, stable=True)[:MOST_ROLES].sort().values
    role = role[found.n.sum(0)[role] > 0]
    return expert.tolist(), role.tolist()


def _short(name: str, most: int) -> str:
    """A name that fits, cut in the middle, without characters that XML does not take."""
    clean = "".join("\N{REPLACEMENT CHARACTER}" if unicodedata.category(one) in ("Cc", "Cs") else one for one in name)
    half = (most - 1) // 2
    return clean if len(clean) <= most else f"{clean[: most - 1 - half]}…{clean[-half:]}"
