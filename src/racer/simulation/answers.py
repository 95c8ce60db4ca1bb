"""Simulated answers: what experts of known competence say about every case.

Source   the paper, PathMNIST and CIFAR-100 protocols.
Symbols  M_e answer · Y label · S subtype · Γ_e(y, s) competence · Q confusion

    P(M_e = Y) = Γ_e(Y, S),   P(M_e = m | M_e ≠ Y) = Q(m | Y)

Q has no mass on the diagonal, so the nominal accuracy is the accuracy.
"""

from dataclasses import dataclass
from typing import Any, final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from racer.cases import to_float
from racer.errors import SettingError, ShapeError
from racer.simulation.ranges import require_roles, to_index

__all__ = ["SimulatedAnswers", "sample_answers"]

SUM_TOLERANCE = 1e-3
"""How far a row of the confusion prior may sum from one."""


@final
@dataclass(frozen=True, eq=False)
class SimulatedAnswers:
    """Answers of every expert to every item, and how likely each was to be right."""

    answer: Int[Tensor, "expert item"]
    p_right: Float[Tensor, "expert item"]


def sample_answers(
    competence: Any, label: Any, subtype: Any, confusion: Any, rng: np.random.Generator
) -> SimulatedAnswers:
    """Right with probability `Γ_e(Y, S)`, otherwise a wrong class drawn from the label's row of `confusion`.

    `competence` is (expert, role, subtype), `label` and `subtype` (item), `confusion` (role, role). From
    generators of one seed, raising a competence never turns a right answer wrong.

    >>> always_and_never = torch.tensor([[[1.0], [1.0]], [[0.0], [0.0]]])
    >>> no_other_class = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    >>> sample_answers(always_and_never, [0, 1, 1], [0, 0, 0], no_other_class, np.random.default_rng(0)).answer
    tensor([[0, 1, 1],
            [1, 0, 0]])
    """
    competence = _checked_competence(competence)
    n_experts, n_roles, n_subtypes = competence.shape
    label, subtype = to_index(label, "label", n_roles), to_index(subtype, "subtype", n_subtypes)
    if len(label) != len(subtype):
        raise ShapeError(
            "'label' and 'subtype' must hold the same items.",
            f"Got {len(label)} and {len(subtype)}.",
            "Give one of each per case.",
            label=len(label),
            subtype=len(subtype),
        )
    cumulative = _checked_confusion(confusion, n_roles).cumsum(-1)

    correctness, direction = rng.spawn(2)
    shape = (n_experts, len(label))
    p_right = competence[:, label, subtype]
    is_wrong = torch.from_numpy(correctness.random(shape, dtype=np.float32)) >= p_right
    draw = torch.from_numpy(direction.random(shape, dtype=np.float32))[is_wrong]
    label_of_wrong = label.expand(shape)[is_wrong]

    # All rows of the inverse distribution in one sorted line: row y fills (y, y + 1]. A draw has 24 bits, so y + draw
    # is exact in float64 and stays below y + 1; equal edges, where a class has no mass, are never landed on.
    edges = cumulative / cumulative[:, -1:] + torch.arange(n_roles)[:, None]
    position = torch.searchsorted(edges.flatten(), draw.double() + label_of_wrong, right=True)
    answer = label.repeat(n_experts, 1)
    answer[is_wrong] = position - label_of_wrong * n_roles
    return SimulatedAnswers(answer=answer, p_right=p_right)


def _checked_competence(values: Any) -> Float[Tensor, "expert role subtype"]:
    competence = to_float(values, "competence").detach().cpu()
    if competence.ndim != 3:
        raise ShapeError(
            "'competence' must be (expert, role, subtype).",
            f"Got shape {tuple(competence.shape)}.",
            "Use ExpertPopulation.sample, or add the missing axes.",
            competence=tuple(competence.shape),
        )
    require_roles(competence.shape[1])
    is_probability = (competence >= 0) & (competence <= 1)
    if not is_probability.all():
        where = (~is_probability).nonzero()[0].tolist()
        raise SettingError(
            "Every competence must lie between 0 and 1.",
            f"Expert {where[0]}, role {where[1]}, subtype {where[2]} has {float(competence[tuple(where)]):.6g}.",
            "Give probabilities of a right answer.",
            where=where,
        )
    return competence


def _checked_confusion(values: Any, n_roles: int) -> Float[Tensor, "role role"]:
    confusion = to_float(values, "confusion").detach().cpu().double()
    if confusion.shape != (n_roles, n_roles):
        raise ShapeError(
            "'confusion' must have one row and one column per role.",
            f"Got shape {tuple(confusion.shape)} for {n_roles} roles.",
            "Use uniform_confusion or superclass_confusion over the same roles.",
            expected=(n_roles, n_roles),
            got=tuple(confusion.shape),
        )
    total = confusion.sum(-1)
    is_row = (confusion >= 0).all(-1) & ((total - 1).abs() <= SUM_TOLERANCE) & (confusion.diagonal() == 0)
    if not is_row.all():
        row = int((~is_row).nonzero()[0])
        raise SettingError(
            "Each row of 'confusion' must be a distribution over the wrong classes: no mass on the diagonal, sum 1.",
            f"Row {row} has {float(confusion[row, row]):.6g} on the diagonal and sums to {float(total[row]):.6g}.",
            "Zero the diagonal, then divide each row by its sum.",
            row=row,
        )
    return confusion
