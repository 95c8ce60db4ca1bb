"""The contract every method keeps, runnable on anybody's.

>>> from racer import IFDScore
>>> check_method(IFDScore())
"""

from collections.abc import Callable

from racer.checks.answers import (
    check_batch_size_is_irrelevant,
    check_correctness_is_expected_competence,
    check_empty_context_is_ordinary,
    check_float64_agrees,
    check_order_of_context_is_irrelevant,
    check_other_experts_are_irrelevant,
    check_panel_equals_contexts,
    check_shapes_and_ranges,
    check_silence_is_not_wrong,
    check_single_role_context_is_ordinary,
    check_skipping_costs_at_most_what_is_skipped,
)
from racer.checks.names import check_class_names_are_irrelevant, check_expert_only_renaming_is_ordinary
from racer.checks.state import (
    check_fit_leaves_everything_else_alone,
    check_same_seed_same_result,
    check_saved_and_loaded_is_the_same,
    fit_in,
)
from racer.checks.world import World as World
from racer.checks.world import make_world as make_world
from racer.competence import AbstractMethod
from racer.errors import ContractError

__all__ = [
    "CHECKS",
    "World",
    "check_batch_size_is_irrelevant",
    "check_class_names_are_irrelevant",
    "check_correctness_is_expected_competence",
    "check_empty_context_is_ordinary",
    "check_expert_only_renaming_is_ordinary",
    "check_fit_leaves_everything_else_alone",
    "check_float64_agrees",
    "check_method",
    "check_order_of_context_is_irrelevant",
    "check_other_experts_are_irrelevant",
    "check_panel_equals_contexts",
    "check_same_seed_same_result",
    "check_saved_and_loaded_is_the_same",
    "check_shapes_and_ranges",
    "check_silence_is_not_wrong",
    "check_single_role_context_is_ordinary",
    "check_skipping_costs_at_most_what_is_skipped",
    "make_world",
]

CHECKS: tuple[Callable[[AbstractMethod, World], None], ...] = (
    check_shapes_and_ranges,
    check_correctness_is_expected_competence,
    check_skipping_costs_at_most_what_is_skipped,
    check_empty_context_is_ordinary,
    check_single_role_context_is_ordinary,
    check_panel_equals_contexts,
    check_other_experts_are_irrelevant,
    check_silence_is_not_wrong,
    check_order_of_context_is_irrelevant,
    check_batch_size_is_irrelevant,
    check_float64_agrees,
    check_class_names_are_irrelevant,
    check_expert_only_renaming_is_ordinary,
    check_saved_and_loaded_is_the_same,
    check_same_seed_same_result,
    check_fit_leaves_everything_else_alone,
)
"""Each takes a fitted method and a world, and raises ContractError."""


def check_method(method: AbstractMethod, world: World | None = None) -> None:
    """Fit a method in a small world and hold it to every check; one ContractError tells all that failed."""
    if not isinstance(method, AbstractMethod):
        raise ContractError(
            "This is no method.",
            f"Got {method!r}.",
            "Give an instance of a class that derives from AbstractCompetence or AbstractMethod: check_method(Mine()).",
        )
    world = world or make_world()
    fitted = fit_in(method, world)
    broken: dict[str, str] = {}
    for check in CHECKS:
        try:
            check(fitted, world)
        except ContractError as error:
            broken[check.__name__] = f"{error.what} {error.values}"
        except Exception as error:
            broken[check.__name__] = f"It raised {type(error).__name__}: {' '.join(str(error).split())}"
    if broken:
        raise ContractError(
            f"{type(method).__name__} breaks {len(broken)} of {len(CHECKS)} checks.",
            "\n  ".join(f"{name}: {why}" for name, why in broken.items()),
            "Run the named functions of racer.checks one by one: check(fitted_method, make_world()).",
            broken=tuple(broken),
        )
