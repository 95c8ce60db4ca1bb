"""The loss of competence is its equation, at any logit, and asks for probabilities."""

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference.competence_loss import competence_loss as reference

from racer.learning import competence_loss

LOGITS = st.floats(-1e4, 1e4) | st.sampled_from([1e4, -1e4, 0.0, -0.0, 1e-300, 36.7, -745.2])
OUTCOMES = st.lists(st.tuples(LOGITS, st.booleans()), min_size=1, max_size=20)


def loss(outcomes, dtype=torch.float64):
    logit, right = zip(*outcomes, strict=True)
    return competence_loss(torch.tensor(logit, dtype=dtype), torch.tensor(right))


@given(OUTCOMES)
def test_the_loss_is_the_one_written_down(outcomes):
    assert float(loss(outcomes)) == pytest.approx(reference(*zip(*outcomes, strict=True)), abs=1e-10, rel=0)


@given(OUTCOMES)
def test_single_precision_agrees(outcomes):
    assert loss(outcomes, torch.float32).dtype == torch.float32
    assert float(loss(outcomes, torch.float32)) == pytest.approx(float(loss(outcomes)), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("logit", "right", "expected"),
    [(0.0, True, math.log(2)), (1e4, True, 0.0), (1e4, False, 1e4), (-1e4, True, 1e4), (-1e4, False, 0.0)],
)
def test_certainty_costs_nothing_or_its_logit(logit, right, expected):
    assert float(loss([(logit, right)])) == pytest.approx(expected, abs=1e-15)


@given(OUTCOMES)
def test_the_gradient_is_the_excess_of_the_estimate(outcomes):
    logit = torch.tensor([g for g, _ in outcomes], dtype=torch.float64, requires_grad=True)
    right = torch.tensor([a for _, a in outcomes])
    competence_loss(logit, right).backward()
    expected = (torch.sigmoid(logit.detach()) - right.double()) / len(outcomes)
    torch.testing.assert_close(logit.grad, expected, atol=1e-15, rtol=1e-12)


@given(st.lists(st.booleans(), min_size=2, max_size=12).filter(lambda a: 0 < sum(a) < len(a)), st.floats(-5, 5))
def test_no_single_estimate_beats_the_share_of_right_answers(right, logit):
    share = sum(right) / len(right)
    best = loss([(math.log(share / (1 - share)), a) for a in right])
    assert float(best) <= float(loss([(logit, a) for a in right])) + 1e-12
