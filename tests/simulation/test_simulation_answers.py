import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from racer.errors import LabelError, SettingError, ShapeError, TooFewRolesError
from racer.simulation import (
    ExpertPopulation,
    SkillProfile,
    sample_answers,
    superclass_confusion,
    uniform_confusion,
)


def world(seed=0, n_experts=6, n_items=20_000, n_roles=6, n_subtypes=3):
    rng = np.random.default_rng(seed)
    competence = ExpertPopulation(SkillProfile.strong(), n_roles, n_subtypes).sample(n_experts, rng)
    return competence, rng.integers(n_roles, size=n_items), rng.integers(n_subtypes, size=n_items)


def test_realised_accuracy_matches_competence():
    competence, label, subtype = world()
    answers = sample_answers(competence, label, subtype, uniform_confusion(6), np.random.default_rng(1))
    right = (answers.answer == torch.from_numpy(label)).double()
    cell = torch.from_numpy(label * 3 + subtype)
    count = torch.bincount(cell, minlength=18)
    accuracy = torch.zeros(6, 18).double().index_add_(1, cell, right) / count
    p = competence.flatten(1).double()
    deviation = (accuracy - p) / (p * (1 - p) / count).sqrt()
    assert deviation.abs().max() < 4.5
    assert float((deviation**2).mean()) == pytest.approx(1, abs=0.5)


def test_p_right_is_the_competence_at_the_case():
    competence, label, subtype = world(n_items=40)
    answers = sample_answers(competence, label, subtype, uniform_confusion(6), np.random.default_rng(1))
    expected = [[float(one[y, s]) for y, s in zip(label, subtype, strict=True)] for one in competence]
    assert answers.p_right.tolist() == expected


def test_wrong_answers_follow_the_confusion_prior():
    rng = np.random.default_rng(2)
    confusion = rng.random((4, 4)) * (rng.random((4, 4)) < 0.7) + 0.1
    confusion[2] = [0, 0, 0, 1]
    np.fill_diagonal(confusion, 0)
    confusion /= confusion.sum(-1, keepdims=True)
    label = np.repeat(np.arange(4), 20_000)
    answers = sample_answers(np.zeros((1, 4, 1)), label, np.zeros_like(label), confusion, rng)
    share = np.zeros((4, 4))
    np.add.at(share, (label, answers.answer[0].numpy()), 1 / 20_000)
    assert np.abs(share - confusion).max() < 0.015
    assert (share[confusion == 0] == 0).all()


def test_wrong_answers_stay_in_the_superclass():
    superclass = torch.tensor([0, 0, 0, 1, 1, 2])
    label = np.repeat(np.arange(6), 5_000)
    nobody_knows = np.zeros((2, 6, 1))

    def same_superclass(within):
        confusion = superclass_confusion(superclass, within)
        answer = sample_answers(nobody_knows, label, 0 * label, confusion, np.random.default_rng(3)).answer
        return (superclass[answer] == superclass[torch.from_numpy(label)]).double()

    assert (same_superclass(1.0)[:, label < 5] == 1).all()
    assert float(same_superclass(0.9)[:, label < 5].mean()) == pytest.approx(0.9, abs=0.01)
    assert (same_superclass(0.9)[:, label == 5] == 0).all()


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=2, max_size=12), st.floats(0, 1))
def test_confusion_rows_are_distributions_over_the_wrong_classes(superclass, within):
    confusion = superclass_confusion(superclass, within)
    torch.testing.assert_close(confusion.sum(-1), torch.ones(len(superclass)).double())
    assert (confusion >= 0).all()
    assert (confusion.diagonal() == 0).all()


def test_uniform_confusion_favours_no_class():
    confusion = uniform_confusion(5)
    torch.testing.assert_close(confusion, (1 - torch.eye(5).double()) / 4)
    torch.testing.assert_close(superclass_confusion([0, 1, 2, 3, 4]), confusion)  # nobody has a sibling


