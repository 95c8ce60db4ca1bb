"""Intervals over cases and over experts."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import system_curve as reference

from racer.errors import (
    LabelError,
    NonFiniteError,
    SettingError,
    ShapeError,
    TooFewAnswersError,
    UndefinedMetricError,
)
from racer.metrics import Interval, Resample, aursac, bootstrap_aursac, bootstrap_curve, bootstrap_gain
from racer.metrics import resampling as resampling_module
from racer.metrics.resampling import Resampling, weighted_mean
from racer.metrics.sweep import Sweep

SCORES = st.sampled_from([-math.inf, -1.0, 0.0, 0.5, 0.5000001, 3.0])
BIT = st.integers(0, 1)
EVERYONE = slice(None)


@st.composite
def panels(draw, max_experts=3, max_items=12):
    """score, expert_correct, model_correct, mask: (expert, item) lists; each expert answers something."""
    n_experts, n_items = draw(st.integers(1, max_experts)), draw(st.integers(2, max_items))

    def table(kind):
        return draw(
            st.lists(st.lists(kind, min_size=n_items, max_size=n_items), min_size=n_experts, max_size=n_experts)
        )

    mask = table(st.booleans())
    for row in mask:
        row[draw(st.integers(0, n_items - 1))] = True
    return table(SCORES), table(BIT), table(BIT), mask


@st.composite
def counted_panels(draw):
    panel = draw(panels())
    counts = draw(st.lists(st.integers(0, 4), min_size=len(panel[0][0]), max_size=len(panel[0][0])))
    return panel, counts


def one_expert(panel, e, counts):
    """That expert's answered cases, each as often as it was drawn."""
    score, expert, model, mask = panel
    kept = [count if answered else 0 for count, answered in zip(counts, mask[e], strict=True)]
    return [reference.enlarged(table[e], kept) for table in (score, expert, model)]


def world(n_experts, n_items, seed):
    """Experts with their own skill, a model sure of what it knows, a score that knows something."""
    rng = np.random.default_rng(seed)
    ease = rng.random(n_items)
    skill = rng.uniform(0.5, 0.95, size=(n_experts, 1))
    model = rng.random(n_items) < ease
    expert = rng.random((n_experts, n_items)) < skill
    return skill - ease, expert, model


@given(counted_panels())
def test_a_weighted_area_is_that_of_the_enlarged_sample_to_the_last_bit(drawn):
    panel, counts = drawn
    areas = Sweep.of(*panel).area(np.array([counts]), EVERYONE)[0]
    for e, area in enumerate(areas):
        copied = one_expert(panel, e, counts)
        if not copied[0]:
            assert math.isnan(area)
            continue
        assert area == Sweep.of(*copied).area(np.ones((1, len(copied[0])), int), EVERYONE)[0, 0]
        assert area == pytest.approx(aursac(*copied), abs=1e-12)
        assert area == pytest.approx(reference.aursac(*copied), abs=1e-10)


@given(counted_panels(), st.integers(2, 30))
def test_a_weighted_curve_is_that_of_the_enlarged_sample(drawn, n_points):
    panel, counts = drawn
    budget = np.linspace(0, 1, n_points)
    curves = Sweep.of(*panel).accuracy(np.array([counts]), EVERYONE, budget)[0]
    for e, curve in enumerate(curves):
        copied = one_expert(panel, e, counts)
        if not copied[0]:
            assert np.isnan(curve).all()
            continue
        points = reference.curve(*copied)
        np.testing.assert_allclose(curve, [reference.at_budget(points, b) for b in budget], atol=1e-10)


@given(panels())
def test_the_estimate_is_the_mean_over_experts(panel):
    expected = np.mean([reference.aursac(*one_expert(panel, e, [1] * len(panel[0][0]))) for e in range(len(panel[0]))])
    interval = bootstrap_aursac(*panel, seed=0, n_replicates=30)
    assert interval.estimate == pytest.approx(expected, abs=1e-10)


