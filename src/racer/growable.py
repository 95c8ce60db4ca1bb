"""Rows that grow without moving those already there.

A panel is a value: appending gives a new one and leaves the old one as it was. Both look at the same buffer, the old
one at fewer of its rows, so an append costs the new rows (and now and then a doubling), not the whole bank.
"""

import threading
from dataclasses import dataclass, field
from typing import Any, final

import torch
from jaxtyping import Shaped
from torch import Tensor

from racer.cases import Cases, unchecked_cases

__all__ = ["Bank", "GrowableRows"]


@dataclass(eq=False)
class _Buffer:
    rows: Tensor
    used: int
    lock: threading.Lock = field(default_factory=threading.Lock)


@final
class GrowableRows:
    """The first rows of a shared buffer.

    >>> first = GrowableRows(torch.zeros(2, 3))
    >>> second = first.append(torch.ones(1, 3))
    >>> len(first.rows), len(second.rows)
    (2, 3)
    """

    rows: Shaped[Tensor, "row ..."]

    def __init__(self, rows: Shaped[Tensor, "row ..."], buffer: _Buffer | None = None) -> None:
        self.rows = rows
        self._buffer = buffer or _Buffer(rows=rows, used=len(rows))

    def __repr__(self) -> str:
        return f"GrowableRows({len(self.rows)} rows, room for {len(self._buffer.rows)})"

    def __reduce__(self) -> tuple[Any, ...]:
        # to another process go these rows alone, not the room behind them
        return GrowableRows, (self.rows.detach().clone(),)

    def starts_with(self, other: "GrowableRows") -> bool:
        """Whether `other` looks at the first of these very rows: the same memory, walked the same way."""
        ours, theirs = self.rows, other.rows
        same_memory = ours.data_ptr() == theirs.data_ptr() and ours.stride() == theirs.stride()
        return same_memory and ours.dtype == theirs.dtype and len(theirs) <= len(ours)

    @torch.inference_mode(False)  # a buffer made inside inference mode could not be written to outside it
    @torch.no_grad()
    def append(self, more: Shaped[Tensor, "new ..."]) -> "GrowableRows":
        """These rows and then `more`. Evidence carries no gradients, so none go with the copy."""
        if len(more) == 0:
            return self
        n, total = len(self.rows), len(self.rows) + len(more)
        with self._buffer.lock:
            # another owner may have written behind our last row already: then the rows are copied once
            if self._buffer.used == n and total <= len(self._buffer.rows):
                self._buffer.rows[n:total] = more
                self._buffer.used = total
                return GrowableRows(self._buffer.rows[:total], self._buffer)
        rows = torch.empty(max(2 * n, total), *self.rows.shape[1:], dtype=self.rows.dtype, device=self.rows.device)
        rows[:n] = self.rows
        rows[n:total] = more
        return GrowableRows(rows[:total], _Buffer(rows=rows, used=total))


@final
@dataclass(frozen=True, eq=False)
class Bank:
    """Cases that several experts share, with the truth of each, as rows that grow.

    >>> bank = Bank.of(Cases([[3.0, 4.0]], [[0.9, 0.1]]), label=torch.tensor([0]))
    >>> len(bank), len(bank.append(bank))
    (1, 2)
    """

    embedding: GrowableRows
    posterior: GrowableRows
    direction: GrowableRows
    label: GrowableRows

    @classmethod
    def of(cls, cases: Cases, label: Tensor) -> "Bank":
        """A bank over the memory of these cases."""
        return cls(*map(GrowableRows, (cases.embedding, cases.posterior, cases.direction, label)))

    def __len__(self) -> int:
        return len(self.label.rows)

    def cases(self) -> Cases:
        """The rows as cases, with their directions known."""
        cases = unchecked_cases(self.embedding.rows, self.posterior.rows)
        cases.__dict__["_direction"] = self.direction.rows
        return cases

    def starts_with(self, other: "Bank") -> bool:
        """Whether `other` is made of the first rows of this one."""
        same_cases = self.embedding.starts_with(other.embedding) and self.posterior.starts_with(other.posterior)
        return same_cases and torch.equal(other.label.rows, self.label.rows[: len(other)])

    def append(self, other: "Bank") -> "Bank":
        """This bank and then another."""
        return Bank(
            embedding=self.embedding.append(other.embedding.rows),
            posterior=self.posterior.append(other.posterior.rows),
            direction=self.direction.append(other.direction.rows),
            label=self.label.append(other.label.rows),
        )
