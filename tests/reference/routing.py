"""Routing, by looking at everything that could be done."""

import itertools
import math

MODEL = -1


def assignments(gain, limit):
    """Every way to hand cases over: at most one expert a case, nobody unavailable, nobody over the limit."""
    n_experts, n_items = len(gain), len(gain[0])
    for who in itertools.product(range(MODEL, n_experts), repeat=n_items):
        if any(j != MODEL and gain[j][i] == -math.inf for i, j in enumerate(who)):
            continue
        if all(who.count(j) <= limit[j] for j in range(n_experts)):
            yield who


def total(gain, who):
    return math.fsum(gain[j][i] for i, j in enumerate(who) if j != MODEL)


def best_under_floor(gain, limit, floor):
    """The largest Σ (G − τ) there is."""
    return max(total(gain, who) - floor * sum(j != MODEL for j in who) for who in assignments(gain, limit))


def best_of_number(gain, limit, n_handed):
    """How many can be handed over, up to `n_handed`, and the largest Σ G among those."""
    ways = [(sum(j != MODEL for j in who), who) for who in assignments(gain, limit)]
    n = max(k for k, _ in ways if k <= n_handed)
    return n, max(total(gain, who) for k, who in ways if k == n)


def one_by_one(gain, floor):
    """j*: the largest gain, the first of equals; the model where it is below the floor or nobody is there."""
    chosen = []
    for column in zip(*gain, strict=True):
        best = max(column)
        chosen.append(column.index(best) if best >= floor and best > -math.inf else MODEL)
    return chosen


def clopper_pearson_below(right, n, target):
    """P(Bin(n, target) ≥ right), term by term."""
    return math.fsum(math.comb(n, k) * target**k * (1 - target) ** (n - k) for k in range(right, n + 1))


def effective_number(weights):
    """Kish: (Σ w)² / Σ w²."""
    return math.fsum(weights) ** 2 / math.fsum(w * w for w in weights) if weights else 0.0