@given(panels(max_items=8), st.integers(0, 100))
def test_each_replicate_is_a_copied_sample(panel, seed):
    seen = []

    def spy(case_count, experts):
        seen.append(case_count)
        return np.zeros((len(case_count), len(panel[0]), 1))

    Resampling("cases", 30).mean_over_experts(spy, len(panel[0]), len(panel[0][0]), seed)
    replicates = bootstrap_aursac(*panel, seed=seed, n_replicates=30).replicates
    for counts, replicate in zip(np.concatenate(seen).tolist(), replicates.tolist(), strict=True):
        assert sum(counts) == len(panel[0][0])
        samples = [one_expert(panel, e, counts) for e in range(len(panel[0]))]
        areas = [reference.aursac(*sample) for sample in samples if sample[0]]
        assert replicate == pytest.approx(np.mean(areas), abs=1e-10) if areas else math.isnan(replicate)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 3), st.randoms(use_true_random=False))
def test_the_mean_over_drawn_experts_leaves_out_those_without_a_value(n_draws, n_experts, n_points, random):
    value = np.array(
        [
            [[random.choice([0.25, 0.5, math.nan]) for _ in range(n_points)] for _ in range(n_experts)]
            for _ in range(n_draws)
        ]
    )
    count = np.array([[random.randrange(3) for _ in range(n_experts)] for _ in range(n_draws)], float)
    result = weighted_mean(lambda _, experts: value[:, experts], np.ones((n_draws, 1), int), count)
    for d in range(n_draws):
        for p in range(n_points):
            drawn = [value[d, e, p] for e in range(n_experts) for _ in range(int(count[d, e]))]
            drawn = [x for x in drawn if not math.isnan(x)]
            expected = sum(drawn) / len(drawn) if drawn else math.nan
            assert float(result[d, p]) == pytest.approx(expected, nan_ok=True)


def test_redrawing_experts_only_averages_their_fixed_areas():
    panel = world(4, 50, seed=1)
    area = Sweep.of(*panel).area(np.ones((1, 50), int), EVERYONE)[0]
    possible = np.array([area[list(drawn)].mean() for drawn in np.ndindex(4, 4, 4, 4)])
    replicates = bootstrap_aursac(*panel, seed=0, resample="experts", n_replicates=200).replicates.numpy()
    assert np.abs(replicates[:, None] - possible).min(1).max() < 1e-12
    assert len(np.unique(np.round(replicates, 9))) > 10


@pytest.mark.parametrize("resample", list(Resample))
def test_the_same_seed_gives_the_same_bits_whatever_fits_in_memory(resample, monkeypatch):
    panel = world(5, 40, seed=2)

    def run(seed):
        return bootstrap_aursac(*panel, seed=seed, resample=resample, n_replicates=50).replicates

    first = run(7)
    assert torch.equal(first, run(7)) and torch.equal(first, run(np.random.default_rng(7)))
    assert not torch.equal(first, run(8))
    monkeypatch.setattr(resampling_module, "CELLS", 90)
    torch.testing.assert_close(run(7), first, rtol=0, atol=1e-14)


@pytest.mark.parametrize("resample", list(Resample))
def test_the_interval_shrinks_as_there_is_more_of_what_is_redrawn(resample):
    def width(n_experts, n_items):
        interval = bootstrap_aursac(*world(n_experts, n_items, seed=3), seed=0, resample=resample, n_replicates=300)
        return interval.high - interval.low

    assert width(32, 800) < 0.75 * width(8, 200)


def test_the_interval_over_cases_covers_the_truth_about_as_often_as_it_says():
    truth = np.mean(
        [aursac(*(table[e] for table in world_of(skills=SKILLS, n_items=100_000, seed=99))) for e in range(3)]
    )
    intervals = [
        bootstrap_aursac(
            *world_of(SKILLS, n_items=150, seed=seed),
            seed=np.random.default_rng([seed, 2]),
            n_replicates=200,
            level=0.9,
        )
        for seed in range(200)
    ]
    assert 0.84 <= coverage(intervals, truth) <= 0.96


