"""IFD-MLP sees six numbers, weighs as written, and learns where its profile helps."""

from math import log

import numpy as np
import pytest
import torch
from hypothesis import given
from reference import ifd_mlp as reference
from refusal import refused
from strategies import episodes

from racer import IFDMLP, Cases, Context, Panel
from racer.checks import make_world
from racer.competence.ifd_mlp import MarginNetwork, _Asked
from racer.errors import NotFittedError, SettingError, ShapeError
from racer.evidence import panel_of


def network(seed=0, hidden=5):
    rng = torch.Generator().manual_seed(seed)
    shapes = ((hidden, 6), (hidden,), (hidden,), ())
    return MarginNetwork(*(torch.randn(shape, generator=rng, dtype=torch.float64) for shape in shapes))


@given(episodes(max_answers=8))
def test_the_score_equals_its_transcription(episode):
    state = network()
    method = IFDMLP(alpha=1.0, beta=2.0, state=state)
    score = method.deferral_score(episode.queries, episode.context)
    rows = [(label, answer) for _, _, label, answer in episode.rows()]
    layers = [one.tolist() for one in (state.w1, state.b1, state.w2, state.b2)]
    for q, (_, p) in enumerate(episode.asked()):
        mean, variance = reference.profile(rows, len(p), 1.0, 2.0)
        d = reference.margin(reference.state(p, mean, variance), *layers)
        assert float(score[q]) == pytest.approx(d - log(max(p)), rel=1e-4, abs=1e-4)


@given(episodes(max_answers=8))
def test_the_weight_equals_its_transcription(episode):
    method = IFDMLP(caution=0.7)
    look = method._look(episode.queries, panel_of(episode.context))
    rows = [(label, answer) for _, _, label, answer in episode.rows()]
    for label in range(episode.queries.n_roles):
        labels = torch.full((len(episode.queries),), label)
        weight = _Asked.of(look, episode.queries, labels).weight[0]
        for q, (_, p) in enumerate(episode.asked()):
            mean, variance = reference.profile(rows, len(p), 1.0, 1.0)
            # means that are equal as fractions may differ in the last bit of one of the two
            if len({round(one, 9) for one in mean}) == len(set(mean)):
                expected = reference.weight(label, p, mean, variance, 0.7)
                assert float(weight[q]) == pytest.approx(expected, abs=1e-5)


def test_it_hands_over_what_a_specialist_knows_and_the_model_does_not():
    """Experts know one class each; the model is as unsure about all. The margin is larger on the expert's class."""
    rng = np.random.default_rng(0)
    n, k = 900, 3
    label = rng.integers(0, k, n)
    posterior = 0.25 + 0.25 * np.eye(k)[label]
    cases = Cases(rng.standard_normal((n, 4)), posterior)
    knows = np.arange(12) % k
    right = rng.random((12, n)) < np.where(label == knows[:, None], 0.98, 0.2)
    panel = Panel(cases, label, np.where(right, label, (label + 1) % k))
    method = IFDMLP().fit(panel, context_size=60, seed=0)
    shown, says = label[:60], rng.random(60) < np.where(label[:60] == 0, 0.98, 0.2)
    stranger = Context(cases[:60], shown, np.where(says, shown, (shown + 1) % k))
    score = method.deferral_score(cases[60:], stranger).numpy()
    assert score[label[60:] == 0].mean() > score[label[60:] != 0].mean() + 0.2


def test_it_says_nothing_about_being_right():
    world = make_world()
    method = IFDMLP(state=network())
    assert method.competence(world.queries, world.strangers) is None
    assert method.expert_correctness(world.queries, world.strangers) is None


def test_bad_settings_and_missing_networks_are_refused():
    world = make_world()
    for settings in ({"alpha": 0.0}, {"beta": -1.0}, {"caution": -0.1}, {"caution": float("nan")}, {"hidden": 0}):
        with pytest.raises(SettingError):
            IFDMLP(**settings)
    with refused(NotFittedError, "IFDScore"):
        IFDMLP().deferral_score(world.queries, world.strangers)
    with refused(ShapeError, "do not fit together"):
        MarginNetwork(torch.zeros(2, 5), torch.zeros(2), torch.zeros(2), torch.zeros(()))
