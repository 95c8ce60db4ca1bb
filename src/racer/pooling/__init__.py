"""Same-role pooling: the one numerical kernel, used by every estimator.

`same_role_mean` and `same_role_neighbours` are for reading; estimators use the blocks under them: `similarity`,
`pool_queries`, `pool_neighbours`, `sum_groups`.
"""

from racer.pooling.cosine import query_chunks as query_chunks
from racer.pooling.cosine import similarity as similarity
from racer.pooling.groups import sum_groups as sum_groups
from racer.pooling.kernel import KernelPool as KernelPool
from racer.pooling.kernel import check_temperature as check_temperature
from racer.pooling.kernel import pool_queries as pool_queries
from racer.pooling.neighbours import pool_neighbours as pool_neighbours
from racer.pooling.prior import ContextPrior as ContextPrior
from racer.pooling.reading import SameRole as SameRole
from racer.pooling.reading import same_role_mean as same_role_mean
from racer.pooling.reading import same_role_neighbours as same_role_neighbours
from racer.pooling.support import check_evidence_temperature as check_evidence_temperature
from racer.pooling.support import effective_count as effective_count

__all__ = [
    "ContextPrior",
    "KernelPool",
    "SameRole",
    "check_evidence_temperature",
    "check_temperature",
    "effective_count",
    "pool_neighbours",
    "pool_queries",
    "query_chunks",
    "same_role_mean",
    "same_role_neighbours",
    "similarity",
    "sum_groups",
]
