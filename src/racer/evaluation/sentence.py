"""The verdict in one sentence. Differences are in points: hundredths of accuracy."""

from collections.abc import Sequence

from racer.evaluation.comparison import Compared
from racer.metrics import Interval, Verdict
from racer.metrics.verdict import LEAST_CASES

__all__ = ["points", "sentence", "too_few"]


def sentence(method: str, verdict: Verdict, compared: Sequence[Compared], n_cases: int, n_experts: int) -> str:
    """Does deferring help, by how much, and is the method better than asking the best expert where the model is unsure?

    `verdict` compares with the model alone, its budgets chosen on other cases than they are scored on.
    """
    if verdict.over_model.is_above_zero:
        opening = "Deferring helps"
    elif verdict.over_model.is_below_zero:
        opening = "Deferring makes it worse, even at the best budget found"
    else:
        opening = "One cannot tell from these cases whether deferring helps"
    low, high = verdict.chosen
    share = f"{low:.0%}" if low == high else f"{low:.0%} or {high:.0%}"
    who = "this one expert" if n_experts == 1 else f"these {n_experts} experts"
    best = next(one.behind for one in compared if one.name == "best expert")
    assert best is not None
    return (
        f"{opening}: handing {share} of {n_cases:,} cases to whom {method} names among {who} changes accuracy by "
        f"{points(verdict.over_model)} against the model alone; over all budgets it is {_than(best)} asking the best "
        f"expert where the model is least sure, by {points(best)}."
    )


def too_few(n_cases: int) -> str:
    """What can be said of hardly any cases."""
    return f"Too few cases to say whether deferring helps: {n_cases} were asked about, and {LEAST_CASES} are needed."


def points(interval: Interval) -> str:
    """A difference in accuracy, in points, with its interval.

    >>> import torch
    >>> points(Interval.of(0.05, torch.tensor([0.01, 0.09]).double(), level=0.5))
    '+5.0 points (50% interval +3.0 to +7.0)'
    """
    low, high = 100 * interval.low, 100 * interval.high
    return f"{100 * interval.estimate:+.1f} points ({interval.level:.0%} interval {low:+.1f} to {high:+.1f})"


def _than(difference: Interval) -> str:
    if difference.is_above_zero:
        return "better than"
    return "worse than" if difference.is_below_zero else "not told apart from"
