"""Saved methods come back as they were, or are refused with one clear error; nothing in a file is ever run."""

import dataclasses
import functools
import json
import os
import pickle
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from jaxtyping import Float
from refusal import refused
from safetensors.torch import save
from torch import Tensor

import racer
from racer import (
    IFDMLP,
    ClassGated,
    ClassifierConfidence,
    GlobalAccuracy,
    IFDScore,
    RacerDeepSets,
    RacerKernel,
    RacerKNN,
)
from racer.artifact import SEAL
from racer.checks import make_world
from racer.checks.answers import ask
from racer.checks.state import fit_in
from racer.competence import AbstractCompetence
from racer.competence.global_accuracy import BetaPrior
from racer.errors import ArtifactError
from racer.methods import REGISTRY
from racer.pooling import ContextPrior
from racer.sealed import _digest, _encode

UNFITTED = [
    ClassifierConfidence(),
    ClassGated(),
    GlobalAccuracy(),
    IFDScore(alpha=0.1, beta=1e-300),
    IFDMLP(beta=3.0, caution=0.25, hidden=4),
    RacerKNN(k=3, prior=ContextPrior(local=1 / 3, population=2.0, population_mean=0.7)),
    RacerKernel(temperature=0.03, prior=ContextPrior(population=1.0), hidden=5),
    RacerDeepSets(hidden=3),
]


@functools.cache
def world():
    return make_world()


@functools.cache
def fitted(name):
    return fit_in(REGISTRY[name](), world())


def number(value):
    return torch.tensor(value, dtype=torch.float64)


def prior(alpha=2.0, beta=1.0):
    return GlobalAccuracy(state=BetaPrior(alpha=number(alpha), beta=number(beta)))


def files_of(method):
    """{name: bytes} as `save` writes them."""
    with tempfile.TemporaryDirectory() as folder:
        method.save(folder)
        return {one.name: one.read_bytes() for one in Path(folder).iterdir()}


@functools.cache
def whole():
    """The files of a method with tensors: the manifest's, then the tensors'."""
    files = files_of(prior())
    return {name: files[name] for name in sorted(files)}


def load(files, *others):
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            Path(folder, name).write_bytes(content)
        return racer.load(folder, *others)


def tensors_file(files):
    (name,) = (name for name in files if name != SEAL.manifest)
    return name


def forge(files, blob=None, **changes):
    """What somebody would write who knows the format and means to be believed."""
    manifest = {**json.loads(files[SEAL.manifest]), **changes}
    state = manifest["state"]
    blob = files.get(state, b"") if blob is None else blob
    manifest["digest"] = _digest(manifest, blob)
    return {SEAL.manifest: _encode(manifest), **({state: blob} if blob else {})}


def assert_same(one, other, others=()):
    assert type(one) is type(other)
    for field in dataclasses.fields(one):
        before, after = getattr(one, field.name), getattr(other, field.name)
        if field.name != "state" or before is None:
            assert before == after
            continue
        for name, tensor in before.__dict__.items():
            again = getattr(after, name)
            assert again.dtype == tensor.dtype and again.shape == tensor.shape
            assert again.numpy().tobytes() == tensor.detach().numpy().tobytes()


# what comes back


def test_every_method_is_tried_with_settings_of_its_own():
    assert {method.name for method in UNFITTED} == set(REGISTRY)


@pytest.mark.parametrize("method", UNFITTED, ids=lambda method: method.name)
def test_settings_come_back(method, tmp_path):
    method.save(tmp_path / "not" / "there" / "yet")
    again = racer.load(tmp_path / "not" / "there" / "yet")
    assert again == method and repr(again) == repr(method)


@pytest.mark.parametrize("name", REGISTRY)
def test_what_was_learned_comes_back_bit_for_bit(name, tmp_path):
    method = fitted(name)
    method.save(str(tmp_path))
    again = racer.load(str(tmp_path))
    assert_same(method, again)
    one, other = (ask(each, world().queries, world().strangers) for each in (method, again))
    for question, answer in one.named().items():
        assert answer is other.named()[question] is None or torch.equal(answer, other.named()[question])


