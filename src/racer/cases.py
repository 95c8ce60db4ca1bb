"""Cases: inputs as a frozen classifier sees them.

Symbols  z embedding · p_ω(y|x) posterior · p_max confidence
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, final

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import ArrayLike
from torch import Tensor

from racer.errors import (
    NonFiniteError,
    PosteriorError,
    RacerError,
    ShapeError,
    TooFewRolesError,
    ZeroEmbeddingError,
)
from racer.role_state import RoleState, role_state

__all__ = ["Cases", "require_cases", "to_float", "to_tensor", "unchecked_cases", "unit_rows"]

POSTERIOR_TOLERANCE = 1e-3
"""How far a row of the posterior may sum from one: half-precision softmax outputs are ordinary. It is then divided by
its sum, so that no probability derived from it leaves [0, 1]."""
ROUNDING = 1e-6
"""What rounding may have added to a probability or taken from it."""
Derived = TypeVar("Derived")


@final
@dataclass(frozen=True, eq=False, init=False)
class Cases:
    """Inputs as the classifier sees them: one embedding and one posterior a row.

    NumPy arrays, torch tensors and nested lists are taken; float16 is widened to float32, float64 stays float64.
    The values are checked once, here, and memory is shared where it can be: write to the arrays no more.

    >>> cases = Cases([[3.0, 4.0], [0.0, 2.0]], [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1]])
    >>> len(cases), cases.n_roles
    (2, 3)
    >>> cases.role_state.rank
    tensor([[1., 2., 3.],
            [2., 1., 2.]])
    """

    embedding: Float[Tensor, "item feature"]
    posterior: Float[Tensor, "item role"]

    def __init__(self, embedding: ArrayLike | Tensor, posterior: ArrayLike | Tensor) -> None:
        embedding, posterior = to_float(embedding, "embedding"), to_float(posterior, "posterior")
        dtype = torch.promote_types(embedding.dtype, posterior.dtype)
        embedding = embedding.to(dtype)
        posterior = posterior.to(dtype=dtype, device=embedding.device)
        _check(embedding, posterior)
        object.__setattr__(self, "embedding", embedding)
        object.__setattr__(self, "posterior", _normalised(posterior))

    @classmethod
    def empty(cls, n_features: int, n_roles: int, dtype: torch.dtype = torch.float32) -> "Cases":
        """No cases yet, of a known width.

        >>> len(Cases.empty(n_features=4, n_roles=3))
        0
        """
        return cls(torch.empty(0, n_features, dtype=dtype), torch.empty(0, n_roles, dtype=dtype))

    @classmethod
    def from_classifier(cls, classifier: Any, inputs: Any, features: Callable[[Any], Any] | None = None) -> "Cases":
        """Cases of anything with `predict_proba`; `features` embeds the inputs, which else embed themselves.

        >>> import numpy as np
        >>> from sklearn.linear_model import LogisticRegression
        >>> x, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), [0, 1, 1]
        >>> Cases.from_classifier(LogisticRegression().fit(x, y), x, features=lambda rows: rows @ np.eye(2, 3))
        Cases(3 cases, 3 features, 2 roles)
        """
        if not callable(getattr(classifier, "predict_proba", None)):
            raise ShapeError(
                "The classifier must have 'predict_proba'.",
                f"Got a {type(classifier).__name__}.",
                "Give Cases(embedding, posterior), with the posterior from a softmax of its logits.",
            )
        return cls(inputs if features is None else features(inputs), classifier.predict_proba(inputs))

    @classmethod
    def concatenate(cls, parts: "Sequence[Cases]") -> "Cases":
        """Several cases, end to end.

        >>> cases = Cases([[1.0, 0.0]], [[0.9, 0.1]])
        >>> len(Cases.concatenate([cases, cases]))
        2
        """
        if not parts:
            raise ShapeError(
                "Nothing to concatenate.",
                "Got no cases, so neither features nor roles are known.",
                "Give at least one; Cases.empty(n_features, n_roles) holds none.",
            )
        if len(parts) == 1:
            return parts[0]
        for part in parts[1:]:
            parts[0].require_same_space(part, "the cases to concatenate")
        return unchecked_cases(
            torch.cat([part.embedding for part in parts]), torch.cat([part.posterior for part in parts])
        )

    def __repr__(self) -> str:
        return f"Cases({len(self)} cases, {self.n_features} features, {self.n_roles} roles)"

    def __len__(self) -> int:
        return self.embedding.shape[0]

    def __getitem__(self, rows: Any) -> "Cases":
        """Some of the cases, by slice, mask or indices.

        >>> len(Cases([[1.0, 0.0], [0.0, 1.0]], [[0.9, 0.1], [0.5, 0.5]])[1:])
        1
        """
        if isinstance(rows, (int, np.integer)):
            at = int(rows) + len(self) * (rows < 0)
            if not 0 <= at < len(self):
                raise IndexError(f"case {rows} of {len(self)}")  # also what ends a for loop
            rows = slice(at, at + 1)
        elif not isinstance(rows, slice):
            rows = _to_rows(rows, len(self)).to(self.embedding.device)
        elif rows.step is not None and rows.step < 0:
            rows = torch.tensor(range(*rows.indices(len(self))), dtype=torch.int64, device=self.embedding.device)
        some = unchecked_cases(self.embedding[rows], self.posterior[rows])
        if isinstance(rows, slice) and "_direction" in self.__dict__:
            some.__dict__["_direction"] = self.__dict__["_direction"][rows]
        return some

    @property
    def n_features(self) -> int:
        """Width of the embedding."""
        return self.embedding.shape[1]

    @property
    def n_roles(self) -> int:
        """Number of candidate roles, K in the paper."""
        return self.posterior.shape[1]

    @property
    def dtype(self) -> torch.dtype:
        """Floating type of both tensors."""
        return self.embedding.dtype

    @property
    def confidence(self) -> Float[Tensor, " item"]:
        """p_max, the posterior of the model's own answer."""
        return self.posterior.amax(-1)

    @property
    def prediction(self) -> Int[Tensor, " item"]:
        """The model's own answer."""
        return self.posterior.argmax(-1)

    @property
    def direction(self) -> Float[Tensor, "item feature"]:
        """Embeddings of length one."""
        return self.kept("_direction", self.embedding, lambda: unit_rows(self.embedding))

    @property
    def role_state(self) -> RoleState:
        """Posterior, rank, margin and entropy of every role."""
        return self.kept("_role_state", self.posterior, lambda: role_state(self.posterior))

    def kept(self, name: str, source: Tensor, work_out: Callable[[], Derived]) -> Derived:
        """What is derived from these cases, worked out once. Where it carries a gradient, it belongs to one step."""
        if source.requires_grad and torch.is_grad_enabled():
            return work_out()
        if name not in self.__dict__:
            # in inference mode it would be of no use to training later
            with torch.inference_mode(False), torch.no_grad():
                self.__dict__[name] = work_out()
        derived: Derived = self.__dict__[name]
        return derived

    def detached(self) -> "Cases":
        """The same cases without gradients, in the same memory."""
        if not (self.embedding.requires_grad or self.posterior.requires_grad):
            return self
        return unchecked_cases(self.embedding.detach(), self.posterior.detach())

    def require_same_space(self, other: "Cases", name: str) -> None:
        """Refuse cases of another classifier: another width, another number of roles, another floating type."""
        if (self.n_features, self.n_roles) != (other.n_features, other.n_roles):
            raise ShapeError(
                f"{name} come from different classifiers.",
                f"{self.n_features} features and {self.n_roles} roles against "
                f"{other.n_features} features and {other.n_roles} roles.",
                "Embed all cases with the same frozen classifier.",
                expected=(self.n_features, self.n_roles),
                got=(other.n_features, other.n_roles),
            )
        if self.dtype != other.dtype:
            raise ShapeError(
                f"{name} have different floating types.",
                f"{self.dtype} against {other.dtype}.",
                "Convert one of them, for example with embedding.astype('float32') and posterior.astype('float32').",
                expected=self.dtype,
                got=other.dtype,
            )


