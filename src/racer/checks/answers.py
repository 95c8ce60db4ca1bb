"""What the four questions must give: shapes, ranges, and independence of everything that should not matter."""

from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from racer.cases import Cases
from racer.checks.world import World, make_world
from racer.competence import AbstractMethod
from racer.errors import ContractError
from racer.panel import Context, Panel

__all__ = [
    "Answers",
    "ask",
    "check_batch_size_is_irrelevant",
    "check_empty_context_is_ordinary",
    "check_float64_agrees",
    "check_order_of_context_is_irrelevant",
    "check_other_experts_are_irrelevant",
    "check_panel_equals_contexts",
    "check_shapes_and_ranges",
    "check_silence_is_not_wrong",
    "check_single_role_context_is_ordinary",
    "require_same",
]

TOLERANCE = 2e-5
"""float32 results that should be equal; matrix products of other shapes round differently."""


@final
@dataclass(frozen=True, eq=False)
class Answers:
    """The four answers at once, None where the method has none."""

    competence: Float[Tensor, "*expert item role"] | None
    expert_correctness: Float[Tensor, "*expert item"] | None
    deferral_score: Float[Tensor, "*expert item"]
    posterior: Float[Tensor, "*expert item role"]

    def named(self) -> dict[str, Tensor | None]:
        """By the method's own verbs."""
        return dict(self.__dict__)


def ask(method: AbstractMethod, queries: Cases, evidence: Context | Panel) -> Answers:
    """All four questions."""
    return Answers(
        competence=method.competence(queries, evidence),
        expert_correctness=method.expert_correctness(queries, evidence),
        deferral_score=method.deferral_score(queries, evidence),
        posterior=method.posterior(queries, evidence),
    )


def check_shapes_and_ranges(method: AbstractMethod, world: World) -> None:
    """(item, role) and (item,), an expert axis first for a panel; probabilities in [0, 1]; scores finite."""
    _require_valid(method, world.queries, world.context)
    _require_valid(method, world.queries, world.strangers)
    _require_valid(method, world.queries[:0], world.strangers)


def check_empty_context_is_ordinary(method: AbstractMethod, world: World) -> None:
    """An expert nobody has met gets numbers, not an error."""
    empty = Context.empty(world.queries)
    _require_valid(method, world.queries, empty)
    both = Panel.from_contexts({"known": world.context, "unknown": empty})
    require_same(
        ask(method, world.queries, both), [ask(method, world.queries, c) for c in (world.context, empty)], "with others"
    )


def check_single_role_context_is_ordinary(method: AbstractMethod, world: World) -> None:
    """Roles nobody has shown get numbers, not an error."""
    context = world.context
    one = (context.label == context.label[0]).nonzero()[:, 0]
    _require_valid(method, world.queries, Context(context.cases[one], context.label[one], context.answer[one]))


def check_panel_equals_contexts(method: AbstractMethod, world: World) -> None:
    """A panel's row is what its expert's context alone would give."""
    apart = [ask(method, world.queries, world.strangers[expert]) for expert in world.strangers.experts]
    require_same(ask(method, world.queries, world.strangers), apart, "one context at a time")


def check_other_experts_are_irrelevant(method: AbstractMethod, world: World) -> None:
    """Asking about an expert together with others changes nothing."""
    some = world.strangers.subset(world.strangers.experts[1:])
    apart = [ask(method, world.queries, some[expert]) for expert in some.experts]
    require_same(ask(method, world.queries, some), apart, "in another grouping")


def check_silence_is_not_wrong(method: AbstractMethod, world: World) -> None:
    """Cases the expert did not answer add nothing."""
    context, extra = world.context, world.panel
    cases = Cases.concatenate([context.cases, extra.cases])
    label = torch.cat([context.label, extra.label])
    answer = torch.cat([context.answer, torch.full_like(extra.label, -1)])
    require_same(
        ask(method, world.queries, context),
        ask(method, world.queries, Context(cases, label, answer)),
        "with unanswered cases added",
    )


def check_order_of_context_is_irrelevant(method: AbstractMethod, world: World) -> None:
    """A context is a set."""
    context = world.context
    order = torch.arange(len(context.cases)).flip(0).roll(7)
    shuffled = Context(context.cases[order], context.label[order], context.answer[order])
    require_same(
        ask(method, world.queries, context), ask(method, world.queries, shuffled), "with the context in another order"
    )


