"""Does knowing an expert's past answers pay? Every method on scikit-learn's digits, by context size.

    python benchmarks/digits.py --out results/digits

Images are real, experts simulated: three hidden subtypes a class, found by clustering, on which an expert is right with
probability .98, .70 and .30 in an order of its own. The classifier has seen few labels. Heads are fitted anew for each
context size, on 32 experts; the 8 test experts, their contexts and the queries are seen by nobody before the end.
Within a seed all methods and sizes share the queries, and a smaller context is part of the larger one. Within one
expert, one accuracy less confidence ranks as confidence does: `global-accuracy` can gain only where experts compete.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

import racer
from racer.metrics import aursac, bootstrap_gain, brier, ece, system_curve
from racer.simulation import ExpertPopulation, SkillProfile, Subtypes, sample_answers, uniform_confusion

CONTEXT_SIZES = (10, 25, 50, 100, 200, 400)
LABELS_A_CLASS = 3
TRAINING_EXPERTS, TEST_EXPERTS = 32, 8
N_FITTING, N_CONTEXT = 700, 600
"""Cases the training experts answered, and cases test contexts are drawn from; the rest are queries."""
REPLICATES = 1000
BASELINE = "classifier-confidence"
METHODS = {
    **{name: kind() for name, kind in racer.methods.REGISTRY.items()},
    "racer-kernel, varied = 0": racer.RacerKernel(varied=0.0),
}
"""Every method as it comes, and the kernel fitted as in the paper, on balanced contexts of one size only."""


@dataclass(frozen=True)
class Study:
    """One seed: who fits, who is asked, about what."""

    training: racer.Panel
    pool: racer.Cases
    pool_label: np.ndarray
    pool_answer: np.ndarray
    turn: np.ndarray
    queries: racer.Cases
    model_right: np.ndarray
    expert_right: np.ndarray

    def contexts(self, size: int) -> racer.Panel:
        """The first `size` answers of each test expert's own class-balanced order."""
        return racer.Panel(self.pool, self.pool_label, np.where(self.turn < size, self.pool_answer, -1))


@dataclass(frozen=True)
class Row:
    """One method at one context size and seed, means over the test experts."""

    seed: int
    context_size: int
    method: str
    aursac: float
    gain: float
    pooled_gain: float
    normalised: float
    brier: float | None
    ece: float | None
    seconds_to_fit: float


def make_study(seed: int) -> Study:
    """Split the images, train the classifier, invent the experts."""
    rng = np.random.default_rng(seed)
    pixels, label = load_digits(return_X_y=True)
    order = rng.permutation(len(label))
    turn_of_class = _turns(label[order])
    few = order[turn_of_class < LABELS_A_CLASS]
    rest = order[turn_of_class >= LABELS_A_CLASS]
    fitting, pool, asked = np.split(rest, [N_FITTING, N_FITTING + N_CONTEXT])

    encoder = PCA(32, random_state=0).fit(pixels[np.concatenate([few, fitting])])
    embedding = encoder.transform(pixels).astype(np.float32)
    classifier = LogisticRegression(max_iter=2000).fit(embedding[few], label[few])
    posterior = classifier.predict_proba(embedding).astype(np.float32)

    subtype = Subtypes.fit(embedding[fitting], label[fitting], n_roles=10, rng=rng).assign(embedding, label)
    competence = ExpertPopulation(SkillProfile.strong(), n_roles=10).sample(TRAINING_EXPERTS + TEST_EXPERTS, rng)
    answer = sample_answers(competence, label, subtype, uniform_confusion(10), rng).answer.numpy()
    tested = answer[TRAINING_EXPERTS:]
    draws = [rng.permutation(len(pool)) for _ in tested]
    return Study(
        training=racer.Panel(
            racer.Cases(embedding[fitting], posterior[fitting]), label[fitting], answer[:TRAINING_EXPERTS, fitting]
        ),
        pool=racer.Cases(embedding[pool], posterior[pool]),
        pool_label=label[pool],
        pool_answer=tested[:, pool],
        turn=np.stack([_balanced_turn(label[pool], draw) for draw in draws]),
        queries=racer.Cases(embedding[asked], posterior[asked]),
        model_right=posterior[asked].argmax(1) == label[asked],
        expert_right=tested[:, asked] == label[asked],
    )


def _turns(label: np.ndarray) -> np.ndarray:
    """How many of the same class came before each."""
    turn = np.empty(len(label), dtype=int)
    for one in np.unique(label):
        turn[label == one] = np.arange((label == one).sum())
    return turn


