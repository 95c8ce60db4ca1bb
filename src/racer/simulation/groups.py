"""Expert groups: who is met in training, and who only afterwards.

Source   the paper, PathMNIST and CIFAR-100 protocols: 32 seen experts, four groups of 8 unseen ones.
Symbols  λ_id lambda_id of the population

ID groups have λ_id = 0, OOD groups the λ_id of the population. Permuting exchangeable classes preserves the law of the
experts, so "OOD" is the label of a group and no shift: all five groups hold draws from one population.
"""

from dataclasses import dataclass, replace
from typing import final

import numpy as np
from jaxtyping import Float
from torch import Tensor

from racer.errors import ShapeError
from racer.simulation.population import ExpertPopulation
from racer.simulation.ranges import require_count

__all__ = ["ExpertGroup", "ExpertGroups", "GroupSizes"]


@final
@dataclass(frozen=True)
class GroupSizes:
    """Number of experts in each group; the defaults are the paper's."""

    seen: int = 32
    id_validation: int = 8
    ood_validation: int = 8
    id_test: int = 8
    ood_test: int = 8

    def __post_init__(self) -> None:
        for name in ("seen", "id_validation", "ood_validation", "id_test", "ood_test"):
            require_count(getattr(self, name), name, least=0)


PAPER_SIZES = GroupSizes()


@final
@dataclass(frozen=True, eq=False)
class ExpertGroup:
    """Some experts by id, and their true competence."""

    experts: tuple[str, ...]
    competence: Float[Tensor, "expert role subtype"]

    def __post_init__(self) -> None:
        if len(self.experts) != len(self.competence):
            raise ShapeError(
                "A group needs one competence per expert.",
                f"Got {len(self.experts)} ids and {len(self.competence)} competences.",
                "Give one id per row.",
                experts=len(self.experts),
                competence=len(self.competence),
            )

    def __len__(self) -> int:
        return len(self.experts)


@final
@dataclass(frozen=True, eq=False)
class ExpertGroups:
    """The experts of one run.

    >>> from racer.simulation import SkillProfile
    >>> population = ExpertPopulation(SkillProfile.weak(), n_roles=9, lambda_id=1.0)
    >>> groups = ExpertGroups.sample(population, np.random.default_rng(0))
    >>> len(groups.seen), groups.id_test.experts[3], groups.ood_validation.competence.shape
    (32, 'id-test-03', torch.Size([8, 9, 3]))
    """

    seen: ExpertGroup
    id_validation: ExpertGroup
    ood_validation: ExpertGroup
    id_test: ExpertGroup
    ood_test: ExpertGroup

    @classmethod
    def sample(
        cls, population: ExpertPopulation, rng: np.random.Generator, sizes: GroupSizes = PAPER_SIZES
    ) -> "ExpertGroups":
        """Draw every group from its own stream, so the size of one leaves the others as they are."""
        observed = replace(population, lambda_id=0.0)
        streams = rng.spawn(5)
        return cls(
            seen=_group("seen", observed, sizes.seen, streams[0]),
            id_validation=_group("id-val", observed, sizes.id_validation, streams[1]),
            ood_validation=_group("ood-val", population, sizes.ood_validation, streams[2]),
            id_test=_group("id-test", observed, sizes.id_test, streams[3]),
            ood_test=_group("ood-test", population, sizes.ood_test, streams[4]),
        )

    @property
    def seen_evaluation(self) -> ExpertGroup:
        """The training experts again: same people, same competence; only the cases are new."""
        return self.seen


def _group(name: str, population: ExpertPopulation, n_experts: int, rng: np.random.Generator) -> ExpertGroup:
    ids = tuple(f"{name}-{number:02d}" for number in range(n_experts))
    return ExpertGroup(experts=ids, competence=population.sample(n_experts, rng))