def unchecked_cases(embedding: Float[Tensor, "item feature"], posterior: Float[Tensor, "item role"]) -> Cases:
    """Cases from rows that were checked when they first came in."""
    cases = object.__new__(Cases)
    object.__setattr__(cases, "embedding", embedding)
    object.__setattr__(cases, "posterior", posterior)
    return cases


def require_cases(value: Any, name: str) -> None:
    """Refuse what is no `Cases`: a bare array of embeddings says nothing of the classifier."""
    if not isinstance(value, Cases):
        raise ShapeError(
            f"'{name}' must be a Cases.",
            f"Got a {type(value).__name__}.",
            "Give racer.Cases(embedding, posterior).",
            name=name,
        )


def unit_rows(embedding: Float[Tensor, "item feature"]) -> Float[Tensor, "item feature"]:
    """Rows of length one. Dividing by the largest entry first keeps tiny and huge rows exact."""
    scaled: Tensor = embedding / torch.linalg.vector_norm(embedding, ord=math.inf, dim=-1, keepdim=True)
    unit: Tensor = scaled / torch.linalg.vector_norm(scaled, dim=-1, keepdim=True)
    return unit


def to_float(values: Any, name: str) -> Tensor:
    """A floating tensor of at least 32 bits, sharing memory and gradients where it can."""
    tensor = to_tensor(values, name)
    if tensor.is_complex():
        raise ShapeError(
            f"'{name}' must hold real numbers.",
            f"Got {tensor.dtype}.",
            "Give the real part, or both parts as features of their own.",
            name=name,
        )
    if tensor.dtype not in (torch.float32, torch.float64):
        tensor = tensor.to(torch.float32)
    return tensor


