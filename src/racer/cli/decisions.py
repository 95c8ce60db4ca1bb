"""From options to a policy, and a decision in a table."""

import math
from collections.abc import Mapping, Sequence

import torch

from racer.cli.options import listed
from racer.cli.saying import remark, say, table
from racer.errors import SettingError
from racer.routing import AbstractPolicy, Budget, Capacity, Cost, Decision, Router, Threshold

__all__ = ["on_duty", "policy_of", "say_decision"]


def policy_of(
    router: Router,
    budget: float | None,
    threshold: float | None,
    cost: float | dict[str, float] | None,
    capacity: float | dict[str, float] | None,
) -> AbstractPolicy:
    """The policy that the options ask for; the router's own where they ask for none."""
    for given in (cost, capacity):
        if isinstance(given, Mapping):
            router.require_enrolled(given)
        numbers = given.values() if isinstance(given, Mapping) else [] if given is None else [given]
        if not all(0 <= value < math.inf for value in numbers):
            raise SettingError(
                "A cost and a capacity are numbers of at least 0.",
                f"Got {', '.join(f'{value:g}' for value in numbers)}.",
                "A cost is in accuracy, 0.05 is five in a hundred; a capacity counts cases.",
            )
    if threshold is not None and math.isnan(threshold):
        raise SettingError("--threshold must be a number.", "Got nan.", "Give the least gain worth asking for: 0, say.")
    policy: AbstractPolicy = router.policy
    if budget is not None:
        policy = Budget(budget)
    elif threshold is not None:
        policy = Threshold(threshold)
    if capacity is not None:
        policy = Capacity(capacity, policy)  # type: ignore[arg-type]
    return policy if cost is None else Cost(cost, policy)


def on_duty(router: Router, given: Sequence[str] | None) -> list[str] | None:
    """Who may be asked, each once; None for everybody. A name may hold a comma, so whole names are looked for first."""
    if given is None:
        return None
    parts = [[text] if text in router.experts else listed(text) or [] for text in given]
    names = list(dict.fromkeys(name for part in parts for name in part))
    router.require_enrolled(names)
    return names


def say_decision(decision: Decision) -> None:
    """How many cases go to whom."""
    n = len(decision)
    asked = torch.bincount(decision.who[decision.is_deferred], minlength=len(decision.experts)).tolist()
    order = sorted(range(len(asked)), key=lambda row: -asked[row])
    handed = sum(asked)
    rows = [("the model", f"{n - handed:,}", f"{(n - handed) / n:.1%}" if n else "–")]
    rows += [(decision.experts[row], f"{asked[row]:,}", f"{asked[row] / n:.1%}") for row in order if asked[row]]
    table(["who answers", "cases", "share"], rows)
    thin = int((decision.is_insufficient & decision.is_deferred).sum())
    if thin:
        remark(f"{thin:,} of {handed:,} cases handed over rest on too few similar past answers (column insufficient).")
    gain = decision.gain.gather(0, decision.who.clamp(min=0)[None])[0] if asked else decision.confidence
    at_a_loss = int((gain[decision.is_deferred] < 0).sum())
    if at_a_loss:
        remark(
            f"{at_a_loss:,} of {handed:,} cases handed over have a gain below 0: a budget is filled all the same. "
            "--threshold 0 would keep them."
        )
    if not handed and n:
        say("Nobody is asked: at this budget, threshold, cost and capacity no expert is worth it.")
