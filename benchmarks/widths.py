"""Why does learned pooling beat the kernel here? One kernel width against several. Test experts are not looked at.

    python benchmarks/widths.py

On the training experts of `digits.py`: a fifth are held out of everything. The kernel's head reads ā and log(1 + S) at
one temperature, or at three; all else is as in `racer.RacerKernel`. Mean binary cross-entropy of Γ at the true role on
the held-out experts, beside `racer.RacerDeepSets`.
"""

from collections.abc import Iterator

import numpy as np
import torch
from contexts import held_out_loss
from digits import make_study
from torch import Tensor

import racer
from racer.competence.racer_kernel import BATCH, FIT_OUTCOMES, HELD_OUT_OUTCOMES, LEAST_SPREAD
from racer.competence.role_network import SummaryNetwork, summarise
from racer.learning import Episode, EpisodeSampler, competence_loss, fit_with_early_stopping, hold_out_experts
from racer.pooling import ContextPrior, pool_queries

WIDTHS = {"τ = 0.1": (0.1,), "τ = 0.1, 0.3, 0.03": (0.1, 0.3, 0.03)}
SIZES, SEEDS, HIDDEN, N_EPISODES = (100, 200), 3, 16, 8
LOCAL = [0, 2]
"""ā and log(1 + S) in the summary."""


@torch.no_grad()
def summaries(episode: Episode, widths: tuple[float, ...]) -> tuple[Tensor, Tensor]:
    state, prior = episode.queries.role_state, ContextPrior()
    pools = [pool_queries(episode.queries, episode.contexts, width, prior) for width in widths]
    first, *others = [summarise(pool, state) for pool in pools]
    u = torch.cat([first, *(other[..., LOCAL] for other in others)], -1)
    return episode.at_true_role(u).float(), episode.outcome


def gather(
    sampler: EpisodeSampler, rng: np.random.Generator, n: int, widths: tuple[float, ...]
) -> tuple[Tensor, Tensor]:
    parts: list[tuple[Tensor, Tensor]] = []
    while sum(len(right) for _, right in parts) < n:
        parts.append(summaries(sampler.draw(rng), widths))
    u, right = (torch.cat(one) for one in zip(*parts, strict=True))
    return u, right


def loss_of_widths(
    widths: tuple[float, ...], fitting: racer.Panel, size: int, seed: int, episodes: list[Episode]
) -> float:
    rng = np.random.default_rng(seed)
    fitted_on, stop_by = hold_out_experts(fitting, 0.2, rng)
    u, right = gather(EpisodeSampler(fitted_on, size, varied=0.5), rng, FIT_OUTCOMES, widths)
    held_u, held_right = gather(EpisodeSampler(stop_by, size, varied=0.5), rng, HELD_OUT_OUTCOMES, widths)
    generator = torch.Generator().manual_seed(seed)
    spread = u.std(0, correction=0).clamp(min=LEAST_SPREAD)
    network = SummaryNetwork(u.mean(0), spread, HIDDEN, generator)

    def epoch() -> Iterator[Tensor]:
        for rows in torch.split(torch.randperm(len(u), generator=generator), BATCH):
            yield competence_loss(network(u[rows]), right[rows])

    @torch.no_grad()
    def validate() -> float:
        return float(competence_loss(network(held_u), held_right))

    fit_with_early_stopping(network, epoch, validate, label="widths", progress=False)
    with torch.no_grad():
        asked = [summaries(episode, widths) for episode in episodes]
        return float(np.mean([float(competence_loss(network(u), right)) for u, right in asked]))


def main() -> None:
    print("| B | " + " | ".join(WIDTHS) + " | racer-deepsets |\n|--:|" + "--:|" * (len(WIDTHS) + 1))
    for size in SIZES:
        rows = []
        for seed in range(SEEDS):
            rng = np.random.default_rng(100 + seed)
            fitting, held_out = hold_out_experts(make_study(seed).training, 0.2, rng)
            sampler = EpisodeSampler(held_out, size, n_queries=64)
            episodes = [sampler.draw(rng) for _ in range(N_EPISODES)]
            learned = racer.RacerDeepSets().fit(fitting, context_size=size, seed=seed, progress=False)
            kernels = [loss_of_widths(widths, fitting, size, seed, episodes) for widths in WIDTHS.values()]
            rows.append([*kernels, held_out_loss(learned, episodes)])
        print(f"| {size} | " + " | ".join(f"{loss:.4f}" for loss in np.mean(rows, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
