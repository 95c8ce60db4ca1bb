"""Cases in a file: `id`, `embedding`, `posterior`, and perhaps `label` and the names of the `classes`.

`.npz` as NumPy writes it, without pickles, or parquet with a list in each cell of `embedding` and `posterior`. In
parquet the names of the classes are metadata of the schema.
"""

import json
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import torch
from jaxtyping import Int
from numpy.typing import ArrayLike
from torch import Tensor

from racer.answer_table import read_classes
from racer.cases import Cases
from racer.classes import to_classes
from racer.errors import ClassNamesError, DuplicateItemError, LabelError, MissingColumnError, ShapeError
from racer.files.saying import bad_file, said_of
from racer.writing import whole_file

__all__ = ["CaseFile", "read_cases", "write_cases"]

NEEDED = ("id", "embedding", "posterior")
KNOWN = (*NEEDED, "label", "classes")
METADATA = b"racer.classes"
AGAIN = "Write it again, whole: np.savez(path, id=…, embedding=…, posterior=…), or racer.files.write_cases."


@final
@dataclass(frozen=True, eq=False)
class CaseFile:
    """Cases with their ids. `label` is as the file has it, numbers or names; `labels` makes class indices of it."""

    path: Path
    ids: tuple[str, ...]
    cases: Cases
    label: np.ndarray | None
    classes: tuple[str, ...] | None

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def label_names(self) -> list[str]:
        """The different names among the labels; none where labels are numbers."""
        given = [] if self.label is None else self.label.tolist()
        return sorted({one for one in given if isinstance(one, str) and one.strip()})

    def labels(self, classes: Sequence[str] | None) -> Int[Tensor, " item"]:
        """Class indices, −1 where there is no label."""
        if self.label is None:
            return torch.full((len(self),), -1)
        with said_of(self.path):
            found = read_classes(_filled(self.label), classes, self.cases.n_roles, "label")
            return to_classes(found, self.cases.n_roles, "label", (len(self),))


def read_cases(path: str | PathLike[str]) -> CaseFile:
    """Read and check a file of cases.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/cases.npz"
    >>> np.savez(path, id=["a", "b"], embedding=np.eye(2), posterior=[[0.9, 0.1], [0.4, 0.6]], label=["cat", "dog"])
    >>> file = read_cases(path)
    >>> file.ids, file.labels(["cat", "dog"])
    (('a', 'b'), tensor([0, 1]))
    """
    path = Path(path)
    columns = _read_parquet(path) if path.suffix.lower() in (".parquet", ".pq") else _read_npz(path)
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise MissingColumnError(
            f"The file of cases lacks {', '.join(map(repr, missing))}.",
            f"'{path}' has {', '.join(map(repr, columns)) or 'nothing'}.",
            "Write id, embedding and posterior, one row a case, and label where it is known.",
            missing=missing,
            file=str(path),
        )
    with said_of(path):
        ids = _to_ids(columns["id"])
        _refuse_text(columns)
        # float32 throughout, so that files written by different hands go together
        cases = Cases(*(columns[name].astype(np.float32) for name in ("embedding", "posterior")))
        label = columns.get("label")
        for name, n in {"id": len(ids), "label": len(cases) if label is None else len(label)}.items():
            if n != len(cases):
                raise ShapeError(
                    f"'{name}' must have one entry per case.", f"Got {n} for {len(cases)} cases.", "Write one each."
                )
        return CaseFile(path, ids, cases, label, _to_names(columns.get("classes"), cases.n_roles))


