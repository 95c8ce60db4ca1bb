"""A saved router decides the same to the bit, or is not loaded at all."""

import dataclasses
import fractions
import functools
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest
import torch
from filed import case_npz, nothing_left
from hypothesis import given, settings
from hypothesis import strategies as st
from refusal import refused
from safetensors.torch import load as load_tensors

from racer import Cases, Context, IFDScore, RacerKernel, RacerKNN, Router
from racer.checks import make_world
from racer.checks.state import fit_in
from racer.errors import ArtifactError, ClassNamesError, OutputError, SettingError
from racer.files import read_cases
from racer.routing import AbstractPolicy, Budget, Capacity, Cost, Evidence, Origin, TargetAccuracy, Threshold
from racer.routing.router_file import SEAL, _tensors

POLICIES = [
    Threshold(),
    Threshold(-0.1),
    Threshold(float("inf")),
    Budget(1 / 3),
    Budget(np.float32(0.1)),
    TargetAccuracy(0.9, threshold=0.25),
    TargetAccuracy(0.9, confidence=0.99),
    Cost(0.05),
    Cost({"stranger-0": 0.05, "nobody": 1}),
    Capacity(3),
    Capacity({"stranger-1": np.int64(2)}),
    Cost({"stranger-0": 0.3}, Capacity({"stranger-1": 2}, Budget(0.5))),
    Capacity(2, Cost(fractions.Fraction(1, 4), Capacity(1, TargetAccuracy(0.5, threshold=0)))),
]
ORIGIN = Origin(classes=("é", "b", "c"), fitted_on=("ada", "bo"), context_size=100, seed=7)


@functools.cache
def world():
    return make_world()


@functools.cache
def whole():
    """{name: bytes} of a saved router, and of another one."""
    one = Router(RacerKNN(k=3), Budget(0.5), panel=world().strangers, origin=Origin(seed=1))
    return files_of(one), files_of(Router(IFDScore(), panel=world().strangers.subset(world().strangers.experts[:1])))


def files_of(router):
    with tempfile.TemporaryDirectory() as folder:
        router.save(Path(folder) / "router")
        return {one.name: one.read_bytes() for one in (Path(folder) / "router").iterdir()}


def load(files):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        return Router.load(folder)


def again(router, folder):
    router.save(folder / "router")
    return Router.load(folder / "router")


def require_same(ours, theirs):
    for part in dataclasses.fields(ours):
        one, other = getattr(ours, part.name), getattr(theirs, part.name)
        if isinstance(one, torch.Tensor):
            assert one.dtype == other.dtype and torch.equal(one, other), part.name
        elif dataclasses.is_dataclass(one):
            require_same(one, other)
        else:
            assert one == other, part.name


# saved and loaded


@pytest.mark.parametrize("method", [RacerKNN(k=3), RacerKernel(), IFDScore()], ids=lambda one: one.name)
@pytest.mark.parametrize("kind", [torch.float32, torch.float64], ids=str)
def test_a_loaded_router_decides_the_same_to_the_bit(method, kind, tmp_path):
    def cast(cases):
        return Cases(cases.embedding.to(kind), cases.posterior.to(kind))

    method = fit_in(method, world())
    router = Router(method, Budget(0.5), evidence=Evidence(least=1, n_shown=2, temperature=1 / 3), origin=ORIGIN)
    for expert in world().strangers.experts:
        one = world().strangers[expert]
        router.enroll(
            expert, Context(cast(one.cases), one.label, one.answer), [f"{expert} é{n}" for n in range(len(one.cases))]
        )
    loaded = again(router, tmp_path)
    require_same(router.route(cast(world().queries)), loaded.route(cast(world().queries)))
    assert (loaded.experts, loaded.items) == (router.experts, router.items)
    assert (loaded.origin, loaded.evidence, loaded.policy) == (router.origin, router.evidence, router.policy)
    assert torch.equal(loaded.panel.cases.posterior, router.panel.cases.posterior)
    assert torch.equal(loaded.panel.cases.embedding, router.panel.cases.embedding)


@pytest.mark.parametrize("policy", POLICIES, ids=repr)
def test_a_policy_comes_back_with_what_it_wraps(policy, tmp_path):
    loaded = again(Router(RacerKNN(), policy, panel=world().strangers), tmp_path)
    assert loaded.policy == policy and type(loaded.policy) is type(policy)


def test_a_router_nobody_joined_yet_comes_back(tmp_path):
    loaded = again(Router(RacerKNN(), origin=ORIGIN), tmp_path)
    assert loaded.experts == loaded.items == () and loaded.panel is None and loaded.origin == ORIGIN
    loaded.enroll("ada", world().strangers["stranger-0"])
    assert again(loaded, tmp_path).experts == ("ada",)


