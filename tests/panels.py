"""Small worlds of several experts, and what a panel says of each of them in words of its cases."""

from dataclasses import dataclass

import numpy as np
import torch
from hypothesis import strategies as st

from racer import Cases, Context, Panel


@dataclass
class AnswerSheet:
    """A case carries its own number as its first feature, so that it is known wherever a panel puts it."""

    cases: Cases
    label: np.ndarray
    answer: np.ndarray
    experts: list[str]

    @property
    def answered(self):
        return np.nonzero(self.answer >= 0)

    def answers(self):
        """(expert, item, label, answer), for the reference."""
        return [(e, i, int(self.label[i]), int(self.answer[e, i])) for e, i in zip(*self.answered, strict=True)]

    def from_matrix(self):
        return Panel(self.cases, self.label, self.answer, self.experts)

    def from_answers(self, kept=None, cases=None):
        expert, item = self.answered
        answer = self.answer[expert, item]
        kept = np.arange(len(expert)) if kept is None else np.asarray(kept, dtype=int)
        cases = self.cases if cases is None else cases
        return Panel.from_answers(cases, self.label, expert[kept], item[kept], answer[kept], self.experts)

    def from_contexts(self):
        rows = zip(self.experts, self.answer, strict=True)
        return Panel.from_contexts({expert: Context(self.cases, self.label, row) for expert, row in rows})


def numbered_cases(n, n_roles, start=0):
    embedding = torch.stack([torch.arange(start, start + n) + 1.0, torch.ones(n)], -1)
    return Cases(embedding, torch.full((n, n_roles), 1 / n_roles))


@st.composite
def answer_sheets(draw, min_experts=0):
    """Silent experts, cases nobody answered, cases without a truth, no experts, no cases."""
    k = draw(st.sampled_from([2, 3, 5]))
    n, n_experts = draw(st.integers(0, 8)), draw(st.integers(min_experts, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    label, answer = rng.integers(-1, k, n), rng.integers(0, k, (n_experts, n))
    answer[rng.random((n_experts, n)) < draw(st.sampled_from([0.0, 0.4, 0.9, 1.0]))] = -1
    answer[:, label < 0] = -1
    experts = [f"expert-{i}" for i in rng.permutation(n_experts)]
    return AnswerSheet(numbered_cases(n, k), label, answer, experts)


def evidence(panel):
    """{expert: {(case, label, answer)}}, whatever row of the bank each case stands in."""
    return {expert: answers_in(panel[expert]) for expert in panel.experts}


def answers_in(context):
    kept = context.answered
    case = context.cases.embedding[kept][:, 0].round().long() - 1
    return sorted(zip(case.tolist(), context.label[kept].tolist(), context.answer[kept].tolist(), strict=True))


def random_queries(n_roles, n=5):
    generator = torch.Generator().manual_seed(0)
    return Cases(torch.randn(n, 2, generator=generator), torch.full((n, n_roles), 1 / n_roles))


def tensors(panel):
    """What a panel holds, copied, to see later whether anything moved."""
    parts = (panel.group, panel.item, panel.answer, panel.cases.embedding, panel.cases.posterior, panel.label)
    return [part.clone() for part in parts]