def to_tensor(values: Any, name: str) -> Tensor:
    """A tensor from whatever holds numbers: array, tensor, data frame, nested lists, a list of rows."""
    try:
        if isinstance(values, Tensor):
            if values.layout != torch.strided or values.is_meta:
                raise ValueError(f"it is a {'meta' if values.is_meta else str(values.layout)} tensor; give a dense one")
            return values
        is_list = isinstance(values, (list, tuple))
        if is_list and any(isinstance(row, Tensor) for row in values):
            return torch.stack([torch.as_tensor(row) for row in values])
        if is_list and not any(isinstance(row, np.ndarray) for row in values):
            return torch.as_tensor(values)
        return torch.from_numpy(_for_torch(values))
    except (TypeError, ValueError, RuntimeError, OverflowError) as error:
        raise ShapeError(
            f"'{name}' is not a rectangular array of numbers.",
            f"Reading it said: {' '.join(str(error).split())}",
            "Give numbers only, as many in each row.",
            name=name,
        ) from error


def _for_torch(values: Any) -> np.ndarray:
    """The same numbers in memory that torch can share; a copy where it cannot."""
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError("it is a masked array; fill it first, answers with -1")
    array = np.asarray(values)
    if array.dtype == object:
        array = np.asarray(array.tolist())
    if array.dtype == np.longdouble:
        array = array.astype(np.float64)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    return array if array.flags.writeable and min(array.strides, default=0) >= 0 else array.copy()


def _to_rows(rows: Any, n: int) -> Tensor:
    """A mask, or indices as int64: torch takes uint8 for a mask and has no empty list of integers."""
    index = to_tensor(rows, "rows")
    index = index if index.ndim else index[None]
    if index.ndim > 1 or (len(index) and (index.is_floating_point() or index.is_complex())):
        raise ShapeError(
            "Cases are picked by a slice, a mask or a list of indices.",
            f"Got {index.dtype} of shape {tuple(index.shape)}.",
            "Give integers or booleans in one dimension.",
        )
    if index.dtype == torch.bool and len(index) != n:
        raise ShapeError(
            "A mask must say of every case whether it is picked.",
            f"Got {len(index)} entries for {n} cases.",
            "Give one boolean per case.",
        )
    if index.dtype != torch.bool and len(index) and not -n <= int(index.min()) <= int(index.max()) < n:
        raise IndexError(f"cases {int(index.min())} to {int(index.max())} of {n}")
    return index if index.dtype == torch.bool else index.to(torch.int64)


