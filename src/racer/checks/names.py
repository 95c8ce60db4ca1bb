"""What renaming the classes must, and must not, change.

Source   the paper, Definition "Coherent class relabelling" and Theorem "Coherent-relabelling invariance".
Symbols  π permutation of the classes

A coherent relabelling renames labels, answers, posteriors and roles alike: Γ^π(x, π(y), πC) = Γ(x, y, C), and scores
stay as they were. Renaming only the answers changes who the expert is; then anything may change.
"""

import torch
from jaxtyping import Int
from torch import Tensor

from racer.cases import Cases
from racer.checks.answers import Answers, ask, require_same, require_valid
from racer.checks.world import World
from racer.classes import NO_ANSWER
from racer.competence import AbstractMethod
from racer.panel import Context

__all__ = ["check_class_names_are_irrelevant", "check_expert_only_renaming_is_ordinary", "relabel"]


def relabel(cases: Cases, permutation: Int[Tensor, " role"]) -> Cases:
    """The same cases with class y called π(y)."""
    return Cases(cases.embedding, cases.posterior[:, permutation.argsort()])


def check_class_names_are_irrelevant(method: AbstractMethod, world: World) -> None:
    """Coherent relabelling changes nothing, for methods that promise it."""
    if not method.is_identity_free:
        return
    context, before = world.context, ask(method, world.queries, world.context)
    for how, permutation in _permutations(world.queries.n_roles).items():
        label, answer = _rename(context.label, permutation), _rename(context.answer, permutation)
        renamed = Context(relabel(context.cases, permutation), label, answer)
        after = ask(method, relabel(world.queries, permutation), renamed)
        back = Answers(
            competence=None if after.competence is None else after.competence[:, permutation],
            expert_correctness=after.expert_correctness,
            deferral_score=after.deferral_score,
            posterior=after.posterior[:, permutation],
        )
        require_same(before, back, f"after the classes are {how}")


def check_expert_only_renaming_is_ordinary(method: AbstractMethod, world: World) -> None:
    """Renaming only the answers makes another expert, right or wrong in other ways: any may come, and gets numbers."""
    context = world.context
    as_they_are = torch.arange(world.queries.n_roles)
    for given in (context.answer, context.label):  # the expert's own, and those of one who is always right
        for permutation in (as_they_are, *_permutations(world.queries.n_roles).values()):
            other = Context(context.cases, context.label, _rename(given, permutation))
            require_valid(method, world.queries, other)


def _permutations(n_roles: int) -> dict[str, Int[Tensor, " role"]]:
    """π as positions: class y is called π[y]."""
    role = torch.arange(n_roles)
    swapped = role.clone()
    swapped[:2] = role[:2].flip(0)
    return {"shifted by one": role.roll(1), "swapped, the first two": swapped, "put in reverse": role.flip(0)}


def _rename(classes: Int[Tensor, " item"], permutation: Int[Tensor, " role"]) -> Int[Tensor, " item"]:
    return torch.where(classes == NO_ANSWER, classes, permutation[classes.clamp(min=0)])
