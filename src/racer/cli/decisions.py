"""From options to a policy, and a decision in a table."""

from collections.abc import Mapping

from racer.cli.saying import remark, say, table
from racer.errors import SettingError, UnknownExpertError
from racer.routing import AbstractPolicy, Budget, Capacity, Cost, Decision, Router, Threshold

__all__ = ["policy_of", "say_decision"]


def policy_of(
    router: Router,
    budget: float | None,
    threshold: float | None,
    cost: float | dict[str, float] | None,
    capacity: float | dict[str, float] | None,
) -> AbstractPolicy:
    """The policy that the options ask for; the router's own where they ask for none."""
    for given in (cost, capacity):
        _refuse_strangers(given, router)
    policy: AbstractPolicy = router.policy
    if budget is not None:
        policy = Budget(budget)
    elif threshold is not None:
        policy = Threshold(threshold)
    if capacity is not None:
        policy = Capacity(capacity, policy)  # type: ignore[arg-type]
    return policy if cost is None else Cost(cost, policy)


def say_decision(decision: Decision) -> None:
    """How many cases go to whom."""
    n = len(decision)
    asked = [decision.names.count(expert) for expert in decision.experts]
    order = sorted(range(len(asked)), key=lambda row: -asked[row])
    handed = sum(asked)
    rows = [("the model", f"{n - handed:,}", f"{(n - handed) / n:.1%}" if n else "–")]
    rows += [(decision.experts[row], f"{asked[row]:,}", f"{asked[row] / n:.1%}") for row in order if asked[row]]
    table(["who answers", "cases", "share"], rows)
    thin = int((decision.is_insufficient & decision.is_deferred).sum())
    if thin:
        remark(f"{thin:,} of {handed:,} cases handed over rest on too few similar past answers (column insufficient).")
    if not handed:
        say("Nobody is asked: no expert is expected to do better than the model. --budget hands over all the same.")


def _refuse_strangers(given: float | dict[str, float] | None, router: Router) -> None:
    if not isinstance(given, Mapping):
        return
    strangers = [expert for expert in given if expert not in router.experts]
    if strangers:
        some = ", ".join(map(repr, router.experts[:5])) + ", …" * (len(router.experts) > 5)
        raise UnknownExpertError(
            f"Nobody called {strangers[0]!r} is enrolled.",
            f"The router knows {len(router.experts)} experts: {some}.",
            "Check the name; 'racer inspect' lists them.",
            expert=strangers[0],
        )
    if not all(value >= 0 for value in given.values()):
        raise SettingError("Costs and capacities are at least 0.", f"Got {given}.", "Give 0 to ask for nothing.")
