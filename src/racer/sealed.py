"""A JSON manifest and one safetensors file, sealed together by a digest.

Nothing in either file is code, and nothing is believed before the digest matches and the JSON is, byte for byte, what
racer would write. The tensors' file carries its own digest in its name and the JSON is replaced last, in one step, so
a crash leaves the old pair or the new one.
"""

import hashlib
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from safetensors.torch import load, save
from torch import Tensor

from racer.errors import ArtifactError
from racer.writing import replace_file

__all__ = ["Seal", "Sealed"]


@final
@dataclass(frozen=True, eq=False)
class Sealed:
    """What the files say, once their digest matched."""

    content: dict[str, Any]
    tensors: dict[str, Tensor] | None


@final
@dataclass(frozen=True)
class Seal:
    """One kind of saved thing: how it is called, and what its files are named.

    `key` is the manifest's entry for the tensors' file, and what that file's name begins with.
    """

    format: str
    version: int
    manifest: str
    key: str
    fields: tuple[str, ...]
    what: str
    again: str

    @property
    def ours(self) -> str:
        """A pattern of the names of its files."""
        return rf"{re.escape(self.manifest)}|{self._tensors_name}"

    def close(self, content: dict[str, Any], tensors: dict[str, Tensor] | None) -> tuple[bytes, str | None, bytes]:
        """The manifest, and the name and bytes of the tensors' file."""
        blob = b"" if tensors is None else save(tensors)
        name = None if tensors is None else f"{self.key}-{hashlib.sha256(blob).hexdigest()[:16]}.safetensors"
        manifest = {"format": self.format, "version": self.version, **content, self.key: name}
        return _encode({**manifest, "digest": _digest(manifest, blob)}), name, blob

    def write(self, folder: Path, manifest: bytes, name: str | None, blob: bytes) -> None:
        """Put them there, and remove the tensors of what stood there before; OSError where that cannot be."""
        folder.mkdir(parents=True, exist_ok=True)
        if name is not None:
            replace_file(folder / name, blob)
        replace_file(folder / self.manifest, manifest)
        for old in folder.iterdir():
            if re.fullmatch(self._tensors_name, old.name) and old.name != name:
                old.unlink(missing_ok=True)

    def read(self, folder: Path) -> Sealed:
        """Read and verify the files."""
        manifest = self._read_manifest(folder)
        name, blob = manifest[self.key], b""
        if name is not None:
            try:
                blob = (folder / name).read_bytes()
            except OSError as error:
                raise self.bad(folder, f"its tensors '{name}' cannot be read: {error.strerror}") from error
        if manifest["digest"] != _digest(manifest, blob):
            raise self.bad(folder, "its digest does not match: it was truncated, edited or mixed with another")
        try:
            tensors = None if name is None else load(blob)
        except Exception as error:
            raise self.bad(folder, f"its tensors are not safetensors: {error}") from error
        return Sealed({field: manifest[field] for field in self.fields}, tensors)

    def bad(self, folder: Path, why: str, fix: str | None = None) -> ArtifactError:
        """What to raise for a folder that is not as it was saved."""
        return ArtifactError(
            f"This is not {self.what} that racer saved whole.",
            f"In '{folder}', {' '.join(why.split())}".rstrip(".") + ".",
            fix or f"Save it again with {self.again}; nothing was loaded.",
            folder=str(folder),
        )

    @property
    def _tensors_name(self) -> str:
        return rf"{self.key}-[0-9a-f]{{16}}\.safetensors"

    def _read_manifest(self, folder: Path) -> dict[str, Any]:
        name = self.manifest
        try:
            text = (folder / name).read_bytes()
            manifest = json.loads(text)
        except OSError as error:
            raise self.bad(folder, f"'{name}' cannot be read: {error.strerror}") from error
        except (ValueError, RecursionError) as error:
            raise self.bad(folder, f"'{name}' is not JSON: {error}") from error
        if not isinstance(manifest, dict) or manifest.get("format") != self.format:
            raise self.bad(folder, f"'{name}' does not say it is a {self.format}")
        if manifest.get("version") != self.version:
            raise self.bad(
                folder,
                f"the format version is {manifest.get('version')!r}, this racer reads {self.version}",
                "Load it with the racer that saved it, or update this one; nothing was loaded.",
            )
        if {*self.fields, self.key, "digest"} - manifest.keys():
            raise self.bad(folder, f"'{name}' lacks parts of a {self.format}")
        # only a plain name beside the manifest: an edited one must not lead elsewhere
        if manifest[self.key] is not None and not re.fullmatch(self._tensors_name, str(manifest[self.key])):
            raise self.bad(folder, f"'{name}' names tensors {manifest[self.key]!r}, which racer never writes")
        try:
            is_ours = text == _encode(manifest)
        except (ValueError, RecursionError):  # half a surrogate pair cannot be written
            is_ours = False
        if not is_ours:
            raise self.bad(folder, f"'{name}' was edited or cut: racer writes it in one way only")
        return manifest


def _encode(manifest: dict[str, Any]) -> bytes:
    return (json.dumps(manifest, indent=2, ensure_ascii=False) + "\n").encode()


def _digest(manifest: dict[str, Any], blob: bytes) -> str:
    rest = {key: value for key, value in manifest.items() if key != "digest"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False).encode()
    return hashlib.sha256(len(text).to_bytes(8, "big") + text + blob).hexdigest()
