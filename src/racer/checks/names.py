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
from racer.checks.answers import Answers, ask, require_same
from racer.checks.world import World
from racer.competence import AbstractMethod
from racer.errors import ContractError
from racer.panel import Context

__all__ = ["check_class_names_are_irrelevant", "check_expert_only_renaming_is_ordinary", "relabel"]


def relabel(cases: Cases, permutation: Int[Tensor, " role"]) -> Cases:
    """The same cases with class y called π(y)."""
    return Cases(cases.embedding, cases.posterior[:, permutation.argsort()])


def check_class_names_are_irrelevant(method: AbstractMethod, world: World) -> None:
    """Coherent relabelling changes nothing, for methods that promise it."""
    if not method.is_identity_free:
        return
    permutation = torch.arange(world.queries.n_roles).roll(1)
    context = world.context
    answered = context.answered.nonzero()[:, 0]
    renamed = Context(
        relabel(context.cases[answered], permutation),
        permutation[context.label[answered]],
        permutation[context.answer[answered]],
    )
    after = ask(method, relabel(world.queries, permutation), renamed)
    back = Answers(
        competence=None if after.competence is None else after.competence[:, permutation],
        expert_correctness=after.expert_correctness,
        deferral_score=after.deferral_score,
        posterior=after.posterior[:, permutation],
    )
    require_same(ask(method, world.queries, context), back, "after the classes are renamed")


def check_expert_only_renaming_is_ordinary(method: AbstractMethod, world: World) -> None:
    """Renaming only the expert's answers makes another expert: the score may change, and stays a number."""
    context = world.context
    permutation = torch.arange(world.queries.n_roles).roll(1)
    answer = torch.where(context.answered, permutation[context.answer.clamp(min=0)], context.answer)
    score = method.deferral_score(world.queries, Context(context.cases, context.label, answer))
    if not torch.isfinite(score).all():
        raise ContractError(
            "'deferral_score' breaks for another expert.",
            "Renaming only the answers gave a score that is not finite.",
            "Any expert may come: always, never, or oddly right.",
        )
