"""The path of a newcomer, on real people: seven dermatologists, six diagnoses and "other".

    RACER_DATA=… python benchmarks/dermx.py > results/dermx/table.md

DermX: 566 cases read by eight dermatologists. The tags that the first one drew stand in for the image (and a constant:
some cases have no tag), so that one leaves the experts. A logistic regression learns from 150 cases, the router from
200 others, and the rest is the test; three splits. Files, commands and defaults are those of `racer fit` and
`racer evaluate`; half of each reader's test answers, at most 50, are shown.
"""

import csv
import json
import os
import tempfile
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from racer.cli.main import app

METHODS = ("racer-kernel", "racer-deepsets", "racer-knn", "ifd-score", "global-accuracy", "class-gated")
N_CLASSIFIER, N_FIT, SPLITS = 150, 200, 3


def run(*words: object) -> None:
    with redirect_stdout(StringIO()):
        app([str(word) for word in words], standalone_mode=False)


def write_files(folder: Path, seed: int) -> str:
    """`fit` and `test`, cases and answers; the names of the classes, the experts' "other" last."""
    data = Path(os.environ["RACER_DATA"]) / "dermx"
    with np.load(data / "dermx_l2d.npz") as file:
        names, readers, image, label, answer = (
            file[name] for name in ("classes", "labellers", "images", "y", "expert_labels")
        )
    drawn = json.loads((data / "dermx_parsed.json").read_text())
    tags = {row["image"]: dict.fromkeys(row["feat"], 1) for row in drawn if row["labeller"] == readers[0]}
    features = DictVectorizer(sparse=False).fit_transform([tags.get(one, {}) for one in image])
    features = np.c_[features, np.ones(len(features))]
    learn, fit, test = np.split(
        np.random.default_rng(seed).permutation(len(image)), [N_CLASSIFIER, N_CLASSIFIER + N_FIT]
    )
    classifier = LogisticRegression(max_iter=2000, C=0.3).fit(features[learn], label[learn])
    posterior = classifier.predict_proba(features)
    for name, rows in (("fit", fit), ("test", test)):
        np.savez(
            folder / f"{name}.npz",
            id=image[rows],
            embedding=features[rows],
            posterior=posterior[rows],
            label=names[label[rows]],
        )
        with (folder / f"{name}.csv").open("w", newline="") as file:
            table = csv.writer(file)
            table.writerow(["item", *readers[1:]])
            for row in rows:
                table.writerow([image[row], *(names[one] if one >= 0 else "" for one in answer[row, 1:])])
    return ",".join(names)


def main() -> None:
    found: dict[str, list[dict]] = {}
    for seed in range(SPLITS):
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place)
            classes = write_files(folder, seed)
            for method in METHODS:
                files = ("--cases", folder / "fit.npz", "--annotations", folder / "fit.csv")
                run("fit", *files, "--classes", classes, "--method", method, "--out", folder / "router")
                files = ("--cases", folder / "test.npz", "--annotations", folder / "test.csv")
                run("evaluate", folder / "router", *files, "--context-size", "50", "--out", folder / "report")
                metrics = json.loads((folder / "report" / "metrics.json").read_text())
                found.setdefault(method, []).append(metrics["groups"]["all"])

    first = found[METHODS[0]]
    print(
        "| split | cases asked | model alone | experts | best expert's AURSAC | oracle's |\n|--:|--:|--:|--:|--:|--:|"
    )
    for seed, group in enumerate(first):
        rules = group["rules"]
        best, oracle = (rules[name]["aursac"]["estimate"] for name in ("best expert", "oracle"))
        print(
            f"| {seed} | {group['n_cases']} | {group['model_accuracy']:.3f} | {group['expert_accuracy']:.3f} "
            f"| {best:.4f} | {oracle:.4f} |"
        )
    print(
        "\nAURSAC of the method less that of the rule, split by split; in brackets how many 95 % intervals exclude 0.\n"
    )
    print(
        "| method | less best expert | less confidence only | less the model alone | ECE of q̂ |\n|:--|--:|--:|--:|--:|"
    )
    for method, groups in found.items():
        cells = []
        for rule in ("best expert", "confidence only", "always the model"):
            gaps = [group["rules"][rule]["method_less_this"] for group in groups]
            told = sum(gap["low"] > 0 or gap["high"] < 0 for gap in gaps)
            cells.append(" / ".join(f"{gap['estimate']:+.4f}" for gap in gaps) + f" ({told})")
        ece = "–" if groups[0]["ece"] is None else " / ".join(f"{group['ece']:.3f}" for group in groups)
        print(f"| {method} | {' | '.join(cells)} | {ece} |")


if __name__ == "__main__":
    main()
