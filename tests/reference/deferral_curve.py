"""AURDAC as it reads: the expert's accuracy on the first j cases, under every order of the ties."""

from reference.system_curve import area, chance_handed_over, orders


def curve_over_all_orders(score, expert_correct):
    n = len(score)
    sums = [0.0] * (n + 1)
    n_orders = 0
    for order in orders(score):
        n_orders += 1
        accuracy = [sum(expert_correct[i] for i in order[:j]) / j for j in range(1, n + 1)]
        for j, value in enumerate([accuracy[0], *accuracy]):
            sums[j] += value
    return [total / n_orders for total in sums]


def curve(score, expert_correct):
    n = len(score)
    points = []
    for j in range(1, n + 1):
        right = 0.0
        for i in range(n):
            right += chance_handed_over(score, i, j) * expert_correct[i]
        points.append(right / j)
    return [points[0], *points]


def aurdac(score, expert_correct):
    return area(curve(score, expert_correct))
