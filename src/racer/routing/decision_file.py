"""Decisions in a file, one row a case: CSV or parquet.

id, deferred, who                 the case; whether an expert answers; the expert's id, or "model"
model_answer, confidence          the model's own answer, and p_max
candidate, gain, p_right          the expert asked, or nearest to it; what asking adds, less costs; q̂
evidence, insufficient            effective number of similar past answers; whether that is too little
speaks_for, speaks_against        past cases that weigh most, the heaviest first, between bars
p_right:<expert>                  q̂ of every expert
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from torch import Tensor

from racer.routing.decision import Decision, Witnesses
from racer.routing.origin import Origin

__all__ = ["decision_table", "write_decisions"]

BETWEEN = " | "
DECIMALS = 6


def write_decisions(decision: Decision, ids: Sequence[str], origin: Origin, path: Path, *, is_parquet: bool) -> None:
    """Write the table of a decision; `ids` name its cases."""
    table = decision_table(decision, ids, origin)
    if is_parquet:
        pa.parquet.write_table(table, path)
    else:
        pa.csv.write_csv(table, path)


def decision_table(decision: Decision, ids: Sequence[str], origin: Origin) -> pa.Table:
    """The columns above; those of probabilities are missing where the method has none.

    >>> from racer import Budget, Cases, Context, RacerKNN, Router
    >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]] * 10, [[0.9, 0.1], [0.6, 0.4]] * 10)
    >>> router = Router(RacerKNN(), Budget(0.5))
    >>> router.enroll("ada", Context(cases, label=[0] * 20, answer=[0] * 20))
    >>> table = decision_table(router.route(cases[:2]), ["a", "b"], Origin(classes=("cat", "dog")))
    >>> table["who"].to_pylist(), table["model_answer"].to_pylist(), table["p_right:ada"].to_pylist()
    (['model', 'ada'], ['cat', 'cat'], [1.0, 1.0])
    """
    p_right = decision.p_right
    # an expert may be called so, too
    model = "(model)" if "model" in decision.experts else "model"
    columns: dict[str, Any] = {
        "id": pa.array(ids, pa.string()),
        "deferred": decision.is_deferred.numpy(),
        "who": pa.array([one or model for one in decision.names], pa.string()),
        "model_answer": pa.array([origin.class_name(one) for one in decision.prediction.tolist()], pa.string()),
        "confidence": _rounded(decision.confidence),
        "candidate": pa.array(
            [decision.experts[one] if one >= 0 else None for one in decision.candidate.tolist()], pa.string()
        ),
        "gain": _of_candidate(decision.gain, decision),
        "p_right": None if p_right is None else _of_candidate(p_right, decision),
        "evidence": _rounded(decision.evidence),
        "insufficient": decision.is_insufficient.numpy(),
        "speaks_for": _named(decision.speaks_for, decision.items),
        "speaks_against": _named(decision.speaks_against, decision.items),
    }
    if p_right is not None:
        columns |= {f"p_right:{name}": row for name, row in zip(decision.experts, _rounded(p_right), strict=True)}
    return pa.table({name: values for name, values in columns.items() if values is not None})


def _rounded(values: Tensor) -> np.ndarray:
    rounded: np.ndarray = values.detach().double().cpu().numpy().round(DECIMALS)
    return rounded


def _of_candidate(values: Tensor, decision: Decision) -> pa.Array:
    nobody = (decision.candidate < 0).numpy()
    if not len(decision.experts):
        return pa.nulls(len(decision), pa.float64())
    picked = values.gather(0, decision.candidate.clamp(min=0)[None])[0]
    return pa.array(_rounded(picked), mask=nobody)


def _named(witnesses: Witnesses, items: Sequence[str]) -> pa.Array:
    rows = witnesses.item.tolist()
    return pa.array([BETWEEN.join(items[one] for one in row if one >= 0) for row in rows], pa.string())
