"""The commands as one types them: what they print, write, and exit with."""

import csv
import json
import os
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow.parquet
import pytest

import racer
from racer.cli import main
from racer.cli.digits import DEMO_FILES, write_demo_files
from racer.files import read_cases, read_panel


def racer_says(capsys, *words):
    """Exit code, standard output, standard error."""
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    said = capsys.readouterr()
    return ended.value.code, said.out, said.err


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write_demo_files(folder)
    for words in (["fit", "--cases", folder / "cases.npz", "--annotations", folder / "answers.csv"],):
        with pytest.raises(SystemExit) as ended:
            main([*map(str, words), "--method", "racer-knn", "--out", str(folder / "router")])
        assert ended.value.code == 0
    return folder


@pytest.fixture
def decide(study, tmp_path, capsys):
    def run(*words):
        out = tmp_path / "decisions.csv"
        code, said, _ = racer_says(
            capsys, "route", study / "router", "--cases", study / "new.npz", "--out", out, *words
        )
        assert code == 0, said
        with out.open(newline="") as file:
            return list(csv.DictReader(file)), said

    return run


def test_help_and_version_load_nothing_heavy():
    heavy = ["torch", "numpy", "scipy", "sklearn", "pyarrow", "matplotlib"]
    for words in (["--help"], ["fit", "--help"], ["--version"]):
        code = (
            f"import sys\nfrom racer.cli import main\n"
            f"try: main({words})\nexcept SystemExit as end: assert end.code == 0\n"
            f"print([one for one in {heavy} if one in sys.modules])"
        )
        said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
        assert said.splitlines()[-1] == "[]"


