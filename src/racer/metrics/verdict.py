"""Does deferring help here at all?

Two comparisons, each with its interval over cases, and over experts where there are ten or more:

    over_model       mean over both halves of  acc_B(b_A) − acc_B(0),   b_A = argmax_b acc_A(b) over the budgets tried
    over_confidence  AURSAC of the score − AURSAC of routing by −p_max

A and B are halves of the cases and swap places, so no budget is chosen on the cases that score it. Resamples keep the
budgets chosen: the interval is about handing over these shares. Accuracies are means over experts.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from racer.errors import SettingError, TooFewAnswersError
from racer.metrics.bootstrap import for_every_expert
from racer.metrics.inputs import Values, number_array, require_fraction
from racer.metrics.interval import Interval
from racer.metrics.resampling import Resample, Resampling, Seed, observed
from racer.metrics.sweep import Sweep

__all__ = ["BUDGETS", "Verdict", "verdict"]

BUDGETS = tuple(step / 20 for step in range(1, 21))
"""The budgets tried: 5 %, 10 %, …, 100 %. Zero is not among them, so that "makes it worse" can be an answer."""


LEAST_CASES = 20
"""Below this many answered cases the percentile interval is too narrow to say anything: in simulation without any
difference it then lay off zero in up to a third of all runs."""
LEAST_EXPERTS = 10
"""Below this many experts a bootstrap over them is too narrow; the verdict then speaks of these experts only."""


@final
@dataclass(frozen=True, eq=False)
class Verdict:
    """`helps` when the interval of `over_model` lies above zero; `sentence` says it, with both intervals.

    `beats_confidence` when that of `over_confidence` does. `chosen` are the budgets of both halves, the smaller first,
    `budget` their mean. The verdict speaks of experts like these where `speaks_of_others`, else of these alone.
    """

    over_model: Interval
    over_confidence: Interval
    chosen: tuple[float, float]
    helps: bool
    beats_confidence: bool
    speaks_of_others: bool
    sentence: str

    @property
    def budget(self) -> float:
        """The mean of the two budgets chosen."""
        return sum(self.chosen) / 2

    def __str__(self) -> str:
        return self.sentence


def verdict(
    score: Values,
    expert_correct: Values,
    model_correct: Values,
    *,
    confidence: Values,
    seed: Seed,
    mask: Values | None = None,
    budgets: Sequence[float] = BUDGETS,
    n_replicates: int = 1000,
    level: float = 0.95,
) -> Verdict:
    """Is model plus expert better than the model alone, and is the score better than confidence?

    Arrays as in `bootstrap_aursac`; `confidence` is p_max, (item,) or (expert, item). With fewer than ten experts
    only the cases are redrawn, and the verdict is about these experts.

    >>> rng = np.random.default_rng(0)
    >>> model, expert = rng.random(400) < 0.6, rng.random(400) < 0.9
    >>> result = verdict(expert * 1.0 - model, expert, model, confidence=rng.random(400), seed=0)
    >>> result.helps, result.sentence[:17]
    (True, 'Deferring helps: ')
    """
    require_fraction("level", level)
    rng = np.random.default_rng(seed)
    tried = _checked_budgets(budgets)
    by_score = Sweep.of(score, expert_correct, model_correct, mask)
    unsure_first = for_every_expert(-number_array(confidence, "confidence").astype(np.float64), score, "confidence")
    by_confidence = Sweep.of(unsure_first, expert_correct, model_correct, mask, "confidence")
    halves = _halves(by_score, rng)
    grid = np.concatenate([[0.0], tried])

    def compare(case_count: Int[np.ndarray, "draw item"], experts: slice) -> Float[np.ndarray, "draw expert point"]:
        curves = [half.accuracy(case_count, experts, grid) for half in halves]
        gain = by_score.area(case_count, experts) - by_confidence.area(case_count, experts)
        return np.concatenate([*curves, gain[..., None]], axis=-1)

    speaks_of_others = by_score.n_experts >= LEAST_EXPERTS
    what = Resample.BOTH if speaks_of_others else Resample.CASES
    size = by_score.n_experts, by_score.n_items
    estimate = _Comparison.of(observed(compare, *size)[None])
    drawn = Resampling(what, n_replicates).mean_over_experts(compare, *size, rng)
    replicates = _Comparison.of(drawn, chosen=estimate.chosen.expand(len(drawn), -1))
    over_model = Interval.of(float(estimate.over_model[0]), replicates.over_model, level)
    over_confidence = Interval.of(float(estimate.over_confidence[0]), replicates.over_confidence, level)
    chosen = tried[estimate.chosen[0].numpy()]
    return Verdict(
        over_model=over_model,
        over_confidence=over_confidence,
        chosen=(float(chosen.min()), float(chosen.max())),
        helps=over_model.is_above_zero,
        beats_confidence=over_confidence.is_above_zero,
        speaks_of_others=speaks_of_others,
        sentence=_sentence(
            over_model, over_confidence, float(chosen.mean()), 0 if speaks_of_others else by_score.n_experts
        ),
    )


@final
@dataclass(frozen=True, eq=False)
class _Comparison:
    over_model: Float[Tensor, " replicate"]
    over_confidence: Float[Tensor, " replicate"]
    chosen: Int[Tensor, "replicate half"]

    @classmethod
    def of(
        cls, statistic: Float[Tensor, "replicate point"], chosen: Int[Tensor, "replicate half"] | None = None
    ) -> "_Comparison":
        """From both halves' curves (the model alone first) and, last, the difference in area; budgets as they are."""
        curve = statistic[:, :-1].reshape(len(statistic), 2, -1)
        alone, deferred = curve[:, :, :1], curve[:, :, 1:]
        if chosen is None:  # the first maximum: of equally good budgets the smallest
            chosen = deferred.argmax(-1)
        scored = (deferred - alone).flip(1).gather(-1, chosen[..., None])[..., 0].mean(-1)
        is_defined = ~curve.isnan().any(-1).any(-1)
        return cls(
            over_model=torch.where(is_defined, scored, torch.nan), over_confidence=statistic[:, -1], chosen=chosen
        )


