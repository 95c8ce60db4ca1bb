"""Hypothesis worlds: one expert's context and some queries, from ordinary to hostile."""

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st

from racer import Cases, Context

TOLERANCE = {torch.float32: 1e-5, torch.float64: 1e-10}


@dataclass
class Episode:
    context: Context
    queries: Cases

    def rows(self):
        """The context as the reference reads it."""
        c = self.context
        kept = [i for i, answered in enumerate(c.answered.tolist()) if answered]
        return [
            (c.cases.embedding[i].tolist(), c.cases.posterior[i].tolist(), int(c.label[i]), int(c.answer[i]))
            for i in kept
        ]

    def asked(self):
        return list(zip(self.queries.embedding.tolist(), self.queries.posterior.tolist(), strict=True))


@st.composite
def episodes(draw, n_roles=None, max_answers=12, tied_posteriors=True):
    """Duplicate items, far-away items, roles nobody showed, all right, all wrong, no answers at all."""
    k = n_roles or draw(st.sampled_from([2, 3, 5, 100]))
    dtype = draw(st.sampled_from([torch.float32, torch.float64]))
    n = draw(st.one_of(st.integers(max_answers // 2, max_answers), st.integers(0, max_answers)))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.sampled_from([1, 2, 4, 16]))
    shape = draw(st.sampled_from(["free", "grid", "opposite", "duplicates"]))

    def embeddings(m):
        if shape == "grid":  # many exact ties
            z = rng.integers(-1, 2, (m, d)).astype(float)
            z[(z == 0).all(1)] = 1.0
            return z
        z = rng.normal(size=(m, d)) + 1e-3
        return np.repeat(z[:1], m, 0) if shape == "duplicates" and m else z

    def posteriors(m):
        logits = rng.normal(size=(m, k)) * draw(st.sampled_from([0.0, 1.0, 30.0]) if tied_posteriors else st.just(1.0))
        p = np.exp(logits - logits.max(1, keepdims=True))
        return p / p.sum(1, keepdims=True)

    label = rng.choice(rng.permutation(k)[: draw(st.integers(1, 3))], n)
    how = draw(st.sampled_from(["mixed", "mixed", "mixed", "right", "wrong"]))
    right = {"mixed": rng.random(n) < 0.6, "right": np.ones(n, bool), "wrong": np.zeros(n, bool)}[how]
    answer = np.where(right, label, (label + rng.integers(1, k, n)) % k)
    answer[rng.random(n) < draw(st.sampled_from([0.0, 0.3]))] = -1
    bank, queries = embeddings(n), embeddings(3)
    if shape == "opposite":
        queries = np.repeat(-bank.mean(0, keepdims=True) - 1e-3, 3, 0) if n else queries

    def cases(z, p):
        return Cases(torch.tensor(z.reshape(-1, d), dtype=dtype), torch.tensor(p.reshape(-1, k), dtype=dtype))

    return Episode(Context(cases(bank, posteriors(n)), label, answer), cases(queries, posteriors(3)))
