"""What a method says about every question of a trial, some queries at a time."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from racer.competence import AbstractMethod
from racer.evaluation.trial import Trial
from racer.learning import progress_bar
from racer.pooling import effective_count, query_chunks
from racer.routing import Evidence

__all__ = ["Estimates", "estimate"]


@final
@dataclass(frozen=True, eq=False)
class Estimates:
    """Score, q̂, Γ at the true role, and the effective number of answers behind it. None where a method has none."""

    score: Float[Tensor, "expert item"]
    p_right: Float[Tensor, "expert item"] | None
    competence: Float[Tensor, "expert item"] | None
    evidence: Float[Tensor, "expert item"]


@torch.no_grad()
def estimate(method: AbstractMethod, trial: Trial, progress: bool | None = False) -> Estimates:
    """Ask the method about all experts and all queries."""
    contexts = trial.contexts
    rows = max(len(contexts.cases), 2 * len(contexts) * contexts.n_roles)
    parts, chunks = [], list(query_chunks(len(trial.queries), rows))
    with progress_bar("asking", len(chunks), progress) as step:
        for part in chunks:
            parts.append(_estimated(method, trial, part))
            step(f"{part.stop:,} cases")
    return Estimates(
        score=torch.cat([one.score for one in parts], -1),
        p_right=_joined([one.p_right for one in parts]),
        competence=_joined([one.competence for one in parts]),
        evidence=torch.cat([one.evidence for one in parts], -1),
    )


def _estimated(method: AbstractMethod, trial: Trial, part: slice) -> Estimates:
    queries, label, contexts = trial.queries[part], trial.label[part], trial.contexts
    gamma, scored = method.competence(queries, contexts), method.scored(queries, contexts)
    number = effective_count(queries, contexts, Evidence().temperature)
    return Estimates(
        score=scored.score,
        p_right=scored.p_right,
        competence=None if gamma is None else gamma[:, torch.arange(len(label)), label],
        evidence=(number * queries.posterior.T).sum(1),
    )


def _joined(parts: list[Tensor | None]) -> Tensor | None:
    known = [one for one in parts if one is not None]
    return torch.cat(known, -1) if len(known) == len(parts) else None
