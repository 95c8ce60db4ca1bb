"""Which kernel temperature do held-out experts prefer? Test experts are not looked at.

    python benchmarks/temperature.py

On the training experts of `digits.py`: a fifth are held out of everything, heads are fitted on the rest. The loss is
the mean binary cross-entropy of Γ at the true role on the held-out ones.
"""

import numpy as np
from contexts import held_out_loss
from digits import make_study

import racer
from racer.competence import AbstractCompetence
from racer.learning import EpisodeSampler, hold_out_experts

TEMPERATURES = (0.3, 0.2, 0.1, 0.05, 0.03)
SIZES, SEEDS = (50, 100, 200, 400), 3
N_EPISODES = 8


def main() -> None:
    kinds: dict[str, AbstractCompetence] = {f"τ = {t}": racer.RacerKernel(temperature=t) for t in TEMPERATURES}
    kinds |= {"τ = 0.1, 64 units": racer.RacerKernel(hidden=64), "deepsets": racer.RacerDeepSets()}
    print("| B | " + " | ".join(kinds) + " |\n|--:|" + "--:|" * len(kinds))
    studies = [make_study(seed).training for seed in range(SEEDS)]
    for size in SIZES:
        losses: dict[str, list[float]] = {name: [] for name in kinds}
        for seed, training in enumerate(studies):
            rng = np.random.default_rng(100 + seed)
            fitting, held_out = hold_out_experts(training, 0.2, rng)
            sampler = EpisodeSampler(held_out, size, n_queries=64)
            episodes = [sampler.draw(rng) for _ in range(N_EPISODES)]
            for name, kind in kinds.items():
                fitted = kind.fit(fitting, context_size=size, seed=seed, progress=False)
                losses[name].append(held_out_loss(fitted, episodes))
        print(f"| {size} | " + " | ".join(f"{np.mean(one):.4f}" for one in losses.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
