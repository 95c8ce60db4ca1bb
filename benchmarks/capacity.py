"""How long does an assignment under capacities take?

    python benchmarks/capacity.py

Gains of four kinds: independent for each pair, rounded so that many are tied, of rank one (experts who differ in one
number, less the model's confidence, as global accuracy gives), and with six in ten pairs barred. Limits bind.
"""

import time

import torch

from racer.routing import Budget, Capacity, Plan, Threshold, solve

SIZES = ((1_000, 10), (10_000, 50), (10_000, 500))


def gains(kind: str, n_items: int, n_experts: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    skill = 0.6 + 0.05 * torch.randn(n_experts, 1, generator=generator)
    noise = 0.1 * torch.randn(n_experts, n_items, generator=generator)
    if kind == "rank one":
        return skill - torch.rand(n_items, generator=generator)
    if kind == "tied":
        return (5 * (skill - 0.6 + 3 * noise)).round() / 5
    if kind == "barred":
        noise[torch.rand(noise.shape, generator=generator) < 0.6] = -torch.inf
    return skill - 0.6 + noise


def main() -> None:
    print("| cases | experts | gains | policy | handed over | seconds |\n|--:|--:|:--|:--|--:|--:|")
    for n_items, n_experts in SIZES:
        for kind in ("independent", "tied", "rank one", "barred"):
            gain = gains(kind, n_items, n_experts)
            plan = Plan(tuple(map(str, range(n_experts))), gain, torch.rand(n_items))
            for policy, share in ((Threshold(0.0), 0.2), (Budget(0.5), 0.75), (Budget(1.0), 1.1)):
                limit = round(share * n_items / n_experts)
                start = time.perf_counter()
                who = solve(Capacity(limit, policy).refine(plan))
                seconds = time.perf_counter() - start
                assert int(torch.bincount(who + 1)[1:].max()) <= limit
                handed = int((who >= 0).sum())
                name = f"Capacity({limit}, {policy})"
                print(f"| {n_items:,} | {n_experts} | {kind} | {name} | {handed:,} | {seconds:.1f} |", flush=True)


if __name__ == "__main__":
    main()
