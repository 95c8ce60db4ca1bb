"""An estimate with the interval its bootstrap replicates span.

[low, high] = the (1 − level)/2 and (1 + level)/2 quantiles of the replicates                 (percentile interval)
"""

from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from racer.errors import UndefinedMetricError
from racer.metrics.inputs import require_fraction

__all__ = ["Interval"]


@final
@dataclass(frozen=True, eq=False)
class Interval:
    """A number, its percentile interval, and the replicates behind it (NaN where a resample left nothing to measure).

    >>> interval = Interval.of(0.5, torch.linspace(0, 1, 101, dtype=torch.float64), level=0.9)
    >>> print(interval)
    0.5000 (90% interval 0.0500 to 0.9500)
    """

    estimate: float
    low: float
    high: float
    level: float
    replicates: Float[Tensor, " replicate"] = field(repr=False)

    @classmethod
    def of(cls, estimate: float, replicates: Float[Tensor, " replicate"], level: float) -> "Interval":
        """The percentile interval of some replicates.

        >>> Interval.of(1.0, torch.tensor([1.0, 1.0]).double(), level=0.95).low
        1.0
        """
        low, high = percentile_band(replicates[:, None], level)
        return cls(estimate=estimate, low=float(low), high=float(high), level=level, replicates=replicates)

    @property
    def is_above_zero(self) -> bool:
        """Whether even the low end is positive."""
        return self.low > 0

    @property
    def is_below_zero(self) -> bool:
        """Whether even the high end is negative."""
        return self.high < 0

    def __str__(self) -> str:
        return f"{self.estimate:.4f} ({self.level:.0%} interval {self.low:.4f} to {self.high:.4f})"


def percentile_band(
    replicates: Float[Tensor, "replicate point"], level: float
) -> tuple[Float[Tensor, " point"], Float[Tensor, " point"]]:
    """Low and high quantile of each column, NaN replicates left out.

    >>> percentile_band(torch.tensor([[0.0], [1.0], [2.0]]).double(), level=0.5)
    (tensor([0.5000], dtype=torch.float64), tensor([1.5000], dtype=torch.float64))
    """
    require_fraction("level", level)
    kept = replicates[~replicates.isnan().any(-1)]
    if not len(kept):
        raise UndefinedMetricError(
            "No bootstrap replicate has a value.",
            f"{len(replicates)} replicates, each without an answered case.",
            "Use more cases, or experts with more answers.",
        )
    tail = torch.tensor([(1 - level) / 2, (1 + level) / 2], dtype=kept.dtype)
    low, high = kept.quantile(tail, dim=0)
    return low, high
