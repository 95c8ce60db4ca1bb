"""Fitting keeps the best epoch, stops when it should, and leaves the machine as it found it."""

import io
import sys

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from racer.learning import fit_with_early_stopping, progress_bar, seeded_linear


class Counter(nn.Module):
    """One weight that every step moves, and a buffer that counts epochs."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(()))
        self.register_buffer("epochs", torch.zeros((), dtype=torch.int64))

    def epoch(self):
        self.epochs += 1
        yield self.weight
        yield 2 * self.weight


def fit(script, max_epochs=None, patience=8, progress=False):
    """Fit while validation says what the script says; gives the network, the best loss, and the weight at each look."""
    network, losses, weights = Counter(), iter(script), []

    def validate():
        weights.append(network.weight.item())
        return next(losses)

    best = fit_with_early_stopping(
        network,
        network.epoch,
        validate,
        label="counter",
        max_epochs=len(script) - 1 if max_epochs is None else max_epochs,
        patience=patience,
        progress=progress,
    )
    return network, best, weights


@given(st.lists(st.integers(0, 5), min_size=1, max_size=10), st.integers(1, 4))
def test_the_first_of_the_best_epochs_is_kept(script, patience):
    network, best, weights = fit(script, patience=patience)
    seen = script[: len(weights)]
    assert best == min(seen)
    assert int(network.epochs) == seen.index(best)
    assert network.weight.item() == weights[seen.index(best)]


@given(st.lists(st.integers(0, 5), min_size=1, max_size=10), st.integers(1, 4))
def test_it_stops_once_patience_is_over_and_no_sooner(script, patience):
    seen = script[: len(fit(script, patience=patience)[2])]
    since_best = len(seen) - 1 - seen.index(min(seen))
    assert since_best == patience or (since_best < patience and len(seen) == len(script))
    for n in range(1, len(seen)):
        assert n - 1 - seen.index(min(seen[:n])) < patience


def test_the_network_before_the_first_step_competes():
    network, best, _ = fit([1.0, 2.0, 3.0, 4.0], patience=2)
    assert (best, network.weight.item(), int(network.epochs)) == (1.0, 0.0, 0)


def test_a_loss_that_becomes_nan_does_not_win():
    network, best, _ = fit([3.0, 2.0, float("nan"), float("nan")])
    assert (best, int(network.epochs)) == (2.0, 1)


def test_no_epochs_change_nothing():
    network, best, _ = fit([5.0], max_epochs=0)
    assert (best, network.weight.item()) == (5.0, 0.0)


def test_a_convex_loss_is_brought_down():
    generator = torch.Generator().manual_seed(0)
    network = seeded_linear(3, 1, generator)
    x = torch.randn(200, 3, generator=generator)
    y = x @ torch.tensor([0.5, -0.2, 0.1])

    def loss():
        return ((network(x)[:, 0] - y) ** 2).mean()

    start = loss().item()
    best = fit_with_early_stopping(
        network, lambda: (loss() for _ in range(5)), lambda: loss().item(), label="line", progress=False
    )
    assert best == loss().item() < start / 100


# threads and random numbers


@pytest.fixture
def two_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
def test_fitting_runs_on_one_thread_and_gives_the_others_back():
    network, seen = Counter(), []

    def epoch():
        seen.append(torch.get_num_threads())
        yield network.weight

    def validate():
        seen.append(torch.get_num_threads())
        return 0.0

    fit_with_early_stopping(network, epoch, validate, label="counter", max_epochs=1, progress=False)
    assert seen == [1, 1, 1]
    assert torch.get_num_threads() == 2


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("fails", ["at once", "in an epoch", "in the loss"])
@pytest.mark.parametrize("progress", [True, False])
def test_threads_come_back_after_an_error(fails, progress):
    network = Counter()

    def validate():
        if fails == "at once":
            raise RuntimeError(fails)
        return 0.0

    def epoch():
        if fails == "in an epoch":
            raise RuntimeError(fails)
        yield network.weight.detach()

    with pytest.raises(RuntimeError):
        fit_with_early_stopping(network, epoch, validate, label="counter", progress=progress)
    assert torch.get_num_threads() == 2


def test_nobody_elses_random_numbers_move():
    torch_before, numpy_before = torch.random.get_rng_state(), repr(np.random.get_state(legacy=False))  # noqa: NPY002
    seeded_linear(4, 3, torch.Generator().manual_seed(0))
    fit([3.0, 2.0, 1.0])
    assert torch.equal(torch_before, torch.random.get_rng_state())
    assert numpy_before == repr(np.random.get_state(legacy=False))  # noqa: NPY002


def test_a_seeded_layer_comes_from_its_generator_alone():
    one, same, other = (seeded_linear(16, 50, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert torch.equal(one.weight, same.weight) and torch.equal(one.bias, same.bias)
    assert not torch.equal(one.weight, other.weight)
    assert one.weight.requires_grad and one.weight.shape == (50, 16)
    for drawn in (one.weight, one.bias):  # uniform within ±1/√16
        assert 0.2 < drawn.abs().max().item() <= 0.25
        assert abs(drawn.mean().item()) < 0.06


# progress


def test_progress_goes_to_standard_error_when_asked_for(capsys):
    fit([3.0, 2.0, 1.0], progress=True)
    said = capsys.readouterr()
    assert said.out == ""
    assert "fitting counter" in said.err and "held-out loss" in said.err


@pytest.mark.parametrize("progress", [False, None])
def test_progress_is_silent_otherwise(progress, capsys):
    fit([3.0, 2.0, 1.0], progress=progress)
    assert capsys.readouterr() == ("", "")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("progress", "speaks"), [(None, True), (True, True), (False, False)])
def test_a_terminal_gets_a_bar_unless_refused(progress, speaks, monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    fit([3.0, 2.0, 1.0], progress=progress)
    assert ("fitting counter" in terminal.getvalue()) is speaks


def test_a_bar_that_stops_early_ends_full(capsys):
    with progress_bar("reading", total=10, show=True) as step:
        step("first")
    assert "10/10" in capsys.readouterr().err
