"""The contract every method keeps, and the part of it that all estimators of competence share.

Symbols  Γ(x, y, C) competence · q̂ = Σ_y p(y|x) Γ(x, y, C) expert correctness · p_max confidence

A method is a frozen dataclass. Its settings are its fields; what it learned is the one field `state`, a frozen
dataclass of tensors, or None. `fit` gives a new method. That is all `save` and `load` need to know.
"""

import abc
from dataclasses import dataclass, fields
from os import PathLike
from typing import Any, ClassVar, Self, cast, final

from jaxtyping import Float
from torch import Tensor

from racer.artifact import write_method
from racer.cases import Cases, require_cases
from racer.competence.pairs import RolePairs
from racer.evidence import panel_of
from racer.panel import Context, Panel
from racer.pooling import ContextPrior, query_chunks

__all__ = ["AbstractCompetence", "AbstractMethod", "Scored"]


@final
@dataclass(frozen=True, eq=False)
class Scored:
    """Deferral score and q̂ of the same queries; q̂ is None where a method has no such probability."""

    score: Float[Tensor, "*expert item"]
    p_right: Float[Tensor, "*expert item"] | None


class AbstractMethod(abc.ABC):
    """Who should answer? Four questions, each about one expert's context or a whole panel.

    With a `Panel` every answer gains a leading expert axis.
    """

    name: ClassVar[str]
    """Kebab-case, as in the registry and on the command line."""
    is_identity_free: ClassVar[bool] = True
    """Whether coherently renaming the classes promises to change nothing."""
    learns_from_experts: ClassVar[bool] = False
    """Whether `fit` holds out some experts to stop by, so that few of them teach it little."""

    @abc.abstractmethod
    def fit(self, panel: Panel, *, context_size: int = 100, seed: int = 0, progress: bool | None = None) -> Self:
        """A new method, fitted to the experts of `panel` on episodes with contexts of `context_size` answers.

        `progress` shows a bar; None means only in a terminal. Methods that learn nothing return themselves.
        """

    @abc.abstractmethod
    def competence(self, queries: Cases, evidence: Context | Panel) -> Float[Tensor, "*expert item role"] | None:
        """Γ: P(the expert would be right | this query, were this role the truth); None if there is no such estimate."""

    @abc.abstractmethod
    def expert_correctness(
        self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0
    ) -> Float[Tensor, "*expert item"] | None:
        """q̂: P(the expert would be right). None where a method has no such probability.

        Roles that together hold at most `negligible` of the posterior may be skipped, at an error of at most that.
        """

    @abc.abstractmethod
    def deferral_score(
        self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0
    ) -> Float[Tensor, "*expert item"]:
        """What is ranked: the larger, the sooner handed over."""

    @abc.abstractmethod
    def posterior(self, queries: Cases, evidence: Context | Panel) -> Float[Tensor, "*expert item role"]:
        """The class posterior the method stands by: the classifier's own, unless the method adapts it."""

    def scored(self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0) -> Scored:
        """Deferral score and q̂ together. Where both come of one estimate, it is made once."""
        return Scored(
            self.deferral_score(queries, evidence, negligible=negligible),
            self.expert_correctness(queries, evidence, negligible=negligible),
        )

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The settings, as scikit-learn asks for them; `sklearn.base.clone` gives the method unfitted."""
        return {one.name: getattr(self, one.name) for one in fields(cast(Any, self)) if one.name != "state"}

    def save(self, folder: str | PathLike[str]) -> None:
        """Write the method as `method.json` and a safetensors file; `racer.load` reads it back, bit for bit."""
        write_method(self, folder)


class AbstractCompetence(AbstractMethod):
    """A method that estimates Γ. Implement `fit` and `role_competence`; the four questions follow."""

    @abc.abstractmethod
    def role_competence(self, queries: Cases, panel: Panel, pairs: RolePairs) -> Float[Tensor, "expert pair"]:
        """Γ of every expert at the pairs asked for. The queries are few enough to hold a whole grid in memory.

        The plain way is to compute an (expert, role, item) grid and return `pairs.take(grid)`.
        """

    def competence(self, queries: Cases, evidence: Context | Panel) -> Float[Tensor, "*expert item role"]:
        """Γ as (item, role), an expert axis first for a panel."""
        panel = _same_space(queries, evidence)
        gamma = queries.posterior.new_empty(len(panel), panel.n_roles, len(queries))
        for part in _chunks(queries, panel):
            pairs = RolePairs.grid(panel.n_roles, part.stop - part.start)
            gamma[:, :, part] = self.role_competence(queries[part], panel, pairs).view(
                len(panel), panel.n_roles, pairs.n_items
            )
        return _as_asked(gamma.transpose(1, 2), evidence)

    def expert_correctness(
        self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0
    ) -> Float[Tensor, "*expert item"]:
        """q̂ as (item,), an expert axis first for a panel."""
        panel = _same_space(queries, evidence)
        otherwise = ContextPrior().context_accuracy(panel, queries.dtype)
        # one result for all chunks: small ones kept between large ones would break the heap into pieces
        q = queries.posterior.new_empty(len(panel), len(queries))
        for part in _chunks(queries, panel):
            some = queries[part]
            pairs = RolePairs.likely(some.role_state, negligible)
            q[:, part] = pairs.expect(self.role_competence(some, panel, pairs), some.posterior, otherwise)
        return _as_asked(q, evidence)

    def deferral_score(
        self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0
    ) -> Float[Tensor, "*expert item"]:
        """q̂ − p_max."""
        return self.expert_correctness(queries, evidence, negligible=negligible) - queries.confidence

    def scored(self, queries: Cases, evidence: Context | Panel, *, negligible: float = 0.0) -> Scored:
        """q̂ once, and q̂ − p_max from it, unless a subclass scores in a way of its own."""
        q = self.expert_correctness(queries, evidence, negligible=negligible)
        if type(self).deferral_score is AbstractCompetence.deferral_score:
            return Scored(q - queries.confidence, q)
        return Scored(self.deferral_score(queries, evidence, negligible=negligible), q)

    def posterior(self, queries: Cases, evidence: Context | Panel) -> Float[Tensor, "*expert item role"]:
        """The classifier's posterior."""
        return for_each_expert(queries.posterior, evidence)


def for_each_expert(values: Float[Tensor, "*shape"], evidence: Context | Panel) -> Float[Tensor, "*expert_shape"]:
    """The same values for each expert of a panel; as they are for one context."""
    return values.expand(len(evidence), *values.shape) if isinstance(evidence, Panel) else values


def _same_space(queries: Cases, evidence: Context | Panel) -> Panel:
    require_cases(queries, "queries")
    panel = panel_of(evidence)
    panel.cases.require_same_space(queries, "the queries and the experts' answers")
    return panel


def _chunks(queries: Cases, panel: Panel) -> "list[slice]":
    return list(query_chunks(len(queries), rows=max(len(panel.cases), 2 * len(panel) * panel.n_roles)))


def _as_asked(values: Tensor, evidence: Context | Panel) -> Tensor:
    return values if isinstance(evidence, Panel) else values[0]
