"""How long does an assignment under capacities take?

    python benchmarks/capacity.py

Gains are normal, with experts of different skill; limits bind. The solver is SciPy's HiGHS.
"""

import time

import torch

from racer.routing import Budget, Capacity, Plan, Threshold, solve

SIZES = ((1_000, 10), (10_000, 50))


def main() -> None:
    print("| cases | experts | most each | policy | handed over | seconds |\n|--:|--:|--:|:--|--:|--:|")
    for n_items, n_experts in SIZES:
        generator = torch.Generator().manual_seed(0)
        skill = 0.05 * torch.randn(n_experts, 1, generator=generator)
        gain = skill + 0.1 * torch.randn(n_experts, n_items, generator=generator)
        plan = Plan(tuple(map(str, range(n_experts))), gain, torch.rand(n_items, generator=generator))
        limit = n_items // n_experts // 3
        for policy in (Threshold(0.0), Budget(0.2)):
            start = time.perf_counter()
            who = solve(Capacity(limit, policy).refine(plan))
            seconds = time.perf_counter() - start
            assert int(torch.bincount(who + 1)[1:].max()) <= limit
            print(
                f"| {n_items:,} | {n_experts} | {limit} | {policy} | {int((who >= 0).sum()):,} | {seconds:.1f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
