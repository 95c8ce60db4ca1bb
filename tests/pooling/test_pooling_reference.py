"""Pooling equals the equations, term by term."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from reference import pooling as reference
from strategies import TOLERANCE, episodes
from torch.utils._python_dispatch import TorchDispatchMode

from racer import Cases, Context, Panel, RacerKNN
from racer.pooling import ContextPrior, same_role_mean, same_role_neighbours
from racer.pooling.cosine import CHUNK
from racer.pooling.neighbours import tie_width

TEMPERATURES = st.sampled_from([1.0, 0.1, 0.03, 0.026, 0.02, 0.005])


def as_triples(episode):
    return [(z, label, answer) for z, _, label, answer in episode.rows()]


def table(episode, entry):
    k = episode.queries.n_roles
    return torch.tensor([[entry(x, y) for y in range(k)] for x, _ in episode.asked()], dtype=torch.float64)


@given(episodes(), TEMPERATURES)
def test_mean_mass_and_count_equal_the_equations(episode, temperature):
    got = same_role_mean(episode.queries, episode.context, temperature)
    context, tolerance = as_triples(episode), TOLERANCE[episode.queries.dtype]
    mean = table(episode, lambda x, y: reference.same_role_mean(x, y, context, temperature))
    mass = table(episode, lambda x, y: reference.log_mass(x, y, context, temperature))
    torch.testing.assert_close(got.mean.double(), mean, atol=tolerance, rtol=0)
    torch.testing.assert_close(got.log_mass.double(), mass, atol=tolerance, rtol=tolerance)
    assert got.count.tolist() == table(episode, lambda x, y: reference.count(y, context)).tolist()


@given(episodes(), TEMPERATURES, st.floats(0, 50), st.floats(0, 5), st.floats(0, 1))
def test_prior_strengths_equal_the_equation(episode, temperature, local, population, mean):
    prior = ContextPrior(local=local, population=population, population_mean=mean)
    got = same_role_mean(episode.queries, episode.context, temperature, prior).mean
    context = as_triples(episode)
    want = table(episode, lambda x, y: reference.same_role_mean(x, y, context, temperature, local, population, mean))
    torch.testing.assert_close(got.double(), want, atol=TOLERANCE[got.dtype], rtol=0)


@given(episodes(), st.integers(1, 6))
def test_neighbours_equal_the_equation(episode, k):
    got = same_role_neighbours(episode.queries, episode.context, k)
    context, tie = as_triples(episode), tie_width(got.dtype)
    want = table(episode, lambda x, y: reference.nearest_mean(x, y, context, k, tie))
    torch.testing.assert_close(got.double(), want, atol=TOLERANCE[got.dtype], rtol=0)


@pytest.mark.parametrize("temperature", [0.026, 0.0225, 0.02, 0.018, 0.01, 0.005])
def test_a_role_whose_answers_are_all_opposite_keeps_its_own_mean(temperature):
    """exp(−2/τ) is no float32 here, or hardly one: the shift must be the group's own."""
    angles = torch.tensor([3.1415927, 3.10, 3.06, 0.0])
    bank = Cases(torch.stack([angles.cos(), angles.sin()], -1), torch.full((4, 2), 0.5))
    context = Context(bank, label=[0, 0, 0, 1], answer=[0, 1, 0, 1])
    got = same_role_mean(bank[3:], context, temperature).mean[0, 0]
    triples = [
        (z, label, answer) for z, label, answer in zip(bank.embedding.tolist(), [0, 0, 0, 1], [0, 1, 0, 1], strict=True)
    ]
    assert float(got) == pytest.approx(
        reference.same_role_mean(bank.embedding[3].tolist(), 0, triples, temperature), abs=1e-5
    )


@pytest.mark.parametrize("seed", range(5))
def test_a_small_temperature_does_not_magnify_the_rounding_of_a_long_product(seed):
    """256 features, cases that nearly coincide, τ = 0.0001: the cosines must come in float64."""
    generator = torch.Generator().manual_seed(seed)
    centre = torch.randn(256, generator=generator)
    bank = Cases(centre + 0.01 * torch.randn(12, 256, generator=generator), torch.full((12, 2), 0.5))
    label, answer = [0] * 12, [0, 1] * 6
    got = same_role_mean(bank[:3], Context(bank, label, answer), temperature=0.0001).mean[:, 0]
    triples = list(zip(bank.embedding.tolist(), label, answer, strict=True))
    want = [reference.same_role_mean(x, 0, triples, 0.0001) for x in bank.embedding[:3].tolist()]
    assert got.tolist() == pytest.approx(want, abs=1e-5)


class Largest(TorchDispatchMode):
    """The most numbers any tensor held that was made meanwhile."""

    def __init__(self):
        super().__init__()
        self.numel = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        made = func(*args, **(kwargs or {}))
        for one in made if isinstance(made, (list, tuple)) else [made]:
            if isinstance(one, torch.Tensor):
                self.numel = max(self.numel, one.numel())
        return made


