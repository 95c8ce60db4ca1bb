"""The contract can be broken: for every check there is a method that fails it, and a stranger's sound one passes."""

import itertools
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from jaxtyping import Float
from refusal import refused
from torch import Tensor

from racer import checks
from racer.checks import CHECKS, check_method, make_world
from racer.checks.state import fit_in
from racer.competence import AbstractCompetence
from racer.errors import ContractError


@dataclass(frozen=True, eq=False)
class PriorMean:
    mean: Float[Tensor, ""]


@dataclass(frozen=True)
class Shrunk(AbstractCompetence):
    """Role by role accuracy, pulled to that of the experts it was fitted on."""

    name: ClassVar[str] = "shrunk"

    strength: float = 2.0
    state: PriorMean | None = None

    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        return replace(self, state=PriorMean(panel.n_right.sum() / panel.count.sum()))

    def mean(self):
        return 0.5 if self.state is None else float(self.state.mean)

    def gamma(self, panel):
        """(expert, role), the same for every query."""
        return (self.strength * self.mean() + panel.n_right) / (self.strength + panel.count)

    def role_competence(self, queries, panel, pairs):
        grid = self.gamma(panel).to(queries.dtype)[:, :, None]
        return pairs.take(grid.expand(-1, -1, pairs.n_items))


def accuracy(panel):
    """Of each expert, without any care for those who never answered."""
    return panel.n_right.sum(-1) / panel.count.sum(-1)


@dataclass(frozen=True, eq=False)
class Embedding:
    vector: Float[Tensor, "role feature"]
    weight: Float[Tensor, " feature"]


@dataclass(frozen=True)
class LabelEmbedding(Shrunk):
    """Learns a vector for each class, and promises that class names do not matter."""

    name: ClassVar[str] = "label-embedding"
    state: Embedding | None = None

    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        generator = torch.Generator().manual_seed(seed)
        vector, weight = torch.randn(panel.n_roles, 3, generator=generator), torch.randn(3, generator=generator)
        for _ in range(50):  # least squares on "was right in this role"
            miss = (vector @ weight)[panel.role] - panel.right.float()
            step = torch.zeros(panel.n_roles).index_add_(0, panel.role, miss) / panel.n_answers / 4
            vector, weight = vector - step[:, None] * weight, weight - vector.T @ step
        return replace(self, state=Embedding(vector, weight))

    def gamma(self, panel):
        taught = (self.state.vector @ self.state.weight).clamp(0, 1)
        return (self.strength * taught + panel.n_right) / (self.strength + panel.count)


class HonestLabelEmbedding(LabelEmbedding):
    """The same, without the promise."""

    is_identity_free = False


class FavouriteClass(Shrunk):
    """Trusts everybody a little more in class 0."""

    def gamma(self, panel):
        return super().gamma(panel) * torch.where(torch.arange(panel.n_roles) == 0, 1.0, 0.9)


class ClassesInACircle(Shrunk):
    """Calls the next class number half right: a shift of all names by one would not show it."""

    def gamma(self, panel):
        half = (panel.answer - panel.role) % panel.n_roles == 1
        near = torch.zeros_like(panel.count).index_put_((panel.expert, panel.role), half.long(), accumulate=True)
        return (self.strength * self.mean() + panel.n_right + near / 2) / (self.strength + panel.count)


class TwiceAsSure(Shrunk):
    def gamma(self, panel):
        return 2 * super().gamma(panel)


class AlwaysDouble(Shrunk):
    def competence(self, queries, evidence):
        return super().competence(queries, evidence).double()


class RolesFirst(Shrunk):
    def competence(self, queries, evidence):
        return super().competence(queries, evidence).transpose(-1, -2)


class ForgetsTheExpertAxis(Shrunk):
    def deferral_score(self, queries, evidence, *, negligible=0.0):
        return super().deferral_score(queries, evidence).reshape(-1)[: len(queries)]


class NeedsQueries(Shrunk):
    def deferral_score(self, queries, evidence, *, negligible=0.0):
        queries.embedding[0]
        return super().deferral_score(queries, evidence)


class NoScore(Shrunk):
    def deferral_score(self, queries, evidence, *, negligible=0.0):
        return None


class NumpyScore(Shrunk):
    def deferral_score(self, queries, evidence, *, negligible=0.0):
        return super().deferral_score(queries, evidence).numpy()


class HalfAPosterior(Shrunk):
    def posterior(self, queries, evidence):
        return super().posterior(queries, evidence) / 2


class AWhiskerTooSure(Shrunk):
    def gamma(self, panel):
        return super().gamma(panel).clamp(max=0.0) + 1.001


class HalfOfIt(Shrunk):
    """Its q̂ is in range and well-behaved, and not the expectation of its Γ."""

    def expert_correctness(self, queries, evidence, *, negligible=0.0):
        return super().expert_correctness(queries, evidence, negligible=negligible) / 2


