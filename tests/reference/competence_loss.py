"""L_comp as it reads, one outcome at a time, in sixty digits."""

from decimal import Decimal, localcontext


def competence_loss(logit, right):
    """E[ −a log Γ − (1 − a) log(1 − Γ) ], Γ = sigm(g)."""
    with localcontext() as context:
        context.prec = 60
        total = Decimal(0)
        for g, a in zip(logit, right, strict=True):
            gamma = 1 / (1 + Decimal(-g).exp())
            otherwise = 1 / (1 + Decimal(g).exp())  # 1 − Γ, which sixty digits cannot tell from 0 at a logit of 1e4
            total += -int(a) * gamma.ln() - (1 - int(a)) * otherwise.ln()
        return float(total / len(logit))
