"""The expert's accuracy on what is handed over."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference import deferral_curve as reference

from racer.errors import LabelError, NonFiniteError, ShapeError, UndefinedMetricError
from racer.metrics import aurdac, deferral_curve

SCORES = st.sampled_from([-math.inf, 0.0, 0.25, 0.5, 0.75, math.inf])


def outcomes(max_size):
    return st.lists(st.tuples(SCORES, st.integers(0, 1)), min_size=1, max_size=max_size).map(
        lambda items: [list(column) for column in zip(*items, strict=True)]
    )


@given(outcomes(max_size=6))
def test_a_tie_is_the_mean_over_all_its_orders(columns):
    np.testing.assert_allclose(deferral_curve(*columns).accuracy, reference.curve_over_all_orders(*columns), atol=1e-10)


@given(outcomes(max_size=40))
def test_the_fast_area_is_the_slow_one(columns):
    np.testing.assert_allclose(deferral_curve(*columns).accuracy, reference.curve(*columns), atol=1e-10)
    assert aurdac(*columns) == pytest.approx(reference.aurdac(*columns), abs=1e-10)
    assert aurdac(np.float32(columns[0]), columns[1]) == pytest.approx(reference.aurdac(*columns), abs=1e-5)


@given(outcomes(max_size=30))
def test_it_ends_at_the_accuracy_of_the_expert(columns):
    assert float(deferral_curve(*columns).accuracy[-1]) == pytest.approx(np.mean(columns[1]), abs=1e-12)


def test_budget_zero_repeats_the_first_step():
    curve = deferral_curve([3, 2, 1, 0], [0, 1, 1, 1])
    np.testing.assert_allclose(curve.accuracy, [0, 0, 1 / 2, 2 / 3, 3 / 4])
    assert curve.area == pytest.approx((0 + 1 / 4 + 7 / 12 + 17 / 24) / 4)


@pytest.mark.parametrize(("right", "area"), [([1, 1], 1.0), ([0, 0], 0.0), ([1], 1.0), ([0], 0.0)])
def test_a_constant_expert_has_a_constant_curve(right, area):
    assert aurdac(list(range(len(right))), right) == area


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([math.nan], [1]), NonFiniteError),
        (([0.1], [3]), LabelError),
        (([0.1, 0.2], [1]), ShapeError),
        (([], []), UndefinedMetricError),
    ],
)
def test_bad_input_is_refused_by_name(arguments, error):
    with pytest.raises(error):
        aurdac(*arguments)
