"""Expert population: the law from which simulated experts are drawn.

Source   the paper, evaluation setup and CIFAR-100 class-scale protocol.
Symbols  ρ rho · λ_id lambda_id · K n_roles · b baseline · ℓ levels of the profile · τ_{e,y} order of the subtypes
         · π_e permutation of the classes

    Γ_e(y, s) = (1 − ρ) b_{e,π(y)} + ρ ℓ_{e,π(y)}[τ_{e,π(y)}(s)]

Our choices: ρ between 0 and 1 mixes probabilities; each expert has its own π_e, uniform over round(λ_id · K) classes
of its own, so a class may map to itself.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from racer.simulation.profile import SkillProfile
from racer.simulation.ranges import require_count, require_probability, require_roles

__all__ = ["ExpertPopulation"]


@final
@dataclass(frozen=True)
class ExpertPopulation:
    """Experts of one profile, from classwise skill (`rho=0`) to full specialisation by hidden subtype (`rho=1`).

    `lambda_id` moves the competence profile of that share of an expert's classes to other classes; labels and the
    classifier stay. Classes are exchangeable, so no `lambda_id` changes the law of the experts.

    >>> population = ExpertPopulation(SkillProfile.strong(), n_roles=2)
    >>> competence = population.sample(n_experts=4, rng=np.random.default_rng(0))
    >>> competence.shape, competence[3, 1].sort().values
    (torch.Size([4, 2, 3]), tensor([0.3000, 0.7000, 0.9800]))
    """

    profile: SkillProfile
    n_roles: int
    n_subtypes: int = 3
    rho: float = 1.0
    lambda_id: float = 0.0

    def __post_init__(self) -> None:
        require_roles(self.n_roles)
        require_count(self.n_subtypes, "n_subtypes", least=1)
        require_probability(self.rho, "rho")
        require_probability(self.lambda_id, "lambda_id")

    def sample(self, n_experts: int, rng: np.random.Generator) -> Float[Tensor, "expert role subtype"]:
        """True competence of new experts.

        Generators of one seed, spawned from equally often, give the same experts for every `rho` and `lambda_id`, and
        the same first experts for every `n_experts`: runs that differ in one of them are paired.
        """
        require_count(n_experts, "n_experts", least=0)
        skill, ordering, relabelling = rng.spawn(3)

        baseline = self.profile.baseline(n_experts, self.n_roles, skill)
        levels = self.profile.levels(baseline, self.n_subtypes)
        order = torch.from_numpy(ordering.random(levels.shape)).argsort(-1)
        specialised = levels.take_along_dim(order, dim=-1)
        competence = torch.lerp(baseline[..., None].expand_as(specialised), specialised, self.rho)

        source = self._class_permutation(n_experts, relabelling)
        return competence.take_along_dim(source[..., None], dim=1).float()

    def _class_permutation(self, n_experts: int, rng: np.random.Generator) -> Int[Tensor, "expert role"]:
        n_moved = round(self.lambda_id * self.n_roles)
        shuffled = torch.from_numpy(rng.random((n_experts, self.n_roles))).argsort(-1)[:, :n_moved]
        identity = torch.arange(self.n_roles).expand(n_experts, -1)
        # sorted → shuffled is a uniform permutation of the chosen classes
        return identity.scatter(1, shuffled.sort(-1).values, shuffled)
