"""L_CE: cross-entropy of the classifier by itself.

Source   the paper, "Implementation and evaluation protocol", table of objectives: L_CE, and L_{CE,base} of RACER-C.
Symbols  f_y class logit · p_y = exp f_y / Σ_k exp f_k

    L_CE = E[ −log p_y ]
"""

from jaxtyping import Float, Int
from torch import Tensor
from torch.nn.functional import cross_entropy

__all__ = ["class_loss"]


def class_loss(class_logit: Float[Tensor, "item role"], label: Int[Tensor, " item"]) -> Float[Tensor, ""]:
    """Mean cross-entropy, from logits.

    >>> import torch
    >>> class_loss(torch.zeros(1, 4), torch.tensor([2]))
    tensor(1.3863)
    """
    return cross_entropy(class_logit, label)
