"""AURSAC, twice, as slowly as it reads: over every order of the ties, and by the chance of being handed over."""

from itertools import pairwise, permutations


def orders(score):
    """Every order of the items in which no item stands before one with a larger score."""
    for order in permutations(range(len(score))):
        if all(score[a] >= score[b] for a, b in pairwise(order)):
            yield order


def curve_over_all_orders(score, expert_correct, model_correct):
    n = len(score)
    sums = [0.0] * (n + 1)
    n_orders = 0
    for order in orders(score):
        n_orders += 1
        for j in range(n + 1):
            handed_over = order[:j]
            right = 0
            for i in range(n):
                right += expert_correct[i] if i in handed_over else model_correct[i]
            sums[j] += right / n
    return [total / n_orders for total in sums]


def chance_handed_over(score, i, j):
    """P(item i is among the first j), every order within a tie being equally likely."""
    above = sum(1 for other in score if other > score[i])
    tied = sum(1 for other in score if other == score[i])
    return min(max((j - above) / tied, 0.0), 1.0)


def curve(score, expert_correct, model_correct):
    n = len(score)
    accuracy = []
    for j in range(n + 1):
        right = 0.0
        for i in range(n):
            p = chance_handed_over(score, i, j)
            right += p * expert_correct[i] + (1 - p) * model_correct[i]
        accuracy.append(right / n)
    return accuracy


def area(accuracy):
    n = len(accuracy) - 1
    total = 0.0
    for j in range(1, n + 1):
        total += (accuracy[j - 1] + accuracy[j]) / 2 / n
    return total


def aursac(score, expert_correct, model_correct):
    return area(curve(score, expert_correct, model_correct))


def oracle_area(expert_correct, model_correct):
    gains = [int(e) - int(m) for e, m in zip(expert_correct, model_correct, strict=True)]
    return aursac(gains, expert_correct, model_correct)


def best_area_of_any_order(expert_correct, model_correct):
    n = len(expert_correct)
    return max(
        aursac([-order.index(i) for i in range(n)], expert_correct, model_correct) for order in permutations(range(n))
    )


def at_budget(accuracy, budget):
    """The curve between its points: straight lines."""
    n = len(accuracy) - 1
    for j in range(1, n + 1):
        if budget <= j / n:
            inside = budget * n - (j - 1)
            return (1 - inside) * accuracy[j - 1] + inside * accuracy[j]
    return accuracy[n]


def enlarged(values, counts):
    """The sample in which item i stands counts[i] times."""
    return [value for value, count in zip(values, counts, strict=True) for _ in range(count)]
