import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from racer.errors import SettingError, TooFewRolesError
from racer.simulation import ExpertPopulation, SkillProfile

PROFILES = [SkillProfile.weak(), SkillProfile.strong()]
shares = st.floats(0, 1)
names = pytest.mark.parametrize("profile", PROFILES, ids=["weak", "strong"])


def experts(profile, n_experts=50, seed=0, **changed):
    return ExpertPopulation(profile, **{"n_roles": 9, **changed}).sample(n_experts, np.random.default_rng(seed))


@names
def test_rho_zero_gives_every_subtype_the_same_skill(profile):
    competence = experts(profile, rho=0.0)
    assert torch.equal(competence, competence[..., :1].expand_as(competence))
    assert len(competence[..., 0].unique()) == 50 * 9


def test_full_specialisation_has_one_good_one_mid_one_bad_subtype():
    levels = experts(SkillProfile.strong()).sort(-1).values
    torch.testing.assert_close(levels, torch.tensor([0.30, 0.70, 0.98]).expand_as(levels))


def test_the_weak_middle_subtype_has_the_classwise_skill():
    specialised, classwise = experts(SkillProfile.weak()), experts(SkillProfile.weak(), rho=0.0)
    is_level = torch.isclose(specialised, torch.tensor(0.9)) | torch.isclose(specialised, torch.tensor(0.4))
    assert (is_level.sum(-1) == 2).all()
    assert torch.equal(specialised[~is_level], classwise[..., 0].flatten())


@settings(deadline=None)
@given(rho=shares, lambda_id=shares)
def test_rho_interpolates_in_probability(rho, lambda_id):
    ends = [experts(SkillProfile.weak(), 3, rho=end, lambda_id=lambda_id) for end in (0.0, 1.0)]
    between = experts(SkillProfile.weak(), 3, rho=rho, lambda_id=lambda_id)
    torch.testing.assert_close(between, (1 - rho) * ends[0] + rho * ends[1])


def test_every_order_of_the_subtypes_is_equally_likely_and_independent():
    order = experts(SkillProfile.strong(), 4_000, n_roles=2).argsort(-1)
    code = order[..., 0] * 3 + order[..., 1]
    pair = (code[:, 0] * 9 + code[:, 1]).unique(return_counts=True)[1]
    assert len(pair) == 36
    assert (pair / 4_000 - 1 / 36).abs().max() < 4.5 * (1 / 36 / 4_000) ** 0.5


@names
@pytest.mark.parametrize("rho", [0.0, 1.0])
def test_experts_are_right_about_as_often_as_their_profile_says(profile, rho):
    # skill varies on the logit scale, so the mean of a classwise expert lies slightly below the median .65 or .66
    expected = {"weak": (0.6407, 0.6469), "strong": (0.6502, 0.66)}["weak" if profile.mid is None else "strong"]
    assert float(experts(profile, 4_000, rho=rho).mean()) == pytest.approx(expected[int(rho)], abs=0.003)


def test_skill_varies_between_classes_and_between_experts_on_the_logit_scale():
    logit = torch.logit(experts(SkillProfile.weak(), 20_000, rho=0.0, n_roles=5)[..., 0].double())
    covariance = torch.cov(logit.T)
    assert float(logit.mean()) == pytest.approx(np.log(0.65 / 0.35), abs=0.01)
    torch.testing.assert_close(covariance, 0.55**2 * torch.eye(5).double() + 0.20**2, atol=0.015, rtol=0)


@names
@pytest.mark.parametrize("rho", [0.0, 1.0])
@pytest.mark.parametrize("lambda_id", [0.5, 1.0])
def test_full_permutation_preserves_the_population_law(profile, rho, lambda_id):
    def moments(competence):
        flat = competence.flatten(1).double()
        return flat.mean(0), torch.cov(flat.T), (flat**3).mean(0)

    plain = moments(experts(profile, 20_000, seed=1, n_roles=4, rho=rho))
    permuted = moments(experts(profile, 20_000, seed=2, n_roles=4, rho=rho, lambda_id=lambda_id))
    for one, other in zip(plain, permuted, strict=True):
        torch.testing.assert_close(one, other, atol=0.015, rtol=0)