def write_cases(
    path: str | PathLike[str],
    ids: Sequence[Any],
    cases: Cases,
    label: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
) -> None:
    """Write a file of cases, `.npz` or `.parquet`, whole or not at all.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/cases.parquet"
    >>> write_cases(path, ["a"], Cases([[1.0, 0.0]], [[0.9, 0.1]]), label=[0], classes=["cat", "dog"])
    >>> read_cases(path).classes
    ('cat', 'dog')
    """
    path = Path(path)
    columns: Any = {
        "id": np.asarray([str(one) for one in ids], dtype=str),
        "embedding": cases.embedding.detach().cpu().numpy(),
        "posterior": cases.posterior.detach().cpu().numpy(),
    }
    if label is not None:
        columns["label"] = np.asarray(label)
    if path.suffix.lower() not in (".npz", ".parquet", ".pq"):
        raise bad_file(path, f"files of cases end in .npz or .parquet, not {path.suffix!r}", "Name it so.")
    with whole_file(path) as hidden:
        if path.suffix.lower() == ".npz":
            named = {} if classes is None else {"classes": np.asarray(list(classes), dtype=str)}
            with hidden.open("wb") as file:
                np.savez_compressed(file, **{**columns, **named})
        else:
            table = pa.table({name: _arrow(one) for name, one in columns.items()})
            extra = {} if classes is None else {METADATA: json.dumps(list(classes)).encode()}
            pa.parquet.write_table(table.replace_schema_metadata(extra), hidden)


def _read_npz(path: Path) -> dict[str, np.ndarray]:
    try:
        with np.load(path, allow_pickle=False) as archive:
            if not isinstance(archive, np.lib.npyio.NpzFile):
                raise bad_file(path, "it holds one array, not an archive of several", AGAIN)
            return {name: archive[name] for name in archive.files if name in KNOWN}
    except (OSError, EOFError, ValueError, KeyError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        if isinstance(error, FileNotFoundError | IsADirectoryError | PermissionError):
            raise bad_file(path, error.strerror or str(error), "Name a file of cases, .npz or .parquet.") from error
        if isinstance(error, ValueError) and "allow_pickle" in str(error):
            why = "an array holds Python objects or it is no .npz; racer opens no pickles"
            raise bad_file(path, why, "Save ids and labels as plain text: np.array(ids, dtype=str).") from error
        raise bad_file(path, f"it is cut or no .npz ({type(error).__name__}: {error})", AGAIN) from error
    except (MemoryError, RuntimeError, SyntaxError, TypeError, UnicodeError, AttributeError, RecursionError) as error:
        raise bad_file(path, f"its header makes no sense ({type(error).__name__})", AGAIN) from error


def _read_parquet(path: Path) -> dict[str, Any]:
    try:
        with pa.parquet.ParquetFile(path) as file:
            here = [name for name in file.schema_arrow.names if name in KNOWN]
            metadata = (file.schema_arrow.metadata or {}).get(METADATA)
            table = file.read(columns=here)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise bad_file(path, f"it is no parquet file ({error})", "Name a file of cases, .npz or .parquet.") from error
    columns = {name: _numpy(path, name, table[name]) for name in here if name != "classes"}
    if metadata is not None:
        try:
            columns["classes"] = np.asarray(json.loads(metadata))
        except ValueError as error:
            raise bad_file(path, f"its class names are no JSON ({error})", "Write it again.") from error
    return columns


def _numpy(path: Path, name: str, column: pa.ChunkedArray) -> np.ndarray:
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    is_list = pa.types.is_list(values.type) or pa.types.is_large_list(values.type)
    if not (is_list or pa.types.is_fixed_size_list(values.type)):
        return np.asarray(values.to_numpy(zero_copy_only=False))
    width = np.asarray(pa.compute.list_value_length(values).fill_null(-1))
    odd = np.flatnonzero(width != width[0]) if len(width) else width
    if len(odd) or (len(width) and width[0] < 0):
        row = int(odd[0]) if len(odd) else 0
        raise ShapeError(
            f"'{name}' must have as many numbers in each row.",
            f"In '{path}': row {row} has {max(int(width[row]), 0)}, row 0 has {max(int(width[0]), 0)}.",
            "Embed all cases with the same classifier.",
            file=str(path),
            rows=odd.tolist(),
        )
    flat = values.flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat).reshape(len(values), -1 if len(values) else 0)


def _arrow(values: np.ndarray) -> pa.Array:
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


