"""How long do the commands take?

    python benchmarks/commands.py

Whole processes, start included: the best of five for help, once for the others. The large study has a million answers
(500 experts, 2,000 of 20,000 cases each) in a CSV.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from racer import Cases
from racer.files import write_cases

N_EXPERTS, N_CASES, N_ANSWERS, N_ROLES, N_FEATURES = 500, 20_000, 2_000, 10, 128


def seconds(*words: object) -> float:
    start = time.perf_counter()
    subprocess.run([sys.executable, "-m", "racer", *map(str, words)], check=True, capture_output=True)
    return time.perf_counter() - start


def write_large(folder: Path) -> None:
    """Cases with hidden halves; an expert is right on one of them more often than on the other."""
    rng = np.random.default_rng(0)
    label = rng.integers(0, N_ROLES, N_CASES)
    embedding = rng.standard_normal((N_CASES, N_FEATURES)).astype(np.float32)
    said = np.where(rng.random(N_CASES) < 0.7, label, (label + 1) % N_ROLES)
    posterior = np.full((N_CASES, N_ROLES), 0.03) + 0.7 * np.eye(N_ROLES)[said]
    cases = Cases(embedding, posterior)
    ids = np.array([f"case-{row:05d}" for row in range(N_CASES)])
    write_cases(folder / "cases.npz", ids, cases, label)
    write_cases(folder / "new.npz", ids[:10_000], cases[:10_000])
    write_cases(folder / "few.npz", ids[:2_000], cases[:2_000], label[:2_000])
    for name, n, n_experts in (("answers", N_ANSWERS, N_EXPERTS), ("few", 200, N_EXPERTS)):
        which = np.stack(
            [rng.choice(N_CASES if name == "answers" else 2_000, n, replace=False) for _ in range(n_experts)]
        )
        expert = np.arange(n_experts)[:, None]
        knows = (embedding[which, 0] > 0) == (expert % 2 == 0)
        right = rng.random(which.shape) < np.where(knows, 0.9, 0.5)
        answer = np.where(right, label[which], (label[which] + 1) % N_ROLES)
        rows = zip(ids[which].ravel(), np.broadcast_to(expert, which.shape).ravel(), answer.ravel(), strict=True)
        text = "\n".join(["item,expert,answer", *(f"{item},expert-{who},{said}" for item, who, said in rows)])
        (folder / f"{name}.csv").write_text(text + "\n")


def main() -> None:
    print("| command | study | seconds |\n|---|---|--:|")

    def row(what: str, study: str, taken: float) -> None:
        print(f"| {what} | {study} | {taken:.2f} |", flush=True)

    row("`racer --help`", "", min(seconds("--help") for _ in range(5)))
    row("`racer fit --help`", "", min(seconds("fit", "--help") for _ in range(5)))
    with tempfile.TemporaryDirectory() as place:
        at = Path(place)
        row("`racer demo`", "digits", seconds("demo", "--out", at / "demo"))
        write_large(at)
        fit = ("fit", "--cases", at / "cases.npz", "--annotations", at / "answers.csv")
        row(
            "`racer fit --method racer-knn`",
            "1,000,000 answers",
            seconds(*fit, "--method", "racer-knn", "--out", at / "knn"),
        )
        row("`racer fit`", "1,000,000 answers", seconds(*fit, "--out", at / "router"))
        route = ("route", at / "router", "--cases", at / "new.npz", "--budget", "0.2", "--out", at / "d.csv")
        row("`racer route`", "10,000 cases, 500 experts", seconds(*route))
        row("`racer route --capacity 10`", "10,000 cases, 500 experts", seconds(*route, "--capacity", "10"))
        evaluate = ("evaluate", at / "router", "--cases", at / "few.npz", "--annotations", at / "few.csv")
        row("`racer evaluate`", "2,000 cases, 500 experts, 100,000 answers", seconds(*evaluate, "--out", at / "report"))


if __name__ == "__main__":
    main()