def test_python_dash_m_is_the_same_command():
    said = subprocess.run([sys.executable, "-m", "racer", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"racer {racer.__version__}\n"


def test_the_router_holds_what_the_files_say(study):
    router = racer.Router.load(study / "router")
    named = read_panel(study / "cases.npz", study / "answers.csv")
    assert router.experts == named.panel.experts == router.origin.fitted_on
    assert router.items == named.items and router.origin.classes == named.classes
    assert router.origin.context_size == 100 and router.origin.seed == 0


def test_fitting_twice_gives_the_same_files(study, tmp_path, capsys):
    words = ("fit", "--cases", study / "cases.npz", "--annotations", study / "answers.csv", "--out", tmp_path / "again")
    assert racer_says(capsys, *words, "--method", "racer-knn")[0] == 0
    for path in (study / "router").iterdir():
        assert path.read_bytes() == (tmp_path / "again" / path.name).read_bytes()


def test_decisions_are_those_of_the_router(study, decide):
    rows, said = decide("--budget", "0.2")
    file = read_cases(study / "new.npz")
    router = racer.Router.load(study / "router")
    decision = router.route(file.cases, policy=racer.Budget(0.2))
    assert [row["id"] for row in rows] == list(file.ids)
    assert [row["who"] for row in rows] == [name or "model" for name in decision.names]
    assert [row["deferred"] for row in rows] == [str(one).lower() for one in decision.is_deferred.tolist()]
    assert sum(row["deferred"] == "true" for row in rows) == 40
    classes = router.origin.classes
    assert [row["model_answer"] for row in rows] == [classes[one] for one in decision.prediction.tolist()]
    for name, values in zip(decision.experts, decision.p_right.tolist(), strict=True):
        np.testing.assert_allclose([float(row[f"p_right:{name}"]) for row in rows], values, atol=1e-6)
    named = [" | ".join(decision.items[one] for one in row if one >= 0) for row in decision.speaks_for.item.tolist()]
    assert [row["speaks_for"] for row in rows] == named
    assert re.search(r"^the model +160 +80.0%$", said, re.M)


def test_without_a_budget_the_routers_policy_decides(study, decide):
    rows, _ = decide()
    decision = racer.Router.load(study / "router").route(read_cases(study / "new.npz").cases)
    assert [row["who"] for row in rows] == [name or "model" for name in decision.names]


def test_costs_capacities_and_who_is_on_duty(decide):
    rows, _ = decide("--budget", "0.5", "--experts", "reader-01,reader-02", "--capacity", "reader-01=3")
    asked = [row["who"] for row in rows if row["deferred"] == "true"]
    assert set(asked) == {"reader-01", "reader-02"} and asked.count("reader-01") == 3 and len(asked) == 100
    dear, _ = decide("--threshold", "0", "--cost", "1.0")
    assert all(row["who"] == "model" for row in dear)
    one, _ = decide("--budget", "1", "--cost", "reader-01=0.9", "--capacity", "20")
    counts = {name: sum(row["who"] == name for row in one) for name in {row["who"] for row in one}}
    assert max(count for name, count in counts.items() if name != "model") == 20


def test_nobody_asked_is_said(decide):
    _, said = decide("--threshold", "2")
    assert "Nobody is asked" in said


def test_decisions_as_parquet(study, tmp_path, capsys):
    out = tmp_path / "decisions.parquet"
    code, _, _ = racer_says(capsys, "route", study / "router", "--cases", study / "new.npz", "--out", out)
    assert code == 0 and len(pyarrow.parquet.read_table(out)) == 200


def test_inspect_says_who_is_there(study, capsys):
    code, said, _ = racer_says(capsys, "inspect", study / "router")
    assert code == 0
    assert "RacerKNN(k=10" in said and "zero, one, two" in said and "reader-16" in said


def test_cases_of_the_fit_are_pointed_out(study, tmp_path, capsys):
    words = ("evaluate", study / "router", "--cases", study / "cases.npz", "--annotations", study / "answers.csv")
    code, _, remarks = racer_says(capsys, *words, "--out", tmp_path / "report")
    assert code == 0 and "800 of these cases were in the fit" in remarks


def test_a_guess_at_the_order_of_classes_is_pointed_out(study, tmp_path, capsys):
    with np.load(study / "cases.npz") as file:
        np.savez(tmp_path / "cases.npz", **{name: file[name] for name in file.files if name != "classes"})
    words = ("fit", "--cases", tmp_path / "cases.npz", "--annotations", study / "answers.csv", "--method", "racer-knn")
    code, _, remarks = racer_says(capsys, *words, "--out", tmp_path / "router")
    assert code == 0 and "in this order: eight, five, four" in remarks and "--classes" in remarks


def test_the_demo_runs_the_commands_it_prints(tmp_path, capsys):
    code, said, _ = racer_says(capsys, "demo", "--out", tmp_path / "demo")
    assert code == 0
    commands = re.findall(r"^\$ racer (\w+)", said, re.M)
    assert commands == ["fit", "inspect", "route", "evaluate"]
    assert said.rstrip().endswith(str(tmp_path / "demo" / "report" / "index.html"))
    assert all(re.fullmatch(DEMO_FILES, one.name) for one in (tmp_path / "demo").iterdir())
    metrics = json.loads((tmp_path / "demo" / "report" / "metrics.json").read_text())
    assert metrics["verdict"] in said and set(metrics["groups"]) == {"all", "seen", "unseen"}
    again, _, _ = racer_says(capsys, "demo", "--out", tmp_path / "demo")
    assert again == 0


def test_the_demo_touches_no_folder_of_somebody_elses(tmp_path, capsys):
    (tmp_path / "thesis.txt").write_text("mine")
    code, _, said = racer_says(capsys, "demo", "--out", tmp_path)
    assert code == 2 and "thesis.txt" in said
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.txt"]


def test_a_mistake_of_ours_exits_with_1_and_asks_for_a_report(study, tmp_path, capsys, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("ours")

    monkeypatch.setattr(racer.Router, "load", broken)
    code, _, said = racer_says(capsys, "inspect", study / "router")
    assert code == 1 and "ZeroDivisionError" in said and "report it" in said


def test_an_interrupt_leaves_nothing_half_written(study, tmp_path, capsys, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("racer.routing.router_file.write_router", interrupted)
    monkeypatch.setattr("racer.routing.router.write_router", interrupted)
    words = ("fit", "--cases", study / "cases.npz", "--annotations", study / "answers.csv", "--method", "racer-knn")
    code, _, said = racer_says(capsys, *words, "--out", tmp_path / "router")
    assert code == 130 and "half-written" in said
    assert list(tmp_path.iterdir()) == []


def test_control_c_while_fitting_leaves_nothing(study, tmp_path):
    words = [
        "fit",
        "--cases",
        study / "cases.npz",
        "--annotations",
        study / "answers.csv",
        "--out",
        tmp_path / "router",
    ]
    process = subprocess.Popen([sys.executable, "-m", "racer", *map(str, words)], stderr=subprocess.PIPE, text=True)
    while process.poll() is None and not list(tmp_path.iterdir()):
        time.sleep(0.02)  # until the fit has begun to write, under a hidden name
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "Traceback" not in said, said
    assert os.listdir(tmp_path) == []


def test_an_expert_who_is_always_right_is_pointed_out_also_in_the_report(study, tmp_path, capsys):
    """A column of truth among the experts would make every study look good."""
    named = read_panel(study / "test.npz", study / "test.csv")
    with np.load(study / "test.npz") as file:
        lines = [f"{item},oracle-column,{label}" for item, label in zip(file["id"], file["label"], strict=True)]
    text = (study / "test.csv").read_text().rstrip().replace('"', "") + "\n" + "\n".join(lines) + "\n"
    (tmp_path / "test.csv").write_text(text)
    words = ("evaluate", study / "router", "--cases", study / "test.npz", "--annotations", tmp_path / "test.csv")
    code, _, remarks = racer_says(capsys, *words, "--out", tmp_path / "report")
    assert code == 0 and "right every time: oracle-column" in remarks and len(named.panel) == 28
    assert "right every time: oracle-column" in (tmp_path / "report" / "index.html").read_text()
    assert "oracle-column" in " ".join(json.loads((tmp_path / "report" / "metrics.json").read_text())["notes"])


def test_classes_in_the_wrong_order_are_pointed_out(study, tmp_path, capsys):
    with np.load(study / "cases.npz") as file:
        np.savez(tmp_path / "cases.npz", **{name: file[name] for name in file.files if name != "classes"})
        turned = ",".join(np.roll(file["classes"], 1))
    words = ("fit", "--cases", tmp_path / "cases.npz", "--annotations", study / "answers.csv", "--method", "racer-knn")
    code, _, remarks = racer_says(capsys, *words, "--classes", turned, "--out", tmp_path / "router")
    assert code == 0 and "less than by chance" in remarks


def test_a_policy_that_names_a_stranger_is_refused(study):
    router = racer.Router.load(study / "router")
    queries = read_cases(study / "new.npz").cases
    for policy in (racer.Cost({"raeder-01": 0.1}), racer.Capacity({"reader-01": 3}, racer.Cost({"raeder-01": 0.1}))):
        with pytest.raises(racer.errors.UnknownExpertError, match="Was 'reader-01' meant"):
            router.route(queries, policy=policy)


def test_double_precision_from_a_classifier_joins_a_router_from_files(study):
    router = racer.Router.load(study / "router")
    named = read_panel(study / "test.npz", study / "test.csv")
    context = named.panel["reader-20"]
    wide = racer.Cases(context.cases.embedding.double(), context.cases.posterior.double())
    router.enroll("reader-20", racer.Context(wide, context.label, context.answer), items=named.items_of("reader-20"))
    decision = router.route(wide[:5], experts=["reader-20"], policy=racer.Budget(1.0))
    assert decision.names == ["reader-20"] * 5
    assert set(named.items_of("reader-20")) >= {decision.items[row] for row in decision.speaks_for.item[0].tolist()}
