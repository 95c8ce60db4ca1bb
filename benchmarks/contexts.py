"""What becomes of a fitted head when contexts are not as it was fitted for? Test experts are not looked at.

    python benchmarks/contexts.py

On the training experts of `digits.py`: a fifth are held out of everything, heads are fitted on the rest for contexts of
B = 200 answers. The loss is the mean binary cross-entropy of Γ at the true role on the held-out experts, whose contexts
are balanced or come as they are, of B answers and of other sizes. A coin's loss is .693.
"""

import numpy as np
from digits import make_study
from torch.nn.functional import binary_cross_entropy

import racer
from racer.competence import AbstractCompetence
from racer.learning import Episode, EpisodeSampler, hold_out_experts

SIZE, SEEDS, N_EPISODES = 200, 3, 8
CONTEXTS = {
    "B": (SIZE, 0.0),
    "B / 20": (SIZE // 20, 0.0),
    "B / 4": (SIZE // 4, 0.0),
    "2 B": (2 * SIZE, 0.0),
    "any size up to 4 B, any mix": (SIZE, 1.0),
}
"""Answers, and the share of contexts of any size and mix."""
KINDS: dict[str, AbstractCompetence] = {
    "racer-kernel, varied = 0 (the paper)": racer.RacerKernel(varied=0.0),
    "racer-kernel, varied = 0.5": racer.RacerKernel(varied=0.5),
    "racer-kernel, varied = 1": racer.RacerKernel(varied=1.0),
    "racer-deepsets, varied = 0 (the paper)": racer.RacerDeepSets(varied=0.0),
    "racer-deepsets, varied = 0.5": racer.RacerDeepSets(varied=0.5),
}


def held_out_loss(method: AbstractCompetence, episodes: list[Episode]) -> float:
    losses = []
    for episode in episodes:
        gamma = episode.at_true_role(method.competence(episode.queries, episode.contexts).transpose(1, 2))
        losses.append(float(binary_cross_entropy(gamma, episode.outcome.to(gamma))))
    return float(np.mean(losses))


def main() -> None:
    print("| fitted | " + " | ".join(CONTEXTS) + " |\n|:--|" + "--:|" * len(CONTEXTS))
    losses: dict[str, list[list[float]]] = {name: [] for name in KINDS}
    for seed in range(SEEDS):
        rng = np.random.default_rng(100 + seed)
        fitting, held_out = hold_out_experts(make_study(seed).training, 0.2, rng)
        samplers = [EpisodeSampler(held_out, size, n_queries=64, varied=v) for size, v in CONTEXTS.values()]
        episodes = [[sampler.draw(rng) for _ in range(N_EPISODES)] for sampler in samplers]
        for name, kind in KINDS.items():
            fitted = kind.fit(fitting, context_size=SIZE, seed=seed, progress=False)
            losses[name].append([held_out_loss(fitted, some) for some in episodes])
    for name, rows in losses.items():
        print(f"| {name} | " + " | ".join(f"{loss:.4f}" for loss in np.mean(rows, axis=0)) + " |", flush=True)


if __name__ == "__main__":
    main()
