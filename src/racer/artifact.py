"""Saved methods: `method.json` beside one safetensors file.

The JSON holds the format version, the method's name, its settings, and a digest over all of that and the tensors'
bytes. Nothing in either file is code, and nothing is believed before the digest matches. The tensors' file carries its
own digest in its name and the JSON is replaced last, in one step, so a crash leaves the old method or the new one.
"""

import dataclasses
import hashlib
import json
import os
import tempfile
import typing
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from safetensors.torch import load, save
from torch import Tensor

from racer.errors import ArtifactError, RacerError

__all__ = ["FORMAT", "VERSION", "StoredMethod", "read_method", "restore_method", "write_method"]

FORMAT = "racer-method"
VERSION = 1
MANIFEST = "method.json"

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
    state = getattr(method, "state", None)
    settings = {
        field.name: _plain(getattr(method, field.name)) for field in dataclasses.fields(method) if field.name != "state"
    }
    blob = (
        b"" if state is None else save({f.name: getattr(state, f.name).contiguous() for f in dataclasses.fields(state)})
    )
    manifest: dict[str, Any] = {"format": FORMAT, "version": VERSION, "method": method.name, "settings": settings}
    manifest["state"] = None if state is None else f"state-{hashlib.sha256(blob).hexdigest()[:16]}.safetensors"
    manifest["digest"] = _digest(manifest, blob)
    folder.mkdir(parents=True, exist_ok=True)
    if manifest["state"]:
        _replace(folder / manifest["state"], blob)
    _replace(folder / MANIFEST, (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode())
    for old in folder.glob("state-*.safetensors"):
        if old.name != manifest["state"]:
            old.unlink()


def read_method(folder: str | PathLike[str]) -> StoredMethod:
    """Read and verify the files; no class is looked up yet."""
    folder = Path(folder)
    manifest = _read_manifest(folder / MANIFEST)
    blob = b""
    if manifest["state"] is not None:
        # only a plain name beside the manifest: an edited one must not lead elsewhere
        name = Path(str(manifest["state"])).name
        try:
            blob = (folder / name).read_bytes()
        except OSError as error:
            raise _bad(folder, f"its tensors '{name}' cannot be read: {error.strerror}") from error
    if manifest["digest"] != _digest(manifest, blob):
        raise _bad(folder, "its digest does not match: it was truncated, edited or mixed with another")
    try:
        tensors = load(blob) if blob else None
    except Exception as error:
        raise _bad(folder, f"its tensors are not safetensors: {error}") from error
    return StoredMethod(folder=folder, name=manifest["method"], settings=manifest["settings"], tensors=tensors)


def restore_method(stored: StoredMethod, cls: type[Method]) -> Method:
    """The method as it was saved."""
    hints = typing.get_type_hints(cls)
    try:
        settings = {name: _unplain(value, hints[name]) for name, value in stored.settings.items()}
        if stored.tensors is not None:
            (state,) = [one for one in typing.get_args(hints["state"]) if one is not type(None)]
            settings["state"] = state(**stored.tensors)
        return cls(**settings)
    except (KeyError, TypeError, ValueError, RacerError) as error:
        raise _bad(stored.folder, f"'{stored.name}' does not take what it holds: {error}") from error


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_bytes())
    except OSError as error:
        raise _bad(path.parent, f"'{path.name}' cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise _bad(path.parent, f"'{path.name}' is not JSON: {error}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise _bad(path.parent, f"'{path.name}' does not say it is a {FORMAT}")
    if manifest.get("version") != VERSION:
        raise _bad(path.parent, f"its format version is {manifest.get('version')!r}, this racer reads {VERSION}")
    if {"method", "settings", "state", "digest"} - manifest.keys() or not isinstance(manifest["settings"], dict):
        raise _bad(path.parent, f"'{path.name}' lacks parts of a {FORMAT}")
    return manifest


def _bad(folder: Path, why: str) -> ArtifactError:
    return ArtifactError(
        "This is not a method that racer saved whole.",
        f"In '{folder}', {why}.",
        "Save it again with method.save(folder); nothing was loaded.",
        folder=str(folder),
    )


def _digest(manifest: dict[str, Any], blob: bytes) -> str:
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False).encode()
    return hashlib.sha256(len(text).to_bytes(8, "big") + text + blob).hexdigest()


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _plain(value: Any) -> Any:
    return dataclasses.asdict(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else value


def _unplain(value: Any, hint: Any) -> Any:
    if isinstance(hint, type) and dataclasses.is_dataclass(hint) and isinstance(value, dict):
        return hint(**value)
    return value