FLOATS = st.floats(min_value=0, exclude_min=True, allow_infinity=False)


@settings(max_examples=30)
@given(FLOATS, FLOATS)
def test_any_float_comes_back_in_the_settings(alpha, beta):
    assert load(files_of(IFDScore(alpha=alpha, beta=beta))) == IFDScore(alpha=alpha, beta=beta)


@settings(max_examples=30)
@given(st.floats(), st.floats(width=32))
def test_any_number_comes_back_in_the_tensors(alpha, beta):
    method = GlobalAccuracy(state=BetaPrior(alpha=number(alpha), beta=torch.tensor(beta)))
    assert_same(method, load(files_of(method)))


def test_numpy_numbers_are_settings_too():
    import numpy as np

    assert load(files_of(IFDScore(alpha=np.float64(0.1)))) == IFDScore(alpha=0.1)
    assert load(files_of(RacerKNN(k=np.int64(3)))) == RacerKNN(k=3)


def test_tensors_may_share_memory_lie_crosswise_or_carry_gradients():
    shared = torch.arange(6, dtype=torch.float32).view(2, 3).T.requires_grad_()
    method = GlobalAccuracy(state=BetaPrior(alpha=shared[1, 0], beta=shared[1, 0]))
    again = load(files_of(method))
    assert (float(again.state.alpha), again.state.alpha.requires_grad) == (1.0, False)


def test_the_same_method_is_written_as_the_same_bytes():
    assert files_of(prior()) == files_of(load(whole())) == whole()


def test_the_manifest_is_json_to_be_read_by_anyone():
    assert json.loads(whole()[SEAL.manifest]) == {
        "format": "racer-method",
        "version": 1,
        "method": "global-accuracy",
        "settings": {},
        "state": tensors_file(whole()),
        "digest": json.loads(whole()[SEAL.manifest])["digest"],
    }


@pytest.mark.skipif(os.name == "nt", reason="no such modes")
def test_files_can_be_read_by_whom_the_umask_lets(tmp_path):
    before = os.umask(0o022)
    try:
        prior().save(tmp_path)
    finally:
        os.umask(before)
    assert {stat.S_IMODE(one.stat().st_mode) for one in tmp_path.iterdir()} == {0o644}


# cut, edited, mixed up


@settings(max_examples=300)
@given(st.data())
def test_a_file_cut_anywhere_is_refused(data):
    name = data.draw(st.sampled_from(list(whole())))
    end = data.draw(st.integers(0, len(whole()[name]) - 1))
    with refused(ArtifactError, "nothing was loaded"):
        load({**whole(), name: whole()[name][:end]})


@settings(max_examples=300)
@given(st.data())
def test_a_file_with_a_byte_changed_is_refused(data):
    name = data.draw(st.sampled_from(list(whole())))
    content = bytearray(whole()[name])
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    with refused(ArtifactError, "nothing was loaded"):
        load({**whole(), name: bytes(content)})


@given(st.data(), st.binary(min_size=1, max_size=5))
def test_a_file_with_bytes_slipped_in_is_refused(data, more):
    name = data.draw(st.sampled_from(list(whole())))
    content = whole()[name]
    at = data.draw(st.integers(0, len(content)))
    with refused(ArtifactError):
        load({**whole(), name: content[:at] + more + content[at:]})


def test_every_missing_file_is_refused(tmp_path):
    for name in whole():
        with refused(ArtifactError, "cannot be read: No such file"):
            load({other: content for other, content in whole().items() if other != name})
    with refused(ArtifactError, str(tmp_path / "nowhere")):
        racer.load(tmp_path / "nowhere")
    (tmp_path / "file").write_bytes(b"")
    with refused(ArtifactError, "Not a directory"):
        racer.load(tmp_path / "file")


