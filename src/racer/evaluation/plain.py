"""An evaluation as JSON has it: `metrics.json`.

Numbers that do not exist (a calibration of a method without probabilities) are null, never NaN.
"""

import math
from collections.abc import Sequence
from typing import Any

from racer.evaluation.comparison import AT, Compared
from racer.evaluation.evaluation import QUANTILES, Evaluation, ExpertRow
from racer.evaluation.group import Group
from racer.metrics import Interval, Reliability
from racer.version import VERSION

__all__ = ["to_plain_evaluation"]


def to_plain_evaluation(found: Evaluation, class_names: list[str], notes: Sequence[str] = ()) -> dict[str, Any]:
    """Everything in the report, and the curves behind it.

    >>> from racer import RacerKNN
    >>> from racer.checks import make_world
    >>> from racer.evaluation import evaluate
    >>> plain = to_plain_evaluation(evaluate(RacerKNN(), make_world().panel, context_size=10), list("abcd"))
    >>> sorted(plain)
    ['context_size', 'experts', 'format', 'groups', 'method', 'notes', 'racer', 'roles', 'seed', 'verdict', 'version']
    """
    return {
        "format": "racer-metrics",
        "version": 1,
        "racer": VERSION,
        "method": found.method,
        "context_size": found.context_size,
        "seed": found.seed,
        "verdict": found.everybody.sentence,
        "notes": list(notes),
        "groups": {group.name: _group(group) for group in found.groups},
        "experts": [_expert(row, one, found) for row, one in enumerate(found.experts)],
        "roles": class_names,
    }


def _group(group: Group) -> dict[str, Any]:
    calibration = group.calibration
    return {
        "sentence": group.sentence,
        "n_experts": len(group.experts),
        "n_cases": group.n_cases,
        "n_answers": group.n_answers,
        "model_accuracy": group.model_accuracy,
        "expert_accuracy": group.expert_accuracy,
        "deferring_helps": None if group.verdict is None else group.verdict.helps,
        "over_model": None if group.verdict is None else _interval(group.verdict.over_model),
        "budgets": None if group.verdict is None else list(group.verdict.chosen),
        "rules": {one.name: _rule(one) for one in group.rules},
        "gain_over_confidence_alone": None if group.gain_alone is None else _interval(group.gain_alone),
        "speaks_of_others": group.speaks_of_others,
        "brier": None if calibration is None else calibration.brier,
        "ece": None if calibration is None else calibration.ece,
        "reliability": None if calibration is None else _reliability(calibration.table),
    }


def _rule(one: Compared) -> dict[str, Any]:
    return {
        "aursac": _interval(one.aursac),
        "method_less_this": None if one.behind is None else _interval(one.behind),
        "accuracy_at": {f"{budget:.2f}": one.accuracy_at(budget) for budget in AT},
        "curve": {
            "budget": one.curve.budget.tolist(),
            "accuracy": one.curve.accuracy.tolist(),
            "low": one.curve.low.tolist(),
            "high": one.curve.high.tolist(),
        },
    }


def _interval(interval: Interval) -> dict[str, float]:
    return {name: getattr(interval, name) for name in ("estimate", "low", "high", "level")}


def _reliability(table: Reliability) -> dict[str, Any]:
    return {
        "edges": table.edges.tolist(),
        "count": table.count.tolist(),
        "mean_predicted": [_number(one) for one in table.mean_predicted.tolist()],
        "mean_correct": [_number(one) for one in table.mean_correct.tolist()],
    }


def _expert(row: int, one: ExpertRow, found: Evaluation) -> dict[str, Any]:
    evidence = zip(QUANTILES, found.evidence[row].tolist(), strict=True)
    return {
        **vars(one),
        "evidence_quantiles": {f"{share:.2f}": value for share, value in evidence},
        "n_by_role": found.n[row].tolist(),
        "right_by_role": found.n_right[row].tolist(),
        "competence_by_role": None
        if found.predicted is None
        else [_number(one) for one in (found.predicted[row] / found.n[row]).tolist()],
    }


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None