def test_memory_does_not_grow_with_the_number_of_queries():
    generator = torch.Generator().manual_seed(0)
    bank = Cases(torch.randn(500, 4, generator=generator), torch.rand(500, 3, generator=generator).softmax(-1))
    panel = Panel(bank, torch.randint(3, (500,), generator=generator), torch.randint(3, (4, 500), generator=generator))
    queries = Cases(torch.randn(20_000, 4, generator=generator), torch.rand(20_000, 3, generator=generator).softmax(-1))
    with Largest() as largest:
        RacerKNN(k=3).deferral_score(queries, panel)
        same_role_mean(queries, panel)
    in_and_out = 2 * 4 * 3 * len(queries)
    assert largest.numel <= max(CHUNK, in_and_out) < len(bank.embedding) * len(queries)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_supported_role_stays_supported_however_far_its_answers_are(dtype):
    # role 0 has only answers opposite to the query (exp(−400) beside role 1's exp(200)); all of them right
    bank = Cases(
        torch.tensor([[-1.0, 0.0], [-1.0, 0.1], [1.0, 0.0]], dtype=dtype), torch.full((3, 2), 0.5, dtype=dtype)
    )
    context = Context(bank, label=[0, 0, 1], answer=[0, 0, 0])
    pooled = same_role_mean(bank[2:], context, temperature=0.005)
    assert pooled.mean.tolist() == [[1.0, 0.0]]


def test_a_role_nobody_has_shown_falls_back_to_the_accuracy_of_the_context():
    bank = Cases([[1.0, 0.0]] * 4, [[0.3, 0.3, 0.4]] * 4)
    context = Context(bank, label=[0, 0, 0, 0], answer=[0, 0, 0, 1])
    assert same_role_mean(bank[:1], context).mean.tolist() == [[0.75, 0.75, 0.75]]


def test_an_empty_context_gives_one_half():
    bank = Cases([[1.0, 0.0]] * 2, [[0.5, 0.5]] * 2)
    pooled = same_role_mean(bank, Context.empty(bank))
    assert pooled.mean.tolist() == [[0.5, 0.5]] * 2
    assert pooled.log_mass.tolist() == [[0.0, 0.0]] * 2


@given(st.integers(0, 2**32 - 1), TEMPERATURES)
def test_chunks_and_groupings_change_nothing(seed, temperature):
    generator = torch.Generator().manual_seed(seed)
    bank = Cases(torch.randn(30, 4, generator=generator), torch.rand(30, 3, generator=generator).softmax(-1))
    label = torch.randint(3, (30,), generator=generator)
    answer = torch.randint(-1, 3, (4, 30), generator=generator)
    panel, queries = Panel(bank, label, answer), bank[:9]
    whole = same_role_mean(queries, panel, temperature).mean
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("racer.pooling.cosine.CHUNK", 60)
        patch.setattr("racer.pooling.cosine.FEWEST", 1)
        in_chunks = same_role_mean(queries, panel, temperature).mean
    alone = torch.stack([same_role_mean(queries, panel[expert], temperature).mean for expert in panel.experts])
    torch.testing.assert_close(whole, in_chunks, atol=1e-5, rtol=0)
    torch.testing.assert_close(whole, alone, atol=1e-5, rtol=0)


def test_the_mass_is_capped_and_the_mean_is_not():
    bank = Cases(torch.tensor([[1.0, 0.0], [1.0, 0.02]]).double(), torch.full((2, 2), 0.5).double())
    pooled = same_role_mean(bank[:1], Context(bank, label=[0, 0], answer=[0, 1]), temperature=0.005)
    assert pooled.log_mass[0, 0] == pytest.approx(30 + 0.6931471805599453)
    assert pooled.mean[0, 0] > 0.5 + 1e-3


@pytest.mark.parametrize("temperature", [0.1, 0.01])
def test_gradients_are_collected_over_experts_who_share_the_bank(temperature):
    """Five experts answered every case: five groups name each row, and its gradient is the sum over all."""
    generator = torch.Generator().manual_seed(0)
    bank = Cases(torch.randn(6, 3, generator=generator).double(), torch.full((6, 2), 0.5).double())
    answer = torch.randint(2, (5, 6), generator=generator)
    panel = Panel(bank, [0, 0, 1, 1, 0, 1], answer)
    x = torch.randn(2, 3, generator=generator).double().requires_grad_()

    def pooled(embedding):
        return same_role_mean(Cases(embedding, torch.full((2, 2), 0.5).double()), panel, temperature).mean

    assert torch.autograd.gradcheck(pooled, (x,), atol=1e-4)


@pytest.mark.parametrize("temperature", [0.1, 0.01])
def test_gradients_reach_the_queries_and_match_finite_differences(temperature):
    generator = torch.Generator().manual_seed(0)
    bank = Cases(torch.randn(6, 3, generator=generator).double(), torch.full((6, 2), 0.5).double())
    context = Context(bank, label=[0, 0, 1, 1, 0, 1], answer=[0, 1, 1, 0, 0, 1])
    x = torch.randn(2, 3, generator=generator).double().requires_grad_()

    def pooled(embedding):
        read = same_role_mean(Cases(embedding, torch.full((2, 2), 0.5).double()), context, temperature)
        return read.mean, read.log_mass

    assert torch.autograd.gradcheck(pooled, (x,), atol=1e-4)
