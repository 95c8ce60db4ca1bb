"""Fitting and keeping: seeds, files, and nothing touched that was not handed in."""

import copy
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from racer.checks.answers import ask, require_same
from racer.checks.world import World
from racer.competence import AbstractMethod
from racer.errors import ContractError
from racer.methods import load

__all__ = [
    "check_fit_leaves_everything_else_alone",
    "check_same_seed_same_result",
    "check_saved_and_loaded_is_the_same",
    "fit_in",
]


def fit_in(method: AbstractMethod, world: World) -> AbstractMethod:
    """The method fitted to the world's experts."""
    return method.fit(world.panel, context_size=16, seed=0, progress=False)


def check_same_seed_same_result(method: AbstractMethod, world: World) -> None:
    """Fitting twice gives the same bits."""
    first, second = (ask(fit_in(method, world), world.queries, world.context) for _ in range(2))
    require_same(first, second, "when fitted again with the same seed", tolerance=0.0)


def check_saved_and_loaded_is_the_same(method: AbstractMethod, world: World) -> None:
    """save → load → same bits."""
    with tempfile.TemporaryDirectory() as folder:
        method.save(folder)
        kept = load(folder, type(method))
    answers = [ask(one, world.queries, world.context) for one in (method, kept)]
    require_same(answers[0], answers[1], "after saving and loading", tolerance=0.0)


def check_fit_leaves_everything_else_alone(method: AbstractMethod, world: World) -> None:
    """Neither the method, nor the panel, nor anybody's random numbers change."""
    before = copy.deepcopy(method)
    panel = world.panel
    kept = [one.clone() for one in (panel.group, panel.item, panel.answer, panel.cases.embedding, panel.label)]
    with _random_state_untouched():
        fit_in(method, world)
    now = [panel.group, panel.item, panel.answer, panel.cases.embedding, panel.label]
    if repr(before) != repr(method) or not all(torch.equal(a, b) for a, b in zip(kept, now, strict=True)):
        raise ContractError(
            "'fit' changed what it was given.",
            "The method or the panel is not what it was before.",
            "Give back a new method: dataclasses.replace(self, state=…).",
        )


@contextmanager
def _random_state_untouched() -> Iterator[None]:
    before = _global_random_state()
    yield
    if before != _global_random_state():
        raise ContractError(
            "'fit' drew from global random state.",
            "torch's or NumPy's global generator moved.",
            "Make a generator from 'seed' and pass it on.",
        )


def _global_random_state() -> tuple[bytes, str]:
    return torch.random.get_rng_state().numpy().tobytes(), repr(np.random.get_state(legacy=False))  # noqa: NPY002
