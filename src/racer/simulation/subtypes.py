"""Hidden subtypes: which part of its own class a case belongs to.

Source   the paper, synthetic protocol: cluster the training cases within each true class; the others go to the
         nearest centroid of their class.
Symbols  φ(x) embedding · Y label · K n_roles · c_{y,s} centroids

    s(x, y) = argmin_s ‖ φ(x)/‖φ(x)‖ − c_{y,s} ‖

Our choices: embeddings are brought to length one first, so subtypes live in the cosine geometry in which the
estimators compare cases; k-means++ with five starts; a class with too few distinct cases is refused.
"""

import warnings
from dataclasses import dataclass
from typing import Any, NoReturn, final

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from torch import Tensor

from racer.cases import to_float
from racer.errors import NonFiniteError, ShapeError, TooFewAnswersError, ZeroEmbeddingError
from racer.simulation.ranges import require_count, require_roles, to_index

__all__ = ["Subtypes", "random_subtypes"]

N_RESTARTS = 5


@final
@dataclass(frozen=True, eq=False, init=False)
class Subtypes:
    """Centroids of the hidden subtypes of every class.

    >>> embedding = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]] * 2)
    >>> label = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> subtypes = Subtypes.fit(embedding, label, n_roles=2, n_subtypes=2, rng=np.random.default_rng(0))
    >>> first, second, third, fourth = subtypes.assign(embedding[:4], label[:4]).tolist()
    >>> first == second != third == fourth
    True
    """

    centroids: Float[Tensor, "role subtype feature"]

    def __init__(self, centroids: ArrayLike | Tensor) -> None:
        centroids = to_float(centroids, "centroids")
        if centroids.ndim != 3 or 0 in centroids.shape:
            raise ShapeError(
                "'centroids' must be (role, subtype, feature), none of them empty.",
                f"Got shape {tuple(centroids.shape)}.",
                "Use Subtypes.fit, or stack one (subtype, feature) block per class.",
                centroids=tuple(centroids.shape),
            )
        object.__setattr__(self, "centroids", centroids)

    @classmethod
    def fit(
        cls, embedding: Any, label: Any, n_roles: int, n_subtypes: int = 3, *, rng: np.random.Generator
    ) -> "Subtypes":
        """Cluster the (item, feature) embeddings of training cases within each class of `label` (item).

        Clusters of one class do not depend on the others. The numbering of subtypes means nothing.
        """
        require_roles(n_roles)
        require_count(n_subtypes, "n_subtypes", least=1)
        direction, label = _direction(embedding), to_index(label, "label", n_roles)
        _require_pairs(direction, label)
        count = torch.bincount(label, minlength=n_roles)
        if (count < n_subtypes).any():
            _refuse_classes((count < n_subtypes).nonzero()[:, 0].tolist(), n_subtypes, int(count.min()))

        by_class = direction.detach()[label.argsort(stable=True)].cpu().numpy()
        parts = np.split(by_class, count.cumsum(0)[:-1].numpy())
        seeds = rng.integers(2**31, size=n_roles)
        centers = [_centers(part, role, n_subtypes, int(seeds[role])) for role, part in enumerate(parts)]
        return cls(torch.from_numpy(np.stack(centers)))

    @property
    def n_roles(self) -> int:
        """Number of classes, K in the paper."""
        return self.centroids.shape[0]

    @property
    def n_subtypes(self) -> int:
        """Number of hidden subtypes of each class."""
        return self.centroids.shape[1]

    def assign(self, embedding: Any, label: Any) -> Int[Tensor, " item"]:
        """Nearest centroid of the case's own class; no other class is looked at.

        >>> Subtypes(torch.eye(2).expand(2, 2, 2)).assign([[0.0, 3.0], [3.0, 0.0]], [0, 1])
        tensor([1, 0])
        """
        direction, label = _direction(embedding), to_index(label, "label", self.n_roles)
        _require_pairs(direction, label)
        if direction.shape[1] != self.centroids.shape[2]:
            raise ShapeError(
                "The embeddings are not as wide as the centroids.",
                f"{direction.shape[1]} features against {self.centroids.shape[2]}.",
                "Embed all cases with the same encoder.",
                expected=self.centroids.shape[2],
                got=direction.shape[1],
            )
        centroids = self.centroids.to(direction)
        label = label.to(direction.device)
        # one subtype at a time: never more memory than another copy of the embeddings, whatever the number of classes
        distance = [
            torch.linalg.vector_norm(direction - centroids[label, subtype], dim=-1)
            for subtype in range(self.n_subtypes)
        ]
        return torch.stack(distance, dim=-1).argmin(-1)


def random_subtypes(label: Any, n_subtypes: int, rng: np.random.Generator) -> Int[Tensor, " item"]:
    """The control: a uniform subtype for each item of `label`, independent of everything, so no geometry recovers it.

    >>> random_subtypes([0, 0, 1, 1, 1], n_subtypes=3, rng=np.random.default_rng(0)).shape
    torch.Size([5])
    """
    require_count(n_subtypes, "n_subtypes", least=1)
    return torch.from_numpy(rng.integers(n_subtypes, size=len(to_index(label, "label"))))


def _centers(part: Any, role: int, n_subtypes: int, seed: int) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        try:
            return KMeans(n_subtypes, n_init=N_RESTARTS, random_state=seed).fit(part).cluster_centers_
        except ConvergenceWarning:  # fewer distinct cases than subtypes
            _refuse_classes([role], n_subtypes, len(part))


def _refuse_classes(roles: list[int], n_subtypes: int, n_items: int) -> NoReturn:
    raise TooFewAnswersError(
        f"A class needs at least {n_subtypes} distinct cases to have {n_subtypes} subtypes.",
        f"Class {roles[0]} falls short; {len(roles)} such classes, the smallest with {n_items} cases.",
        "Give more training cases, or lower n_subtypes.",
        roles=roles,
        n_subtypes=n_subtypes,
    )


def _require_pairs(embedding: Tensor, label: Tensor) -> None:
    if len(embedding) != len(label):
        raise ShapeError(
            "'embedding' and 'label' must hold the same items.",
            f"Got {len(embedding)} and {len(label)}.",
            "Give one row and one label per case.",
            embedding=len(embedding),
            label=len(label),
        )


def _direction(values: Any) -> Float[Tensor, "item feature"]:
    embedding = to_float(values, "embedding")
    if embedding.ndim != 2 or embedding.shape[1] == 0:
        raise ShapeError(
            "'embedding' must be (item, feature).",
            f"Got shape {tuple(embedding.shape)}.",
            "Give one row of numbers per case.",
            embedding=tuple(embedding.shape),
        )
    largest = embedding.abs().amax(-1, keepdim=True)
    rows = (~torch.isfinite(largest[:, 0])).nonzero()[:, 0].tolist()
    if rows:
        raise NonFiniteError(
            "'embedding' must be finite.",
            f"Row {rows[0]} is not; {len(rows)} of {len(embedding)} rows.",
            "Drop these cases or embed them again.",
            rows=rows,
        )
    rows = (largest[:, 0] == 0).nonzero()[:, 0].tolist()
    if rows:
        raise ZeroEmbeddingError(
            "Every embedding needs a length above zero: a subtype is a direction.",
            f"Row {rows[0]} is all zeros; {len(rows)} of {len(embedding)} rows.",
            "Drop these cases, or check the encoder that made them.",
            rows=rows,
        )
    scaled = embedding / largest
    length: Tensor = torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)
    return scaled / length
