"""Class-gated deferral: hand over a predicted class where held-out answers say the expert is better there.

Symbols  c = argmax_y p(y|x) predicted class · d_i = 1[m_i = y_i] − 1[c_i = y_i] · S_c = Σ_{i: c_i = c} d_i

Each answer is held out once: the others of its class open the gate if their Σ d > 0, and the gate counts as good if
what it gains on the held-out answers, G_c = Σ_i d_i 1[S_c − d_i > 0], is positive. Working out d_i ∈ {−1, 0, 1},

    S_c ≥ 2:  G_c = S_c > 0        S_c = 1:  G_c = −#{d = −1} ≤ 0        S_c ≤ 0:  G_c ≤ 0,

so the gate is open exactly when S_c ≥ 2, and the order of the context cannot matter. With r_c and t_c the right answers
of expert and model among the n_c of the class, q̂ = (1 + r_c) / (2 + n_c), and the score is

    open    (r_c − t_c) / (2 + n_c) > 0, the shrunk gain
    closed  −p_max < 0, so that closed classes follow, least sure first

A case whose posterior has several largest classes belongs to each of them in equal shares.
"""

from dataclasses import dataclass
from typing import ClassVar, Self, final

import torch
from jaxtyping import Float
from torch import Tensor

from racer.cases import Cases
from racer.competence.method import AbstractMethod, for_each_expert
from racer.evidence import panel_of
from racer.panel import Context, Panel
from racer.pooling import sum_groups

__all__ = ["ClassGated"]

OPEN_FROM = 2.0 - 1e-3
"""Net answers the expert must win by, less what the rounding of shares may take."""


@final
@dataclass(frozen=True)
class ClassGated(AbstractMethod):
    """No network, no geometry: which predicted classes to hand over whole.

    >>> from racer import Cases, Context
    >>> cases = Cases([[1.0, 0.0]] * 3, [[0.9, 0.1], [0.8, 0.2], [0.3, 0.7]])
    >>> context = Context(cases, label=[1, 1, 1], answer=[1, 1, 1])
    >>> ClassGated().deferral_score(cases, context)
    tensor([ 0.5000,  0.5000, -0.7000])
    """

    name: ClassVar[str] = "class-gated"

    def fit(self, panel: Panel, *, context_size: int = 100, seed: int = 0, progress: bool | None = None) -> Self:
        """Nothing to fit: each context speaks for itself."""
        return self

    def competence(self, queries: Cases, evidence: Context | Panel) -> None:
        """None: looks at predicted classes, not at candidate true ones."""

    def expert_correctness(
        self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0
    ) -> Float[Tensor, "*expert item"]:
        """The expert's shrunk accuracy where the model predicts what it predicts here."""
        n, right, _ = _tallies(queries, evidence)
        q = (1.0 + right) / (2.0 + n)
        return q if isinstance(evidence, Panel) else q[0]

    def deferral_score(
        self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0
    ) -> Float[Tensor, "*expert item"]:
        """Shrunk gain where the gate is open, −p_max where it is closed."""
        n, right, model_right = _tallies(queries, evidence)
        won = right - model_right
        score = torch.where(won >= OPEN_FROM, won / (2.0 + n), -queries.confidence)
        return score if isinstance(evidence, Panel) else score[0]

    def posterior(self, queries: Cases, evidence: Context | Panel) -> Float[Tensor, "*expert item role"]:
        """The classifier's posterior."""
        return for_each_expert(queries.posterior, evidence)


def _tallies(queries: Cases, evidence: Context | Panel) -> tuple[Tensor, Tensor, Tensor]:
    """Answers, right ones, and the model's right ones in the predicted class of each query: (expert, query)."""
    panel = panel_of(evidence)
    panel.cases.require_same_space(queries, "the queries and the experts' answers")
    share = _predicted(panel.cases)
    model_right = share.gather(1, panel.label.clamp(min=0)[:, None])
    by_right = panel.offset[:: panel.n_roles]
    sums = sum_groups(torch.cat([share, share * model_right], 1), panel.item, by_right).view(
        len(panel), 2, 2, panel.n_roles
    )
    n, n_model_right = sums.sum(1).unbind(1)
    asked = _predicted(queries).T
    return n @ asked, sums[:, 1, 0] @ asked, n_model_right @ asked


def _predicted(cases: Cases) -> Float[Tensor, "item role"]:
    """One where the posterior is largest; equal shares where several classes tie."""
    largest = (cases.posterior == cases.confidence[:, None]).to(cases.dtype)
    return largest / largest.sum(-1, keepdim=True)