def test_files_of_two_methods_do_not_mix():
    mine, theirs = whole(), files_of(prior(alpha=3.0))
    ours, yours = tensors_file(mine), tensors_file(theirs)
    for mixed in (
        {SEAL.manifest: mine[SEAL.manifest], yours: theirs[yours]},
        {SEAL.manifest: theirs[SEAL.manifest], ours: mine[ours]},
        {SEAL.manifest: mine[SEAL.manifest], ours: theirs[yours]},
        {SEAL.manifest: theirs[SEAL.manifest], yours: mine[ours]},
        {
            SEAL.manifest: files_of(ClassGated())[SEAL.manifest].replace(b"null", b'"%s"' % ours.encode()),
            ours: mine[ours],
        },
    ):
        with refused(ArtifactError):
            load(mixed)


# foreign


class Trap:
    """Unpickling this makes a file."""

    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (Path(self.marker),)


@pytest.mark.parametrize("in_place_of", [0, 1], ids=["the manifest", "the tensors"])
@pytest.mark.parametrize("by_torch", [False, True], ids=["pickle", "torch"])
def test_a_pickle_is_not_opened(in_place_of, by_torch, tmp_path):
    trap = Trap(str(tmp_path / "marker"))
    if by_torch:
        torch.save(trap, tmp_path / "trap")
        content = (tmp_path / "trap").read_bytes()
    else:
        content = pickle.dumps(trap)
    with refused(ArtifactError):
        load({**whole(), list(whole())[in_place_of]: content})
    with refused(ArtifactError, "not safetensors"):
        load(forge(whole(), blob=content))
    assert not (tmp_path / "marker").exists()
    pickle.loads(pickle.dumps(trap))
    assert (tmp_path / "marker").exists()  # the trap was real


FOREIGN = {
    "nothing": b"",
    "another object": b"{}",
    "a list": b"[]",
    "a number": b"1e999",
    "text": b"racer-method",
    "another format": b'{"format": "onnx", "version": 1}',
    "not UTF-8": b"\xff\xfe\x00",
    "deep": b"[" * 1_000_000,
    "deep, in place": b'{"format": "racer-method", "version": 1, "x": ' + b"[" * 900 + b"]" * 900 + b"}",
    "a huge number": b'{"version": ' + b"9" * 1_000_000 + b"}",
    "a huge list": b'{"format": [' + b"0," * 1_000_000 + b"0]}",
    "half a surrogate pair": b'{"format": "\\ud800"}',
}


@pytest.mark.parametrize("content", FOREIGN.values(), ids=FOREIGN)
def test_foreign_json_is_refused(content):
    with refused(ArtifactError) as caught:
        load({**whole(), SEAL.manifest: content})
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("version", [0, 2, "1", None, 1.5, [1]])
def test_another_version_says_so(version):
    with refused(ArtifactError, f"version is {version!r}", "reads 1", "racer that saved it"):
        load(forge(whole(), version=version))


@pytest.mark.parametrize("part", ["method", "settings", "state", "digest"])
def test_a_manifest_without_one_of_its_parts_is_refused(part):
    manifest = {key: value for key, value in json.loads(whole()[SEAL.manifest]).items() if key != part}
    with refused(ArtifactError, "lacks parts"):
        load({**whole(), SEAL.manifest: _encode(manifest)})


# forged: the digest is right, and what it covers is still not believed


@pytest.mark.parametrize(
    "state", ["../other", "/etc/passwd", "method.json", "state-0123456789abcdef.safetensors\n", "", 7, ["a"], True, {}]
)
def test_tensors_are_read_from_beside_the_manifest_only(state, tmp_path):
    blob = whole()[tensors_file(whole())]
    (tmp_path / "other").write_bytes(blob)
    (tmp_path / "method").mkdir()
    manifest = {**json.loads(whole()[SEAL.manifest]), "state": state}
    manifest["digest"] = _digest(manifest, blob)
    (tmp_path / "method" / SEAL.manifest).write_bytes(_encode(manifest))
    with refused(ArtifactError, "which racer never writes"):
        racer.load(tmp_path / "method")


