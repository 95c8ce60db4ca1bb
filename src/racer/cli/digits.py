"""The files of the demo: scikit-learn's digits, a classifier that has seen few, and simulated readers.

Each class has three hidden subtypes, found by clustering; a reader is right on them with probability .98, .70 and .30,
in an order of the reader's own. Nothing else tells readers apart, and their ids say nothing.
"""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression

from racer.cases import Cases
from racer.files import write_cases
from racer.simulation import ExpertPopulation, SkillProfile, Subtypes, sample_answers, uniform_confusion
from racer.writing import whole_file

__all__ = ["DEMO_FILES", "write_demo_files"]

DEMO_FILES = r"(cases|new|test)\.npz|(answers|test|decisions)\.csv|router|report"
"""A pattern of what the demo's folder may hold."""
CLASSES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
LABELLED_A_CLASS = 3
N_FIT, N_NEW = 800, 200
"""Images of the fit and of the new cases; the others are for the test."""
FITTED, STRANGERS = 16, 12
SHARE_ANSWERED = 0.6
"""Readers in the fit, readers who join later, and what share of the images each of them answers."""


def write_demo_files(folder: Path, seed: int = 0) -> None:
    """`cases.npz` and `answers.csv` to fit, `new.npz` to route, `test.npz` and `test.csv` to evaluate."""
    rng = np.random.default_rng(seed)
    pixels, label = load_digits(return_X_y=True)
    order = rng.permutation(len(label))
    place_in_class = (label[order] == np.arange(10)[:, None]).cumsum(1)[label[order], np.arange(len(label))]
    few, rest = order[place_in_class <= LABELLED_A_CLASS], order[place_in_class > LABELLED_A_CLASS]
    fit, new, test = np.split(rest, [N_FIT, N_FIT + N_NEW])

    encoder = PCA(32, random_state=0).fit(pixels[np.r_[few, fit]])
    embedding = encoder.transform(pixels).astype(np.float32)
    classifier = LogisticRegression(max_iter=2000).fit(embedding[few], label[few])
    posterior = classifier.predict_proba(embedding).astype(np.float32)

    subtype = Subtypes.fit(embedding[fit], label[fit], n_roles=10, rng=rng).assign(embedding, label)
    competence = ExpertPopulation(SkillProfile.strong(), n_roles=10).sample(FITTED + STRANGERS, rng)
    answer = sample_answers(competence, label, subtype, uniform_confusion(10), rng).answer.numpy()
    answered = rng.random(answer.shape) < SHARE_ANSWERED

    folder.mkdir(parents=True, exist_ok=True)
    for name, rows, known in (("cases", fit, True), ("new", new, False), ("test", test, True)):
        names = np.array(CLASSES)[label[rows]] if known else None
        ids = [f"digit-{row:04d}" for row in rows]
        write_cases(folder / f"{name}.npz", ids, Cases(embedding[rows], posterior[rows]), names, CLASSES)
    for name, rows, readers in (("answers", fit, range(FITTED)), ("test", test, range(FITTED + STRANGERS))):
        _write_answers(folder / f"{name}.csv", rows, np.array(readers), answer, answered)


def _write_answers(path: Path, rows: np.ndarray, readers: np.ndarray, answer: np.ndarray, answered: np.ndarray) -> None:
    reader, row = (grid.ravel() for grid in np.meshgrid(readers, rows, indexing="ij"))
    given = answered[reader, row]
    reader, row = reader[given], row[given]
    table = pa.table(
        {
            "item": [f"digit-{one:04d}" for one in row],
            "expert": [f"reader-{one + 1:02d}" for one in reader],
            "answer": np.array(CLASSES)[answer[reader, row]].tolist(),
        }
    )
    with whole_file(path) as hidden:
        pa.csv.write_csv(table, hidden)
