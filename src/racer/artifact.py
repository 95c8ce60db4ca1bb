"""Saved methods: `method.json` beside one safetensors file.

The JSON holds the format version, the method's name, its settings, and a digest over all of that and the tensors'
bytes. Nothing in either file is code, and nothing is believed before the digest matches and the JSON is, byte for
byte, what racer would write. What is then read must still fit the types the method declares. The tensors' file carries
its own digest in its name and the JSON is replaced last, in one step, so a crash leaves the old method or the new one.
"""

import dataclasses
import hashlib
import json
import os
import re
import secrets
import types
import typing
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import torch
from jaxtyping import jaxtyped
from safetensors.torch import load, save
from torch import Tensor

from racer.errors import ArtifactError, RacerError
from racer.plain import is_same, to_plain, to_setting

__all__ = ["FORMAT", "VERSION", "StoredMethod", "read_method", "restore_method", "write_method"]

FORMAT = "racer-method"
VERSION = 1
MANIFEST = "method.json"
STATE_NAME = re.compile(r"state-[0-9a-f]{16}\.safetensors")

Method = TypeVar("Method")


@dataclasses.dataclass(frozen=True, eq=False)
class StoredMethod:
    """What the files say, once their digest matched."""

    folder: Path
    name: str
    settings: dict[str, Any]
    tensors: dict[str, Tensor] | None


def write_method(method: Any, folder: str | PathLike[str]) -> None:
    """Write a method's settings and state."""
    folder = Path(folder)
    try:
        manifest, blob = _manifest(method)
        text = _encode(manifest)
        stored = StoredMethod(folder, method.name, json.loads(text)["settings"], load(blob) if blob else None)
        _refuse_change(method, restore_method(stored, type(method)))
    except Exception as error:
        raise ArtifactError(
            "This method would not load again, so it was not saved.",
            error.values if isinstance(error, ArtifactError) else " ".join(f"{error}.".split()),
            "Give its settings and its state the types and shapes that the class declares.",
            method=str(getattr(method, "name", type(method).__name__)),
        ) from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if manifest["state"]:
            _replace(folder / manifest["state"], blob)
        _replace(folder / MANIFEST, text)
    except OSError as error:
        raise ArtifactError(
            "The method cannot be written there.",
            f"'{folder}': {error.strerror or error}.",
            "Name a folder that is there or can be made.",
            folder=str(folder),
        ) from error
    for old in folder.iterdir():
        if STATE_NAME.fullmatch(old.name) and old.name != manifest["state"]:
            old.unlink(missing_ok=True)


def read_method(folder: str | PathLike[str]) -> StoredMethod:
    """Read and verify the files; no class is looked up yet."""
    folder = Path(folder)
    manifest = _read_manifest(folder / MANIFEST)
    blob = b""
    if manifest["state"] is not None:
        try:
            blob = (folder / manifest["state"]).read_bytes()
        except OSError as error:
            raise _bad(folder, f"its tensors '{manifest['state']}' cannot be read: {error.strerror}") from error
    if manifest["digest"] != _digest(manifest, blob):
        raise _bad(folder, "its digest does not match: it was truncated, edited or mixed with another")
    try:
        tensors = None if manifest["state"] is None else load(blob)
    except Exception as error:
        raise _bad(folder, f"its tensors are not safetensors: {error}") from error
    return StoredMethod(folder=folder, name=manifest["method"], settings=manifest["settings"], tensors=tensors)


def restore_method(stored: StoredMethod, cls: type[Method]) -> Method:
    """The method as it was saved."""
    try:
        hints = typing.get_type_hints(cls)
        unknown = stored.settings.keys() - {one.name for one in _settings(cls)}
        if unknown:
            raise TypeError(f"it has no setting {', '.join(sorted(unknown))}")
        settings = {name: to_setting(value, hints[name], name) for name, value in stored.settings.items()}
        if stored.tensors is not None:
            if "state" not in hints:
                raise TypeError("it keeps no tensors")
            (kind,) = [one for one in typing.get_args(hints["state"]) if one is not types.NoneType]
            settings["state"] = _to_state(stored.tensors, kind)
        return cls(**settings)
    except Exception as error:
        why = f"{error.what} {error.values}" if isinstance(error, RacerError) else str(error)
        raise _bad(stored.folder, f"'{stored.name}' does not take what it holds: {why}") from error


