"""The verdict in one sentence."""

from collections.abc import Sequence

from racer.evaluation.comparison import Compared
from racer.metrics import Interval, Verdict
from racer.metrics.verdict import LEAST_CASES

__all__ = ["sentence", "too_few"]


def sentence(method: str, verdict: Verdict, compared: Sequence[Compared], n_cases: int, n_experts: int) -> str:
    """Does deferring help, by how much, and is the method better than asking the best expert where the model is unsure?

    `verdict` compares with the model alone, its budget chosen on other cases than it is scored on.
    """
    if verdict.over_model.is_above_zero:
        opening = "Deferring helps"
    elif verdict.over_model.is_below_zero:
        opening = "Deferring makes it worse, even at the best budget found"
    else:
        opening = "One cannot tell from these cases whether deferring helps"
    who = "this one expert" if n_experts == 1 else f"these {n_experts} experts"
    best = next(one.behind for one in compared if one.name == "best expert")
    assert best is not None
    return (
        f"{opening}: handing {verdict.budget:.0%} of {n_cases} cases to whom {method} names among {who} changes "
        f"accuracy by {_signed(verdict.over_model)} against the model alone, and its AURSAC is {_than(best)} that of "
        f"asking the best expert where the model is least sure ({_signed(best)})."
    )


def too_few(n_cases: int) -> str:
    """What can be said of hardly any cases."""
    return f"Too few cases to say whether deferring helps: {n_cases} were asked about, and {LEAST_CASES} are needed."


def _than(difference: Interval) -> str:
    if difference.is_above_zero:
        return "above"
    return "below" if difference.is_below_zero else "not told apart from"


def _signed(interval: Interval) -> str:
    return f"{interval.estimate:+.4f}, {interval.level:.0%} interval {interval.low:+.4f} to {interval.high:+.4f}"
