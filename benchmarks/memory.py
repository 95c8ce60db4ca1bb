"""How much memory do routing scores for 100,000 queries take?

    python benchmarks/memory.py

Each row is a process of its own; its peak includes Python, torch, the queries themselves and the panel of `pooling.py`.
"""

import argparse
import resource
import subprocess
import sys
import time

import torch
from pooling import BANK, EXPERTS, FEATURES, TEMPERATURE, default_network, world

import racer

QUERIES = 100_000


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@torch.inference_mode()
def row(n_roles: int, negligible: float) -> str:
    """Peak before and after scoring, and how long it took."""
    panel, _ = world(n_roles)
    generator = torch.Generator().manual_seed(1)
    embedding = torch.randn(QUERIES, FEATURES, generator=generator)
    posterior = (3 * torch.randn(QUERIES, n_roles, generator=generator)).softmax(-1)
    queries = racer.Cases(embedding, posterior)
    method = racer.RacerKernel(temperature=TEMPERATURE, state=default_network())
    before, start = peak_mb(), time.perf_counter()
    score = method.deferral_score(queries, panel, negligible=negligible)
    seconds = time.perf_counter() - start
    assert score.shape == (EXPERTS, QUERIES)
    return f"| {n_roles} | {negligible:.1%} | {before:.0f} | {peak_mb():.0f} | {seconds:.1f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--row", nargs=2, type=float, metavar=("ROLES", "NEGLIGIBLE"), help="measure one row here")
    arguments = parser.parse_args()
    if arguments.row:
        print(row(int(arguments.row[0]), arguments.row[1]))
        return
    print(f"{QUERIES:,} queries × {EXPERTS} experts, bank {BANK}, {FEATURES} features, float32\n")
    print("| roles | skipping | MB before scoring | MB at peak | seconds |\n|--:|--:|--:|--:|--:|", flush=True)
    for one in (("10", "0"), ("100", "0"), ("100", "0.001")):
        subprocess.run([sys.executable, __file__, "--row", *one], check=True)


if __name__ == "__main__":
    main()
