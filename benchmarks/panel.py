"""What do a million answers cost: to read, to index, to append to, to look one expert up in, to hold?

python benchmarks/panel.py
"""

import argparse
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import torch

import racer

EXPERTS, CASES, EACH, ROLES, FEATURES, APPENDED = 10_000, 20_000, 100, 10, 512, 1000
STRIDE = 7919
"""Prime to the number of cases, so that nobody meets a case twice."""


def world(seed: int = 0) -> tuple[racer.Cases, dict[str, Any], dict[str, Any]]:
    """A bank, the arrays of `from_answers`, and as many answers again that nobody has given yet."""
    generator = torch.Generator().manual_seed(seed)
    embedding = torch.randn(CASES, FEATURES, generator=generator)
    cases = racer.Cases(embedding, torch.randn(CASES, ROLES, generator=generator).softmax(-1))
    label = torch.randint(ROLES, (CASES,), generator=generator)
    expert = torch.arange(EXPERTS).repeat_interleave(EACH)
    start = torch.randint(CASES, (EXPERTS,), generator=generator)
    place = start[:, None] + STRIDE * torch.arange(2 * EACH)
    now, later = (place % CASES).split(EACH, 1)
    shuffled = torch.randperm(EXPERTS * EACH, generator=generator)

    def answers(item: torch.Tensor) -> dict[str, Any]:
        item = item.flatten()
        right = torch.rand(len(item), generator=generator) < 0.7
        answer = torch.where(right, label[item], torch.randint(ROLES, (len(item),), generator=generator))
        return {"expert": expert[shuffled], "item": item[shuffled], "answer": answer[shuffled]}

    shared = {"label": label, "experts": [f"expert-{i:05d}" for i in range(EXPERTS)]}
    return cases, {**shared, **answers(now)}, {**shared, **answers(later)}


def long_table(arrays: dict[str, Any], items: list[str]) -> pa.Table:
    return pa.table(
        {
            "expert": np.array(arrays["experts"])[arrays["expert"]],
            "item": np.array(items)[arrays["item"]],
            "answer": arrays["answer"].numpy(),
        }
    )


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def median(call: Callable[[], Any], rounds: int) -> float:
    return statistics.median(timed(call)[0] for _ in range(rounds))


def megabytes(*tensors: torch.Tensor) -> float:
    return sum(one.untyped_storage().nbytes() for one in tensors) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)

    cases, now, later = world()
    items = [f"case-{i:06d}" for i in range(CASES)]
    table = long_table(now, items)
    panel = racer.Panel.from_answers(cases, **now)
    few = {
        name: values[:APPENDED] if name in ("expert", "item", "answer") else values for name, values in later.items()
    }
    more = racer.Panel.from_answers(panel.cases, **few)
    some = panel.experts[: EXPERTS // 100]
    names = iter(panel.experts * 10)

    rows = {
        "build from a long table (pyarrow)": lambda: racer.Panel.from_table(cases, items, table, label=now["label"]),
        "build from arrays": lambda: racer.Panel.from_answers(cases, **now),
        f"index {APPENDED:,} more over the same bank": lambda: racer.Panel.from_answers(panel.cases, **few),
        f"append {APPENDED:,} answers": lambda: panel.append(more),
        "subset of 100 experts": lambda: panel.subset(some),
    }
    print(
        f"{panel.n_answers:,} answers, {EXPERTS:,} experts, {CASES:,} cases, {ROLES} roles, {FEATURES} features, "
        f"{arguments.threads} threads, torch {torch.__version__}\n"
    )
    print("| what | seconds | MB |\n|:--|--:|--:|")
    for name, call in rows.items():
        print(f"| {name} | {median(call, arguments.rounds):.4f} | |", flush=True)
    print(f"| one expert, panel[expert] | {median(lambda: panel[next(names)], 1000):.6f} | |")
    print(f"| the answers held | | {megabytes(panel.group, panel.item, panel.answer):.1f} |")
    derived = (panel.offset, panel.count, panel.by_role.item, panel.by_role.right, panel.by_role.offset)
    print(f"| their offsets, counts and order by role, once asked for | | {megabytes(*derived):.1f} |")
    print(f"| the bank: embedding, direction, posterior | | {megabytes(*vars(panel.cases).values()):.1f} |")


if __name__ == "__main__":
    main()
