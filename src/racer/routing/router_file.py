"""A router's own part of a folder: who is enrolled, on which answers, under which policy.

`router.json` and `panel-….safetensors` stand beside the method's two files, and are sealed like them.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, final

import torch
from jaxtyping import Float, Int
from torch import Tensor

from racer.artifact import SEAL as METHOD_SEAL
from racer.cases import Cases, unchecked_cases
from racer.errors import ArtifactError, RacerError
from racer.panel import Panel
from racer.plain import to_setting
from racer.routing.evidence import Evidence
from racer.routing.origin import Origin
from racer.routing.policy import AbstractPolicy
from racer.routing.policy_setting import policy_from_plain, policy_to_plain
from racer.sealed import Seal

__all__ = ["OURS", "StoredRouter", "read_router", "write_router"]

SEAL = Seal(
    format="racer-router",
    version=1,
    manifest="router.json",
    key="panel",
    fields=("method", "experts", "items", "policy", "evidence", "origin"),
    what="a router",
    again="racer fit, or router.save(folder)",
)
OURS = f"{METHOD_SEAL.ours}|{SEAL.ours}"
"""A pattern of the files that a saved router consists of."""
SHAPES: dict[str, Any] = {
    "embedding": Float[Tensor, "item feature"],
    "posterior": Float[Tensor, "item role"],
    "label": Int[Tensor, " item"],
    "expert": Int[Tensor, " answer"],
    "item": Int[Tensor, " answer"],
    "answer": Int[Tensor, " answer"],
}


@final
@dataclass(frozen=True, eq=False)
class StoredRouter:
    """All of a router but its method."""

    panel: Panel | None
    items: tuple[str, ...]
    policy: AbstractPolicy
    evidence: Evidence
    origin: Origin


def write_router(stored: StoredRouter, folder: Path) -> None:
    """Write it into a folder that has the method already; OSError where that cannot be."""
    panel = stored.panel
    content = {
        "method": _digest_of_method(folder),
        "experts": [] if panel is None else list(panel.experts),
        "items": list(stored.items),
        "policy": policy_to_plain(stored.policy),
        "evidence": asdict(stored.evidence),
        "origin": asdict(stored.origin),
    }
    tensors = None if panel is None else _tensors(panel)
    try:
        manifest, name, blob = SEAL.close(content, tensors)
        _restored(json.loads(manifest), tensors)
    except Exception as error:
        raise ArtifactError(
            "This router would not load again, so it was not saved.",
            _why(error),
            "Give its origin, its evidence and the names of experts and cases the types they declare.",
        ) from error
    SEAL.write(folder, manifest, name, blob)


def read_router(folder: Path) -> StoredRouter:
    """Read and verify it."""
    sealed = SEAL.read(folder)
    if sealed.content["method"] != _digest_of_method(folder):
        raise SEAL.bad(folder, f"'{METHOD_SEAL.manifest}' is not the method it was saved with")
    try:
        return _restored(sealed.content, sealed.tensors)
    except Exception as error:
        raise SEAL.bad(folder, f"its parts do not fit together: {_why(error)}") from error


def _restored(content: Mapping[str, Any], tensors: dict[str, Tensor] | None) -> StoredRouter:
    experts, items = (to_setting(content[name], list[str], name) for name in ("experts", "items"))
    if not all(isinstance(one, str) for one in (*experts, *items)):
        raise TypeError("an expert or an item is no text")
    panel = None if tensors is None else _panel(experts, tensors)
    if len(items) != (0 if panel is None else len(panel.cases)):
        raise TypeError(f"{len(items)} items are named")
    return StoredRouter(
        panel=panel,
        items=tuple(items),
        policy=policy_from_plain(content["policy"]),
        evidence=to_setting(content["evidence"], Evidence, "evidence"),
        origin=to_setting(content["origin"], Origin, "origin"),
    )


def _digest_of_method(folder: Path) -> str | None:
    """So that nobody's method slips in among another's answers. Its own manifest seals its tensors."""
    try:
        return hashlib.sha256((folder / METHOD_SEAL.manifest).read_bytes()).hexdigest()
    except OSError:
        return None


def _why(error: Exception) -> str:
    why = f"{error.what} {error.values}" if isinstance(error, RacerError) else f"{error}."
    return " ".join(why.split())


def _tensors(panel: Panel) -> dict[str, Tensor]:
    values = {
        "embedding": panel.cases.embedding,
        "posterior": panel.cases.posterior,
        "label": panel.label,
        "expert": panel.expert,
        "item": panel.item,
        "answer": panel.answer,
    }
    # copies: safetensors refuses tensors that share memory
    return {name: one.detach().cpu().clone(memory_format=torch.contiguous_format) for name, one in values.items()}


def _panel(experts: list[str], tensors: dict[str, Tensor]) -> Panel:
    if tensors.keys() != SHAPES.keys():
        raise TypeError(f"its tensors are {', '.join(sorted(tensors))}")
    for name, shape in SHAPES.items():
        if not isinstance(tensors[name], shape):
            raise TypeError(f"tensor '{name}' is {tensors[name].dtype} of shape {tuple(tensors[name].shape)}")
    part = {name: tensors[name] for name in ("label", "expert", "item", "answer")}
    embedding, posterior = tensors["embedding"], tensors["posterior"]
    Cases(embedding, posterior)  # checked, but kept as saved: normalising once more could move a last bit
    return Panel.from_answers(unchecked_cases(embedding, posterior), **part, experts=experts)
