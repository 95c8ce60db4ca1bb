"""IFD-MLP, one expert and one query at a time."""

from math import sqrt


def profile(rows, n_roles, alpha, beta):
    """Mean and variance of Beta(α + t, β + n − t), by role; rows are (label, answer)."""
    mean, variance = [], []
    for y in range(n_roles):
        n = sum(label == y for label, _ in rows)
        t = sum(label == y == answer for label, answer in rows)
        a, b = alpha + t, beta + n - t
        mean.append(a / (a + b))
        variance.append(a * b / ((a + b) ** 2 * (a + b + 1)))
    return mean, variance


def state(p, mean, variance):
    """p[k_top], p[k_best], μ[k_top], σ²[k_top], μ[k_best], σ²[k_best]."""
    roles = range(len(p))
    top = max(roles, key=lambda y: (p[y], mean[y], -variance[y]))
    best = max(roles, key=lambda y: (mean[y], p[y], -variance[y]))
    return [p[top], p[best], mean[top], variance[top], mean[best], variance[best]]


def weight(label, p, mean, variance, caution):
    """LCB_y · 1[y = k_best]; equals share."""
    best = max(zip(mean, p, [-one for one in variance], strict=True))
    tied = [y for y in range(len(p)) if (mean[y], p[y], -variance[y]) == best]
    return max(mean[label] - caution * sqrt(variance[label]), 0) / len(tied) if label in tied else 0.0


def margin(numbers, w1, b1, w2, b2):
    """d: one hidden layer of rectified units."""
    units = [max(sum(w * x for w, x in zip(row, numbers, strict=True)) + b, 0) for row, b in zip(w1, b1, strict=True)]
    return sum(w * h for w, h in zip(w2, units, strict=True)) + b2
