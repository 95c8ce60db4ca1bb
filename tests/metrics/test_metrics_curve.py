"""The system accuracy curve and AURSAC."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import system_curve as reference

from racer.errors import LabelError, NonFiniteError, ShapeError, UndefinedMetricError
from racer.metrics import aursac, system_curve

SCORES = st.sampled_from([-math.inf, -1.5, -0.0, 0.0, 1e-300, 0.3, 0.30000001, 2.0, math.inf])


def outcomes(max_size, score=SCORES):
    item = st.tuples(score, st.integers(0, 1), st.integers(0, 1))
    return st.lists(item, min_size=1, max_size=max_size).map(
        lambda items: [list(column) for column in zip(*items, strict=True)]
    )


@given(outcomes(max_size=6))
def test_a_tie_is_the_mean_over_all_its_orders(columns):
    expected = reference.curve_over_all_orders(*columns)
    curve = system_curve(*columns)
    np.testing.assert_allclose(curve.accuracy, expected, atol=1e-10)
    assert curve.area == pytest.approx(reference.area(expected), abs=1e-10)


@given(outcomes(max_size=40, score=SCORES | st.floats(allow_nan=False)))
def test_the_fast_curve_is_the_slow_one(columns):
    expected = reference.curve(*columns)
    curve = system_curve(*columns)
    np.testing.assert_allclose(curve.accuracy, expected, atol=1e-10)
    np.testing.assert_allclose(curve.budget, [j / len(columns[0]) for j in range(len(columns[0]) + 1)], atol=1e-15)
    assert curve.area == pytest.approx(reference.area(expected), abs=1e-10)
    assert aursac(*columns) == pytest.approx(curve.area, abs=1e-12)
    assert curve.oracle_area == pytest.approx(reference.oracle_area(*columns[1:]), abs=1e-10)


@given(outcomes(max_size=30, score=st.floats(allow_nan=False, width=32)))
def test_float32_scores_and_tensors_give_the_same_area(columns):
    score, expert, model = columns
    as_tensors = torch.tensor(score, dtype=torch.float32), torch.tensor(expert), torch.tensor(model, dtype=torch.bool)
    expected = reference.aursac(*columns)
    assert aursac(np.float32(score), np.array(expert, bool), np.array(model)) == pytest.approx(expected, abs=1e-5)
    assert aursac(*as_tensors) == pytest.approx(expected, abs=1e-5)


@given(outcomes(max_size=30), st.randoms(use_true_random=False))
def test_ties_do_not_depend_on_order(columns, random):
    shuffled = list(zip(*columns, strict=True))
    random.shuffle(shuffled)
    curve, again = system_curve(*columns), system_curve(*(list(column) for column in zip(*shuffled, strict=True)))
    np.testing.assert_allclose(again.accuracy, curve.accuracy, atol=1e-12)
    assert again.area == pytest.approx(curve.area, abs=1e-12)


@given(outcomes(max_size=30))
def test_the_ends_are_the_model_alone_and_the_expert_alone(columns):
    curve = system_curve(*columns)
    assert curve.model_accuracy == pytest.approx(np.mean(columns[2]), abs=1e-15)
    assert curve.expert_accuracy == pytest.approx(np.mean(columns[1]), abs=1e-15)
    assert curve.budget[0] == 0 and curve.budget[-1] == 1
    assert curve.accuracy[0] == curve.model_accuracy and curve.accuracy[-1] == curve.expert_accuracy


@given(outcomes(max_size=30))
def test_one_score_for_all_is_a_straight_line(columns):
    _, expert, model = columns
    curve = system_curve([0.7] * len(expert), expert, model)
    line = curve.model_accuracy + curve.budget * (curve.expert_accuracy - curve.model_accuracy)
    np.testing.assert_allclose(curve.accuracy, line, atol=1e-12)


@given(outcomes(max_size=5))
def test_no_order_beats_the_oracle(columns):
    assert system_curve(*columns).oracle_area == pytest.approx(
        reference.best_area_of_any_order(*columns[1:]), abs=1e-10
    )


@given(outcomes(max_size=30))
def test_normalised_area_is_one_for_the_oracle_minus_one_for_its_reverse_and_nan_without_a_choice(columns):
    _, expert, model = columns
    gain = np.array(expert) - np.array(model)
    best, worst = system_curve(gain, expert, model), system_curve(-gain, expert, model)
    if len(set(gain)) == 1:
        assert math.isnan(best.normalised_area)
    else:
        assert best.normalised_area == pytest.approx(1, abs=1e-9)
        assert worst.normalised_area == pytest.approx(-1, abs=1e-9)
        assert system_curve([0.0] * len(gain), expert, model).normalised_area == pytest.approx(0, abs=1e-9)


@given(outcomes(max_size=30))
def test_only_the_order_of_scores_counts(columns):
    score, expert, model = columns
    _, rank = np.unique(score, return_inverse=True)
    assert aursac(rank, expert, model) == pytest.approx(aursac(score, expert, model), abs=1e-12)


def test_one_item():
    curve = system_curve([0.2], [1], [0])
    assert curve.accuracy.tolist() == [0, 1] and curve.area == 0.5 and math.isnan(curve.normalised_area)


@pytest.mark.parametrize("right", [0, 1])
def test_all_right_or_all_wrong_is_flat(right):
    curve = system_curve([0.1, 0.5, 0.5], [right] * 3, [right] * 3)
    assert curve.accuracy.tolist() == [right] * 4 and curve.area == curve.oracle_area == right


def test_results_are_float64_whatever_came_in():
    curve = system_curve(torch.tensor([0.2, 0.1], dtype=torch.bfloat16), torch.tensor([1, 0]), torch.tensor([0, 1]))
    assert curve.accuracy.dtype == curve.budget.dtype == torch.float64
    assert type(curve.area) is float


def test_plus_infinity_goes_first_and_minus_infinity_last():
    assert aursac([math.inf, 0, -math.inf], [1, 1, 0], [0, 1, 1]) == aursac([2, 1, 0], [1, 1, 0], [0, 1, 1])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([0.1, math.nan], [1, 0], [1, 0]), NonFiniteError),
        (([0.1, 0.2], [1.0, math.nan], [1, 0]), NonFiniteError),
        (([0.1, 0.2], [1, 2], [1, 0]), LabelError),
        (([0.1, 0.2], [1, 0], [0.5, 0]), LabelError),
        (([0.1, 0.2], [1, 0], [-1, 0]), LabelError),
        (([0.1, 0.2], [1], [1, 0]), ShapeError),
        (([[0.1, 0.2]], [[1, 0]], [[1, 0]]), ShapeError),
        (([0.1, [0.2]], [1, 0], [1, 0]), ShapeError),
        ((["a", "b"], [1, 0], [1, 0]), ShapeError),
        ((torch.ones(2, dtype=torch.complex64), [1, 0], [1, 0]), ShapeError),
        (([], [], []), UndefinedMetricError),
    ],
)
def test_bad_input_is_refused_by_name(arguments, error):
    with pytest.raises(error):
        aursac(*arguments)


def test_the_error_names_the_first_bad_value():
    with pytest.raises(LabelError, match=r"'model_correct' is neither 0 nor 1") as caught:
        aursac([0.1, 0.2], [1, 0], [0, 7])
    assert caught.value.data == {"first": (1,)}
    assert "the first at (1,): 7" in caught.value.values
