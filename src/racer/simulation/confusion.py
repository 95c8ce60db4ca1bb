"""Confusion prior: where a wrong answer goes.

Source   the paper, CIFAR-100 class-scale protocol: most of the mass on classes of the same
         superclass, when there are any.
Symbols  Q(m | y) confusion, rows y · A(y) other classes of y's superclass · R(y) classes of other superclasses

    Q(m | y) = within / |A(y)|  for m in A(y),   (1 − within) / |R(y)|  for m in R(y),   0 for m = y

Our choices: `within` is .9; when A(y) or R(y) is empty, the other one takes all the mass.
"""

from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from racer.simulation.ranges import require_probability, require_roles, to_index

__all__ = ["superclass_confusion", "uniform_confusion"]


def uniform_confusion(n_roles: int) -> Float[Tensor, "role role"]:
    """Every wrong class alike: `Q(m | y) = 1 / (K − 1)`.

    >>> uniform_confusion(3)
    tensor([[0.0000, 0.5000, 0.5000],
            [0.5000, 0.0000, 0.5000],
            [0.5000, 0.5000, 0.0000]], dtype=torch.float64)
    """
    require_roles(n_roles)
    return superclass_confusion(torch.zeros(n_roles, dtype=torch.int64))


def superclass_confusion(superclass: Any, within: float = 0.9) -> Float[Tensor, "role role"]:
    """A share `within` goes evenly to the other classes of the same superclass, the rest evenly to all others.

    >>> superclass_confusion([0, 0, 1])
    tensor([[0.0000, 0.9000, 0.1000],
            [0.9000, 0.0000, 0.1000],
            [0.5000, 0.5000, 0.0000]], dtype=torch.float64)
    """
    superclass = to_index(superclass, "superclass")
    require_roles(len(superclass))
    require_probability(within, "within")
    is_same = superclass[:, None] == superclass
    is_sibling = (is_same & ~torch.eye(len(superclass), dtype=torch.bool)).double()
    is_stranger = (~is_same).double()
    n_siblings, n_strangers = is_sibling.sum(-1, keepdim=True), is_stranger.sum(-1, keepdim=True)
    share = torch.full_like(n_siblings, within)
    share[n_siblings == 0] = 0.0
    share[n_strangers == 0] = 1.0
    to_siblings: Tensor = share * is_sibling / n_siblings.clamp(min=1)
    to_strangers: Tensor = (1 - share) * is_stranger / n_strangers.clamp(min=1)
    return to_siblings + to_strangers
