"""Every estimator, one expert, one query and one role at a time, as its equation reads.

A context is a list of answers (embedding, posterior, label, answer); a query is (embedding, posterior).
"""

import math

from reference.pooling import cosine, global_prior, log_mass, nearest_mean, same_role_mean
from reference.role_state import entropy, margin, rank


def triples(context):
    return [(z, label, answer) for z, _, label, answer in context]


def correctness(posterior, gamma):
    """q̂ = Σ_y p(y|x) Γ(x, y, C)."""
    return math.fsum(p * g for p, g in zip(posterior, gamma, strict=True))


def score(posterior, gamma):
    """q̂ − p_max."""
    return correctness(posterior, gamma) - max(posterior)


def racer_knn(x, posterior, y, context, k, tie):
    return nearest_mean(x, y, triples(context), k, tie)


def ifd_score(x, posterior, y, context, alpha, beta):
    n = sum(label == y for _, _, label, _ in context)
    t = sum(label == y == answer for _, _, label, answer in context)
    return (alpha + t) / (alpha + beta + n)


def global_accuracy(x, posterior, y, context, alpha, beta):
    t = sum(label == answer for _, _, label, answer in context)
    return (alpha + t) / (alpha + beta + len(context))


def summary(x, posterior, y, context, temperature, priors=(0.0, 0.0, 0.5)):
    """u_{e,y}(x), in the paper's order."""
    same = triples(context)
    return [
        same_role_mean(x, y, same, temperature, *priors),
        math.log1p(sum(label == y for _, label, _ in same)),
        log_mass(x, y, same, temperature),
        posterior[y],
        rank(posterior, y),
        margin(posterior, y),
        entropy(posterior),
        global_prior(same, *priors[1:]),
    ]


def two_layers(u, w1, b1, w2, b2):
    hidden = [
        max(0.0, math.fsum(w * v for w, v in zip(row, u, strict=True)) + b) for row, b in zip(w1, b1, strict=True)
    ]
    return math.fsum(w * h for w, h in zip(w2, hidden, strict=True)) + b2


def sigmoid(logit):
    return 1 / (1 + math.exp(-logit)) if logit >= 0 else math.exp(logit) / (1 + math.exp(logit))


def racer_kernel(x, posterior, y, context, temperature, w1, b1, w2, b2, priors=(0.0, 0.0, 0.5)):
    return sigmoid(two_layers(summary(x, posterior, y, context, temperature, priors), w1, b1, w2, b2))


def racer_deepsets(x, posterior, y, context, a, b, w1, b1, w2, b2):
    tokens = [
        (
            label == y,
            [
                float(label == y),
                float(answer == y),
                float(answer == label),
                cosine(x, z),
                p[label],
                math.log(rank(p, label)),
            ],
        )
        for z, p, label, answer in context
    ]
    hidden = [
        (
            same,
            [max(0.0, math.fsum(w * v for w, v in zip(row, t, strict=True)) + c) for row, c in zip(a, b, strict=True)],
        )
        for same, t in tokens
    ]

    def mean(rows):
        return [math.fsum(column) / len(rows) for column in zip(*rows, strict=True)] if rows else [0.0] * len(b)

    n_same = sum(same for same, _ in tokens)
    read = [
        math.log1p(n_same),
        global_prior(triples(context)),
        posterior[y],
        math.log(rank(posterior, y)),
        margin(posterior, y),
        entropy(posterior),
    ]
    v = mean([h for same, h in hidden if same]) + mean([h for _, h in hidden])
    return sigmoid(two_layers(v + read, w1, b1, w2, b2))


def class_gated(posterior, context):
    """(q̂, score) for a posterior with one largest class, by really holding out each answer once."""
    c = max(range(len(posterior)), key=posterior.__getitem__)
    mine = [(label, answer) for _, p, label, answer in context if max(range(len(p)), key=p.__getitem__) == c]
    gains = [(answer == label) - (c == label) for label, answer in mine]
    held_out = sum(d for i, d in enumerate(gains) if sum(gains[:i] + gains[i + 1 :]) > 0)
    q = (1 + sum(label == answer for label, answer in mine)) / (2 + len(mine))
    return q, (sum(gains) / (2 + len(mine)) if held_out > 0 else -max(posterior))


def class_gated_by_shares(posterior, context):
    """(q̂, score, net answers won): a case with several largest classes belongs to each of them in equal shares."""

    def share(p, c):
        largest = [k for k in range(len(p)) if p[k] == max(p)]
        return 1 / len(largest) if c in largest else 0.0

    n = right = model_right = 0.0
    for c in range(len(posterior)):
        for _, p, label, answer in context:
            weight = share(posterior, c) * share(p, c)
            n += weight
            right += weight * (answer == label)
            model_right += weight * share(p, label)
    won = right - model_right
    return (1 + right) / (2 + n), (won / (2 + n) if won > 1.999 else -max(posterior)), won


def beta_binomial(pairs, alpha, beta):
    """Σ_e log B(α + t, β + n − t) − log B(α, β)."""

    def log_beta(a, b):
        return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)

    return math.fsum(log_beta(alpha + t, beta + n - t) - log_beta(alpha, beta) for t, n in pairs)