def test_a_router_everybody_left_comes_back(tmp_path):
    router = Router(RacerKNN(), panel=world().strangers)
    for expert in world().strangers.experts:
        router.retire(expert)
    loaded = again(router, tmp_path)
    assert loaded.experts == () and loaded.panel.n_roles == world().strangers.n_roles


def test_a_loaded_router_learns_on(tmp_path):
    router = Router(RacerKNN(k=3), Budget(0.5), panel=world().strangers)
    loaded = again(router, tmp_path)
    more = world().strangers["stranger-0"]
    for one in (router, loaded):
        one.observe("stranger-1", more.cases[:5], more.label[:5], more.answer[:5])
        one.retire("stranger-0")
    require_same(router.route(world().queries), loaded.route(world().queries))


def test_the_next_router_replaces_the_files_of_the_last(tmp_path):
    Router(RacerKNN(), panel=world().strangers).save(tmp_path / "router")
    Router(RacerKNN()).save(tmp_path / "router")
    assert sorted(one.name for one in (tmp_path / "router").iterdir()) == ["method.json", "router.json"]
    assert [one.name for one in tmp_path.iterdir()] == ["router"]


# not saved


class OfMyOwn(AbstractPolicy):
    def refine(self, plan):
        return plan


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (OfMyOwn(), "a class of your own"),
        (Capacity(1, OfMyOwn()), "policy OfMyOwn"),
        (Cost(torch.tensor([[0.1]])), "'cost' is a Tensor"),
        (Cost({"ada": [0.1, 0.2]}), "'cost' is a dict"),
        (Cost({7: 0.1}), "'cost' is a dict"),
        (Cost(True), "'cost' is a bool"),
    ],
)
def test_a_policy_of_one_batch_is_not_saved(policy, said, tmp_path):
    with nothing_left(tmp_path), refused(SettingError, said, "route(queries, policy=…)"):
        Router(RacerKNN(), policy, panel=world().strangers).save(tmp_path / "x" / "router")


@pytest.mark.parametrize(
    "parts",
    [
        {"origin": Origin(seed=np.int64(1))},
        {"origin": Origin(context_size=2.5)},
        {"origin": Origin(classes=(1, 2))},
        {"origin": Origin(fitted_on=("half \ud800",))},
        {"evidence": Evidence(n_shown=2.0)},
        {"items": ["\ud800"] * len(make_world().strangers.cases), "panel": make_world().strangers},
    ],
    ids=["a NumPy seed", "half an answer", "classes no text", "half a surrogate", "half a case", "items no Unicode"],
)
def test_what_would_not_load_again_is_not_saved(parts, tmp_path):
    with nothing_left(tmp_path), refused(ArtifactError, "would not load again"):
        Router(RacerKNN(), **parts).save(tmp_path / "x" / "router")