@settings(deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1), n_experts=st.integers(0, 4), n_items=st.integers(0, 30), n_roles=st.integers(2, 150)
)
def test_answers_are_classes_and_wrong_ones_are_never_the_label(seed, n_experts, n_items, n_roles):
    rng = np.random.default_rng(seed)
    label = rng.integers(n_roles, size=n_items)
    confusion = superclass_confusion(rng.integers(3, size=n_roles), within=rng.random())
    ignorant, certain = np.zeros((n_experts, n_roles, 1)), np.ones((n_experts, n_roles, 1))
    wrong = sample_answers(ignorant, label, 0 * label, confusion, rng).answer
    right = sample_answers(certain, label, 0 * label, confusion, rng).answer
    assert wrong.shape == right.shape == (n_experts, n_items)
    assert wrong.dtype == torch.int64
    assert ((wrong >= 0) & (wrong < n_roles) & (wrong != torch.from_numpy(label))).all()
    assert (right == torch.from_numpy(label)).all()


def test_draws_at_the_edge_stay_in_their_row():
    class Edge:
        """The largest and the smallest number a float32 draw can be."""

        def spawn(self, n):
            return [self] * n

        def random(self, shape, dtype):
            return np.tile(np.array([0.0, 1 - 2.0**-24], dtype), (shape[0], shape[1] // 2))

    confusion = 0.9995 * superclass_confusion(np.arange(100) // 5, within=1.0)  # rows as far from one as allowed
    label = np.repeat(np.arange(100), 2)
    answer = sample_answers(np.zeros((1, 100, 1)), label, 0 * label, confusion, Edge()).answer[0].numpy()
    assert (answer // 5 == label // 5).all()
    assert (answer != label).all()


def test_same_generator_same_answers():
    first, second = (
        sample_answers(*world(n_items=100), uniform_confusion(6), np.random.default_rng(4)) for _ in range(2)
    )
    assert torch.equal(first.answer, second.answer)


def test_more_experts_leave_the_first_ones_alone():
    competence, label, subtype = world(n_items=101)
    few, all_of_them = (
        sample_answers(competence[:n], label, subtype, uniform_confusion(6), np.random.default_rng(5)).answer
        for n in (3, 6)
    )
    assert torch.equal(few, all_of_them[:3])


def test_raising_a_competence_never_turns_a_right_answer_wrong():
    competence, label, subtype = world(n_items=500)
    before, after = (
        sample_answers(c, label, subtype, uniform_confusion(6), np.random.default_rng(6)).answer
        for c in (competence, (competence + 0.1).clamp(max=1))
    )
    right = before == torch.from_numpy(label)
    assert (after[right] == before[right]).all()


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"label": [0, 2]}, LabelError),
        ({"label": [0, -1]}, LabelError),
        ({"subtype": [0, 3]}, LabelError),
        ({"label": [0]}, ShapeError),
        ({"label": ["a", "b"]}, ShapeError),
        ({"label": [[0], [1]]}, ShapeError),
        ({"competence": torch.zeros(2, 3)}, ShapeError),
        ({"competence": torch.full((1, 2, 3), 1.5)}, SettingError),
        ({"competence": torch.full((1, 2, 3), float("nan"))}, SettingError),
        ({"competence": torch.zeros(1, 1, 3)}, TooFewRolesError),
        ({"confusion": uniform_confusion(3)}, ShapeError),
        ({"confusion": torch.full((2, 2), 0.5)}, SettingError),
        ({"confusion": 0.5 * uniform_confusion(2)}, SettingError),
        ({"confusion": float("nan") * uniform_confusion(2)}, SettingError),
    ],
)
def test_what_cannot_be_answered_is_refused(changed, error):
    sound = {
        "competence": torch.zeros(1, 2, 3),
        "label": [0, 1],
        "subtype": [0, 2],
        "confusion": uniform_confusion(2),
        **changed,
    }
    with pytest.raises(error):
        sample_answers(**sound, rng=np.random.default_rng(0))


def test_confusions_of_one_class_or_an_impossible_share_are_refused():
    with pytest.raises(TooFewRolesError):
        uniform_confusion(1)
    with pytest.raises(SettingError):
        superclass_confusion([0, 0], within=1.5)
    with pytest.raises(LabelError):
        superclass_confusion([0, -1])
