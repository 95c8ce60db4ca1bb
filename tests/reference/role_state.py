"""Rank, margin and entropy of one posterior, class by class."""

from math import log


def rank(p, y):
    better = 0
    for k in range(len(p)):
        if p[k] > p[y]:
            better += 1
    return 1 + better


def margin(p, y):
    best_other = None
    for k in range(len(p)):
        if k != y and (best_other is None or p[k] > best_other):
            best_other = p[k]
    return p[y] - best_other


def entropy(p):
    total = 0.0
    for one in p:
        if one > 0:
            total -= one * log(one)
    return total
