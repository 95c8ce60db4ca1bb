"""Some of each expert's answers, as even over the classes as they allow."""

import numpy as np
from jaxtyping import Int

__all__ = ["in_turns"]

Whole = Int[np.ndarray, "..."]


def in_turns(rng: np.random.Generator, expert: Whole, role: Whole, size: Whole) -> Whole:
    """`size[e]` answers of each expert e, taken role by role in turn, at random within a role."""
    shuffled = np.lexsort((rng.random(len(expert)), role, expert))
    turn = np.empty(len(expert), dtype=np.int64)
    turn[shuffled] = _place_in_run(expert[shuffled], role[shuffled])
    by_turn = np.lexsort((rng.random(len(expert)), turn, expert))
    return np.sort(by_turn[_place_in_run(expert[by_turn]) < size[expert[by_turn]]])


def _place_in_run(*keys: Whole) -> Whole:
    """0, 1, 2, … within each run of equal keys."""
    n = len(keys[0])
    starts = np.ones(n, dtype=bool)
    starts[1:] = np.logical_or.reduce([key[1:] != key[:-1] for key in keys])
    first = np.maximum.accumulate(np.where(starts, np.arange(n), 0))
    place: Whole = np.arange(n) - first
    return place
