"""Evaluation: does routing with these experts pay, for whom, and do the probabilities mean what they say?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from racer.competence import AbstractMethod
from racer.evaluation.estimates import Estimates, estimate
from racer.evaluation.group import Group, all_rows, judge
from racer.evaluation.trial import Trial, split_answers
from racer.learning import progress_bar
from racer.metrics.sweep import Sweep
from racer.panel import Panel

__all__ = ["Evaluation", "ExpertRow", "evaluate"]


@final
@dataclass(frozen=True)
class ExpertRow:
    """One expert: what was shown, what was asked, and how it went. `gain` is the AURSAC over confidence, alone."""

    expert: str
    is_seen: bool
    n_context: int
    n_asked: int
    accuracy: float
    model_accuracy: float
    mean_p_right: float | None
    gain: float
    evidence: float


@final
@dataclass(frozen=True, eq=False)
class Evaluation:
    """`groups` are all, and where there are both, seen and unseen.

    `n`, `n_right` and `predicted` are by expert and role: questions, right answers, and the sum of Γ at the true role.
    """

    method: str
    context_size: int
    seed: int
    groups: tuple[Group, ...]
    experts: tuple[ExpertRow, ...]
    n: Int[Tensor, "expert role"]
    n_right: Int[Tensor, "expert role"]
    predicted: Float[Tensor, "expert role"] | None
    evidence: Float[Tensor, "expert quantile"]

    @property
    def everybody(self) -> Group:
        """The group of all experts."""
        return self.groups[0]

    @property
    def is_everybody_seen(self) -> bool:
        """Whether all were among those the method was fitted on, so that nothing is known of strangers."""
        return all(one.is_seen for one in self.experts)

    def __str__(self) -> str:
        return self.everybody.sentence


QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)
"""Of the evidence behind each expert's questions."""


def evaluate(
    method: AbstractMethod,
    panel: Panel,
    *,
    context_size: int = 100,
    seen: Sequence[str] = (),
    seed: int = 0,
    progress: bool | None = None,
) -> Evaluation:
    """Show the method part of each expert's answers and ask about the rest. `seen` are those it was fitted on.

    >>> from racer import RacerKNN
    >>> from racer.checks import make_world
    >>> world = make_world()
    >>> result = evaluate(RacerKNN(k=3), world.panel, context_size=10)
    >>> [group.name for group in result.groups], len(result.experts)
    (['all'], 8)
    """
    rng = np.random.default_rng(seed)
    trial = split_answers(panel, context_size, rng)
    is_seen = torch.tensor([one in set(seen) for one in trial.experts])
    parts = {"all": all_rows(trial)}
    if is_seen.any() and not is_seen.all():
        parts |= {"seen": is_seen.nonzero()[:, 0], "unseen": (~is_seen).nonzero()[:, 0]}
    estimates = estimate(method, trial, progress)
    groups = []
    with progress_bar("comparing", len(parts), progress) as step:
        for name, rows in parts.items():
            groups.append(judge(name, method.name, trial, estimates, rows, rng))
            step(name)
    expert, item = trial.asked.nonzero(as_tuple=True)
    role = trial.label[item]
    return Evaluation(
        method=method.name,
        context_size=context_size,
        seed=seed,
        groups=tuple(groups),
        experts=tuple(_rows(trial, estimates, is_seen)),
        n=_by_role(trial, expert, role, torch.ones_like(expert)),
        n_right=_by_role(trial, expert, role, trial.right[expert, item].long()),
        predicted=None
        if estimates.competence is None
        else _by_role(trial, expert, role, estimates.competence[expert, item].double()),
        evidence=_evidence(trial, estimates),
    )


def _by_role(trial: Trial, expert: Tensor, role: Tensor, values: Tensor) -> Tensor:
    n_roles = trial.queries.n_roles
    total = values.new_zeros(len(trial.experts) * n_roles).index_add_(0, expert * n_roles + role, values)
    return total.view(-1, n_roles)


def _evidence(trial: Trial, estimates: Estimates) -> Float[Tensor, "expert quantile"]:
    known = torch.where(trial.asked, estimates.evidence.double(), torch.nan)
    return known.nanquantile(torch.tensor(QUANTILES, dtype=torch.float64), dim=1).T


def _rows(trial: Trial, estimates: Estimates, is_seen: Bool[Tensor, " expert"]) -> Iterator[ExpertRow]:
    asked, model_right = trial.asked.double(), trial.model_right.double()
    n = asked.sum(1)
    unsure = -trial.queries.confidence.expand(trial.asked.shape)
    areas = [_areas(score, trial) for score in (estimates.score, unsure)]
    p = estimates.p_right
    columns = {
        "expert": trial.experts,
        "is_seen": is_seen.tolist(),
        "n_context": trial.contexts.count.sum(1).tolist(),
        "n_asked": n.long().tolist(),
        "accuracy": (trial.right.double().sum(1) / n).tolist(),
        "model_accuracy": (asked @ model_right / n).tolist(),
        "mean_p_right": [None] * len(n) if p is None else ((p.double() * asked).sum(1) / n).tolist(),
        "gain": (areas[0] - areas[1]).tolist(),
        "evidence": _evidence(trial, estimates)[:, QUANTILES.index(0.5)].tolist(),
    }
    for values in zip(*columns.values(), strict=True):
        yield ExpertRow(**dict(zip(columns, values, strict=True)))


def _areas(score: Float[Tensor, "expert item"], trial: Trial) -> Float[np.ndarray, " expert"]:
    sweep = Sweep.of(score, trial.right, trial.model_right, trial.asked)
    once = np.ones((1, len(trial.queries)), dtype=np.int64)
    area: Float[np.ndarray, " expert"] = sweep.area(once, slice(None))[0]
    return area
