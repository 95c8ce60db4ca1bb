from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from racer.errors import SettingError, ShapeError
from racer.simulation import ExpertGroup, ExpertGroups, ExpertPopulation, GroupSizes, SkillProfile

POPULATION = ExpertPopulation(SkillProfile.weak(), n_roles=9, lambda_id=1.0)
NAMES = [field.name for field in fields(ExpertGroups)]


def groups(population=POPULATION, sizes=None):
    return ExpertGroups.sample(population, np.random.default_rng(0), sizes or GroupSizes())


def test_group_sizes_are_those_of_the_paper():
    assert [len(getattr(groups(), name)) for name in NAMES] == [32, 8, 8, 8, 8]


@pytest.mark.parametrize("resized", NAMES)
def test_the_size_of_one_group_leaves_the_others_alone(resized):
    before, after = groups(), groups(sizes=replace(GroupSizes(), **{resized: 3}))
    for name in NAMES:
        one, other = getattr(before, name), getattr(after, name)
        assert torch.equal(one.competence[: len(other)], other.competence)
        assert one.experts[: len(other)] == other.experts


def test_only_ood_groups_are_permuted():
    permuted, plain = groups(), groups(replace(POPULATION, lambda_id=0.0))
    changed = [not torch.equal(getattr(permuted, n).competence, getattr(plain, n).competence) for n in NAMES]
    assert dict(zip(NAMES, changed, strict=True)) == {name: name.startswith("ood") for name in NAMES}


def test_nobody_is_in_two_groups():
    ids = [expert for name in NAMES for expert in getattr(groups(), name).experts]
    rows = torch.cat([getattr(groups(), name).competence for name in NAMES])
    assert len(set(ids)) == len(ids) == len(rows.flatten(1).unique(dim=0)) == 64
    assert {"seen-00", "seen-31", "id-val-00", "ood-val-01", "id-test-03", "ood-test-07"} <= set(ids)


def test_seen_experts_are_evaluated_as_they_were_trained_on():
    assert groups().seen_evaluation.experts == groups().seen.experts
    assert torch.equal(groups().seen_evaluation.competence, groups().seen.competence)


def test_an_empty_group_is_ordinary():
    empty = groups(sizes=GroupSizes(ood_test=0)).ood_test
    assert empty.experts == ()
    assert empty.competence.shape == (0, 9, 3)


def test_impossible_groups_are_refused():
    with pytest.raises(SettingError):
        GroupSizes(seen=-1)
    with pytest.raises(ShapeError):
        ExpertGroup(experts=("seen-00",), competence=torch.zeros(2, 2, 1))
