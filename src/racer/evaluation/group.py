"""What came of a trial for a group of experts: all of them, those seen in fitting, those not.

*Together*: each case goes to whom the rule names, as a router would. *Alone*: each expert is the only one there is, as
in the paper; the mean over experts, which speaks of others like them where there are ten or more.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from racer.errors import TooFewAnswersError
from racer.evaluation.comparison import LEVEL, Compared, compare, n_replicates
from racer.evaluation.estimates import Estimates
from racer.evaluation.rules import Rule, rules
from racer.evaluation.sentence import sentence, too_few
from racer.evaluation.trial import Trial
from racer.metrics import Interval, Reliability, Resample, Verdict, bootstrap_gain, brier, reliability, verdict
from racer.metrics.verdict import LEAST_EXPERTS

__all__ = ["Calibration", "Group", "judge"]

BINS = 15


@final
@dataclass(frozen=True, eq=False)
class Calibration:
    """q̂ against what happened, over all questions of a group."""

    brier: float
    ece: float
    table: Reliability


@final
@dataclass(frozen=True, eq=False)
class Group:
    """`rules` compares together, the method first; `gain_alone` is the AURSAC over confidence, alone.

    `verdict` is None where there are too few cases to say anything; `sentence` says so.
    """

    name: str
    experts: tuple[str, ...]
    n_cases: int
    n_answers: int
    model_accuracy: float
    expert_accuracy: float
    rules: tuple[Compared, ...]
    verdict: Verdict | None
    sentence: str
    gain_alone: Interval | None
    speaks_of_others: bool
    calibration: Calibration | None

    def rule(self, name: str) -> Compared:
        """One of the rules."""
        return next(one for one in self.rules if one.name == name)


def judge(
    name: str, method: str, trial: Trial, estimates: Estimates, rows: Int[Tensor, " chosen"], rng: np.random.Generator
) -> Group:
    """Everything there is to say of the experts in `rows`."""
    among, item = rules(method, trial, estimates, rows, rng)
    asked, right = trial.asked[rows][:, item], trial.right[rows][:, item]
    model_right = trial.model_right[item]
    compared = compare(among, model_right, rng) if len(item) > 1 else ()
    found = _verdict(among[0], trial, item, rng)
    return Group(
        name=name,
        experts=tuple(trial.experts[row] for row in rows.tolist()),
        n_cases=len(item),
        n_answers=int(asked.sum()),
        model_accuracy=float(model_right.double().mean()),
        expert_accuracy=float(right[asked].double().mean()),
        rules=compared,
        verdict=found,
        sentence=too_few(len(item)) if found is None else sentence(method, found, compared, len(item), len(rows)),
        gain_alone=_gain_alone(trial, estimates, rows, item, rng),
        speaks_of_others=len(rows) >= LEAST_EXPERTS,
        calibration=_calibration(estimates, trial, rows),
    )


def _verdict(rule: Rule, trial: Trial, item: Int[Tensor, " item"], rng: np.random.Generator) -> Verdict | None:
    try:
        return verdict(
            rule.score[0],
            rule.right[0],
            trial.model_right[item],
            confidence=trial.queries.confidence[item],
            seed=rng,
            n_replicates=n_replicates(len(item)),
            level=LEVEL,
        )
    except TooFewAnswersError:
        return None


def _gain_alone(
    trial: Trial,
    estimates: Estimates,
    rows: Int[Tensor, " chosen"],
    item: Int[Tensor, " item"],
    rng: np.random.Generator,
) -> Interval | None:
    try:
        return bootstrap_gain(
            estimates.score[rows][:, item],
            -trial.queries.confidence[item].double(),
            trial.right[rows][:, item],
            trial.model_right[item],
            trial.asked[rows][:, item],
            seed=rng,
            resample=Resample.BOTH if len(rows) >= LEAST_EXPERTS else Resample.CASES,
            n_replicates=n_replicates(len(rows) * len(item)),
            level=LEVEL,
        )
    except TooFewAnswersError:
        return None


def _calibration(estimates: Estimates, trial: Trial, rows: Int[Tensor, " chosen"]) -> Calibration | None:
    if estimates.p_right is None:
        return None
    asked = trial.asked[rows]
    q, right = estimates.p_right[rows][asked], trial.right[rows][asked]
    table = reliability(q, right, BINS)
    return Calibration(brier=brier(q, right), ece=table.error, table=table)


def all_rows(trial: Trial) -> Int[Tensor, " expert"]:
    """Everybody on trial."""
    return torch.arange(len(trial.experts))
