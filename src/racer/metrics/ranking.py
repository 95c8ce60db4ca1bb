"""The order in which cases are handed over, with tied scores as one block.

Symbols  n items · w_i weight of an item, W its total · c⁻_i, c⁺_i weight handed over before and after i's block

Within a block every order is equally likely, so whatever is added up over the handed-over items grows linearly there.
Summed over all budgets, item i is therefore with the expert for the share

    exposure_i = 1 − (c⁻_i + c⁺_i) / 2W                                                          (1)

of the sweep, and every area is a weighted sum of exposures: no curve has to be drawn to get one.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Float, Int, Num, Shaped

__all__ = ["Ranking"]


@final
@dataclass(frozen=True, eq=False)
class Ranking:
    """Items by falling score along the last axis; `start` and `stop` bound the block of ties at each position.

    >>> ranking = Ranking.of(np.array([0.1, 0.9, 0.1]))
    >>> ranking.start, ranking.stop
    (array([0, 1, 1]), array([1, 3, 3]))
    """

    order: Int[np.ndarray, "*batch item"]
    start: Int[np.ndarray, "*batch item"]
    stop: Int[np.ndarray, "*batch item"]

    @classmethod
    def of(cls, score: Float[np.ndarray, "*batch item"]) -> "Ranking":
        """Largest score first. Comparisons only, so infinities tie with themselves.

        >>> Ranking.of(np.array([0.1, 0.9, 0.5])).order
        array([1, 2, 0])
        """
        n = score.shape[-1]
        order = np.argsort(-score, axis=-1)
        falling = np.take_along_axis(score, order, axis=-1)
        is_first = np.ones(score.shape, dtype=bool)
        is_first[..., 1:] = falling[..., 1:] != falling[..., :-1]
        is_last = np.ones(score.shape, dtype=bool)
        is_last[..., :-1] = is_first[..., 1:]
        position = np.arange(n)
        start = np.maximum.accumulate(np.where(is_first, position, 0), axis=-1)
        stop = np.minimum.accumulate(np.where(is_last, position + 1, n)[..., ::-1], axis=-1)[..., ::-1]
        return cls(order=order, start=start, stop=stop)

    def sort(self, values: Shaped[np.ndarray, "*batch item"]) -> Shaped[np.ndarray, "*batch item"]:
        """Values in the order of handing over.

        >>> Ranking.of(np.array([0.1, 0.9])).sort(np.array([10, 20]))
        array([20, 10])
        """
        return np.take_along_axis(values, self.order, axis=-1)

    def exposure(self, weight: Num[np.ndarray, "*batch item"] | None = None) -> Float[np.ndarray, "*batch item"]:
        """Share of the sweep that each sorted item spends with the expert, Eq. (1). `weight` is sorted too.

        >>> Ranking.of(np.array([3.0, 2.0])).exposure()
        array([0.75, 0.25])
        """
        if weight is None:
            return np.asarray(1.0 - (self.start + self.stop) / (2.0 * self.order.shape[-1]))
        total = running_total(weight)
        before = np.take_along_axis(total, self.start, axis=-1)
        after = np.take_along_axis(total, self.stop, axis=-1)
        # a row without any weight has no exposure; its caller leaves it out
        return np.asarray(1.0 - (before + after) / np.maximum(2.0 * total[..., -1:], np.finfo(np.float64).tiny))

    def expected_total(self, values: Float[np.ndarray, "*batch item"]) -> Float[np.ndarray, "*batch step"]:
        """Sum over the first 0, 1, …, n sorted items, averaged over all orders of the ties.

        >>> Ranking.of(np.array([1.0, 1.0])).expected_total(np.array([1.0, 0.0]))
        array([0. , 0.5, 1. ])
        """
        total = running_total(values)
        before = np.take_along_axis(total, self.start, axis=-1)
        after = np.take_along_axis(total, self.stop, axis=-1)
        inside = (np.arange(1, self.order.shape[-1] + 1) - self.start) / (self.stop - self.start)
        total[..., 1:] = before + inside * (after - before)
        return total


def running_total(values: Num[np.ndarray, "*batch item"]) -> Num[np.ndarray, "*batch step"]:
    """Sums of the first 0, 1, …, n values.

    >>> running_total(np.array([2, 3]))
    array([0, 2, 5])
    """
    total = np.zeros((*values.shape[:-1], values.shape[-1] + 1), dtype=values.dtype)
    np.cumsum(values, axis=-1, out=total[..., 1:])
    return total
