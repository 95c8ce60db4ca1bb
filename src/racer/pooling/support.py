"""How much stands behind a local mean: Kish's effective number of same-role answers.

Symbols  K_i kernel weight · n^eff effective number

    n^eff_{e,y}(x) = (Σ_i 1[y_i = y] K_i)² / Σ_i 1[y_i = y] K_i²

It is N where all are equally near, 1 where one outweighs the rest, 0 where there is none. It compares the answers with
each other: that all of them are far away does not show.
"""

import math

import torch
from jaxtyping import Float
from torch import Tensor

from racer.cases import Cases
from racer.errors import SettingError
from racer.panel import Panel
from racer.pooling.cosine import similarity
from racer.pooling.groups import sum_groups

__all__ = ["LEAST_TEMPERATURE", "check_evidence_temperature", "effective_count"]

LEAST_TEMPERATURE = 0.01
"""Squared weights of the farthest answers are still normal numbers in float64: exp(−4/τ)."""


def effective_count(queries: Cases, panel: Panel, temperature: float) -> Float[Tensor, "expert role query"]:
    """n^eff of every expert and role, of queries few enough to hold at once.

    >>> from racer import Cases, Panel
    >>> cases = Cases([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [[0.5, 0.5]] * 3)
    >>> effective_count(cases[:1], Panel(cases, [0, 0, 0], [[0, 1, 1]]), temperature=0.1)[0, :, 0]
    tensor([2.0001, 0.0000])
    """
    check_evidence_temperature(temperature)
    wide = torch.float64 if 4.0 / temperature > 0.9 * -math.log(torch.finfo(queries.dtype).tiny) else None
    weight = (similarity(panel.cases, queries, wide) - 1.0).mul_(1.0 / temperature).exp_()
    total, squares = (
        sum_groups(one, panel.item, panel.offset).view(len(panel), 2, panel.n_roles, -1).sum(1)
        for one in (weight, weight * weight)
    )
    number: Tensor = total * total / (squares + (panel.count == 0)[:, :, None])
    return number.to(queries.dtype)


def check_evidence_temperature(temperature: float) -> None:
    """Refuse temperatures at which squared weights vanish."""
    if not LEAST_TEMPERATURE <= temperature < math.inf:
        raise SettingError(
            "'temperature' is too small to tell how much evidence there is.",
            f"Got {temperature}.",
            f"Give at least {LEAST_TEMPERATURE}.",
            temperature=temperature,
        )
