"""Uniform mean over the nearest same-role answers, for all experts, roles and queries of a block.

Source   the paper, "Two competence estimators", Eq. racer-knn.
Symbols  k · N_{e,y} count · a_i right · s_i similarity · μ_{e,0} accuracy

    Γ(x, y, C) = mean of a_i over the min(k, N_{e,y}) same-role answers with the largest s_i;  μ_{e,0} if N_{e,y} = 0

Answers equally near at the k-th place share what is left of the k equally, which is the mean over all their orders:
no result depends on the order of the context. Equal means within a few ulps, since a matrix product rounds the same
pair of vectors differently at different places.
"""

import torch
from jaxtyping import Float
from torch import Tensor

from racer.panel import Panel
from racer.pooling.cosine import query_chunks

__all__ = ["pool_neighbours", "tie_width"]


def tie_width(dtype: torch.dtype) -> float:
    """Similarities closer than this are tied."""
    return 32 * torch.finfo(dtype).eps


def pool_neighbours(
    similarity: Float[Tensor, "bank query"], panel: Panel, k: int, accuracy: Float[Tensor, " expert"]
) -> Float[Tensor, "expert role query"]:
    """Mean of `right` over the k nearest of each group."""
    n_queries = similarity.shape[1]
    count, n_right = panel.count.flatten(), panel.n_right.flatten()
    # where all of a group is taken, the query does not matter
    share = n_right.to(similarity) / count.clamp(min=1)
    whole = torch.where(count > 0, share, accuracy.to(similarity).repeat_interleave(panel.n_roles))
    mean = whole[:, None].expand(-1, n_queries).clone()
    large = (count > k).nonzero()[:, 0]
    # groups of like size are padded to the largest of them; the loop is over the sizes' powers of two
    size_class = torch.log2(count[large].double()).floor()
    for one in torch.unique(size_class):
        group = large[size_class == one]
        item, right, inside = _padded(panel, group)
        for part in query_chunks(n_queries, rows=item.numel()):
            mean[group, part] = _mean_of_nearest(similarity[:, part][item], right, inside, k)
    return mean.view(len(panel), panel.n_roles, n_queries)


def _padded(panel: Panel, group: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Bank rows (group, place), whether each was right, and which places are real."""
    answers = panel.by_role
    start, end = answers.offset[group], answers.offset[group + 1]
    place = start[:, None] + torch.arange(int((end - start).max()))
    inside = place < end[:, None]
    place = torch.where(inside, place, start[:, None])
    return answers.item[place], answers.right[place] & inside, inside


def _mean_of_nearest(near: Tensor, right: Tensor, inside: Tensor, k: int) -> Tensor:
    """`near` is (group, place, query)."""
    near = near.masked_fill(~inside[:, :, None], -torch.inf)
    last = near.topk(k, dim=1, sorted=True).values[:, -1:]
    width = tie_width(near.dtype)
    above, level = near > last + width, (near - last).abs() <= width
    is_right = right[:, :, None]
    left_over = (k - above.sum(1)).to(near) / level.sum(1)
    return ((above & is_right).sum(1) + left_over * (level & is_right).sum(1)) / k
