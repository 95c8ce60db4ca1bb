"""Options that cannot be: unknown names, numbers out of range, places that are taken. Nothing is written."""

import numpy as np
import pytest
from commands import N, racer, require_refusal, router, whole, world, write
from filed import case_npz

ROUTE = {
    "an expert nobody knows": (("--experts", "ada,zoe"), ("'zoe'",)),
    "a cost of nobody": (("--cost", "zoe=0.1"), ("'zoe'",)),
    "a capacity of nobody": (("--capacity", "zoe=1"), ("'zoe'",)),
    "a cost below zero": (("--cost", "-0.1"), ("cost",)),
    "a cost below zero for one": (("--cost", "ada=-0.1"), ("cost",)),
    "a cost that is none": (("--cost", "ada=nan"), ("cost", "Cost")),
    "no end of cost": (("--cost", "inf"), ("cost",)),
    "a capacity below zero": (("--capacity", "-1"), ("capacity",)),
    "a threshold that is none": (("--threshold", "nan"), ("'at'", "threshold")),
}
USAGE = {
    "a budget past one": (("--budget", "1.5"), "--budget"),
    "a budget below zero": (("--budget", "-0.5"), "--budget"),
    "a budget that is none": (("--budget", "nan"), "--budget"),
    "a budget in words": (("--budget", "half"), "--budget"),
    "a budget and a threshold": (("--budget", "0.5", "--threshold", "0"), "--threshold"),
    "a cost in words": (("--cost", "much"), "--cost"),
    "a cost for one in words": (("--cost", "ada=much"), "--cost"),
    "a cost for one and for all": (("--cost", "0.1", "--cost", "ada=0.2"), "--cost"),
    "a cost twice": (("--cost", "ada=0.1", "--cost", "ada=0.2"), "--cost"),
    "a cost without a name": (("--cost", "=0.1"), "--cost"),
    "half a capacity": (("--capacity", "ada=1.5"), "--capacity"),
    "nobody on duty": (("--experts", ","), "nobody"),
    "an option nobody knows": (("--buget", "0.5"), "--buget"),
}


@pytest.mark.parametrize(("options", "names"), ROUTE.values(), ids=ROUTE)
def test_options_that_do_not_fit_the_router(options, names, tmp_path):
    cases = write(tmp_path, {"cases.npz": whole()["cases.npz"]})[:2]
    require_refusal(racer("route", router(), *cases, "--out", tmp_path / "new" / "out.csv", *options), *names)
    assert [one.name for one in tmp_path.iterdir()] == ["cases.npz"]


@pytest.mark.parametrize(("options", "name"), USAGE.values(), ids=USAGE)
def test_options_that_make_no_sense(options, name, tmp_path):
    cases = write(tmp_path, {"cases.npz": whole()["cases.npz"]})[:2]
    said = racer("route", router(), *cases, "--out", tmp_path / "new" / "out.csv", *options)
    assert said.code == 2 and name in said.err and "Traceback" not in said.err
    assert [one.name for one in tmp_path.iterdir()] == ["cases.npz"]


FIT = {
    "a method nobody knows": (("--method", "racer-nn"), "Was 'racer-knn' meant?"),
    "classes of another number": (("--classes", "cat,dog"), "cases.npz"),
    "classes in another order": (("--classes", "dog,cat,owl"), "cases.npz"),
    "cases that are not there": (("--cases", "nowhere.npz"), "'nowhere.npz': No such file"),
    "answers that are not there": (("--annotations", "nowhere.csv"), "'nowhere.csv': No such file"),
    "a folder of somebody else": (("--out", "{}"), "which racer did not write"),
    "a file for a folder": (("--out", "{}/answers.csv"), "it is a file"),
    "a place below a file": (("--out", "{}/answers.csv/router"), "answers.csv/router'"),
}


@pytest.mark.parametrize(("options", "said"), FIT.values(), ids=FIT)
def test_a_fit_that_cannot_be(options, said, tmp_path):
    given = write(tmp_path, whole())
    before = {one: one.read_bytes() for one in tmp_path.iterdir()}
    require_refusal(
        racer("fit", *given, "--out", tmp_path / "x" / "y", *(one.format(tmp_path) for one in options)), said
    )
    assert {one: one.read_bytes() for one in tmp_path.iterdir()} == before