def _to_ids(values: np.ndarray) -> tuple[str, ...]:
    if values.ndim != 1 or values.dtype.kind not in "iuUSfO":
        raise ShapeError(
            "'id' must be one text or number a case.",
            f"Got {values.dtype} of shape {values.shape}.",
            "Give ids=np.array([...], dtype=str), in the order of the embeddings.",
        )
    if values.dtype.kind == "f":
        if not np.array_equal(values, np.floor(values)):
            rows = np.flatnonzero(values != np.floor(values))
            raise ShapeError(
                "'id' must be text or whole numbers.",
                f"Row {rows[0]} holds {values[rows[0]]}.",
                "Write ids as text.",
                rows=rows.tolist(),
            )
        values = values.astype(np.int64)
    ids = [one.decode("utf-8", "replace") if isinstance(one, bytes) else str(one) for one in values.tolist()]
    blank = [
        row for row, one in enumerate(ids) if not one.strip() or (values.dtype.kind == "O" and values[row] is None)
    ]
    if blank:
        raise ShapeError(
            "Every case needs an id.", f"Row {blank[0]} has none; {len(blank)} such.", "Name each case.", rows=blank
        )
    if len(set(ids)) < len(ids):
        seen: set[str] = set()
        again = [row for row, one in enumerate(ids) if one in seen or seen.add(one)]  # type: ignore[func-returns-value]
        raise DuplicateItemError(
            "Two cases have the same id.",
            f"Row {again[0]} is {ids[again[0]]!r} again; {len(again)} such rows.",
            "Make the ids unique; they are compared as text.",
            rows=again,
            item=ids[again[0]],
        )
    return tuple(ids)


def _to_names(values: np.ndarray | None, n_roles: int) -> tuple[str, ...] | None:
    if values is None:
        return None
    names = tuple(str(one) for one in np.ravel(values).tolist())
    if len(names) != n_roles or len(set(names)) != n_roles or not all(one.strip() for one in names):
        raise ClassNamesError(
            f"'classes' must name each of the {n_roles} classes once.",
            f"Got {len(names)} names, {len(set(names))} of them different: {', '.join(map(repr, names[:5]))}.",
            "List every class in 'classes', in the order of the posterior's columns.",
        )
    return names


def _refuse_text(columns: dict[str, np.ndarray]) -> None:
    for name in ("embedding", "posterior"):
        if columns[name].dtype.kind not in "fiub":
            raise ShapeError(
                f"'{name}' must hold numbers.",
                f"Got {columns[name].dtype}, starting {np.ravel(columns[name])[:1].tolist()}.",
                "Give one row of numbers per case.",
            )
    label = columns.get("label")
    if label is not None and (label.ndim != 1 or label.dtype.kind not in "fiubUSO"):
        raise LabelError(
            "'label' must be one class a case.",
            f"Got {label.dtype} of shape {label.shape}.",
            "Give class names or indices; leave a label empty, or −1, where it is not known.",
        )


def _filled(label: np.ndarray) -> np.ndarray | list[Any]:
    """Labels with −1 for none, where floats or Python objects stand for whole numbers with gaps."""
    if label.dtype.kind == "S":
        return [one.decode("utf-8", "replace") or None for one in label.tolist()]
    if label.dtype.kind == "U":
        return [one if one.strip() else None for one in label.tolist()]
    if label.dtype.kind == "O":
        return list(label.tolist())
    if label.dtype.kind == "f":
        filled = np.where(np.isnan(label), -1, label)
        bad = np.flatnonzero(filled != np.floor(filled))
        if len(bad):
            raise LabelError(
                "'label' holds what is no class.",
                f"Row {bad[0]} holds {label[bad[0]]}; {len(bad)} of {len(label)} rows.",
                "Give class names or whole numbers; leave a label empty, or −1, where it is not known.",
                rows=bad.tolist(),
            )
        return np.where(np.isfinite(filled), filled, 1e9).astype(np.int64)
    return label
