"""Same-role pooling, term by term, as the paper writes it: one expert, one query, one role at a time."""

import math


def cosine(u, v):
    # dividing by the largest entry changes no angle and keeps tiny and huge vectors exact
    u, v = [x / max(map(abs, u)) for x in u], [x / max(map(abs, v)) for x in v]
    dot = math.fsum(a * b for a, b in zip(u, v, strict=True))
    return dot / (math.sqrt(math.fsum(a * a for a in u)) * math.sqrt(math.fsum(b * b for b in v)))


def global_prior(context, alpha_pop=0.0, mu_pop=0.5):
    """μ_{e,0}; `context` is a list of (embedding, label, answer)."""
    total = alpha_pop + len(context)
    if total == 0:
        return 0.5
    return (alpha_pop * mu_pop + sum(answer == label for _, label, answer in context)) / total


def same_role_mean(x, y, context, temperature, alpha_0=0.0, alpha_pop=0.0, mu_pop=0.5):
    """ā_{e,y}(x). The weights are divided by the largest of them, which cancels, so that none vanishes."""
    prior = global_prior(context, alpha_pop, mu_pop)
    same = [(cosine(x, z), answer == label) for z, label, answer in context if label == y]
    if not same:
        return prior
    largest = max(s for s, _ in same)
    weights = [math.exp((s - largest) / temperature) for s, _ in same]
    scaled_alpha = math.exp(math.log(alpha_0) - largest / temperature) if alpha_0 > 0 else 0.0
    numerator = scaled_alpha * prior + math.fsum(w * a for w, (_, a) in zip(weights, same, strict=True))
    return numerator / (scaled_alpha + math.fsum(weights))


def log_mass(x, y, context, temperature, cap=30.0):
    """log(1 + S_{e,y}(x)) with the capped exponent."""
    same = [cosine(x, z) for z, label, _ in context if label == y]
    return math.log1p(math.fsum(math.exp(min(s / temperature, cap)) for s in same))


def count(y, context):
    """N_{e,y}."""
    return sum(label == y for _, label, _ in context)


def nearest_mean(x, y, context, k, tie):
    """Γ_KNN: the uniform mean over the min(k, N) nearest; those tied at the last place share what is left equally."""
    same = sorted(((cosine(x, z), float(answer == label)) for z, label, answer in context if label == y), reverse=True)
    if not same:
        return global_prior(context)
    k = min(k, len(same))
    last = same[k - 1][0]
    above = [a for s, a in same if s > last + tie]
    level = [a for s, a in same if abs(s - last) <= tie]
    return (sum(above) + (k - len(above)) * sum(level) / len(level)) / k
