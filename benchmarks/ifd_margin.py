"""Why does IFD-MLP rank below confidence on digits? Its own ideal does.

    python benchmarks/ifd_margin.py > results/ifd_margin/table.md

The deferral loss with weight LCB_y · 1[y = k_best] has the ideal margin log(LCB · p[k_best] / p_max), by the theorem on
the minimiser. Both margins are ranked on the queries of `digits.py`; nothing here chooses a setting.
"""

import numpy as np
from digits import make_study
from scipy.stats import spearmanr

import racer
from racer.metrics import aursac

SEEDS, SIZES = 3, (10, 100, 400)


def main() -> None:
    print("| seed | B | rank correlation | fitted less confidence | ideal less confidence | k_best is k_top |")
    print("|--:|--:|--:|--:|--:|--:|")
    for seed in range(SEEDS):
        study = make_study(seed)
        unsure = -study.queries.confidence.numpy()
        for size in SIZES:
            method = racer.IFDMLP().fit(study.training, context_size=size, seed=seed, progress=False)
            contexts = study.contexts(size)
            fitted = method.deferral_score(study.queries, contexts).numpy()
            look = method._look(study.queries, contexts)
            best = look.best / look.best.sum(1, keepdim=True)
            bound = (best * look.lower_bound[:, :, None]).sum(1)
            p_top, p_best = look.state[..., 0], look.state[..., 1]
            ideal = ((bound * p_best).clamp(min=1e-9).log() - study.queries.confidence.log()).numpy()

            def gain(score: np.ndarray, study=study, unsure=unsure) -> float:
                pairs = zip(np.broadcast_to(score, study.expert_right.shape), study.expert_right, strict=True)
                each = [aursac(s, e, study.model_right) - aursac(unsure, e, study.model_right) for s, e in pairs]
                return float(np.mean(each))

            rank = np.mean([spearmanr(*pair).statistic for pair in zip(fitted, ideal, strict=True)])
            same = float((p_top == p_best).double().mean())
            print(f"| {seed} | {size} | {rank:.2f} | {gain(fitted):+.4f} | {gain(ideal):+.4f} | {same:.0%} |")


if __name__ == "__main__":
    main()
