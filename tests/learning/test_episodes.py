"""Episodes look like deployment: strangers' contexts, and queries nobody in the context has seen."""

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from refusal import refused

from racer import Cases, Panel
from racer.errors import SettingError, TooFewAnswersError
from racer.learning import EpisodeSampler, hold_out_experts

SEEDS = st.integers(0, 2**32 - 1)


def numbered(n, n_roles):
    """Cases whose embedding says which row of the bank they are."""
    return Cases([[1.0, float(i)] for i in range(n)], np.full((n, n_roles), 1 / n_roles))


def rows_of(cases):
    return [int(i) for i in cases.embedding[:, 1].tolist()]


def make_panel(seed, n_cases, n_experts, n_roles, share_answered, n_lone=0):
    """Uneven classes, gaps, and some experts of a single answer."""
    rng = np.random.default_rng(seed)
    label = np.minimum(rng.geometric(0.5, n_cases) - 1, n_roles - 1)
    answer = np.where(rng.random((n_experts, n_cases)) < 0.6, label, rng.integers(n_roles, size=(n_experts, n_cases)))
    answer[rng.random(answer.shape) > share_answered] = -1
    answer[:n_lone] = -1
    answer[np.arange(n_lone), rng.integers(n_cases, size=n_lone)] = 0
    return Panel(numbered(n_cases, n_roles), label, answer, experts=[f"expert-{i}" for i in range(n_experts)])


@st.composite
def samplers(draw):
    panel = make_panel(
        draw(SEEDS),
        n_cases=draw(st.integers(2, 40)),
        n_experts=draw(st.integers(1, 6)),
        n_roles=draw(st.integers(2, 4)),
        share_answered=draw(st.sampled_from([1.0, 0.7, 0.2])),
        n_lone=draw(st.integers(0, 1)),
    )
    assume((panel.count.sum(-1) >= 2).any())
    return EpisodeSampler(
        panel,
        context_size=draw(st.integers(1, 30)),
        n_queries=draw(st.integers(1, 20)),
        n_experts=draw(st.integers(1, 8)),
        varied=draw(st.sampled_from([0.0, 0.0, 0.5])),
    )


def answers_of(panel, expert):
    """{row: (label, answer)} of one expert."""
    context = panel[expert]
    told = zip(context.label.tolist(), context.answer.tolist(), strict=True)
    return dict(zip(rows_of(context.cases), told, strict=True))


@given(samplers(), SEEDS)
def test_a_context_is_as_full_and_as_balanced_as_the_other_answers_allow(sampler, seed):
    assume(sampler.varied == 0)
    episode = sampler.draw(np.random.default_rng(seed))
    asked = set(rows_of(episode.queries))
    for expert in episode.contexts.experts:
        given = answers_of(sampler.panel, expert)
        left = {row: answer for row, answer in given.items() if row not in asked}
        context = answers_of(episode.contexts, expert)
        assert context.items() <= left.items()
        assert len(context) == min(sampler.context_size, len(left))
        roles = range(sampler.panel.n_roles)
        took = [sum(label == y for label, _ in context.values()) for y in roles]
        had = [sum(label == y for label, _ in left.values()) for y in roles]
        for y in roles:
            assert took[y] == had[y] or took[y] >= max(took) - 1


def test_varied_contexts_come_in_every_size_and_mix():
    label = np.repeat([0, 1], [360, 40])
    panel = Panel(numbered(400, 2), label, np.tile(label, (32, 1)))
    rng = np.random.default_rng(0)
    drawn = [EpisodeSampler(panel, context_size=20, n_queries=8, varied=0.5).draw(rng) for _ in range(20)]
    count = torch.cat([episode.contexts.count for episode in drawn])
    usual = (count == 10).all(-1)
    assert 0.4 < usual.double().mean() < 0.6
    varied = count[~usual]
    n = varied.sum(-1)
    assert n.min() == 1 and 70 <= n.max() <= 80
    assert abs(float((n <= 8).double().mean()) - 0.5) < 0.1  # as many below √80 as above: log-uniform
    assert abs(float(varied[:, 0].sum() / n.sum()) - 0.9) < 0.02  # the mix of the panel, not half and half