def _checked_budgets(budgets: Sequence[float]) -> Float[np.ndarray, " point"]:
    tried = np.unique(np.asarray(budgets, dtype=np.float64))
    if tried.size == 0 or not (np.isfinite(tried).all() and tried[0] >= 0 and tried[-1] <= 1):
        raise SettingError(
            "'budgets' must be shares of the cases, at least one.",
            f"Got {list(budgets)!r}.",
            "Pass numbers from 0 to 1, such as budgets=[0.1, 0.2, 0.5].",
        )
    return tried


def _halves(sweep: Sweep, rng: np.random.Generator) -> list[Sweep]:
    in_first = np.zeros(sweep.n_items, dtype=bool)
    in_first[rng.permutation(sweep.n_items)[: sweep.n_items // 2]] = True
    halves = [sweep.restricted_to(in_first), sweep.restricted_to(~in_first)]
    n_answers = [int(half.is_answered.sum()) for half in halves]
    n_answered = int((sweep.case_is_answered > 0).any(0).sum())
    if min(n_answers) == 0 or n_answered < LEAST_CASES:
        raise TooFewAnswersError(
            "A verdict chooses the budget on one half of the cases and scores it on the other.",
            f"{n_answered} answered cases, in halves with {n_answers[0]} and {n_answers[1]} answers.",
            f"Give at least {LEAST_CASES} answered cases.",
            n_answers=n_answers,
        )
    return halves


def _sentence(over_model: Interval, over_confidence: Interval, budget: float, only: int) -> str:
    if over_model.is_above_zero:
        opening = "Deferring helps"
    elif over_model.is_below_zero:
        opening = "Deferring makes it worse, even at the best budget found"
    else:
        opening = "One cannot tell from these cases whether deferring helps"
    if over_confidence.is_above_zero:
        ranking = "better than"
    elif over_confidence.is_below_zero:
        ranking = "worse than"
    else:
        ranking = "not told apart from"
    scope = {0: "", 1: "for this one expert, "}.get(only, f"for these {only} experts, ")
    return (
        f"{opening}: {scope}handing over {budget:.0%} of the cases changes accuracy by {_signed(over_model)} "
        f"against the model alone, and the score ranks cases {ranking} confidence alone, with an AURSAC difference of "
        f"{_signed(over_confidence)}."
    )


def _signed(interval: Interval) -> str:
    return f"{interval.estimate:+.4f} ({interval.level:.0%} interval {interval.low:+.4f} to {interval.high:+.4f})"