NAN = float("nan")
BAD_SETTINGS = {
    "NaN": (IFDScore(), {"alpha": NAN, "beta": 1.0}, "alpha=nan"),
    "infinite": (IFDScore(), {"alpha": float("inf"), "beta": 1.0}, "alpha=inf"),
    "text": (IFDScore(), {"alpha": "1.0"}, "'alpha' is '1.0'"),
    "a truth": (IFDScore(), {"alpha": True}, "'alpha' is True"),
    "a fraction of a neighbour": (RacerKNN(), {"k": 2.5}, "'k' is 2.5"),
    "NaN neighbours": (RacerKNN(), {"k": NAN}, "'k' is nan"),
    "out of range": (RacerKNN(), {"k": 0}, "Got 0"),
    "NaN inside": (RacerKNN(), {"prior": {"local": NAN}}, "local=nan"),
    "unknown inside": (RacerKNN(), {"prior": {"global": 1.0}}, "no setting 'prior.global'"),
    "not an object": (RacerKNN(), {"prior": [1.0, 2.0, 0.5]}, "'prior' is [1.0, 2.0, 0.5]"),
    "unknown": (RacerKNN(), {"k": 3, "__class__": "os.system"}, "no setting __class__"),
    "the state": (GlobalAccuracy(), {"state": None}, "no setting state"),
    "NaN temperature": (RacerKernel(), {"temperature": NAN}, "nan"),
}


@pytest.mark.parametrize(("method", "changed", "said"), BAD_SETTINGS.values(), ids=BAD_SETTINGS)
def test_settings_that_the_method_would_not_take_are_refused(method, changed, said):
    with refused(ArtifactError, said, method.name):
        load(forge(files_of(method), settings=changed))


def blob_of(**tensors):
    return save(tensors)


BAD_TENSORS = {
    "one too few": (blob_of(alpha=number(1.0)), "beta"),
    "one too many": (blob_of(alpha=number(1.0), beta=number(1.0), gamma=number(1.0)), "no tensor 'gamma'"),
    "another shape": (blob_of(alpha=number([1.0]), beta=number(1.0)), "'alpha' is torch.float64 of shape (1,)"),
    "another type": (blob_of(alpha=torch.tensor(1), beta=number(1.0)), "'alpha' is torch.int64"),
    "none": (blob_of(), "alpha"),
}


@pytest.mark.parametrize(("blob", "said"), BAD_TENSORS.values(), ids=BAD_TENSORS)
def test_tensors_that_the_method_would_not_take_are_refused(blob, said):
    with refused(ArtifactError, said, "global-accuracy"):
        load(forge(whole(), blob=blob))


def test_tensors_that_do_not_fit_each_other_are_refused():
    state = fitted("racer-kernel").state
    blob = blob_of(w1=state.w1, b1=state.b1[1:].clone(), w2=state.w2, b2=state.b2)
    with refused(ArtifactError, "'b1'"):
        load(forge(files_of(fitted("racer-kernel")), blob=blob))


def test_tensors_for_a_method_that_keeps_none_are_refused():
    with refused(ArtifactError, "keeps no tensors"):
        load(forge(whole(), method="ifd-score"))


@pytest.mark.parametrize("name", ["racer-oracle", "os.system", "", "IFDScore", "__import__('os')"])
def test_an_unknown_method_is_refused(name):
    with refused(ArtifactError, repr(name), "racer-kernel", "racer.load(folder, MyMethod)"):
        load(forge(files_of(ClassGated()), method=name))


# somebody else's method


@dataclass(frozen=True, eq=False)
class Weights:
    left: Float[Tensor, " role"]
    right: Float[Tensor, " role"]


@dataclass(frozen=True)
class Mine(AbstractCompetence):
    name: ClassVar[str] = "mine"

    sizes: tuple[int, ...] = (16, 8)
    label: str | None = None
    extra: Any = None
    state: Weights | None = None

    def fit(self, panel, *, context_size=100, seed=0, progress=None):
        return self

    def role_competence(self, queries, panel, pairs):
        return pairs.take(queries.posterior.T.expand(len(panel), -1, -1))


