"""L_CE, L_aug, L_post and the one-vs-all surrogate as they read, one item and expert at a time, in sixty digits."""

from decimal import Decimal, localcontext


def _precisely(work_out):
    with localcontext() as context:
        context.prec = 60
        context.Emin, context.Emax = -(10**8), 10**8
        return float(work_out())


def _softmax(logits):
    weights = [Decimal(one).exp() for one in logits]
    return [one / sum(weights) for one in weights]


def class_loss(class_logit, label):
    """E[ −log p_y ]."""
    return _precisely(
        lambda: sum(-_softmax(f)[y].ln() for f, y in zip(class_logit, label, strict=True)) / Decimal(len(label))
    )


def deferral_loss(class_logit, deferral_logit, label, weight):
    """E[ −log Π_y − w log Π_⊥ ], the last of the softmax's actions being ⊥."""

    def work_out():
        total = Decimal(0)
        for d_of_expert, w_of_expert in zip(deferral_logit, weight, strict=True):
            for f, d, y, w in zip(class_logit, d_of_expert, label, w_of_expert, strict=True):
                action = _softmax([*f, d])
                total += -action[y].ln() - Decimal(w) * action[-1].ln()
        return total / Decimal(len(label) * len(weight))

    return _precisely(work_out)


def posterior_loss(adapted_logit, label):
    """E[ −log π_ρ(y) ]."""

    def work_out():
        rows = [(b, y) for of_expert in adapted_logit for b, y in zip(of_expert, label, strict=True)]
        return sum(-_softmax(b)[y].ln() for b, y in rows) / Decimal(len(rows))

    return _precisely(work_out)


def one_vs_all_loss(class_logit, deferral_logit, label, right):
    """φ(f_y) + Σ_{k≠y} φ(−f_k) + φ(−d) + 1[m = y] (φ(d) − φ(−d)), φ(z) = log(1 + exp(−z))."""

    def phi(z):
        return (1 + (-Decimal(z)).exp()).ln()

    def work_out():
        total = Decimal(0)
        for d_of_expert, right_of_expert in zip(deferral_logit, right, strict=True):
            for f, d, y, a in zip(class_logit, d_of_expert, label, right_of_expert, strict=True):
                total += phi(f[y]) + sum(phi(-one) for k, one in enumerate(f) if k != y)
                total += phi(-d) + (phi(d) - phi(-d) if a else 0)
        return total / Decimal(len(label) * len(right))

    return _precisely(work_out)
