"""Balanced system accuracy against the budget, and its area: AURSBAC, one finding or their macro mean.

Source   the paper, "Evaluation": each finding of a multi-label task is one binary question.
Symbols  t_i truth · n_c cases of class c · u_i = 1 / (2 n_{t_i}) · m_i, e_i model and expert right

    bacc(j/n) = ½ Σ_c recall_c = Σ_i u_i m_i + Σ_{i among the first j} u_i (e_i − m_i)            (1)

Recall's denominators n_c do not depend on who answers, so balanced accuracy is a weighted accuracy, ties are exactly
linear, and the areas are those of `racer.metrics.curve` with the weights u.
"""

from dataclasses import dataclass
from typing import final

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from racer.errors import UndefinedMetricError
from racer.metrics.curve import SystemCurve, sweep_curve
from racer.metrics.inputs import (
    Values,
    flag_array,
    mask_array,
    number_array,
    require_dimensions,
    require_items,
    require_same_shape,
    score_array,
    to_tensor,
)
from racer.metrics.ranking import Ranking

__all__ = ["MacroArea", "aursbac", "balanced_curve", "macro_aursbac"]


@final
@dataclass(frozen=True, eq=False)
class MacroArea:
    """The area of each finding, NaN where `left_out`, and the mean over the others."""

    macro: float
    area: Float[Tensor, " finding"]
    left_out: Bool[Tensor, " finding"]


def balanced_curve(
    score: Values, expert_answer: Values, model_answer: Values, truth: Values, mask: Values | None = None
) -> SystemCurve:
    """Mean recall over the two classes as more cases are handed over, Eq. (1).

    All are (item,) and binary. Rows where `mask` is False are left out and take no budget.

    >>> curve = balanced_curve([0.9, 0.5, 0.1], expert_answer=[1, 0, 0], model_answer=[0, 0, 0], truth=[1, 0, 0])
    >>> curve.accuracy
    tensor([0.5000, 1.0000, 1.0000, 1.0000], dtype=torch.float64)
    """
    finding = _Finding.of(score, expert_answer, model_answer, truth, mask, "item")
    kept = finding.counted
    require_items(int(kept.sum()), "AURSBAC")
    if not finding.has_both_classes:
        raise UndefinedMetricError(
            "Balanced accuracy needs cases of both classes.",
            f"{int(kept.sum())} counted cases, {int((finding.truth & kept).sum())} of them of class 1.",
            "Add cases of the missing class, or use macro_aursbac, which leaves such findings out and says so.",
        )
    gain = (finding.unit * finding.gain)[kept]
    start = float((finding.unit * finding.model_right).sum())
    return sweep_curve(finding.score[kept], gain, start)


def aursbac(
    score: Values, expert_answer: Values, model_answer: Values, truth: Values, mask: Values | None = None
) -> float:
    """Area under the balanced system accuracy curve of one finding: ∫₀¹ bacc(b) db.

    >>> aursbac([0.9, 0.1], expert_answer=[1, 0], model_answer=[0, 0], truth=[1, 0])
    0.875
    """
    return balanced_curve(score, expert_answer, model_answer, truth, mask).area


def macro_aursbac(
    score: Values, expert_answer: Values, model_answer: Values, truth: Values, mask: Values | None = None
) -> MacroArea:
    """Mean of the findings' AURSBAC, each swept by its own scores over its own valid rows.

    All are (item, finding); a score of (item,) ranks every finding alike. Findings whose valid rows lack a class have
    no balanced accuracy: they are left out and named.

    >>> result = macro_aursbac([[0.9, 0.9], [0.1, 0.1]], expert_answer=[[1, 0], [0, 0]],
    ...                        model_answer=[[0, 0], [0, 0]], truth=[[1, 0], [0, 0]])
    >>> result.macro, result.left_out
    (0.875, tensor([False,  True]))
    """
    rank_by = number_array(score, "score")
    if rank_by.ndim == 1:
        shape = number_array(truth, "truth").shape
        require_dimensions("truth", shape, "item finding")
        require_same_shape({"score": rank_by.shape, "items of truth": shape[:1]})
        rank_by = np.broadcast_to(rank_by[:, None], shape)
    findings = _Finding.of(rank_by, expert_answer, model_answer, truth, mask, "item finding").transposed()
    keep = findings.has_both_classes
    if not keep.any():
        raise UndefinedMetricError(
            "No finding has counted cases of both classes.",
            f"{len(keep)} findings, all left out.",
            "Check the mask, or report plain accuracy with aursac.",
        )
    ranking = Ranking.of(findings.score)
    exposure = ranking.exposure(ranking.sort(findings.counted.astype(np.float64)))
    start = (findings.unit * findings.model_right).sum(-1)
    area = start + (ranking.sort(findings.unit * findings.gain) * exposure).sum(-1)
    area[~keep] = np.nan
    return MacroArea(macro=float(area[keep].mean()), area=to_tensor(area), left_out=to_tensor(~keep))


@final
@dataclass(frozen=True, eq=False)
class _Finding:
    """Checked inputs, cases along the last axis after `transposed`."""

    score: Float[np.ndarray, "*cell"]
    expert: Bool[np.ndarray, "*cell"]
    model: Bool[np.ndarray, "*cell"]
    truth: Bool[np.ndarray, "*cell"]
    counted: Bool[np.ndarray, "*cell"]

    @classmethod
    def of(
        cls, score: Values, expert_answer: Values, model_answer: Values, truth: Values, mask: Values | None, axes: str
    ) -> "_Finding":
        inputs = {"score": score, "expert_answer": expert_answer, "model_answer": model_answer, "truth": truth}
        shapes = {name: number_array(values, name).shape for name, values in inputs.items()}
        shape = shapes["truth"]
        require_dimensions("truth", shape, axes)
        require_same_shape(shapes)
        counted = mask_array(mask, shape)
        return cls(
            score=score_array(score, "score", counted),
            expert=flag_array(expert_answer, "expert_answer", counted),
            model=flag_array(model_answer, "model_answer", counted),
            truth=flag_array(truth, "truth", counted),
            counted=counted,
        )

    def transposed(self) -> "_Finding":
        return _Finding(self.score.T, self.expert.T, self.model.T, self.truth.T, self.counted.T)

    @property
    def has_both_classes(self) -> Bool[np.ndarray, "*finding"]:
        return np.asarray((self.truth & self.counted).any(-1) & (~self.truth & self.counted).any(-1))

    @property
    def unit(self) -> Float[np.ndarray, "*cell"]:
        """u: what one right answer adds to balanced accuracy; 0 where masked."""
        positive, negative = self.truth & self.counted, ~self.truth & self.counted
        share = [is_class / np.maximum(2 * is_class.sum(-1, keepdims=True), 1) for is_class in (positive, negative)]
        return np.asarray(share[0] + share[1])

    @property
    def model_right(self) -> Bool[np.ndarray, "*cell"]:
        return np.asarray((self.model == self.truth) & self.counted)

    @property
    def gain(self) -> Float[np.ndarray, "*cell"]:
        return np.asarray((self.expert == self.truth).astype(np.float64) - (self.model == self.truth))
