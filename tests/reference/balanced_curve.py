"""AURSBAC as it reads: the system's answers under every order of the ties, their recall of each class, the mean."""

from reference.system_curve import area, chance_handed_over, orders


def balanced_accuracy(answer, truth):
    recalls = []
    for wanted in (0, 1):
        rows = [i for i in range(len(truth)) if truth[i] == wanted]
        found = [i for i in rows if answer[i] == wanted]
        recalls.append(len(found) / len(rows))
    return sum(recalls) / 2


def counted_rows(columns, mask):
    return [[value for value, is_counted in zip(column, mask, strict=True) if is_counted] for column in columns]


def curve_over_all_orders(score, expert_answer, model_answer, truth):
    n = len(score)
    sums = [0.0] * (n + 1)
    n_orders = 0
    for order in orders(score):
        n_orders += 1
        for j in range(n + 1):
            answer = [expert_answer[i] if i in order[:j] else model_answer[i] for i in range(n)]
            sums[j] += balanced_accuracy(answer, truth)
    return [total / n_orders for total in sums]


def curve(score, expert_answer, model_answer, truth):
    n = len(score)
    points = []
    for j in range(n + 1):
        recalls = []
        for wanted in (0, 1):
            found, possible = 0.0, 0
            for i in range(n):
                if truth[i] != wanted:
                    continue
                possible += 1
                p = chance_handed_over(score, i, j)
                found += p * (expert_answer[i] == wanted) + (1 - p) * (model_answer[i] == wanted)
            recalls.append(found / possible)
        points.append(sum(recalls) / 2)
    return points


def aursbac(score, expert_answer, model_answer, truth, mask):
    return area(curve(*counted_rows([score, expert_answer, model_answer, truth], mask)))


def macro_aursbac(score, expert_answer, model_answer, truth, mask):
    """Columns are findings. The mean over those with both classes, and which have not."""
    areas, left_out = [], []
    for f in range(len(truth[0])):
        columns = [[row[f] for row in table] for table in (score, expert_answer, model_answer, truth)]
        counted = [row[f] for row in mask]
        seen = {t for t, is_counted in zip(columns[3], counted, strict=True) if is_counted}
        left_out.append(seen != {0, 1})
        if seen == {0, 1}:
            areas.append(aursbac(*columns, counted))
    return sum(areas) / len(areas) if areas else None, left_out
