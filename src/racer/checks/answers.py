"""What the four questions must give: shapes, ranges, and independence of everything that should not matter."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import final

import torch
from jaxtyping import Float
from torch import Tensor

from racer.cases import Cases
from racer.checks.world import World
from racer.competence import AbstractMethod
from racer.errors import ContractError
from racer.panel import Context, Panel

__all__ = [
    "Answers",
    "ask",
    "check_batch_size_is_irrelevant",
    "check_correctness_is_expected_competence",
    "check_empty_context_is_ordinary",
    "check_float64_agrees",
    "check_order_of_context_is_irrelevant",
    "check_other_experts_are_irrelevant",
    "check_panel_equals_contexts",
    "check_shapes_and_ranges",
    "check_silence_is_not_wrong",
    "check_single_role_context_is_ordinary",
    "check_skipping_costs_at_most_what_is_skipped",
    "require_same",
    "require_valid",
]

TOLERANCE = 2e-5
"""float32 results that should be equal; matrix products of other shapes round differently."""
MAY_BE_NONE = ("competence", "expert_correctness")


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
    """All four questions; whatever the evidence, each has an answer."""
    try:
        answers = Answers(
            competence=method.competence(queries, evidence),
            expert_correctness=method.expert_correctness(queries, evidence),
            deferral_score=method.deferral_score(queries, evidence),
            posterior=method.posterior(queries, evidence),
        )
    except Exception as error:
        raise ContractError(
            "The method fails where it must answer.",
            f"Asked with {evidence!r} it raised {type(error).__name__}: {' '.join(str(error).split())}",
            "Give numbers for any evidence: none at all, one role only, an expert who is never right.",
        ) from error
    for name, value in answers.named().items():
        if not isinstance(value, Tensor) and not (value is None and name in MAY_BE_NONE):
            raise ContractError(
                f"'{name}' is not a tensor.",
                f"Got {type(value).__name__}.",
                f"Give a torch tensor; None is for {' and '.join(MAY_BE_NONE)} alone, where a method has none.",
                name=name,
            )
    return answers


def check_shapes_and_ranges(method: AbstractMethod, world: World) -> None:
    """(item, role) and (item,), an expert axis first for a panel; probabilities in [0, 1]; scores finite."""
    require_valid(method, world.queries, world.context)
    require_valid(method, world.queries, world.strangers)
    require_valid(method, world.queries[:0], world.strangers)
    require_valid(method, world.queries, world.strangers.subset([]))


def check_correctness_is_expected_competence(method: AbstractMethod, world: World) -> None:
    """q̂ = Σ_y p(y|x) Γ(x, y, C), with the posterior the method stands by; where it has both."""
    answers = ask(method, world.queries, world.strangers)
    if answers.competence is None or answers.expert_correctness is None:
        return
    expected = (answers.posterior * answers.competence).sum(-1)
    _require_close("expert_correctness", answers.expert_correctness, expected, "when worked out as Σ p Γ", TOLERANCE)


def check_skipping_costs_at_most_what_is_skipped(method: AbstractMethod, world: World) -> None:
    """`negligible` moves q̂ by at most that much, and is understood by both verbs that take it."""
    try:
        method.deferral_score(world.queries, world.strangers, negligible=0.2)
        method.expert_correctness(world.queries, world.strangers, negligible=0.2)
    except TypeError as error:
        raise ContractError(
            "The method does not know 'negligible'.",
            f"Asked with it, it raised TypeError: {error}",
            "Take it in expert_correctness and deferral_score; it may be ignored.",
        ) from error
    exact = method.expert_correctness(world.queries, world.strangers)
    for negligible in (0.01, 0.2):
        skipped = method.expert_correctness(world.queries, world.strangers, negligible=negligible)
        if exact is not None and skipped is not None:
            how = f"within {negligible} of itself with negligible={negligible}"
            _require_close("expert_correctness", exact, skipped, how, negligible + TOLERANCE)


def check_empty_context_is_ordinary(method: AbstractMethod, world: World) -> None:
    """An expert nobody has met gets numbers, not an error."""
    empty = Context.empty(world.queries)
    require_valid(method, world.queries, empty)
    both = Panel.from_contexts({"known": world.context, "unknown": empty})
    require_same(
        ask(method, world.queries, both), [ask(method, world.queries, c) for c in (world.context, empty)], "with others"
    )


def check_single_role_context_is_ordinary(method: AbstractMethod, world: World) -> None:
    """Roles nobody has shown get numbers, not an error."""
    context = world.context
    one = (context.label == context.label[0]).nonzero()[:, 0]
    require_valid(method, world.queries, Context(context.cases[one], context.label[one], context.answer[one]))


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
    singles = [ask(method, world.queries[i : i + 1], world.context) for i in range(len(world.queries))]
    require_same(ask(method, world.queries, world.context), singles, "query by query", join=torch.cat)


def check_float64_agrees(method: AbstractMethod, world: World) -> None:
    """Double precision gives the same numbers, in double precision."""
    queries, context = _in_float64(world.queries), world.context
    wide = Context(_in_float64(context.cases), context.label, context.answer)
    require_valid(method, queries, wide)
    require_same(ask(method, world.queries, context), ask(method, queries, wide), "in float64", 1e-3)


def require_same(
    got: Answers,
    other: Answers | list[Answers],
    how: str,
    tolerance: float = TOLERANCE,
    join: Callable[[list[Tensor]], Tensor] = torch.stack,
) -> None:
    """Refuse answers that differ; a list is joined first, by default along the expert axis."""
    for name, mine in got.named().items():
        parts = [one.named()[name] for one in other] if isinstance(other, list) else [other.named()[name]]
        theirs = [part for part in parts if part is not None]
        if len({part is None for part in [mine, *parts]}) > 1:
            raise ContractError(
                f"'{name}' is sometimes None.", f"It is not the same {how}.", "Give None always or never.", name=name
            )
        if mine is not None:
            _require_close(name, mine, join(theirs) if isinstance(other, list) else theirs[0], how, tolerance)


def _require_close(name: str, mine: Tensor, theirs: Tensor, how: str, tolerance: float) -> None:
    if mine.shape != theirs.shape:
        raise ContractError(
            f"'{name}' changes shape {how}.",
            f"{tuple(mine.shape)} against {tuple(theirs.shape)}.",
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


def require_valid(method: AbstractMethod, queries: Cases, evidence: Context | Panel) -> None:
    """Refuse answers of a wrong shape or type, or out of their range."""
    lead = (len(evidence),) if isinstance(evidence, Panel) else ()
    of_item, of_role = (*lead, len(queries)), (*lead, len(queries), queries.n_roles)
    answers = ask(method, queries, evidence)
    shapes = {"competence": of_role, "expert_correctness": of_item, "deferral_score": of_item, "posterior": of_role}
    for name, value in answers.named().items():
        if value is None:
            continue
        if tuple(value.shape) != shapes[name] or value.dtype != queries.dtype:
            raise ContractError(
                f"'{name}' has the wrong shape or type.",
                f"Got {tuple(value.shape)}, {value.dtype}; expected {shapes[name]}, {queries.dtype}.",
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


def _in_float64(cases: Cases) -> Cases:
    return Cases(cases.embedding.double(), cases.posterior.double())