def test_only_redrawing_experts_covers_the_population_of_experts():
    population = np.random.default_rng(5).uniform(0.3, 0.95, size=400)
    truth = np.mean([aursac(*(table[e] for table in world_of(population, 5_000, seed=98))) for e in range(400)])

    def intervals(resample):
        return [
            bootstrap_aursac(
                *world_of(np.random.default_rng([seed, 1]).choice(population, 20), n_items=400, seed=seed),
                seed=np.random.default_rng([seed, 2]),
                resample=resample,
                n_replicates=200,
                level=0.9,
            )
            for seed in range(100)
        ]

    assert 0.82 <= coverage(intervals("both"), truth) <= 0.97
    assert coverage(intervals("cases"), truth) < 0.7


SKILLS = np.array([0.6, 0.75, 0.9])


def world_of(skills, n_items, seed):
    """Cases drawn anew around fixed experts; model_correct repeated so that rows can be picked."""
    rng = np.random.default_rng(seed)
    ease = rng.random(n_items)
    model = rng.random(n_items) < ease
    expert = rng.random((len(skills), n_items)) < np.asarray(skills)[:, None]
    return np.tile(-ease, (len(skills), 1)), expert, np.tile(model, (len(skills), 1))


def coverage(intervals, truth):
    return np.mean([interval.low <= truth <= interval.high for interval in intervals])


def test_a_score_gains_nothing_over_itself():
    score, expert, model = world(3, 60, seed=4)
    gain = bootstrap_gain(score, score, expert, model, seed=0, n_replicates=50)
    assert gain.estimate == gain.low == gain.high == 0


def test_a_gain_is_the_difference_of_both_on_the_same_resamples():
    score, expert, model = world(3, 60, seed=5)
    other = np.random.default_rng(6).normal(size=60)
    mask = np.random.default_rng(7).random((3, 60)) < 0.7
    other_model = ~model
    options = {"seed": 11, "resample": "both", "n_replicates": 40}
    gain = bootstrap_gain(score, other, expert, model, mask, baseline_model_correct=other_model, **options)
    ours = bootstrap_aursac(score, expert, model, mask, **options)
    theirs = bootstrap_aursac(np.tile(other, (3, 1)), expert, other_model, mask, **options)
    torch.testing.assert_close(gain.replicates, ours.replicates - theirs.replicates, rtol=0, atol=1e-12)
    assert gain.estimate == pytest.approx(ours.estimate - theirs.estimate, abs=1e-12)


def test_pairing_is_tighter_than_subtracting_two_intervals():
    score, expert, model = world(3, 200, seed=8)
    nearly = score + 0.01 * np.random.default_rng(9).normal(size=score.shape)
    gain = bootstrap_gain(nearly, score, expert, model, seed=0, n_replicates=200)
    alone = bootstrap_aursac(score, expert, model, seed=0, n_replicates=200)
    assert gain.high - gain.low < 0.5 * (alone.high - alone.low)


def test_the_band_holds_the_curve_and_its_own_replicates():
    score, expert, model = world(4, 120, seed=10)
    band = bootstrap_curve(score, expert, model, seed=3, resample="both", n_replicates=100, n_points=11)
    slow = np.mean([reference.curve(score[e], expert[e], model) for e in range(4)], axis=0)
    np.testing.assert_allclose(band.accuracy, slow[::12], atol=1e-10)
    assert bool((band.low <= band.accuracy).all() and (band.accuracy <= band.high).all())
    np.testing.assert_allclose(band.budget, np.linspace(0, 1, 11))
    ends = [
        bootstrap_aursac(np.zeros((4, 120)), right, right, seed=3, resample="both", n_replicates=100)
        for right in (np.tile(model, (4, 1)), expert)
    ]
    for point, interval in zip((0, -1), ends, strict=True):
        assert (float(band.low[point]), float(band.high[point])) == pytest.approx(
            (interval.low, interval.high), abs=1e-12
        )


@given(panels(), st.integers(0, 20))
def test_masked_cells_can_hold_anything(panel, seed):
    score, expert, model, mask = panel
    answered = np.array(mask)
    junk = np.where(answered, score, math.nan), np.where(answered, expert, -1), np.where(answered, model, 7)
    clean = bootstrap_aursac(*panel, seed=seed, n_replicates=30)
    assert torch.equal(
        bootstrap_aursac(*junk, mask, seed=seed, n_replicates=30).replicates.nan_to_num(-1),
        clean.replicates.nan_to_num(-1),
    )