class SkipsTooMuch(Shrunk):
    def expert_correctness(self, queries, evidence, *, negligible=0.0):
        q = super().expert_correctness(queries, evidence)
        return q if negligible == 0 else 0 * q


class NeverHeardOfSkipping(Shrunk):
    def expert_correctness(self, queries, evidence):
        return super().expert_correctness(queries, evidence)

    def deferral_score(self, queries, evidence):
        return self.expert_correctness(queries, evidence) - queries.confidence


class NeedsExperts(Shrunk):
    def gamma(self, panel):
        panel.experts[0]
        return super().gamma(panel)


class NaNWithoutAnswers(Shrunk):
    def gamma(self, panel):
        return accuracy(panel)[:, None].expand(-1, panel.n_roles)


class ErrorWithoutAnswers(Shrunk):
    def gamma(self, panel):
        for one in panel.count.sum(-1).tolist():
            1 / one
        return super().gamma(panel)


class NaNInUnseenRoles(Shrunk):
    def gamma(self, panel):
        gamma = panel.n_right / panel.count
        return torch.where(panel.count.sum(-1, keepdim=True) > 0, gamma, 0.5)


class PairsOfExperts(Shrunk):
    """Goes through experts two at a time and answers for the odd last one with the first."""

    def gamma(self, panel):
        gamma = super().gamma(panel)
        odd = len(panel) > 1 and len(panel) % 2 == 1
        return torch.cat([gamma[:-1], gamma[:1]]) if odd else gamma


class RelativeToOthers(Shrunk):
    """Measures an expert against whoever is asked about at the same time."""

    def gamma(self, panel):
        gamma = super().gamma(panel)
        return (0.5 + gamma - gamma.mean(0)).clamp(0, 1)


class SilenceIsWrong(Shrunk):
    def gamma(self, panel):
        n = panel.count.sum(-1) if len(panel) > 1 else torch.tensor([len(panel.cases)])
        gamma = (self.strength * self.mean() + panel.n_right.sum(-1)) / (self.strength + n)
        return gamma[:, None].expand(-1, panel.n_roles)


class LatestCountMost(Shrunk):
    def gamma(self, panel):
        gamma = torch.full((len(panel),), 0.5)
        for row in range(len(panel)):
            mine = panel.expert == row
            age = panel.item[mine].argsort().argsort() + 1
            if mine.any():
                gamma[row] = (age * panel.right[mine]).sum() / age.sum()
        return gamma[:, None].expand(-1, panel.n_roles)


class StandardisedScore(Shrunk):
    def deferral_score(self, queries, evidence, *, negligible=0.0):
        score = super().deferral_score(queries, evidence)
        return score - score.mean(-1, keepdim=True)


class NoneForSingles(Shrunk):
    def competence(self, queries, evidence):
        return None if len(queries) == 1 else super().competence(queries, evidence)


class PrecisionDependent(Shrunk):
    def role_competence(self, queries, panel, pairs):
        gamma = super().role_competence(queries, panel, pairs)
        return (gamma - torch.finfo(gamma.dtype).eps ** 0.25).clamp(min=0)


class AlwaysSingle(Shrunk):
    def competence(self, queries, evidence):
        return super().competence(queries, evidence).float()


class ShareOfRightAnswers(Shrunk):
    """Divides by the right answers of an expert, who may have none."""

    def gamma(self, panel):
        share = panel.n_right / panel.n_right.sum(-1, keepdim=True)
        return torch.where(panel.count.sum(-1, keepdim=True) > 0, share, 0.5)


class KeepsItAside(Shrunk):
    """Learns into an attribute that is no field, so that it is not saved."""

    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        fitted = replace(self)
        object.__setattr__(fitted, "aside", float(accuracy(panel).mean()))
        return fitted

    def mean(self):
        return self.__dict__.get("aside", 0.5)


@dataclass(frozen=True)
class CannotBeWritten(Shrunk):
    classes: object = frozenset({0})


class NeverTheSame(Shrunk):
    """Has randomness of its own that no seed reaches."""

    count: ClassVar = itertools.count()

    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        return replace(self, state=PriorMean(torch.tensor(1 / (2 + next(self.count)))))


class SeedsTorch(Shrunk):
    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        torch.manual_seed(seed)
        return replace(self, state=PriorMean(torch.rand(())))


class SeedsNumpy(Shrunk):
    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        np.random.seed(seed)  # noqa: NPY002
        return replace(self, state=PriorMean(torch.tensor(np.random.rand())))  # noqa: NPY002


class TakesAllThreads(Shrunk):
    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        torch.set_num_threads(torch.get_num_threads() % 2 + 1)
        return super().fit(panel)


class WritesToItself(Shrunk):
    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        object.__setattr__(self, "state", super().fit(panel).state)
        return self


class WritesAside(KeepsItAside):
    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        object.__setattr__(self, "aside", float(accuracy(panel).mean()))
        return self