def _manifest(method: Any) -> tuple[dict[str, Any], bytes]:
    state = getattr(method, "state", None)
    blob = b"" if state is None else save(_tensors(state))
    manifest: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "method": method.name,
        "settings": {one.name: to_plain(getattr(method, one.name)) for one in _settings(type(method))},
        "state": None if state is None else f"state-{hashlib.sha256(blob).hexdigest()[:16]}.safetensors",
    }
    return {**manifest, "digest": _digest(manifest, blob)}, blob


def _refuse_change(method: Any, again: Any) -> None:
    """JSON has neither tuples nor keys that are numbers; a setting declared as anything would come back as another."""
    for one in _settings(type(method)):
        before, after = getattr(method, one.name), getattr(again, one.name)
        if not is_same(before, after):
            raise TypeError(f"Setting '{one.name}' is {before!r} and would come back as {after!r}")


def _settings(cls: Any) -> list[Any]:
    return [one for one in dataclasses.fields(cls) if one.name != "state"]


def _tensors(state: Any) -> dict[str, Tensor]:
    # copies: safetensors refuses tensors that share memory
    values = {one.name: getattr(state, one.name) for one in dataclasses.fields(state)}
    return {name: one.detach().cpu().clone(memory_format=torch.contiguous_format) for name, one in values.items()}


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        content = path.read_bytes()
        manifest = json.loads(content)
    except OSError as error:
        raise _bad(path.parent, f"'{path.name}' cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise _bad(path.parent, f"'{path.name}' is not JSON: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _bad(path.parent, f"'{path.name}' does not say it is a {FORMAT}")
    if manifest.get("version") != VERSION:
        raise _bad(
            path.parent,
            f"the format version is {manifest.get('version')!r}, this racer reads {VERSION}",
            "Load it with the racer that saved it, or update this one; nothing was loaded.",
        )
    if {"method", "settings", "state", "digest"} - manifest.keys():
        raise _bad(path.parent, f"'{path.name}' lacks parts of a {FORMAT}")
    if not isinstance(manifest["method"], str) or not isinstance(manifest["settings"], dict):
        raise _bad(path.parent, f"'{path.name}' does not name a method and its settings")
    # only a plain name beside the manifest: an edited one must not lead elsewhere
    if manifest["state"] is not None and not STATE_NAME.fullmatch(str(manifest["state"])):
        raise _bad(path.parent, f"'{path.name}' names tensors {manifest['state']!r}, which racer never writes")
    try:
        is_ours = content == _encode(manifest)
    except (ValueError, RecursionError):  # half a surrogate pair cannot be written
        is_ours = False
    if not is_ours:
        raise _bad(path.parent, f"'{path.name}' was edited or cut: racer writes it in one way only")
    return manifest


def _bad(
    folder: Path, why: str, fix: str = "Save it again with method.save(folder); nothing was loaded."
) -> ArtifactError:
    return ArtifactError(
        "This is not a method that racer saved whole.",
        f"In '{folder}', {' '.join(why.split())}".rstrip(".") + ".",
        fix,
        folder=str(folder),
    )


def _encode(manifest: dict[str, Any]) -> bytes:
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()


def _digest(manifest: dict[str, Any], blob: bytes) -> str:
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False).encode()
    return hashlib.sha256(len(text).to_bytes(8, "big") + text + blob).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    # not tempfile: its files can be read by their owner alone, and a service may run as somebody else
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with temporary.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _to_state(tensors: dict[str, Tensor], kind: Any) -> Any:
    """The state, if its tensors have the shapes it declares; axes of one name have one length."""
    hints = typing.get_type_hints(kind)
    declared = [one.name for one in dataclasses.fields(kind)]
    unknown = tensors.keys() - set(declared)
    if unknown:
        raise TypeError(f"it has no tensor '{min(unknown)}'")
    with jaxtyped("context"):
        for name in declared:  # in this order, so that the same file is always refused in the same words
            if name in tensors and not isinstance(tensors[name], hints[name]):
                raise TypeError(f"tensor '{name}' is {tensors[name].dtype} of shape {tuple(tensors[name].shape)}")
    return kind(**tensors)
