"""L_comp: the strictly proper loss of competence.

Source   the paper, "Proper competence training and plug-in calibration", Eq. racer-competence-bce.
Symbols  a right · Γ = sigm(g) with g the logit

    L_comp = E[ −a log Γ − (1 − a) log(1 − Γ) ],   Γ at the true role of each query

Its minimiser over functions of a summary U is P(a = 1 | U), so Γ is a probability and not only a ranking.
"""

from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits

__all__ = ["competence_loss"]


def competence_loss(logit: Float[Tensor, " query"], right: Bool[Tensor, " query"]) -> Float[Tensor, ""]:
    """Mean binary cross-entropy, from logits.

    >>> import torch
    >>> competence_loss(torch.zeros(2), torch.tensor([True, False]))
    tensor(0.6931)
    """
    return binary_cross_entropy_with_logits(logit, right.to(logit))
