"""Cosine similarity of a bank and queries, and how many queries to take at once.

Source   the paper, "Same-role kernel pooling": s_i(x) = z̃ᵀ z̃_i^C.

Kept as (bank, query): every sum over a group of answers then adds whole rows.
"""

from collections.abc import Iterator

import torch
from jaxtyping import Float
from torch import Tensor

from racer.cases import Cases, unit_rows

__all__ = ["query_chunks", "similarity"]

CHUNK = 1 << 20
"""Numbers in the largest intermediate: 4 MB in float32, so that it stays in cache."""
FEWEST, LARGEST = 64, 1 << 25
"""Queries taken at once at least, where ten thousand experts would leave five, a width at which products crawl. They
may take up to 128 MB in float32 for that."""


def similarity(bank: Cases, queries: Cases, dtype: torch.dtype | None = None) -> Float[Tensor, "bank query"]:
    """s of every case of the bank and every query.

    >>> bank = Cases([[3.0, 0.0], [0.0, 2.0]], [[0.9, 0.1], [0.4, 0.6]])
    >>> similarity(bank, bank[:1])
    tensor([[1.],
            [0.]])
    """
    dtype = dtype or bank.dtype
    if dtype == bank.dtype:
        return bank.direction @ queries.direction.T
    # widened before normalising: a direction rounded to float32 is off by an ulp, which a small temperature magnifies
    return _widen(bank, dtype) @ _widen(queries, dtype).T


def _widen(cases: Cases, dtype: torch.dtype) -> Tensor:
    return cases.kept(f"_direction_{dtype}", cases.embedding, lambda: unit_rows(cases.embedding.to(dtype)))


def query_chunks(n_queries: int, rows: int) -> Iterator[slice]:
    """Slices of queries for which an intermediate of `rows` rows stays within `CHUNK` numbers, or close.

    >>> list(query_chunks(300, rows=CHUNK // 128))
    [slice(0, 128, None), slice(128, 256, None), slice(256, 300, None)]
    """
    rows = max(rows, 1)
    step = max(1, CHUNK // rows, min(FEWEST, LARGEST // rows))
    for start in range(0, n_queries, step):
        yield slice(start, min(start + step, n_queries))
