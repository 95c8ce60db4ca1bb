"""L_aug(w): cross-entropy over the classes and one more action, to defer.

Source   the paper, Eqs. lce-background and context-only-loss; the table of objectives writes L_aug(w).
Symbols  f_y class logit · d deferral logit · w weight of deferring · Z = log(exp d + Σ_k exp f_k)

    L_aug(w) = E[ −log Π_y − w log Π_⊥ ],     −log Π_y = Z − f_y,     −log Π_⊥ = Z − d

Its conditional minimiser is Π_y = η_y / (1 + q), Π_⊥ = q / (1 + q) with q = E[w], so deferring wins exactly where
q ≥ max_y η_y. What w is makes the method:

    1[m = y]                     Mozannar and Sontag's surrogate for one expert, and L2D-Pop
    sg[Γ(x, y, C)]               RACER: an estimate, without gradient, in place of the expert's answer
    LCB_y · 1[y = k_best]        IFD-MLP
"""

import torch
from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["deferral_loss"]


def deferral_loss(
    class_logit: Float[Tensor, "item role"],
    deferral_logit: Float[Tensor, "expert item"],
    label: Int[Tensor, " item"],
    weight: Float[Tensor, "expert item"],
) -> Float[Tensor, ""]:
    """Mean over experts and items. The weight carries no gradient: a loss must not lower it to please itself.

    >>> deferral_loss(torch.zeros(1, 3), torch.zeros(1, 1), torch.tensor([0]), weight=torch.ones(1, 1))
    tensor(2.7726)
    """
    at_label = class_logit.gather(-1, label[:, None])[:, 0]
    normaliser = torch.logaddexp(class_logit.logsumexp(-1), deferral_logit)
    return ((normaliser - at_label) + weight.detach() * (normaliser - deferral_logit)).mean()
