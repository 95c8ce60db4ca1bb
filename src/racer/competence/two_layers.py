"""One hidden layer of rectified units and one number out: the form of every head that is kept.

w₂ᵀ relu(W₁ u + b₁) + b₂
"""

import torch
from jaxtyping import Float
from torch import Tensor

from racer.errors import ShapeError

__all__ = ["require_two_layers", "two_layers"]


def two_layers(
    u: Float[Tensor, "*row feature"],
    w1: Float[Tensor, "hidden feature"],
    b1: Float[Tensor, " hidden"],
    w2: Float[Tensor, " hidden"],
    b2: Float[Tensor, ""],
) -> Float[Tensor, "*row"]:
    """The number of each row, in the row's floating type.

    >>> two_layers(torch.ones(3, 2), torch.ones(4, 2), torch.zeros(4), torch.ones(4), torch.tensor(1.0))
    tensor([9., 9., 9.])
    """
    return torch.relu(u @ w1.to(u).T + b1.to(u)) @ w2.to(u) + b2.to(u)


def require_two_layers(name: str, n_features: int, w1: Tensor, b1: Tensor, w2: Tensor, b2: Tensor) -> None:
    """Refuse layers that do not fit together."""
    hidden = len(b1)
    shapes = [tuple(one.shape) for one in (w1, b1, w2, b2)]
    if shapes != [(hidden, n_features), (hidden,), (hidden,), ()]:
        raise ShapeError(
            f"The layers of a {name} network do not fit together.",
            f"Got shapes {shapes}.",
            f"Expected (hidden, {n_features}), (hidden,), (hidden,), ().",
        )
