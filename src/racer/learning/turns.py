"""Some of each expert's answers: as even over the classes as they allow, or in the mix they have."""

import numpy as np
from jaxtyping import Int

__all__ = ["in_proportion", "in_turns"]

Whole = Int[np.ndarray, "..."]


def in_turns(rng: np.random.Generator, expert: Whole, role: Whole, size: Whole) -> Whole:
    """`size[e]` answers of each expert e, taken role by role in turn, at random within a role."""
    shuffled = np.lexsort((rng.random(len(expert)), role, expert))
    turn = np.empty(len(expert), dtype=np.int64)
    turn[shuffled] = _place_in_run(expert[shuffled], role[shuffled])
    by_turn = np.lexsort((rng.random(len(expert)), turn, expert))
    return np.sort(by_turn[_place_in_run(expert[by_turn]) < size[expert[by_turn]]])


def in_proportion(rng: np.random.Generator, expert: Whole, role: Whole, size: Whole) -> Whole:
    """`size[e]` answers of each expert e, of each role as large a share as of all, at random within a role.

    The i-th answer of a role with n stands at (i + u) / n, u the same for the role, and the first `size[e]` are taken.
    """
    shuffled = np.lexsort((rng.random(len(expert)), role, expert))
    in_role, of_expert = _place_in_run(expert[shuffled], role[shuffled]), expert[shuffled]
    starts = np.flatnonzero(in_role == 0)
    run = np.cumsum(in_role == 0) - 1
    n = np.diff(np.append(starts, len(shuffled)))
    at = (in_role + rng.random(len(starts))[run]) / n[run]
    order = np.lexsort((rng.random(len(expert)), at, of_expert))
    taken = _place_in_run(of_expert[order]) < size[of_expert[order]]
    return np.sort(shuffled[order[taken]])


def _place_in_run(*keys: Whole) -> Whole:
    """0, 1, 2, … within each run of equal keys."""
    n = len(keys[0])
    starts = np.ones(n, dtype=bool)
    starts[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    first = np.maximum.accumulate(np.where(starts, np.arange(n), 0))
    place: Whole = np.arange(n) - first
    return place