def test_a_share_outside_its_range_is_refused():
    for share in (-0.1, 1.1, float("nan")):
        with refused(SettingError, "varied", str(share)):
            EpisodeSampler(make_panel(0, 40, 4, 3, 1.0), context_size=10, varied=share)


@given(samplers(), SEEDS)
def test_queries_are_in_nobodys_context(sampler, seed):
    episode = sampler.draw(np.random.default_rng(seed))
    asked = rows_of(episode.queries)
    assert len(asked) == len(set(asked)) > 0
    assert not set(asked) & set(rows_of(episode.contexts.cases))


@given(samplers(), SEEDS)
def test_outcomes_are_what_the_panel_says(sampler, seed):
    episode = sampler.draw(np.random.default_rng(seed))
    for e, expert in enumerate(episode.contexts.experts):
        given = answers_of(sampler.panel, expert)
        for q, row in enumerate(rows_of(episode.queries)):
            assert bool(episode.asked[e, q]) == (row in given)
            assert bool(episode.right[e, q]) == (row in given and given[row][0] == given[row][1])
            if row in given:
                assert int(episode.label[q]) == given[row][0]
    assert episode.asked.any(0).all()


@given(samplers(), SEEDS)
def test_entries_at_the_true_role_come_in_the_order_of_the_outcomes(sampler, seed):
    episode = sampler.draw(np.random.default_rng(seed))
    grid = torch.randn(len(episode.contexts), sampler.panel.n_roles, len(episode.queries))
    expected = [
        (float(grid[e, episode.label[q], q]), bool(episode.right[e, q]))
        for e in range(len(episode.contexts))
        for q in range(len(episode.queries))
        if episode.asked[e, q]
    ]
    assert list(zip(episode.at_true_role(grid).tolist(), episode.outcome.tolist(), strict=True)) == expected


@given(samplers(), SEEDS)
def test_only_experts_who_can_be_asked_take_part(sampler, seed):
    episode = sampler.draw(np.random.default_rng(seed))
    n_answers = dict(zip(sampler.panel.experts, sampler.panel.count.sum(-1).tolist(), strict=True))
    able = {expert for expert, n in n_answers.items() if n >= 2}
    assert set(episode.contexts.experts) <= able
    assert len(episode.contexts) == min(sampler.n_experts, len(able))


def contents(episode):
    contexts = episode.contexts
    return (
        contexts.experts,
        {expert: answers_of(contexts, expert) for expert in contexts.experts},
        rows_of(episode.queries),
        episode.asked.tolist(),
        episode.right.tolist(),
    )


@given(samplers(), SEEDS)
def test_the_same_seed_draws_the_same_episode(sampler, seed):
    one, same = (contents(sampler.draw(np.random.default_rng(seed))) for _ in range(2))
    assert one == same


def test_other_seeds_draw_other_episodes():
    sampler = EpisodeSampler(make_panel(0, 40, 4, 3, 1.0), context_size=10, n_queries=5)
    rng = np.random.default_rng(0)
    first, second = contents(sampler.draw(rng)), contents(sampler.draw(rng))
    assert first[1] != second[1] and first[2] != second[2]


def test_drawing_leaves_the_panel_and_global_random_numbers_alone():
    panel = make_panel(0, 40, 4, 3, 0.5)
    kept, before = panel.answer_matrix(), repr(np.random.get_state(legacy=False))  # noqa: NPY002
    torch_before = torch.random.get_rng_state()
    EpisodeSampler(panel, context_size=10).draw(np.random.default_rng(0))
    assert torch.equal(kept, panel.answer_matrix())
    assert before == repr(np.random.get_state(legacy=False))  # noqa: NPY002
    assert torch.equal(torch_before, torch.random.get_rng_state())


