"""Saved methods: `method.json` beside one safetensors file.

The JSON holds the format version, the method's name and its settings; the tensors are its state. Both are sealed by
`racer.sealed`. What is then read must still fit the types the method declares.
"""

import dataclasses
import json
import types
import typing
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

import torch
from jaxtyping import jaxtyped
from safetensors.torch import load
from torch import Tensor

from racer.errors import ArtifactError, RacerError
from racer.plain import is_same, to_plain, to_setting
from racer.sealed import Seal

__all__ = ["SEAL", "StoredMethod", "read_method", "restore_method", "write_method"]

SEAL = Seal(
    format="racer-method",
    version=1,
    manifest="method.json",
    key="state",
    fields=("method", "settings"),
    what="a method",
    again="method.save(folder)",
)

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
        content, state = _content(method), getattr(method, "state", None)
        manifest, name, blob = SEAL.close(content, None if state is None else _tensors(state))
        settings = json.loads(manifest)["settings"]
        stored = StoredMethod(folder, method.name, settings, load(blob) if blob else None)
        _refuse_change(method, restore_method(stored, type(method)))
    except Exception as error:
        raise ArtifactError(
            "This method would not load again, so it was not saved.",
            error.values if isinstance(error, ArtifactError) else " ".join(f"{error}.".split()),
            "Give its settings and its state the types and shapes that the class declares.",
            method=str(getattr(method, "name", type(method).__name__)),
        ) from error
    try:
        SEAL.write(folder, manifest, name, blob)
    except OSError as error:
        raise ArtifactError(
            "The method cannot be written there.",
            f"'{folder}': {error.strerror or error}.",
            "Name a folder that is there or can be made.",
            folder=str(folder),
        ) from error


def read_method(folder: str | PathLike[str]) -> StoredMethod:
    """Read and verify the files; no class is looked up yet."""
    folder = Path(folder)
    sealed = SEAL.read(folder)
    name, settings = sealed.content["method"], sealed.content["settings"]
    if not isinstance(name, str) or not isinstance(settings, dict):
        raise SEAL.bad(folder, f"'{SEAL.manifest}' does not name a method and its settings")
    return StoredMethod(folder=folder, name=name, settings=settings, tensors=sealed.tensors)


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
        raise SEAL.bad(stored.folder, f"'{stored.name}' does not take what it holds: {why}") from error


def _content(method: Any) -> dict[str, Any]:
    settings = {one.name: to_plain(getattr(method, one.name)) for one in _settings(type(method))}
    return {"method": method.name, "settings": settings}


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