class NormalisesInPlace(Shrunk):
    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        panel.cases.embedding.div_(panel.cases.embedding.norm(dim=-1, keepdim=True))
        return super().fit(panel)


SHAPES = "check_shapes_and_ranges"
SKIPS = "check_skipping_costs_at_most_what_is_skipped"
EMPTY = "check_empty_context_is_ordinary"
PANEL = "check_panel_equals_contexts"
OTHERS = "check_other_experts_are_irrelevant"
ALONE = "check_fit_leaves_everything_else_alone"
SAVED = "check_saved_and_loaded_is_the_same"
NAMES = "check_class_names_are_irrelevant"
EXACTLY = {
    LabelEmbedding: [NAMES],
    FavouriteClass: [NAMES],
    ClassesInACircle: [NAMES],
    NeedsQueries: [SHAPES],
    NeedsExperts: [SHAPES],
    HalfOfIt: ["check_correctness_is_expected_competence"],
    SkipsTooMuch: [SKIPS],
    NeverHeardOfSkipping: [SKIPS],
    NaNWithoutAnswers: [EMPTY],
    ErrorWithoutAnswers: [EMPTY],
    NaNInUnseenRoles: ["check_single_role_context_is_ordinary"],
    PairsOfExperts: [PANEL],
    RelativeToOthers: [EMPTY, PANEL, OTHERS],
    SilenceIsWrong: ["check_silence_is_not_wrong"],
    LatestCountMost: ["check_order_of_context_is_irrelevant"],
    StandardisedScore: ["check_batch_size_is_irrelevant"],
    NoneForSingles: ["check_batch_size_is_irrelevant"],
    PrecisionDependent: ["check_float64_agrees"],
    AlwaysSingle: ["check_float64_agrees"],
    ShareOfRightAnswers: ["check_expert_only_renaming_is_ordinary"],
    KeepsItAside: [SAVED],
    CannotBeWritten: [SAVED],
    NeverTheSame: ["check_same_seed_same_result"],
    SeedsTorch: [ALONE],
    SeedsNumpy: [ALONE],
    TakesAllThreads: [ALONE],
    WritesToItself: [ALONE],
    WritesAside: [SAVED, ALONE],
    NormalisesInPlace: [ALONE],
}
AMONG_OTHERS = dict.fromkeys(
    [TwiceAsSure, AWhiskerTooSure, AlwaysDouble, RolesFirst, ForgetsTheExpertAxis, NoScore, NumpyScore, HalfAPosterior],
    SHAPES,
)


@pytest.fixture(autouse=True)
def restored():
    """What the methods above leave changed is no business of other tests."""
    kept = torch.get_num_threads(), torch.random.get_rng_state(), np.random.get_state()  # noqa: NPY002
    yield
    torch.set_num_threads(kept[0])
    torch.random.set_rng_state(kept[1])
    np.random.set_state(kept[2])  # noqa: NPY002


def broken(method):
    with pytest.raises(ContractError) as caught:
        check_method(method)
    assert type(method).__name__ in str(caught.value)
    assert all(name in str(caught.value) for name in caught.value.data["broken"])
    return caught.value.data["broken"]


@pytest.mark.parametrize("method", EXACTLY, ids=lambda method: method.__name__)
def test_a_broken_promise_is_named_and_no_other(method):
    assert list(broken(method())) == EXACTLY[method]


@pytest.mark.parametrize("method", AMONG_OTHERS, ids=lambda method: method.__name__)
def test_answers_of_a_wrong_kind_are_named(method):
    assert AMONG_OTHERS[method] in broken(method())


def test_every_check_can_fail():
    failed = {name for names in EXACTLY.values() for name in names}
    assert failed == {check.__name__ for check in CHECKS}


@pytest.mark.parametrize("method", EXACTLY, ids=lambda method: method.__name__)
def test_a_failing_check_speaks_in_three_lines(method):
    world = make_world()
    fitted = fit_in(method(), world)
    for name in EXACTLY[method]:
        with refused(ContractError):
            getattr(checks, name)(fitted, world)


@pytest.mark.parametrize("method", [Shrunk(), Shrunk(strength=0.5), HonestLabelEmbedding()], ids=repr)
@pytest.mark.parametrize(
    "world", [{}, {"seed": 3, "n_roles": 2}, {"n_roles": 7, "n_features": 1}, {"dtype": torch.float64}], ids=str
)
def test_a_stranger_that_keeps_the_contract_passes(method, world):
    check_method(method, make_world(**world))


def test_a_check_that_crashes_counts_as_broken():
    assert NAMES in broken(RolesFirst())  # its answers cannot even be renamed back


def test_an_unexpected_none_is_refused():
    with refused(ContractError, "'deferral_score' is not a tensor", "NoneType"):
        checks.check_shapes_and_ranges(NoScore(), make_world())
