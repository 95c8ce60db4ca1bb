"""Rules of who is asked, case by case."""

from fractions import Fraction


def first_best(values):
    """Position of the largest, the first of equals."""
    return max(range(len(values)), key=lambda place: (values[place], -place))


def method_choice(score, asked):
    """(score, expert) of each case: j* among those asked."""
    chosen = []
    for case in range(len(score[0])):
        who = [expert for expert in range(len(score)) if asked[expert][case]]
        best = who[first_best([score[expert][case] for expert in who])]
        chosen.append((score[best][case], best))
    return chosen


def best_expert_choice(n_right, n_shown, asked):
    """The expert with the largest (right + 1) / (shown + 2) among those asked."""
    accuracy = [Fraction(right + 1, shown + 2) for right, shown in zip(n_right, n_shown, strict=True)]
    chosen = []
    for case in range(len(asked[0])):
        who = [expert for expert in range(len(asked)) if asked[expert][case]]
        chosen.append(who[first_best([accuracy[expert] for expert in who])])
    return chosen


def oracle_gain(right, model_right, asked):
    """1 where somebody asked is right and the model wrong, −1 the other way round, 0 where that changes nothing."""
    gain = []
    for case in range(len(model_right)):
        somebody = any(right[expert][case] for expert in range(len(right)) if asked[expert][case])
        gain.append(int(somebody) - int(model_right[case]))
    return gain