def test_one_expert_may_drop_the_axis_and_numpy_lists_and_tensors_agree():
    score, expert, model = world(1, 30, seed=12)
    one = bootstrap_aursac(score[0], expert[0], model, seed=0, n_replicates=20)
    same = bootstrap_aursac(
        torch.from_numpy(score), torch.from_numpy(expert), torch.from_numpy(model), seed=0, n_replicates=20
    )
    assert torch.equal(one.replicates, same.replicates)


def test_quantiles_are_those_of_the_replicates_that_have_a_value():
    replicates = torch.tensor([0.0, 1.0, 2.0, math.nan, 3.0, 4.0], dtype=torch.float64)
    interval = Interval.of(2.0, replicates, level=0.5)
    assert (interval.low, interval.high) == (1.0, 3.0)
    assert interval.is_above_zero and not interval.is_below_zero
    assert Interval.of(-2.0, -replicates, level=0.5).is_below_zero
    with pytest.raises(UndefinedMetricError):
        Interval.of(0.0, torch.full((3,), torch.nan, dtype=torch.float64), level=0.9)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"score": np.full((2, 3), math.nan)}, NonFiniteError),
        ({"score": np.zeros((2, 4))}, ShapeError),
        ({"score": np.zeros((1, 2, 3))}, ShapeError),
        ({"expert_correct": np.full((2, 3), 2)}, LabelError),
        ({"model_correct": np.zeros(2)}, ShapeError),
        ({"model_correct": np.zeros((1, 3))}, ShapeError),
        ({"mask": np.ones((3, 2))}, ShapeError),
        ({"mask": [[1, 1, 1], [0, 0, 0]]}, UndefinedMetricError),
        ({"resample": "patients"}, SettingError),
        ({"n_replicates": 0}, SettingError),
        ({"level": 1.0}, SettingError),
    ],
)
def test_bad_input_is_refused_by_name(change, error):
    arguments = {"score": np.zeros((2, 3)), "expert_correct": np.zeros((2, 3)), "model_correct": np.zeros(3)}
    with pytest.raises(error):
        bootstrap_aursac(**{**arguments, "seed": 0, **change})


def test_one_of_a_kind_cannot_be_redrawn():
    with pytest.raises(TooFewAnswersError):
        bootstrap_aursac([[0.1, 0.2]], [[1, 0]], [1, 0], seed=0, resample="both")
    with pytest.raises(TooFewAnswersError):
        bootstrap_aursac([[0.1], [0.2]], [[1], [0]], [1], seed=0, resample="cases")
    assert bootstrap_aursac([[0.1], [0.2]], [[1], [1]], [1], seed=0, resample="experts").estimate == 1


def test_a_curve_needs_two_points_and_a_baseline_the_same_cases():
    with pytest.raises(SettingError):
        bootstrap_curve([0.1, 0.2], [1, 0], [1, 0], seed=0, n_points=1)
    with pytest.raises(ShapeError):
        bootstrap_gain([[0.1, 0.2]], [0.1], [[1, 0]], [1, 0], seed=0)
    with pytest.raises(ShapeError):
        bootstrap_gain([[0.1, 0.2]], [[0.1, 0.2]] * 2, [[1, 0]], [1, 0], seed=0)


def test_both_redraws_cases_too():
    """Of experts who are all the same person, other experts say nothing; other cases still do."""
    rng = np.random.default_rng(0)
    score, expert, model = rng.random(80), rng.random(80) < 0.7, rng.random(80) < 0.6
    twins = np.tile(score, (6, 1)), np.tile(expert, (6, 1)), model

    def width(resample):
        interval = bootstrap_aursac(*twins, seed=0, resample=resample, n_replicates=200)
        return interval.high - interval.low

    assert width("experts") == 0 and width("both") == pytest.approx(width("cases"), rel=0.3) and width("both") > 0.02