@pytest.mark.parametrize("command", ["route", "evaluate", "inspect"])
def test_a_router_that_is_none(command, tmp_path):
    given = write(tmp_path, whole())
    files = {"route": given[:2], "evaluate": given, "inspect": ()}[command]
    out = () if command == "inspect" else ("--out", tmp_path.parent / "elsewhere" / "out.csv")
    for folder in (tmp_path, tmp_path / "nowhere", tmp_path / "cases.npz"):
        require_refusal(racer(command, folder, *files, *out), str(folder))
    assert {one.name for one in tmp_path.iterdir()} == set(whole())
    assert not (tmp_path.parent / "elsewhere").exists()


def test_decisions_replace_nothing_that_is_read(tmp_path):
    given = write(tmp_path, whole())
    before = {one: one.read_bytes() for one in tmp_path.iterdir()}
    for out in (tmp_path / "cases.npz", router() / "method.json", router() / "sub" / "d.csv", tmp_path / "d.xlsx"):
        said = racer("route", router(), *given[:2], "--out", out)
        assert said.code == 2 and "--out" in said.err
    (tmp_path / "cases.csv").write_bytes(b"")
    assert (
        "replace what is read"
        in racer("route", router(), "--cases", tmp_path / "cases.csv", "--out", tmp_path / "cases.csv").err
    )
    (tmp_path / "cases.csv").unlink()
    assert {one: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_a_name_with_a_comma_can_be_on_duty(tmp_path):
    files = whole() | {
        "answers.csv": whole()["answers.csv"].replace(b",ada,", b',"Smith, J.",').replace(b'"ada"', b'"Smith, J."')
    }
    given = write(tmp_path, files)
    assert racer("fit", *given, "--out", tmp_path / "router").code == 0
    out = tmp_path / "out.csv"
    said = racer("route", tmp_path / "router", *given[:2], "--out", out, "--budget", "1", "--experts", "Smith, J.")
    assert said.code == 0 and "Smith, J." in out.read_text()


def test_costs_may_stand_between_commas(tmp_path):
    cases = write(tmp_path, {"cases.npz": whole()["cases.npz"]})[:2]
    out = [tmp_path / "one.csv", tmp_path / "two.csv"]
    assert racer("route", router(), *cases, "--out", out[0], "--cost", "ada=0.1,bo=0.2").code == 0
    assert racer("route", router(), *cases, "--out", out[1], "--cost", "ada=0.1", "--cost", "bo=0.2").code == 0
    assert out[0].read_bytes() == out[1].read_bytes()


def test_an_item_too_many_is_left_out_when_asked(tmp_path):
    given = write(tmp_path, whole() | {"answers.csv": whole()["answers.csv"] + b"z99,ada,cat\n"})
    require_refusal(racer("fit", *given, "--out", tmp_path / "out"), "line 74: 'z99'; 1 of 73")
    said = racer("fit", *given, "--skip-unknown", "--out", tmp_path / "out")
    assert said.code == 0 and "no case carries their item: 1." in said.err


@pytest.mark.parametrize("command", ["route", "evaluate"])
def test_cases_of_another_width_are_refused(command, tmp_path):
    given = write(tmp_path, whole())
    case_npz(tmp_path, **(world() | {"embedding": np.ones((N, 7))}))
    files = {"route": given[:2], "evaluate": given}[command]
    said = racer(command, router(), *files, "--out", tmp_path / "out.csv")
    require_refusal(said, "cases.npz': 3 features and 3 roles against 7 features and 3 roles")
    assert {one.name for one in tmp_path.iterdir()} == set(whole())


def test_an_expert_named_twice_is_on_duty_once(tmp_path):
    cases = write(tmp_path, {"cases.npz": whole()["cases.npz"]})[:2]
    said = [
        racer("route", router(), *cases, "--out", tmp_path / "out.csv", "--budget", "1", "--experts", names)
        for names in ("ada", "ada,ada")
    ]
    assert said[0] == said[1] and said[0].code == 0
