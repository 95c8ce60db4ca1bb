"""Skill profile: how good an expert is, by class and by hidden subtype.

Source   the paper, CIFAR-100 class-scale protocol: the weak and the strong profile.
Symbols  b_{e,y} baseline, the classwise skill · K n_roles

    logit b_{e,y} = logit(base) + global_sd · g_e + class_sd · u_{e,y},   g, u ~ N(0, 1) independent

Our choices: both deviations act on the logit scale and `base` is the median of b; the strong profile takes the
deviations of the weak one, and as its base .66, the mean of its three levels, so specialising leaves an expert about
as good; good and bad are exact; with other than three subtypes the levels lie evenly along good → mid → bad.
"""

import math
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from racer.errors import SettingError
from racer.simulation.ranges import require_count, require_probability, require_roles

__all__ = ["SkillProfile"]


@final
@dataclass(frozen=True)
class SkillProfile:
    """Accuracies of the good, middle and bad subtype, and how classwise skill varies.

    `mid=None`: the middle subtype has the expert's own classwise skill, which may lie above good or below bad.

    >>> SkillProfile.strong()
    SkillProfile(good=0.98, mid=0.7, bad=0.3, base=0.66, class_sd=0.55, global_sd=0.2)
    """

    good: float
    mid: float | None
    bad: float
    base: float
    class_sd: float
    global_sd: float

    def __post_init__(self) -> None:
        for name in ("good", "bad", "base"):
            require_probability(getattr(self, name), name)
        if self.mid is not None:
            require_probability(self.mid, "mid")
        if not self.bad <= (self.bad if self.mid is None else self.mid) <= self.good:
            raise SettingError(
                "The levels of a profile must not rise from good to mid to bad.",
                f"Got good={self.good!r}, mid={self.mid!r}, bad={self.bad!r}.",
                "Order them.",
                good=self.good,
                mid=self.mid,
                bad=self.bad,
            )
        if self.base in (0, 1):
            raise SettingError(
                "'base' must lie strictly between 0 and 1: skill varies around its logit.",
                f"Got {self.base!r}.",
                "Give an accuracy such as 0.65.",
                base=self.base,
            )
        for name in ("class_sd", "global_sd"):
            deviation = getattr(self, name)
            if not 0 <= deviation < math.inf:
                raise SettingError(
                    f"'{name}' must be a finite standard deviation.",
                    f"Got {deviation!r}.",
                    "Give 0 for no variation, or a number above 0.",
                    name=name,
                    value=deviation,
                )

    @classmethod
    def weak(cls) -> "SkillProfile":
        """Accuracy about .65; with specialisation .90, the classwise skill, and .40."""
        return cls(good=0.90, mid=None, bad=0.40, base=0.65, class_sd=0.55, global_sd=0.20)

    @classmethod
    def strong(cls) -> "SkillProfile":
        """Locally complementary experts: .98, .70 and .30."""
        return cls(good=0.98, mid=0.70, bad=0.30, base=0.66, class_sd=0.55, global_sd=0.20)

    def baseline(self, n_experts: int, n_roles: int, rng: np.random.Generator) -> Float[Tensor, "expert role"]:
        """Classwise skill: `b = σ(logit(base) + global_sd · g_e + class_sd · u_{e,y})`.

        >>> alike = SkillProfile(good=0.9, mid=None, bad=0.4, base=0.65, class_sd=0.0, global_sd=0.0)
        >>> alike.baseline(n_experts=1, n_roles=2, rng=np.random.default_rng(0))
        tensor([[0.6500, 0.6500]], dtype=torch.float64)
        """
        require_count(n_experts, "n_experts", least=0)
        require_roles(n_roles)
        # a stream each, so that asking for more experts keeps the first ones
        per_expert, per_class = rng.spawn(2)
        shift = self.global_sd * per_expert.standard_normal((n_experts, 1))
        shift = shift + self.class_sd * per_class.standard_normal((n_experts, n_roles))
        return torch.sigmoid(math.log(self.base / (1 - self.base)) + torch.from_numpy(shift))

    def levels(
        self, baseline: Float[Tensor, "expert role"], n_subtypes: int = 3
    ) -> Float[Tensor, "expert role subtype"]:
        """Specialised skill, good first: the path good → mid → bad read at n_subtypes even steps (one: mid).

        >>> SkillProfile.strong().levels(torch.tensor([[0.66]]), n_subtypes=5)
        tensor([[[0.9800, 0.8400, 0.7000, 0.5000, 0.3000]]])
        """
        require_count(n_subtypes, "n_subtypes", least=1)
        step = torch.linspace(-1, 1, n_subtypes, dtype=baseline.dtype) if n_subtypes > 1 else baseline.new_zeros(1)
        mid = baseline[..., None] if self.mid is None else torch.full_like(baseline, self.mid)[..., None]
        return mid * (1 - step.abs()) + self.good * (-step).clamp(min=0) + self.bad * step.clamp(min=0)