def test_every_expert_and_every_case_gets_a_turn():
    sampler = EpisodeSampler(make_panel(1, 30, 6, 3, 0.7), context_size=5, n_queries=4, n_experts=2)
    rng = np.random.default_rng(0)
    episodes = [sampler.draw(rng) for _ in range(100)]
    assert {one for episode in episodes for one in episode.contexts.experts} == set(sampler.panel.experts)
    assert {row for episode in episodes for row in rows_of(episode.queries)} == set(range(30))
    assert {row for episode in episodes for row in rows_of(episode.contexts.cases)} == set(range(30))


@pytest.mark.parametrize("share_answered", [1.0, 0.2])
def test_contexts_are_whole_where_there_are_answers_enough(share_answered):
    panel = make_panel(2, 2000, 5, 3, share_answered)
    episode = EpisodeSampler(panel, context_size=100).draw(np.random.default_rng(0))
    assert episode.contexts.count.sum(-1).tolist() == [100] * 5
    assert 100 <= float(episode.asked.sum(-1).float().mean()) <= 160  # n_queries is "an expert, about"


def test_short_histories_are_shared_between_context_and_queries():
    episode = EpisodeSampler(make_panel(3, 40, 5, 3, 1.0), context_size=500).draw(np.random.default_rng(0))
    assert episode.contexts.count.sum(-1).tolist() == [30] * 5
    assert episode.asked.sum(-1).tolist() == [10] * 5


def test_an_expert_whose_truth_is_his_own_is_never_asked_what_his_context_tells():
    rng = np.random.default_rng(0)
    answer = rng.integers(2, size=(4, 30))
    panel = Panel(numbered(30, 2), label=rng.integers(2, size=(4, 30)), answer=answer)
    episode = EpisodeSampler(panel, context_size=10, n_queries=6).draw(rng)
    for e, expert in enumerate(episode.contexts.experts):
        asked = {row for row, is_asked in zip(rows_of(episode.queries), episode.asked[e], strict=True) if is_asked}
        assert asked
        assert not asked & set(rows_of(episode.contexts[expert].cases))


@pytest.mark.parametrize("setting", ["context_size", "n_queries", "n_experts"])
@pytest.mark.parametrize("value", [0, -1])
def test_empty_episodes_are_refused(setting, value):
    with refused(SettingError, f"{setting}={value}"):
        EpisodeSampler(make_panel(0, 10, 2, 2, 1.0), **{"context_size": 5, setting: value})


@pytest.mark.parametrize("n_lone", [0, 3])
def test_experts_who_answered_once_or_never_make_no_episode(n_lone):
    with refused(TooFewAnswersError, "3 experts"):
        EpisodeSampler(make_panel(0, 10, 3, 2, 0.0, n_lone), context_size=5)


# experts held out


@given(SEEDS, st.integers(2, 12), st.floats(0, 1), st.integers(0, 4))
def test_experts_to_stop_by_are_strangers_to_the_fit(seed, n_experts, share, n_lone):
    panel = make_panel(seed, 12, n_experts + n_lone, 2, 1.0, n_lone)
    fitted_on, held_out = hold_out_experts(panel, share, np.random.default_rng(seed))
    assert not set(fitted_on.experts) & set(held_out.experts)
    assert {*fitted_on.experts, *held_out.experts} == set(panel.experts[n_lone:])
    assert len(held_out) == min(max(1, round(share * n_experts)), n_experts - 1)
    for part in (fitted_on, held_out):
        for expert in part.experts:
            assert answers_of(part, expert) == answers_of(panel, expert)


def test_who_is_held_out_depends_on_the_seed_alone():
    panel = make_panel(0, 12, 10, 2, 1.0)
    held = [hold_out_experts(panel, 0.3, np.random.default_rng(seed))[1].experts for seed in (0, 0, 1)]
    assert held[0] == held[1] != held[2]


@pytest.mark.parametrize(("n_experts", "n_lone"), [(1, 0), (5, 4), (5, 5)])
def test_nobody_to_hold_out_is_an_error(n_experts, n_lone):
    with refused(TooFewAnswersError, f"Got {n_experts - n_lone} such among {n_experts} experts", "IFDScore"):
        hold_out_experts(make_panel(0, 12, n_experts, 2, 1.0, n_lone), 0.2, np.random.default_rng(0))
