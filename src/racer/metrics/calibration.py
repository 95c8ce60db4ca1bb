"""Do probabilities mean what they say? Brier score, calibration error, reliability, log loss.

Symbols  q_i predicted P(right) · r_i 1 when right · B_k items of bin k · n items · p_{i,k} posterior · y_i true label

    Brier = (1/n) Σ_i (q_i − r_i)²                                                                 (1)
    ECE   = Σ_k (|B_k| / n) · |mean_{B_k} r − mean_{B_k} q|                                        (2)
    NLL   = −(1/n) Σ_i log max(p_{i, y_i}, floor)                                                  (3)

Bins have equal width and are right-closed: ((k−1)/K, k/K], the first also takes 0. Edges are rounded to the precision
of q, so that k/K falls into bin k in float32 as in float64; half precision is widened to float32 first.
"""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from racer.errors import PosteriorError
from racer.metrics.inputs import (
    Values,
    flag_array,
    label_array,
    probability_tensor,
    require_dimensions,
    require_items,
    require_same_shape,
    require_whole,
)

__all__ = ["NLL_FLOOR", "Reliability", "binary_nll", "brier", "ece", "nll", "reliability"]

NLL_FLOOR = torch.finfo(torch.float32).tiny
"""Smallest probability whose logarithm is taken, in every dtype: one case costs at most 87.34 nats, and a float64
posterior costs the same as its float32 copy whose entry underflowed."""

ROW_TOLERANCE = 1e-3
"""How far a posterior's row may sum from one: softmax in half precision is ordinary."""


@final
@dataclass(frozen=True, eq=False)
class Reliability:
    """One row a bin; means are NaN in an empty bin, whose `count` is 0."""

    edges: Float[Tensor, " edge"]
    count: Int[Tensor, " bin"]
    mean_predicted: Float[Tensor, " bin"]
    mean_correct: Float[Tensor, " bin"]

    @property
    def error(self) -> float:
        """Expected calibration error, Eq. (2)."""
        gap = (self.mean_correct - self.mean_predicted).abs().nan_to_num(0.0)
        return float((self.count * gap).sum() / self.count.sum())


def brier(q: Values, correct: Values) -> float:
    """Mean squared distance between a probability and what happened, Eq. (1). Both are (item,).

    >>> brier([1.0, 0.5], correct=[1, 0])
    0.125
    """
    predicted, right = _pair(q, correct, "The Brier score")
    return float((predicted.double() - right.double()).square().mean())


def reliability(q: Values, correct: Values, bins: int = 15) -> Reliability:
    """Mean prediction beside mean outcome, bin by bin. Both are (item,).

    >>> table = reliability([0.0, 0.5, 0.6, 1.0], correct=[0, 1, 1, 1], bins=2)
    >>> table.count, table.mean_correct
    (tensor([2, 2]), tensor([0.5000, 1.0000], dtype=torch.float64))
    """
    require_whole("bins", bins, least=1)
    predicted, right = _pair(q, correct, "Reliability")
    edges = torch.arange(bins + 1, dtype=torch.float64) / bins
    inner = edges[1:-1].to(predicted.dtype)
    bin_of = torch.bucketize(predicted, inner)
    count = torch.bincount(bin_of, minlength=bins)
    return Reliability(
        edges=edges,
        count=count,
        mean_predicted=torch.bincount(bin_of, weights=predicted.double(), minlength=bins) / count,
        mean_correct=torch.bincount(bin_of, weights=right.double(), minlength=bins) / count,
    )


def ece(q: Values, correct: Values, bins: int = 15) -> float:
    """Expected calibration error: the gap between prediction and outcome, averaged over items, Eq. (2).

    >>> ece([0.25, 0.25, 0.75, 0.75], correct=[0, 0, 1, 1], bins=2)
    0.25
    """
    return reliability(q, correct, bins).error


def nll(posterior: Values, label: Values) -> float:
    """Mean −log posterior of the true label, Eq. (3). `posterior` is (item, role), `label` (item,).

    >>> round(nll([[0.5, 0.5], [0.25, 0.75]], label=[0, 0]), 4)
    1.0397
    """
    p = probability_tensor(posterior, "posterior")
    require_dimensions("posterior", p.shape, "item role")
    true_role = torch.from_numpy(label_array(label, "label", p.shape[1]))
    require_same_shape({"items of posterior": tuple(p.shape[:1]), "label": tuple(true_role.shape)})
    require_items(len(p), "NLL")
    p = p.double()
    off = (p.sum(-1) - 1).abs()
    if (off > ROW_TOLERANCE).any():
        raise PosteriorError(
            "A row of 'posterior' does not sum to 1.",
            f"Row {int(off.argmax())} sums to {float(p[off.argmax()].sum()):.6g}.",
            "Give probabilities, not logits: posterior = logits.softmax(-1).",
        )
    return float(-p.gather(1, true_role[:, None]).clamp_min(NLL_FLOOR).log().mean())


def binary_nll(q: Values, correct: Values) -> float:
    """Mean −log probability of what happened: q where right, 1 − q where wrong. Both are (item,), floor as in (3).

    >>> round(binary_nll([0.5, 0.75], correct=[1, 0]), 4)
    1.0397
    """
    predicted, right = _pair(q, correct, "NLL")
    predicted = predicted.double()
    return float(-torch.where(right, predicted, 1 - predicted).clamp_min(NLL_FLOOR).log().mean())


def _pair(q: Values, correct: Values, what: str) -> tuple[Float[Tensor, " item"], Bool[Tensor, " item"]]:
    predicted = probability_tensor(q, "q")
    right = torch.from_numpy(flag_array(correct, "correct"))
    require_dimensions("q", predicted.shape, "item")
    require_same_shape({"q": tuple(predicted.shape), "correct": tuple(right.shape)})
    require_items(len(predicted), what)
    return predicted, right
