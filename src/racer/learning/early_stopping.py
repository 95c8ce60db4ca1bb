"""Fit a small network until experts held out from fitting stop getting better."""

import copy
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from racer.learning.progress import progress_bar

__all__ = ["fit_with_early_stopping", "one_thread", "seeded_linear"]


def fit_with_early_stopping(
    network: nn.Module,
    epoch: Callable[[], Iterable[Tensor]],
    validate: Callable[[], float],
    *,
    label: str,
    learning_rate: float = 1e-2,
    max_epochs: int = 60,
    patience: int = 8,
    progress: bool | None = None,
) -> float:
    """Adam on the losses `epoch` yields, a cosine schedule over `max_epochs`; keeps the best epoch by `validate`.

    The network before the first step competes too. Returns the best validation loss.
    """
    optimiser = torch.optim.Adam(network.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, T_max=max_epochs)
    with (
        one_thread(),
        torch.inference_mode(False),
        torch.enable_grad(),
        progress_bar(f"fitting {label}", max_epochs, progress) as step,
    ):
        best, best_weights, waited = validate(), copy.deepcopy(network.state_dict()), 0
        for _ in range(max_epochs):
            for loss in epoch():
                optimiser.zero_grad(set_to_none=True)
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
            schedule.step()
            now = validate()
            waited = 0 if now < best else waited + 1
            if now < best:
                best, best_weights = now, copy.deepcopy(network.state_dict())
            step(f"held-out loss {now:.4f}, best {best:.4f}")
            if waited >= patience:
                break
    network.load_state_dict(best_weights)
    return best


def seeded_linear(n_in: int, n_out: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer whose start comes from the generator passed in: uniform within ±1/√n_in."""
    layer = nn.Linear(n_in, n_out, device="meta", dtype=torch.float32).to_empty(device="cpu")
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -(n_in**-0.5), n_in**-0.5, generator=generator)
    return layer


@contextmanager
def one_thread() -> Iterator[None]:
    """Small steps run faster on one thread than on several that wait for each other, and sum in one order."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
