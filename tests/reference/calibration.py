"""Brier score, calibration error and log loss, item by item and bin by bin."""

from math import log


def brier(q, correct):
    total = 0.0
    for p, right in zip(q, correct, strict=True):
        total += (p - right) ** 2
    return total / len(q)


def bin_of(p, bins):
    for k in range(1, bins + 1):
        if (k - 1) / bins < p <= k / bins or (k == 1 and p == 0):
            return k - 1
    raise ValueError(p)


def reliability(q, correct, bins):
    """Per bin: how many, mean prediction, mean outcome; None for both means of an empty bin."""
    rows = []
    for k in range(bins):
        inside = [i for i in range(len(q)) if bin_of(q[i], bins) == k]
        if inside:
            rows.append(
                (len(inside), sum(q[i] for i in inside) / len(inside), sum(correct[i] for i in inside) / len(inside))
            )
        else:
            rows.append((0, None, None))
    return rows


def ece(q, correct, bins):
    total = 0.0
    for count, predicted, happened in reliability(q, correct, bins):
        if count:
            total += count / len(q) * abs(happened - predicted)
    return total


def nll(posterior, label, floor):
    total = 0.0
    for row, true in zip(posterior, label, strict=True):
        total -= log(max(row[true], floor))
    return total / len(label)


def binary_nll(q, correct, floor):
    return nll([[1 - p, p] for p in q], [int(right) for right in correct], floor)