@pytest.mark.parametrize(
    "method",
    [
        Mine(),
        Mine(sizes=(), label="ü\n\"'\u2028", extra={"a": [1, None, True, NAN]}),
        Mine(state=Weights(torch.zeros(3), torch.ones(3))),
    ],
    ids=["plain", "odd", "learned"],
)
def test_a_class_handed_over_is_used(method):
    again = load(files_of(method), Mine)
    if method.extra is None:
        assert_same(method, again)
    assert repr(again) == repr(method)


def test_a_class_not_handed_over_is_not_looked_for():
    with refused(ArtifactError, "'mine'", "racer.load(folder, MyMethod)"):
        load(files_of(Mine()))


UNSAVEABLE = {
    "a set": Mine(extra={1, 2}),
    "a tensor": Mine(extra=torch.ones(2)),
    "a function": Mine(extra=len),
    "a tuple where anything goes": Mine(extra=(1, 2)),
    "numbers for keys": Mine(extra={1: "a"}),
    "a list for a tuple": Mine(sizes=[16, 8]),
    "another type": Mine(sizes=("16",)),
    "half a surrogate pair": Mine(label="\ud800"),
    "a circle": Mine(extra=(circle := []) or circle.append(circle) or circle),
    "no tensors": Mine(state=Weights([1.0], [2.0])),
    "tensors that do not fit": Mine(state=Weights(torch.zeros(3), torch.ones(2))),
    "no state": Mine(state={"left": torch.zeros(3)}),
}


@pytest.mark.parametrize("method", UNSAVEABLE.values(), ids=UNSAVEABLE)
def test_what_would_not_come_back_is_not_saved(method, tmp_path):
    with refused(ArtifactError, "was not saved"):
        method.save(tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


# saving again


def test_saving_again_leaves_the_new_files_only(tmp_path):
    for method in (prior(), prior(alpha=3.0), ClassGated(), fitted("racer-kernel"), prior()):
        method.save(tmp_path)
        assert_same(method, racer.load(tmp_path))
        assert len(list(tmp_path.iterdir())) == 1 + (getattr(method, "state", None) is not None)


def test_files_of_others_are_left_alone(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    (tmp_path / "state-of-affairs.safetensors").write_text("mine")
    prior().save(tmp_path)
    ClassGated().save(tmp_path)
    assert {one.name for one in tmp_path.iterdir()} == {"notes.txt", "state-of-affairs.safetensors", SEAL.manifest}


@pytest.mark.parametrize("old", [prior(), ClassGated()], ids=["tensors", "no tensors"])
@pytest.mark.parametrize("new", [prior(alpha=3.0), prior(), IFDScore()], ids=["other", "same", "no tensors"])
@pytest.mark.parametrize("nth", [1, 2])
@pytest.mark.parametrize("step", ["replace", "fsync"])
@pytest.mark.parametrize("crash", [OSError("disk full"), KeyboardInterrupt()], ids=["full disk", "interrupt"])
def test_a_crash_while_saving_leaves_the_old_method(old, new, nth, step, crash, tmp_path, monkeypatch):
    old.save(tmp_path)
    real, calls = getattr(os, step), []

    def crashing(*arguments):
        calls.append(arguments)
        if len(calls) == nth:
            raise crash
        return real(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(os, step, crashing)
        try:
            new.save(tmp_path)
        except (ArtifactError, type(crash)):
            assert_same(old, racer.load(tmp_path))
        else:
            assert nth == 2 and len(calls) == 1  # nothing to interrupt: one file only
            assert_same(new, racer.load(tmp_path))
    assert not [one.name for one in tmp_path.iterdir() if one.name.startswith(".")]
    new.save(tmp_path)
    assert_same(new, racer.load(tmp_path))
    assert len(list(tmp_path.iterdir())) == 1 + (getattr(new, "state", None) is not None)


def test_a_crash_in_a_new_folder_leaves_nothing_that_loads(tmp_path, monkeypatch):
    def crashing(*_):
        raise OSError("disk full")

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", crashing)
        with refused(ArtifactError, "disk full"):
            prior().save(tmp_path)
    assert list(tmp_path.iterdir()) == []
    with refused(ArtifactError):
        racer.load(tmp_path)
