"""Who takes which case when takers have limits: an exact assignment to few takers.

Symbols  c_{i,j} cost of giving case i to taker j · w_{j,k} = min over cases i at j of c_{i,k} − c_{i,j}

Takers are the experts and the model. Start from the best assignment without limits. While some taker has too many,
find the cheapest path of moves j → k → … from such a taker to one with room, each move taking the case that costs
least to move, and carry it out. Each step keeps the assignment the cheapest for the loads it has (successive shortest
paths), so the last one is optimal. Paths run over takers, not over cases: fifty nodes, not ten thousand.
"""

from itertools import pairwise
from typing import final

import numpy as np
from jaxtyping import Float, Int

__all__ = ["assign"]

ROUNDING = 1e-12
"""Paths must be cheaper by more than this to be preferred: sums of the same numbers in another order are equal."""
FRESH = 64
"""Cases that arrive at a taker before its list is sorted again."""


def assign(
    cost: Float[np.ndarray, "item taker"],
    at: Int[np.ndarray, " item"],
    room: Int[np.ndarray, " taker"],
    last_resort: int | None = None,
) -> Int[np.ndarray, " item"]:
    """The cheapest assignment within limits. `cost` is +∞ where a case may not go.

    `at` is a cheapest assignment of its loads; `room` is how many more each taker may have, negative where there are
    too many. Where nobody with room can be reached, `last_resort` takes one more.

    >>> cost = np.array([[-0.5, -0.4, 0.0], [-0.4, -0.1, 0.0]])                 # two experts, and the model
    >>> assign(cost, at=np.array([0, 0]), room=np.array([-1, 2, 2]))
    array([1, 0])
    """
    at, room = at.copy(), room.copy()
    n_takers = cost.shape[1]
    takers = [_Taker(cost, np.flatnonzero(at == me), me) for me in range(n_takers)]
    moves = np.full((n_takers, n_takers), np.inf)
    case = np.zeros((n_takers, n_takers), dtype=np.int64)
    for me, taker in enumerate(takers):
        case[me], moves[me] = taker.cheapest(at)
    while (room < 0).any():
        distance, before = _shortest(moves, room < 0)
        reached = np.where(room > 0, distance, np.inf)
        end = int(reached.argmin())
        if not np.isfinite(reached[end]):
            if last_resort is None or not np.isfinite(distance[last_resort]):
                raise RuntimeError(f"No assignment of {len(at)} cases to {n_takers} takers keeps the limits.")
            end = last_resort
        path = _path(before, end)
        for here, there in pairwise(path):
            moved = case[here, there]
            at[moved] = there
            takers[there].receive(moved)
        room[path[0]] += 1
        room[end] -= end != last_resort
        for me in path:
            case[me], moves[me] = takers[me].cheapest(at)
    return at


@final
class _Taker:
    """The cases of one taker, by what it costs to move each to every other taker."""

    def __init__(self, cost: Float[np.ndarray, "item taker"], items: Int[np.ndarray, " mine"], me: int) -> None:
        self.cost, self.me, self.fresh = cost, me, np.empty(0, dtype=np.int64)
        self._sort(items)

    def _sort(self, items: Int[np.ndarray, " mine"]) -> None:
        order = np.argsort(self._regret(items), axis=0, kind="stable")
        # a last row of −1: a list that has run out
        self.sorted = np.vstack([items[order], np.full((1, self.cost.shape[1]), -1)])
        self.head = np.zeros(self.cost.shape[1], dtype=np.int64)

    def _regret(self, items: Int[np.ndarray, " some"]) -> Float[np.ndarray, "some taker"]:
        return np.asarray(self.cost[items] - self.cost[items, self.me][:, None])

    def receive(self, item: int) -> None:
        """One more case."""
        self.fresh = np.append(self.fresh, item)

    def cheapest(self, at: Int[np.ndarray, " item"]) -> tuple[Int[np.ndarray, " taker"], Float[np.ndarray, " taker"]]:
        """For each other taker the case that costs least to move there, and its cost; +∞ where there is none."""
        if len(self.fresh) > FRESH:
            self.fresh = self.fresh[:0]
            self._sort(np.flatnonzero(at == self.me))
        column = np.arange(len(self.head))
        while True:  # each step passes a case that has gone, for all takers it stood first for
            first = self.sorted[self.head, column]
            gone = (first >= 0) & (at[first] != self.me)
            if not gone.any():
                break
            self.head += gone
        with np.errstate(invalid="ignore"):  # where a list has run out the numbers are of any case
            regret = np.where(first >= 0, self.cost[first, column] - self.cost[first, self.me], np.inf)
        self.fresh = self.fresh[at[self.fresh] == self.me]
        if len(self.fresh):
            among = self._regret(self.fresh)
            best = among.argmin(0)
            is_less = among[best, column] < regret
            first = np.where(is_less, self.fresh[best], first)
            regret = np.where(is_less, among[best, column], regret)
        regret[self.me] = np.inf
        return first, regret


def _shortest(
    moves: Float[np.ndarray, "taker taker"], starts: np.ndarray
) -> tuple[Float[np.ndarray, " taker"], Int[np.ndarray, " taker"]]:
    """Bellman and Ford: the cheapest way from some start to each taker, and where its last move comes from."""
    distance = np.where(starts, 0.0, np.inf)
    before = np.full(len(moves), -1)
    for _ in range(len(moves)):
        through = distance[:, None] + moves
        best = through.argmin(0)
        shorter = through[best, np.arange(len(moves))]
        is_shorter = shorter < distance - ROUNDING
        if not is_shorter.any():
            break
        distance, before = np.where(is_shorter, shorter, distance), np.where(is_shorter, best, before)
    return distance, before


def _path(before: Int[np.ndarray, " taker"], end: int) -> list[int]:
    path = [end]
    while before[path[-1]] >= 0:
        path.append(int(before[path[-1]]))
        if len(path) > len(before):
            raise RuntimeError("The moves go round in a circle: the assignment was not the cheapest of its loads.")
    return path[::-1]