def _check(embedding: Tensor, posterior: Tensor) -> None:
    if embedding.ndim != 2 or posterior.ndim != 2 or embedding.shape[0] != posterior.shape[0]:
        raise ShapeError(
            "'embedding' and 'posterior' must be (item, feature) and (item, role) with the same items.",
            f"Got shapes {tuple(embedding.shape)} and {tuple(posterior.shape)}.",
            "Give one row of each per case.",
            embedding=tuple(embedding.shape),
            posterior=tuple(posterior.shape),
        )
    if posterior.shape[1] < 2:
        raise TooFewRolesError(
            "A posterior needs at least two classes.",
            f"Got {posterior.shape[1]}.",
            "For one yes/no finding give both columns: 1 − p and p.",
            n_roles=posterior.shape[1],
        )
    if embedding.shape[1] < 1:
        raise ShapeError(
            "'embedding' has no features.",
            f"Got shape {tuple(embedding.shape)}.",
            "Give at least one number per case.",
            embedding=tuple(embedding.shape),
        )
    if len(embedding) == 0:
        return
    with torch.no_grad():
        largest = torch.linalg.vector_norm(embedding, ord=math.inf, dim=-1)
        _refuse_rows(
            ~torch.isfinite(largest),
            NonFiniteError,
            "'embedding' must be finite.",
            lambda row: f"has {float(embedding[row][~torch.isfinite(embedding[row])][0])}",
            "Drop these cases or embed them again.",
        )
        _refuse_rows(
            largest == 0,
            ZeroEmbeddingError,
            "Every embedding needs a length above zero: cosine similarity asks for a direction.",
            lambda row: "is all zeros",
            "Drop these cases, check the encoder that made them, or give counts and tags one more feature, always 1.",
        )
        total = posterior.sum(-1)
        _refuse_rows(
            ~torch.isfinite(total),
            NonFiniteError,
            "'posterior' must be finite.",
            lambda row: f"is {posterior[row][:5].tolist()}",
            "Apply a softmax to the classifier's logits in float32.",
        )
        _refuse_rows(
            (posterior < -ROUNDING).any(-1),
            PosteriorError,
            "Probabilities in 'posterior' must be at least 0.",
            lambda row: f"holds {float(posterior[row].min()):.6g}",
            "Apply a softmax: these look like logits.",
        )
        in_per_cent = bool(((total - 100).abs() < 100 * POSTERIOR_TOLERANCE).all())
        _refuse_rows(
            (total - 1).abs() > POSTERIOR_TOLERANCE,
            PosteriorError,
            "Rows of 'posterior' must sum to 1.",
            lambda row: f"sums to {float(total[row]):.6g}",
            "These look like per cent: divide by 100."
            if in_per_cent
            else "Apply a softmax to the logits in float32, or divide each row by its sum.",
        )


def _normalised(posterior: Tensor) -> Tensor:
    """Rows that rounding has moved are put right; the others stay as they are, in the caller's memory."""
    with torch.no_grad():
        moved = ((posterior.sum(-1) - 1).abs() > ROUNDING) | (posterior < 0).any(-1)
    if not moved.any():
        return posterior
    cleared = posterior.clamp(min=0)
    return torch.where(moved[:, None], cleared / cleared.sum(-1, keepdim=True), posterior)


def _refuse_rows(bad: Tensor, error: type[RacerError], what: str, describe: Callable[[int], str], fix: str) -> None:
    if bad.any():
        rows = bad.nonzero()[:, 0].tolist()
        raise error(what, f"Row {rows[0]} {describe(rows[0])}; {len(rows)} of {len(bad)} rows.", fix, rows=rows)