@settings(deadline=None)
@given(lambda_id=shares)
def test_permutation_moves_whole_classes_and_at_most_its_share(lambda_id):
    plain = experts(SkillProfile.weak(), 5)
    permuted = experts(SkillProfile.weak(), 5, lambda_id=lambda_id)
    moved = (plain != permuted).any(-1)
    assert (moved.sum(-1) <= round(lambda_id * 9)).all()
    # weak rows hold a continuous level, so a row names its class
    is_row = (plain[:, :, None] == permuted[:, None]).all(-1)
    assert (is_row.sum(1) == 1).all()
    assert (is_row.sum(2) == 1).all()


def test_full_permutation_is_uniform_and_the_experts_own():
    plain, permuted = (experts(SkillProfile.weak(), 6_000, n_roles=3, lambda_id=share) for share in (0.0, 1.0))
    source = (plain[:, None] == permuted[:, :, None]).all(-1).int().argmax(-1)
    count = (source[:, 0] * 3 + source[:, 1]).unique(return_counts=True)[1]
    assert len(count) == 6
    assert (count / 6_000 - 1 / 6).abs().max() < 0.02


def test_same_generator_same_experts():
    halfway = {"rho": 0.7, "lambda_id": 1.0}
    assert torch.equal(experts(SkillProfile.weak(), **halfway), experts(SkillProfile.weak(), **halfway))
    rng, population = np.random.default_rng(0), ExpertPopulation(SkillProfile.weak(), 9)
    assert not torch.equal(population.sample(3, rng), population.sample(3, rng))


@settings(deadline=None)
@given(few=st.integers(0, 5), more=st.integers(0, 5))
def test_asking_for_more_experts_keeps_the_first_ones(few, more):
    halfway = {"rho": 0.5, "lambda_id": 0.5}
    some, all_of_them = (experts(SkillProfile.weak(), n, **halfway) for n in (few, few + more))
    assert torch.equal(some, all_of_them[:few])


@names
@settings(deadline=None)
@given(n_subtypes=st.integers(1, 8), rho=shares)
def test_any_number_of_subtypes_gives_probabilities(profile, n_subtypes, rho):
    competence = experts(profile, 4, n_subtypes=n_subtypes, rho=rho)
    assert competence.shape == (4, 9, n_subtypes)
    assert ((competence >= 0) & (competence <= 1)).all()


@pytest.mark.parametrize(
    ("n_subtypes", "levels"), [(1, [0.7]), (2, [0.98, 0.3]), (3, [0.98, 0.7, 0.3]), (5, [0.98, 0.84, 0.7, 0.5, 0.3])]
)
def test_levels_lie_evenly_from_good_over_mid_to_bad(n_subtypes, levels):
    torch.testing.assert_close(SkillProfile.strong().levels(torch.tensor([[0.1]]), n_subtypes)[0, 0].tolist(), levels)


def test_one_subtype_of_a_weak_expert_is_its_classwise_skill():
    assert torch.equal(experts(SkillProfile.weak(), n_subtypes=1), experts(SkillProfile.weak(), n_subtypes=1, rho=0.0))


@pytest.mark.parametrize(
    "wrong",
    [
        {"rho": 1.1},
        {"rho": float("nan")},
        {"lambda_id": -0.1},
        {"n_subtypes": 0},
        {"n_subtypes": 2.5},
        {"n_roles": 2.5},
    ],
)
def test_settings_outside_their_range_are_refused(wrong):
    with pytest.raises(SettingError):
        experts(SkillProfile.weak(), **wrong)


def test_one_class_and_a_negative_number_of_experts_are_refused():
    with pytest.raises(TooFewRolesError):
        experts(SkillProfile.weak(), n_roles=1)
    with pytest.raises(SettingError):
        experts(SkillProfile.weak(), n_experts=-1)


@pytest.mark.parametrize(
    "wrong",
    [
        {"good": 1.2},
        {"good": 0.2},
        {"mid": 0.95},
        {"mid": 0.1},
        {"base": 1.0},
        {"base": 0.0},
        {"class_sd": -1.0},
        {"global_sd": float("inf")},
    ],
)
def test_a_profile_that_makes_no_sense_is_refused(wrong):
    sound = {"good": 0.9, "mid": 0.6, "bad": 0.4, "base": 0.65, "class_sd": 0.5, "global_sd": 0.2}
    with pytest.raises(SettingError):
        SkillProfile(**{**sound, **wrong})