def _balanced_turn(label: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Position of each case when classes take turns, cases of a class in the order given."""
    turn = np.empty(len(label), dtype=int)
    turn[order] = _turns(label[order])
    position = np.empty(len(label), dtype=int)
    position[np.lexsort((np.argsort(order), turn))] = np.arange(len(label))
    return position


def measure(study: Study, seed: int) -> Iterator[tuple[Row, np.ndarray]]:
    """Every method at every context size, with its scores (expert, query)."""
    for size in CONTEXT_SIZES:
        contexts = study.contexts(size)
        for name, method in METHODS.items():
            start = time.perf_counter()
            fitted = method.fit(study.training, context_size=size, seed=seed, progress=False)
            seconds = time.perf_counter() - start
            score = fitted.deferral_score(study.queries, contexts).numpy()
            q = fitted.expert_correctness(study.queries, contexts)
            each = list(zip(score, study.expert_right, strict=True))
            area = float(np.mean([aursac(s, right, study.model_right) for s, right in each]))
            unsure_first = np.broadcast_to(-study.queries.confidence.numpy(), score.shape)
            baseline = np.mean([aursac(unsure_first[0], right, study.model_right) for right in study.expert_right])
            rows_of_all = study.expert_right.ravel(), np.tile(study.model_right, len(score))
            row = Row(
                seed=seed,
                context_size=size,
                method=name,
                aursac=area,
                gain=float(area - baseline),
                pooled_gain=aursac(score.ravel(), *rows_of_all) - aursac(unsure_first.ravel(), *rows_of_all),
                normalised=float(np.mean([system_curve(s, r, study.model_right).normalised_area for s, r in each])),
                brier=None if q is None else brier(q.flatten(), study.expert_right.ravel()),
                ece=None if q is None else ece(q.flatten(), study.expert_right.ravel()),
                seconds_to_fit=seconds,
            )
            yield row, score


def gain_replicates(study: Study, score: np.ndarray, baseline: np.ndarray, seed: int) -> np.ndarray:
    """Bootstrap replicates of the mean gain over another score, cases and experts both redrawn."""
    right, model = study.expert_right, study.model_right
    gain = bootstrap_gain(score, baseline, right, model, seed=seed, resample="both", n_replicates=REPLICATES)
    return gain.replicates.numpy()


@dataclass
class Bands:
    """Replicates by (method, baseline, size), one array a seed; a band is of their mean over seeds."""

    parts: dict[tuple[str, str, int], list[np.ndarray]]

    def add(self, study: Study, scores: dict[tuple[str, int], np.ndarray], seed: int) -> None:
        for (name, size), score in scores.items():
            for other in (BASELINE, "racer-kernel"):
                gain = gain_replicates(study, score, scores[other, size], seed)
                self.parts.setdefault((name, other, size), []).append(gain)

    def cell(self, name: str, other: str, size: int) -> str:
        low, high = np.quantile(np.mean(self.parts[name, other, size], axis=0), [0.025, 0.975])
        return f"{low:+.4f} … {high:+.4f}"


def table(title: str, names: list[str], cell: Callable[[str, int], str]) -> str:
    """One Markdown table, methods down and context sizes across."""
    head = "| method | " + " | ".join(f"B = {size}" for size in CONTEXT_SIZES) + " |"
    rule = "|:--|" + "--:|" * len(CONTEXT_SIZES)
    body = [f"| {name} | " + " | ".join(cell(name, size) for size in CONTEXT_SIZES) + " |" for name in names]
    return "\n".join([f"{title}\n", head, rule, *body, ""])


def tables(rows: list[Row], bands: Bands) -> str:
    """Gain, its bands, the kernel against each other method, normalised area, calibration."""
    names = [name for name in METHODS if name != BASELINE]
    calibrated = [name for name in names if any(row.brier is not None for row in rows if row.method == name)]

    def over_seeds(field: str, name: str, size: int) -> list[float]:
        return [getattr(row, field) for row in rows if (row.method, row.context_size) == (name, size)]

    def spread(field: str) -> Callable[[str, int], str]:
        def cell(name: str, size: int) -> str:
            values = over_seeds(field, name, size)
            return f"{statistics.mean(values):+.4f} ± {statistics.stdev(values):.4f}"

        return cell

    def calibration(name: str, size: int) -> str:
        means = [statistics.mean(over_seeds(field, name, size)) for field in ("brier", "ece")]
        return " / ".join(f"{mean:.4f}" for mean in means)

    return "\n".join(
        [
            table(
                "AURSAC gain over confidence, mean over the experts, mean ± standard deviation over seeds:",
                names,
                spread("gain"),
            ),
            table(
                "95 % bands of that mean (cases and experts redrawn within each seed):",
                names,
                lambda name, size: bands.cell(name, BASELINE, size),
            ),
            table(
                "AURSAC less racer-kernel's, 95 % bands, paired:",
                [name for name in names if name != "racer-kernel"],
                lambda name, size: bands.cell(name, "racer-kernel", size),
            ),
            table(
                "Gain with all experts' cases under one budget (here a better expert can be handed more):",
                names,
                spread("pooled_gain"),
            ),
            table("Normalised AURSAC (0 any order, 1 the oracle's):", [BASELINE, *names], spread("normalised")),
            table("Brier score / 15-bin ECE of q̂:", calibrated, calibration),
        ]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    start, rows, bands = time.perf_counter(), [], Bands({})
    lines = ["| seed | model alone | experts alone | queries |", "|--:|--:|--:|--:|"]
    for seed in range(arguments.seeds):
        study = make_study(seed)
        model, expert = study.model_right.mean(), study.expert_right.mean()
        lines.append(f"| {seed} | {model:.4f} | {expert:.4f} | {len(study.queries)} |")
        scores = {}
        for row, score in measure(study, seed):
            rows.append(row)
            scores[row.method, row.context_size] = score
        bands.add(study, scores, seed)
    text = "\n".join([*lines, "", tables(rows, bands)])
    minutes = (time.perf_counter() - start) / 60
    print(f"{text}\n{minutes:.1f} minutes, torch {torch.__version__}, {torch.get_num_threads()} threads")
    if arguments.out:
        arguments.out.mkdir(parents=True, exist_ok=True)
        (arguments.out / "table.md").write_text(text)
        (arguments.out / "rows.json").write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")


if __name__ == "__main__":
    main()
