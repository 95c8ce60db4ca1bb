"""Pooled evidence as a person reads it: (item, role), an expert axis first for a panel."""

from dataclasses import dataclass
from typing import final

from jaxtyping import Float, Int
from torch import Tensor

from racer.cases import Cases
from racer.errors import SettingError
from racer.evidence import panel_of
from racer.panel import Context, Panel
from racer.pooling.cosine import query_chunks, similarity
from racer.pooling.kernel import check_temperature, pool_queries
from racer.pooling.neighbours import pool_neighbours
from racer.pooling.prior import ContextPrior

__all__ = ["SameRole", "same_role_mean", "same_role_neighbours"]


@final
@dataclass(frozen=True, eq=False)
class SameRole:
    """Evidence about each query in each role: the local mean of `right`, log(1 + S), and the number of answers."""

    mean: Float[Tensor, "*expert item role"]
    log_mass: Float[Tensor, "*expert item role"]
    count: Int[Tensor, "*expert item role"]


def same_role_mean(
    queries: Cases, evidence: Context | Panel, temperature: float = 0.1, prior: ContextPrior | None = None
) -> SameRole:
    """Kernel-weighted accuracy of an expert on past cases of the same role near each query.

    `ā_y(x) = Σ_i 1[y_i = y] exp(s_i/τ) a_i / Σ_i 1[y_i = y] exp(s_i/τ)`; the context's own accuracy where it has no
    answer in a role, 1/2 where it has none at all.

    >>> from racer import Cases, Context
    >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.8, 0.2]])
    >>> context = Context(cases, label=[0, 0], answer=[0, 1])
    >>> same_role_mean(cases, context, temperature=0.5).mean
    tensor([[0.8808, 0.5000],
            [0.1192, 0.5000]])
    """
    check_temperature(temperature)
    panel, prior = panel_of(evidence), prior or ContextPrior()
    panel.cases.require_same_space(queries, "the queries and the context")
    pooled = queries.posterior.new_empty(len(panel), 2, panel.n_roles, len(queries))
    for part in query_chunks(len(queries), rows=max(len(panel.cases), panel.count.numel() * 2)):
        pooled[..., part] = pool_queries(queries[part], panel, temperature, prior).evidence
    log_mass, mean = pooled.transpose(2, 3).unbind(1)
    read = SameRole(mean=mean, log_mass=log_mass, count=panel.count[:, None, :].expand(-1, len(queries), -1))
    if isinstance(evidence, Panel):
        return read
    return SameRole(mean=read.mean[0], log_mass=read.log_mass[0], count=read.count[0])


def same_role_neighbours(
    queries: Cases, evidence: Context | Panel, k: int = 10, prior: ContextPrior | None = None
) -> Float[Tensor, "*expert item role"]:
    """Accuracy of an expert on the k past cases of the same role nearest to each query.

    >>> from racer import Cases, Context
    >>> cases = Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.8, 0.2]])
    >>> same_role_neighbours(cases, Context(cases, label=[0, 0], answer=[0, 1]), k=1)
    tensor([[1.0000, 0.5000],
            [0.0000, 0.5000]])
    """
    if k < 1:
        raise SettingError("'k' counts neighbours.", f"Got {k}.", "Give an integer of at least 1.")
    panel, prior = panel_of(evidence), prior or ContextPrior()
    panel.cases.require_same_space(queries, "the queries and the context")
    accuracy = prior.context_accuracy(panel, queries.dtype)
    mean = queries.posterior.new_empty(len(panel), panel.n_roles, len(queries))
    for part in query_chunks(len(queries), rows=max(len(panel.cases), panel.count.numel())):
        mean[..., part] = pool_neighbours(similarity(panel.cases, queries[part]), panel, k, accuracy)
    return mean.transpose(1, 2) if isinstance(evidence, Panel) else mean[0].T
