"""The one-vs-all surrogate: each class, and deferring, is a yes-or-no question of its own.

Source   Verma and Nalisnick, "Calibrated learning to defer with one-vs-all classifiers", 2022, the surrogate on
         logistic losses; the paper builds on L2D-Pop, whose public code has it beside the softmax.
Symbols  f_k class logit · d deferral logit · m answer · φ(z) = log(1 + exp(−z))

    ψ = φ(f_y) + Σ_{k≠y} φ(−f_k) + φ(−d) + 1[m = y] (φ(d) − φ(−d))                                        (1)

With ℓ(z, t) = t φ(z) + (1 − t) φ(−z), binary cross-entropy on a logit, (1) is

    ψ = Σ_k ℓ(f_k, 1[k = y]) + ℓ(d, 1[m = y])                                                             (2)

so sigm(d) estimates P(m = y | x) by itself, where the softmax's Π_⊥ is q / (1 + q).
"""

from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import binary_cross_entropy_with_logits, one_hot

__all__ = ["one_vs_all_loss"]


def one_vs_all_loss(
    class_logit: Float[Tensor, "item role"],
    deferral_logit: Float[Tensor, "expert item"],
    label: Int[Tensor, " item"],
    right: Bool[Tensor, "expert item"],
) -> Float[Tensor, ""]:
    """Mean over experts and items, Eq. (2).

    >>> import torch
    >>> one_vs_all_loss(torch.zeros(1, 3), torch.zeros(1, 1), torch.tensor([0]), right=torch.tensor([[True]]))
    tensor(2.7726)
    """
    is_label = one_hot(label, class_logit.shape[-1]).to(class_logit)
    of_classes = binary_cross_entropy_with_logits(class_logit, is_label, reduction="none").sum(-1)
    of_deferring = binary_cross_entropy_with_logits(deferral_logit, right.to(deferral_logit))
    return of_classes.mean() + of_deferring
