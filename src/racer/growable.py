"""Rows that grow without moving those already there.

A panel is a value: appending gives a new one and leaves the old one as it was. Both look at the same buffer, the old
one at fewer of its rows, so an append costs the new rows (and now and then a doubling), not the whole bank.
"""

import threading
from dataclasses import dataclass, field
from typing import final

import torch
from jaxtyping import Shaped
from torch import Tensor

__all__ = ["GrowableRows"]


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

    def append(self, more: Shaped[Tensor, "new ..."]) -> "GrowableRows":
        """These rows and then `more`."""
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