def test_a_folder_of_somebody_else_is_not_replaced(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with nothing_left(tmp_path), refused(OutputError, "'notes.txt'"):
        Router(RacerKNN()).save(tmp_path)


# not loaded


@settings(max_examples=300)
@given(st.data())
def test_no_flipped_bit_goes_unnoticed(data):
    files = dict(whole()[0])
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with refused(ArtifactError):
        load({**files, name: bytes(content)})


@given(st.data())
def test_no_file_is_cut_or_grows_unnoticed(data):
    files = dict(whole()[0])
    name = data.draw(st.sampled_from(sorted(files)))
    cut = files[name][: data.draw(st.integers(0, len(files[name]) - 1))]
    for content in (cut, files[name] + data.draw(st.binary(min_size=1, max_size=9))):
        with refused(ArtifactError):
            load({**files, name: content})


def test_no_file_goes_missing_unnoticed():
    files, _ = whole()
    for name in files:
        with refused(ArtifactError):
            load({one: content for one, content in files.items() if one != name})
    with refused(ArtifactError):
        load({})


def test_files_of_two_routers_are_not_mixed():
    one, other = whole()
    ours, theirs = (next(name for name in files if name.startswith("panel-")) for files in (one, other))
    with refused(ArtifactError):
        load({**one, "router.json": other["router.json"]})
    with refused(ArtifactError, "digest"):
        load({**one, ours: other[theirs]})


def test_nobodys_method_slips_in_among_anothers_answers(tmp_path):
    for k in (3, 5):
        Router(RacerKNN(k=k)).save(tmp_path / str(k))
    (tmp_path / "5" / "method.json").write_bytes((tmp_path / "3" / "method.json").read_bytes())
    with refused(ArtifactError, "'method.json' is not the method it was saved with"):
        Router.load(tmp_path / "5")


def test_a_folder_of_something_else_is_no_router(tmp_path):
    with refused(ArtifactError, "This is not a router", "'router.json' cannot be read"):
        Router.load(tmp_path / "nowhere")
    RacerKNN().save(tmp_path)
    with refused(ArtifactError, "'router.json' cannot be read"):
        Router.load(tmp_path)
    shutil.copy(tmp_path / "method.json", tmp_path / "router.json")
    with refused(ArtifactError, "does not say it is a racer-router"):
        Router.load(tmp_path)


# sealed all the same


def sealed(change_content=None, change_tensors=None):
    """A router whose files are in order, whatever they say."""
    files, _ = whole()
    manifest = json.loads(files["router.json"])
    content = {name: manifest[name] for name in SEAL.fields} | (change_content or {})
    blob = files[manifest["panel"]]
    tensors = {name: one for name, one in (load_tensors(blob) | (change_tensors or {})).items() if one is not None}
    text, name, blob = SEAL.close(content, tensors)
    return {"method.json": files["method.json"], "router.json": text, name: blob}


def test_the_tests_below_change_one_thing():
    require_same(load(sealed()).route(world().queries), load(whole()[0]).route(world().queries))


def tensor(name, change):
    return {name: change(_tensors(world().strangers)[name])}


TENSORS = {
    "an expert too many": tensor("expert", lambda one: one + 99),
    "an expert below": tensor("expert", lambda one: one - 1),
    "an item too many": tensor("item", lambda one: one + 9999),
    "an item below": tensor("item", lambda one: one - 1),
    "a class too many": tensor("label", lambda one: one + 99),
    "a class below": tensor("label", lambda one: one - 99),
    "an answer too many": tensor("answer", lambda one: one + 99),
    "answers as floats": tensor("answer", lambda one: one.double()),
    "answers in a square": tensor("answer", lambda one: one[:, None]),
    "answers too few": tensor("answer", lambda one: one[:-1]),
    "labels too few": tensor("label", lambda one: one[:-1]),
    "an answer twice": {
        name: torch.cat([_tensors(world().strangers)[name][:1]] * 2) for name in ("expert", "item", "answer")
    },
    "posteriors that are none": tensor("posterior", lambda one: one * 3),
    "posteriors without cases": tensor("posterior", lambda one: one[:-1]),
    "embeddings not finite": tensor("embedding", lambda one: one * float("nan")),
    "embeddings of no length": tensor("embedding", lambda one: one * 0),
    "embeddings as integers": tensor("embedding", lambda one: one.long()),
    "a tensor missing": {"label": None},
    "a tensor too many": {"code": torch.zeros(1)},
}


@pytest.mark.parametrize("change", TENSORS.values(), ids=TENSORS)
def test_tensors_that_are_no_panel_are_refused(change):
    with refused(ArtifactError, "its parts do not fit together"):
        load(sealed(change_tensors=change))


CONTENT = [
    {"experts": ["ada"]},
    {"experts": [["ada"]]},
    {"experts": "ada"},
    {"experts": None},
    {"items": []},
    {"items": None},
    {"items": {}},
    {"policy": None},
    {"policy": "budget"},
    {"policy": {"policy": "budget"}},
    {"policy": {"policy": ["budget"], "settings": {}}},
    {"policy": {"policy": "os.system", "settings": {"share": 0.5}}},
    {"policy": {"policy": "budget", "settings": {}}},
    {"policy": {"policy": "budget", "settings": {"share": 1.5}}},
    {"policy": {"policy": "budget", "settings": {"share": "half"}}},
    {"policy": {"policy": "budget", "settings": {"share": 0.5, "other": 1}}},
    {"policy": {"policy": "budget", "settings": {"share": None}}},
    {"policy": {"policy": "capacity", "settings": {"limit": -1, "policy": None}}},
    {"policy": {"policy": "cost", "settings": {"cost": {"ada": "much"}, "policy": None}}},
    {"evidence": None},
    {"evidence": {"least": -1}},
    {"evidence": {"n_shown": 2.5}},
    {"evidence": {"other": 1}},
    {"origin": None},
    {"origin": {"classes": "cat"}},
    {"origin": {"seed": "one"}},
    {"origin": {"other": 1}},
]


@pytest.mark.parametrize("change", CONTENT, ids=str)
def test_words_that_make_no_router_are_refused(change):
    with refused(ArtifactError, "its parts do not fit together"):
        load(sealed(change_content=change))


def cases_of(folder, classes):
    posterior = np.full((4, len(classes)), 1 / len(classes))
    return read_cases(case_npz(folder, label=None, classes=np.array(classes), posterior=posterior))


@pytest.mark.parametrize("classes", [["b", "é", "c"], ["b", "c"], ["é", "b", "c", "d"]])
def test_cases_of_other_classes_are_refused(classes, tmp_path):
    origin = again(Router(RacerKNN(), origin=ORIGIN), tmp_path).origin
    with refused(ClassNamesError, "cases.npz' has", "asked for é, b, c"):
        cases_of(tmp_path, classes).of_classes(origin.classes)


def test_cases_of_a_classifier_that_knows_fewer_classes_are_widened(tmp_path):
    assert cases_of(tmp_path, ["é", "b"]).of_classes(ORIGIN.classes).cases.n_roles == 3
