"""L_post: cross-entropy of the posterior that a context has adapted.

Source   the paper, Eqs. racer-c-adapter and racer-c-posterior-loss.
Symbols  b_{ρ,y} = f_y + a_ρ(x, y, C) adapted logit · π_ρ = softmax_y b_ρ

    L_post = E[ −log π_ρ(y | x, C) ],     the query not in its own context
"""

from jaxtyping import Float, Int
from torch import Tensor

__all__ = ["posterior_loss"]


def posterior_loss(adapted_logit: Float[Tensor, "expert item role"], label: Int[Tensor, " item"]) -> Float[Tensor, ""]:
    """Mean over experts and items, from adapted logits.

    >>> import torch
    >>> posterior_loss(torch.zeros(2, 1, 4), torch.tensor([2]))
    tensor(1.3863)
    """
    at_label = adapted_logit.gather(-1, label[None, :, None].expand(len(adapted_logit), -1, 1))[..., 0]
    return (adapted_logit.logsumexp(-1) - at_label).mean()