def check_batch_size_is_irrelevant(method: AbstractMethod, world: World) -> None:
    """Queries do not see each other."""
    together = ask(method, world.queries, world.context)
    singles = [ask(method, world.queries[i : i + 1], world.context) for i in range(len(world.queries))]
    for name, whole in together.named().items():
        if whole is not None:
            parts = [part for one in singles if (part := one.named()[name]) is not None]
            _require_close(name, whole, torch.cat(parts), "query by query")


def check_float64_agrees(method: AbstractMethod, world: World) -> None:
    """Double precision gives the same numbers, in double precision."""
    wide = make_world(dtype=torch.float64)
    narrow = make_world()
    _require_valid(method, wide.queries, wide.context)
    require_same(
        ask(method, narrow.queries, narrow.context), ask(method, wide.queries, wide.context), "in float64", 1e-3
    )


def require_same(got: Answers, other: Answers | list[Answers], how: str, tolerance: float = TOLERANCE) -> None:
    """Refuse answers that differ; a list is stacked along the expert axis."""
    for name, mine in got.named().items():
        parts = [one.named()[name] for one in other] if isinstance(other, list) else [other.named()[name]]
        theirs = [part for part in parts if part is not None]
        if (mine is None) != (len(theirs) < len(parts)):
            raise ContractError(
                f"'{name}' is sometimes None.", f"It is not the same {how}.", "Give None always or never.", name=name
            )
        if mine is not None:
            _require_close(name, mine, torch.stack(theirs) if isinstance(other, list) else theirs[0], how, tolerance)


def _require_close(name: str, mine: Tensor, theirs: Tensor | None, how: str, tolerance: float = TOLERANCE) -> None:
    if theirs is None or mine.shape != theirs.shape:
        raise ContractError(
            f"'{name}' changes shape {how}.",
            f"{tuple(mine.shape)} against {None if theirs is None else tuple(theirs.shape)}.",
            "Give (item, …) for a context and (expert, item, …) for a panel.",
            name=name,
        )
    apart = float((mine.double() - theirs.double()).abs().max()) if mine.numel() else 0.0
    if not apart <= tolerance:
        raise ContractError(
            f"'{name}' is not the same {how}.",
            f"It differs by up to {apart:.3g}; {tolerance:.0e} is allowed.",
            "Make it a function of the query and of the set of answers alone.",
            name=name,
            difference=apart,
        )


def _require_valid(method: AbstractMethod, queries: Cases, evidence: Context | Panel) -> None:
    lead = (len(evidence),) if isinstance(evidence, Panel) else ()
    of_item, of_role = (*lead, len(queries)), (*lead, len(queries), queries.n_roles)
    answers = ask(method, queries, evidence)
    shapes = {"competence": of_role, "expert_correctness": of_item, "deferral_score": of_item, "posterior": of_role}
    for name, value in answers.named().items():
        if value is None:
            continue
        if not isinstance(value, Tensor) or tuple(value.shape) != shapes[name] or value.dtype != queries.dtype:
            got = (tuple(value.shape), value.dtype) if isinstance(value, Tensor) else type(value).__name__
            raise ContractError(
                f"'{name}' has the wrong shape or type.",
                f"Got {got}; expected a tensor of {shapes[name]}, {queries.dtype}.",
                "Keep the queries' floating type; an expert axis comes first for a panel.",
                name=name,
            )
        is_probability = name != "deferral_score"
        low, high = (0.0, 1.0) if is_probability else (-torch.inf, torch.inf)
        slack = 1e-6
        if not (torch.isfinite(value).all() and (value >= low - slack).all() and (value <= high + slack).all()):
            raise ContractError(
                f"'{name}' leaves its range.",
                f"It runs from {float(value.min()):.4g} to {float(value.max()):.4g}.",
                f"Keep it finite{' and in [0, 1]' if is_probability else ''}, whatever the context.",
                name=name,
            )
    if not torch.allclose(answers.posterior.sum(-1), queries.posterior.sum(-1).expand(of_item), atol=1e-3):
        raise ContractError("'posterior' does not sum to 1.", "Some row is off.", "Normalise it.", name="posterior")
