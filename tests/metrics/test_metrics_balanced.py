"""Balanced accuracy against the budget, one finding and many."""

import math

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from reference import balanced_curve as reference

from racer.errors import LabelError, NonFiniteError, ShapeError, UndefinedMetricError
from racer.metrics import aursbac, balanced_curve, macro_aursbac

SCORES = st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 0.5000001, 3.0])
BIT = st.integers(0, 1)


def findings(max_size):
    row = st.tuples(SCORES, BIT, BIT, BIT, st.booleans())
    return st.lists(row, min_size=1, max_size=max_size).map(
        lambda rows: [list(column) for column in zip(*rows, strict=True)]
    )


def has_both_classes(truth, mask):
    return {t for t, is_counted in zip(truth, mask, strict=True) if is_counted} == {0, 1}


@given(findings(max_size=6))
def test_a_tie_is_the_mean_over_all_its_orders(columns):
    *values, mask = columns
    assume(has_both_classes(values[3], mask))
    expected = reference.curve_over_all_orders(*reference.counted_rows(values, mask))
    np.testing.assert_allclose(balanced_curve(*values, mask).accuracy, expected, atol=1e-10)


@given(findings(max_size=40))
def test_the_fast_area_is_the_slow_one(columns):
    *values, mask = columns
    assume(has_both_classes(values[3], mask))
    curve = balanced_curve(*values, mask)
    np.testing.assert_allclose(curve.accuracy, reference.curve(*reference.counted_rows(values, mask)), atol=1e-10)
    assert aursbac(*values, mask) == pytest.approx(reference.aursbac(*values, mask), abs=1e-10)
    tensors = [torch.tensor(values[0], dtype=torch.float32), *(torch.tensor(column) for column in values[1:])]
    assert aursbac(*tensors, torch.tensor(mask)) == pytest.approx(reference.aursbac(*values, mask), abs=1e-5)


@given(findings(max_size=30))
def test_masked_rows_can_hold_anything(columns):
    *values, mask = columns
    assume(has_both_classes(values[3], mask))
    junk = [
        [value if is_counted else rubbish for value, is_counted in zip(column, mask, strict=True)]
        for column, rubbish in zip(values, (math.nan, -1, 7, math.inf), strict=True)
    ]
    assert aursbac(*junk, mask) == aursbac(*values, mask)


@given(st.data())
def test_macro_is_the_mean_of_the_findings_that_have_both_classes(data):
    n_items, n_findings = data.draw(st.integers(1, 12)), data.draw(st.integers(1, 4))
    tables = [
        data.draw(
            st.lists(st.lists(kind, min_size=n_findings, max_size=n_findings), min_size=n_items, max_size=n_items)
        )
        for kind in (SCORES, BIT, BIT, BIT, st.booleans())
    ]
    expected, left_out = reference.macro_aursbac(*tables)
    if expected is None:
        with pytest.raises(UndefinedMetricError):
            macro_aursbac(*tables)
        return
    result = macro_aursbac(*tables)
    assert result.macro == pytest.approx(expected, abs=1e-10)
    assert result.left_out.tolist() == left_out == result.area.isnan().tolist()
    for f in np.flatnonzero(~np.array(left_out)):
        columns = [np.array(table)[:, f] for table in tables]
        assert float(result.area[f]) == pytest.approx(aursbac(*columns), abs=1e-10)


def test_one_score_a_case_ranks_every_finding_alike():
    rng = np.random.default_rng(0)
    score = rng.normal(size=20)
    expert, model, truth = rng.integers(0, 2, size=(3, 20, 3))
    both = macro_aursbac(score, expert, model, truth), macro_aursbac(np.tile(score, (3, 1)).T, expert, model, truth)
    assert both[0].macro == both[1].macro


def test_answers_are_judged_class_by_class():
    # four negatives, one positive; the model says no to all, the expert finds the positive: ½(1 + 0) → ½(1 + 1)
    curve = balanced_curve([0, 0, 0, 0, 1], [0, 0, 0, 0, 1], [0] * 5, [0, 0, 0, 0, 1])
    assert curve.accuracy.tolist() == [0.5, 1, 1, 1, 1, 1]
    assert curve.normalised_area == pytest.approx(1)


def test_a_finding_without_a_class_has_no_value_alone():
    with pytest.raises(UndefinedMetricError, match="both classes"):
        aursbac([0.1, 0.2], [1, 0], [1, 0], [1, 1])
    with pytest.raises(UndefinedMetricError, match="both classes"):
        aursbac([0.1, 0.2], [1, 0], [1, 0], [1, 0], mask=[True, False])
    with pytest.raises(UndefinedMetricError, match="without cases"):
        aursbac([0.1, 0.2], [1, 0], [1, 0], [1, 0], mask=[False, False])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([0.1, 0.2], [1, -1], [1, 0], [1, 0]), LabelError),
        (([0.1, math.nan], [1, 0], [1, 0], [1, 0]), NonFiniteError),
        (([0.1], [1, 0], [1, 0], [1, 0]), ShapeError),
        (([0.1, 0.2], [1, 0], [1, 0], [[1, 0]]), ShapeError),
        (([0.1, 0.2], [1, 0], [1, 0], [1, 0], [True]), ShapeError),
    ],
)
def test_bad_input_is_refused_by_name(arguments, error):
    with pytest.raises(error):
        aursbac(*arguments)


def test_macro_refuses_scores_of_other_items():
    with pytest.raises(ShapeError):
        macro_aursbac([0.1], [[1], [0]], [[1], [0]], [[1], [0]])
