"""Fitting and keeping: seeds, files, and nothing touched that was not handed in."""

import random
import tempfile

import numpy as np
import torch

from racer.checks.answers import ask, require_same
from racer.checks.world import World, make_world
from racer.competence import AbstractMethod
from racer.errors import ContractError, RacerError
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
    try:
        with tempfile.TemporaryDirectory() as folder:
            method.save(folder)
            kept = load(folder, type(method))
    except RacerError as error:
        why = f"{error.what} {error.values}"
        raise ContractError("The method cannot be saved and loaded.", why, error.fix) from error
    answers = [ask(one, world.queries, world.context) for one in (method, kept)]
    require_same(answers[0], answers[1], "after saving and loading", tolerance=0.0)


def check_fit_leaves_everything_else_alone(method: AbstractMethod, world: World) -> None:
    """Neither the method, nor the panel, nor anything global changes."""
    # a panel never seen before: what a method writes a second time to the same place may be the same
    queries = world.queries
    panel = make_world(seed=1, n_roles=queries.n_roles, n_features=queries.n_features, dtype=queries.dtype).panel
    given = [panel.group, panel.item, panel.answer, panel.cases.embedding, panel.cases.posterior, panel.label]
    kept = [one.clone() for one in given]
    text, before, outside = repr(method), ask(method, queries, world.context), _global_state()
    method.fit(panel, context_size=8, seed=1, progress=False)
    moved = [name for name, state in _global_state().items() if state != outside[name]]
    if moved:
        raise ContractError(
            "'fit' changed what belongs to the whole program.",
            f"After it, {', '.join(moved)} is not what it was.",
            "Make a generator from 'seed' and pass it on; put back what must change for a while.",
            moved=tuple(moved),
        )
    if text != repr(method) or not all(torch.equal(a, b) for a, b in zip(kept, given, strict=True)):
        raise ContractError(
            "'fit' changed what it was given.",
            "The method or the panel is not what it was before.",
            "Give back a new method: dataclasses.replace(self, state=…).",
        )
    require_same(before, ask(method, queries, world.context), "after 'fit' made another of it", tolerance=0.0)


def _global_state() -> dict[str, object]:
    return {
        "torch's random state": torch.random.get_rng_state().numpy().tobytes(),
        "NumPy's random state": repr(np.random.get_state(legacy=False)),  # noqa: NPY002
        "Python's random state": random.getstate(),
        "torch's number of threads": torch.get_num_threads(),
        "torch's default type": torch.get_default_dtype(),
    }
