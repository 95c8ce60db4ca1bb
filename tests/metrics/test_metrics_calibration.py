"""Brier score, calibration error, reliability table, log loss."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import calibration as reference

from racer.errors import LabelError, NonFiniteError, PosteriorError, SettingError, ShapeError, UndefinedMetricError
from racer.metrics import binary_nll, brier, ece, nll, reliability
from racer.metrics.calibration import NLL_FLOOR

EDGES = st.integers(0, 15).map(lambda k: k / 15)
PROBABILITIES = EDGES | st.floats(0, 1)
TINY_32 = float(np.finfo(np.float32).tiny)


def predictions(probability=PROBABILITIES):
    return st.lists(st.tuples(probability, st.integers(0, 1)), min_size=1, max_size=40).map(
        lambda items: [list(column) for column in zip(*items, strict=True)]
    )


@given(predictions(), st.integers(1, 20))
def test_the_fast_ones_are_the_slow_ones(columns, bins):
    assert brier(*columns) == pytest.approx(reference.brier(*columns), abs=1e-10)
    assert ece(*columns, bins=bins) == pytest.approx(reference.ece(*columns, bins), abs=1e-10)
    assert binary_nll(*columns) == pytest.approx(reference.binary_nll(*columns, TINY_32), abs=1e-10)


@given(predictions(EDGES))
def test_a_float32_edge_falls_into_the_same_bin(columns):
    q, correct = columns
    single = torch.tensor(q, dtype=torch.float32)
    assert reliability(single, correct).count.tolist() == reliability(q, correct).count.tolist()
    assert ece(single, correct) == pytest.approx(reference.ece(q, correct, 15), abs=1e-5)
    assert brier(single, correct) == pytest.approx(reference.brier(q, correct), abs=1e-5)


@given(predictions(st.integers(1, 29).map(lambda k: k / 30)))
def test_float32_log_loss_agrees(columns):
    q, correct = columns
    assert binary_nll(np.float32(q), correct) == pytest.approx(reference.binary_nll(q, correct, TINY_32), abs=1e-5)


@given(predictions(), st.integers(1, 20))
def test_the_table_holds_each_bin(columns, bins):
    table = reliability(*columns, bins=bins)
    rows = zip(table.count.tolist(), table.mean_predicted.tolist(), table.mean_correct.tolist(), strict=True)
    for (count, predicted, happened), expected in zip(rows, reference.reliability(*columns, bins), strict=True):
        assert count == expected[0]
        if count:
            assert (predicted, happened) == pytest.approx(expected[1:], abs=1e-10)
        else:
            assert math.isnan(predicted) and math.isnan(happened)


@pytest.mark.parametrize("k", range(16))
def test_bins_are_right_closed_and_the_first_takes_zero(k):
    bin_of = reliability([k / 15], [1]).count.argmax()
    assert bin_of == max(k - 1, 0)
    if k < 15:
        assert reliability([np.nextafter(k / 15, 1)], [1]).count.argmax() == k


def test_empty_bins_are_nan_and_cost_nothing():
    table = reliability([0.9, 0.95], [1, 1], bins=2)
    assert table.edges.tolist() == [0, 0.5, 1]
    assert table.count.tolist() == [0, 2] and table.mean_correct.isnan().tolist() == [True, False]
    assert table.error == pytest.approx(0.075)


def test_bins_are_weighted_by_their_share_of_items():
    # three items say 1.0 and are right; one says 0.2 and is right: (3/4)·0 + (1/4)·0.8
    assert ece([1, 1, 1, 0.2], [1, 1, 1, 1], bins=5) == pytest.approx(0.2)


@pytest.mark.parametrize(("q", "right", "value"), [(1.0, 1, 0.0), (0.0, 0, 0.0), (1.0, 0, 1.0), (0.0, 1, 1.0)])
def test_certainty_is_all_or_nothing(q, right, value):
    assert brier([q], [right]) == ece([q], [right]) == value


@given(st.lists(st.lists(st.floats(0.01, 1), min_size=3, max_size=3), min_size=1, max_size=20), st.data())
def test_log_loss_is_the_slow_one(weights, data):
    posterior = [[w / sum(row) for w in row] for row in weights]
    label = data.draw(st.lists(st.integers(0, 2), min_size=len(weights), max_size=len(weights)))
    expected = reference.nll(posterior, label, TINY_32)
    assert nll(posterior, label) == pytest.approx(expected, abs=1e-10)
    assert nll(torch.tensor(posterior, dtype=torch.float32), torch.tensor(label)) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_probability_zero_costs_the_same_finite_amount_in_every_precision(dtype):
    assert nll(np.array([[1.0, 1e-60]], dtype), [1]) == pytest.approx(-math.log(TINY_32))
    assert binary_nll(np.array([1.0], dtype), [0]) == pytest.approx(-math.log(TINY_32))
    assert NLL_FLOOR == TINY_32


def test_rounding_beyond_one_is_forgiven():
    assert brier(np.float32([1.0000001]), [1]) == 0
    assert ece(np.float32([1.0000001, -1e-8]), [1, 0]) == 0


@pytest.mark.parametrize("measure", [brier, ece, reliability, binary_nll])
@pytest.mark.parametrize(
    ("q", "correct", "error"),
    [
        ([1.1], [1], PosteriorError),
        ([-0.1], [1], PosteriorError),
        ([math.nan], [1], NonFiniteError),
        ([math.inf], [1], NonFiniteError),
        ([0.5], [2], LabelError),
        ([0.5, 0.5], [1], ShapeError),
        ([[0.5]], [[1]], ShapeError),
        ([], [], UndefinedMetricError),
    ],
)
def test_bad_input_is_refused_by_name(measure, q, correct, error):
    with pytest.raises(error):
        measure(q, correct)


@pytest.mark.parametrize("bins", [0, -1, True])
def test_bins_must_be_a_positive_whole_number(bins):
    with pytest.raises(SettingError, match=f"Got {bins}"):
        ece([0.5], [1], bins=bins)


def test_half_a_bin_is_refused():
    # a TypeError when annotations are checked at run time
    with pytest.raises((SettingError, TypeError)):
        ece([0.5], [1], bins=2.5)


@pytest.mark.parametrize(
    ("posterior", "label", "error"),
    [
        ([[2.0, -1.0]], [0], PosteriorError),
        ([[0.5, 0.4]], [0], PosteriorError),
        ([[0.5, 0.5]], [2], LabelError),
        ([[0.5, 0.5]], [-1], LabelError),
        ([[0.5, 0.5]], [0.5], LabelError),
        ([[0.5, 0.5]], [math.nan], NonFiniteError),
        ([[0.5, 0.5]], [0, 1], ShapeError),
        ([0.5, 0.5], [0, 1], ShapeError),
        (np.empty((0, 2)), [], UndefinedMetricError),
    ],
)
def test_log_loss_refuses_bad_input(posterior, label, error):
    with pytest.raises(error):
        nll(posterior, label)
