"""What a panel counts, answer by answer; `answers` is a list of (expert, item, label, answer)."""


def chosen(answers, expert, role=None, right=None, said=None):
    kept = []
    for who, item, label, answer in answers:
        if who != expert:
            continue
        if role is not None and label != role:
            continue
        if right is not None and (answer == label) != right:
            continue
        if said is not None and answer != said:
            continue
        kept.append((item, answer == label))
    return sorted(kept)


def count(answers, n_experts, n_roles):
    return [[len(chosen(answers, e, role=y)) for y in range(n_roles)] for e in range(n_experts)]


def n_right(answers, n_experts, n_roles):
    return [[len(chosen(answers, e, role=y, right=True)) for y in range(n_roles)] for e in range(n_experts)]


def by_outcome(answers, n_experts, n_roles):
    """Groups in the order expert, wrong before right, role."""
    outcomes = [(e, right, y) for e in range(n_experts) for right in (False, True) for y in range(n_roles)]
    return [chosen(answers, e, role=y, right=right) for e, right, y in outcomes]


def by_role(answers, n_experts, n_roles):
    return [chosen(answers, e, role=y) for e in range(n_experts) for y in range(n_roles)]


def wrong_by_answer(answers, n_experts, n_roles):
    return [chosen(answers, e, said=m, right=False) for e in range(n_experts) for m in range(n_roles)]
