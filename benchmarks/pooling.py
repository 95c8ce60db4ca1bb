"""How far above the bare matrix product are pooling and q̂, and how far below the equations as written?

    python benchmarks/pooling.py

All figures of a table come from one run; rounds of all rows are interleaved, so a busy machine slows them alike.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import torch

import racer
from racer.competence.role_network import RoleNetwork

QUERIES, EXPERTS, ANSWERS, BANK, FEATURES = 1024, 32, 1000, 2000, 512
TEMPERATURE = 0.1


def world(n_roles: int, seed: int = 0) -> tuple[racer.Panel, racer.Cases]:
    """Experts who each answered half of one bank, and a classifier right about two times in three."""
    generator = torch.Generator().manual_seed(seed)
    centre = torch.randn(n_roles, FEATURES, generator=generator)
    sharpness, lead = (2.0, 4.0) if n_roles <= 10 else (3.0, 9.0)  # right about two times in three

    def cases(n: int) -> tuple[racer.Cases, torch.Tensor]:
        label = torch.randint(n_roles, (n,), generator=generator)
        embedding = centre[label] + 2 * torch.randn(n, FEATURES, generator=generator)
        logit = sharpness * torch.randn(n, n_roles, generator=generator)
        logit[torch.arange(n), label] += lead
        return racer.Cases(embedding, logit.softmax(-1)), label

    bank, label = cases(BANK)
    right = torch.rand(EXPERTS, BANK, generator=generator) < 0.66
    answer = torch.where(right, label, torch.randint(n_roles, (EXPERTS, BANK), generator=generator))
    silent = torch.rand(EXPERTS, BANK, generator=generator).argsort(-1) >= ANSWERS
    answer[silent] = -1
    return racer.Panel(bank, label, answer), cases(QUERIES)[0]


def default_network(seed: int = 0) -> RoleNetwork:
    """A network of the default size; its speed does not depend on its weights."""
    generator = torch.Generator().manual_seed(seed)
    w1, b1, w2, b2 = (torch.randn(shape, generator=generator) / 4 for shape in ((16, 8), (16,), (16,), ()))
    return RoleNetwork(w1=w1, b1=b1, w2=w2, b2=b2)


def as_written(panel: racer.Panel, queries: racer.Cases) -> list[torch.Tensor]:
    """ā and S, one expert after another, one role mask after another."""
    means = []
    for expert in panel.experts:
        context = panel[expert]
        weight = torch.exp(queries.direction @ context.cases.direction.T / TEMPERATURE)
        right = context.right.to(weight)
        columns = []
        for role in range(panel.n_roles):
            mask = (context.label == role).to(weight)
            mass = (weight * mask).sum(-1)
            columns.append((weight * mask * right).sum(-1) / mass.clamp(min=1e-30))
        means.append(torch.stack(columns, -1))
    return means


def timed(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return (time.perf_counter() - start) * 1e3


def medians(calls: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each call, after one call to warm up."""
    for call in calls.values():
        call()
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timed(call))
    return {name: statistics.median(ms) for name, ms in times.items()}


def batch_rows(n_roles: int, rounds: int) -> list[tuple[str, float, float, float]]:
    panel, queries = world(n_roles)
    method = racer.RacerKernel(temperature=TEMPERATURE, state=default_network())
    bank = panel.cases.direction
    fast = medians(
        {
            "bare bank product": lambda: bank @ queries.direction.T,
            "pooling": lambda: racer.pooling.same_role_mean(queries, panel, TEMPERATURE),
            "q̂": lambda: method.expert_correctness(queries, panel),
            "q̂, skipping 0.1 %": lambda: method.expert_correctness(queries, panel, negligible=0.001),
        },
        rounds,
    )
    slow = medians({"pooling as written": lambda: as_written(panel, queries)}, max(2, rounds // 10))
    times = {**fast, **slow}
    floor, written = times["bare bank product"], times["pooling as written"]
    return [(name, ms, ms / floor, written / ms) for name, ms in times.items()]


def one_query(n_roles: int, rounds: int) -> tuple[float, float]:
    """p50 and p95 in milliseconds of one score against all experts, a new `Cases` each time, on one thread."""
    panel, queries = world(n_roles)
    method = racer.RacerKernel(temperature=TEMPERATURE, state=default_network())

    def ask(i: int) -> object:
        case = racer.Cases(queries.embedding[i : i + 1], queries.posterior[i : i + 1])
        return method.deferral_score(case, panel)

    for i in range(50):
        ask(i)
    times = sorted(timed(lambda i=i: ask(i % QUERIES)) for i in range(rounds))
    return times[len(times) // 2], times[int(0.95 * len(times))]


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=31)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(
        f"{QUERIES} queries × {EXPERTS} experts × {ANSWERS} answers each, bank {BANK}, {FEATURES} features, "
        f"float32, {arguments.threads} threads, torch {torch.__version__}\n"
    )
    print("| roles | what | ms | × bare product | as written ÷ this |\n|--:|:--|--:|--:|--:|")
    for n_roles in (10, 100):
        for name, ms, above, faster in batch_rows(n_roles, arguments.rounds):
            print(f"| {n_roles} | {name} | {ms:.1f} | {above:.2f} | {faster:.1f} |", flush=True)
    torch.set_num_threads(1)
    print("\nOne query against all experts, one thread:\n\n| roles | p50 ms | p95 ms |\n|--:|--:|--:|")
    for n_roles in (10, 100):
        p50, p95 = one_query(n_roles, 1000)
        print(f"| {n_roles} | {p50:.2f} | {p95:.2f} |", flush=True)


if __name__ == "__main__":
    main()
