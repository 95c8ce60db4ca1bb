"""Cases in a file: `id`, `embedding`, `posterior`, and perhaps `label` and the names of the `classes`.

`.npz` as NumPy writes it, without pickles, or parquet with a list in each cell of `embedding` and `posterior`. In
parquet the names of the classes are metadata of the schema.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
from racer.cases import Cases, unchecked_cases
from racer.classes import to_classes
from racer.errors import ClassNamesError, DuplicateItemError, LabelError, MissingColumnError, ShapeError
from racer.files.answer_file import is_number
from racer.files.saying import bad_file, require_file, said_of
from racer.writing import whole_file

__all__ = ["CaseFile", "read_cases", "write_cases"]

NEEDED = ("id", "embedding", "posterior")
KNOWN = (*NEEDED, "label", "classes")
METADATA = b"racer.classes"
NAME_IT = "Name a file of cases, .npz or .parquet."
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

    def __repr__(self) -> str:
        return f"CaseFile('{self.path}', {self.cases!r}; .cases has them, .ids their names)"

    @property
    def label_names(self) -> list[str]:
        """The different labels that are text, numbers in text among them."""
        given = [] if self.label is None else self.label.tolist()
        return sorted({one for one in given if isinstance(one, str) and one.strip()})

    def labels(self, classes: Sequence[str] | None) -> Int[Tensor, " item"]:
        """Class indices, −1 where there is no label."""
        if self.label is None:
            return torch.full((len(self),), -1)
        with said_of(self.path):
            filled = _filled(self.label, is_named=classes is not None)
            found = read_classes(filled, classes, self.cases.n_roles, "label")
            return to_classes(found, self.cases.n_roles, "label", (len(self),))

    def of_classes(self, classes: Sequence[str] | None) -> "CaseFile":
        """The same cases, where classes have these names; those beyond the posterior's columns get probability 0.

        So an answer that the classifier cannot give, such as "other", is an answer all the same.
        """
        if classes is None:
            return self
        names, n_columns = tuple(classes), self.cases.n_roles
        ours = self.classes or names[:n_columns]
        if len(names) < n_columns or names[: len(ours)] != ours:
            called = "" if self.classes is None else f" called {', '.join(self.classes)}"
            raise ClassNamesError(
                "The cases have other classes, or in another order.",
                f"'{self.path}' has {n_columns} columns{called}; asked for {', '.join(names)}.",
                "Name the posterior's columns in their order; classes that the classifier does not know come last.",
            )
        missing = (0, len(names) - n_columns)
        posterior = torch.nn.functional.pad(self.cases.posterior, missing)
        return replace(self, cases=unchecked_cases(self.cases.embedding, posterior), classes=names)


def read_cases(path: str | PathLike[str], classes: Sequence[str] | None = None) -> CaseFile:
    """Read and check a file of cases; `classes` names the posterior's columns, and classes the classifier lacks.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/cases.npz"
    >>> np.savez(path, id=["a", "b"], embedding=np.eye(2), posterior=[[0.9, 0.1], [0.4, 0.6]], label=["cat", "dog"])
    >>> file = read_cases(path)
    >>> file.ids, file.labels(["cat", "dog"])
    (('a', 'b'), tensor([0, 1]))
    """
    path = Path(path)
    require_file(path, NAME_IT)
    is_parquet = path.suffix.lower() in (".parquet", ".pq")
    columns, others = _read_parquet(path) if is_parquet else _read_npz(path)
    return _checked(path, columns, others).of_classes(classes)


def _checked(path: Path, columns: dict[str, np.ndarray], others: Sequence[str] = ()) -> CaseFile:
    missing = [name for name in NEEDED if name not in columns]
    if missing:
        raise MissingColumnError(
            f"The file of cases lacks {', '.join(map(repr, missing))}.",
            f"'{path}' has {', '.join(map(repr, [*columns, *others][:12])) or 'nothing'}.",
            "Write id, embedding and posterior, one row a case, and label where it is known.",
            missing=missing,
            file=str(path),
        )
    with said_of(path):
        columns = {name: _decoded(name, values) for name, values in columns.items()}
        ids = _to_ids(columns["id"])
        _refuse_text(columns)
        # float32 throughout, so that files written by different hands go together
        with np.errstate(over="ignore"):
            cases = Cases(*(columns[name].astype(np.float32) for name in ("embedding", "posterior")))
        label = columns.get("label")
        for name, n in {"id": len(ids), "label": len(cases) if label is None else len(label)}.items():
            if n != len(cases):
                raise ShapeError(
                    f"'{name}' must have one entry per case.", f"Got {n} for {len(cases)} cases.", "Write one each."
                )
        names = _to_names(columns.get("classes"), cases.n_roles)
        known = None if names is None else names[: cases.n_roles]
        return CaseFile(path, ids, cases, label, known).of_classes(names)


def write_cases(
    path: str | PathLike[str],
    ids: Sequence[Any],
    cases: Cases,
    label: ArrayLike | None = None,
    classes: Sequence[str] | None = None,
) -> None:
    """Write a file of cases, `.npz` or `.parquet`, whole or not at all. What could not be read again is refused.

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
        given = np.asarray(label)
        if given.dtype.kind == "U":  # which makes a name of a gap
            given = np.asarray(label, dtype=object)
        with said_of(path):
            filled = _filled(_decoded("label", given), is_named=True)
        is_list = isinstance(filled, list)
        columns["label"] = np.array(["" if one is None else str(one) for one in filled]) if is_list else filled
    if classes is not None:
        columns["classes"] = np.asarray([str(one) for one in classes], dtype=str)
    if path.suffix.lower() not in (".npz", ".parquet", ".pq"):
        raise bad_file(path, f"files of cases end in .npz or .parquet, not {path.suffix!r}", "Name it so.")
    _checked(path, columns)
    with whole_file(path) as hidden:
        if path.suffix.lower() == ".npz":
            with hidden.open("wb") as file:
                np.savez_compressed(file, **columns)
        else:
            table = pa.table({name: _arrow(one) for name, one in columns.items() if name != "classes"})
            extra = {METADATA: json.dumps(columns["classes"].tolist()).encode()} if "classes" in columns else {}
            pa.parquet.write_table(table.replace_schema_metadata(extra), hidden)


def _read_npz(path: Path) -> tuple[dict[str, np.ndarray], list[str]]:
    """What is known, and the names of what else is there."""
    with path.open("rb") as file:
        head = file.read(6)
        if head[:2] != b"PK":
            why = "it holds one array, not an archive of several" if head == b"\x93NUMPY" else "it is no .npz"
            raise bad_file(path, why, AGAIN)
        file.seek(0)
        try:
            archive = np.load(file, allow_pickle=False)
            others = [name for name in archive.files if name not in KNOWN]
            return {name: archive[name] for name in archive.files if name in KNOWN}, others
        except Exception as error:  # a damaged archive can raise anything
            if "allow_pickle" in str(error):
                why = "an array holds Python objects or it is no .npz; racer opens no pickles"
                raise bad_file(path, why, "Save ids and labels as plain text: np.array(ids, dtype=str).") from error
            raise bad_file(path, f"it is cut or no .npz ({type(error).__name__}: {error})", AGAIN) from error


def _read_parquet(path: Path) -> tuple[dict[str, Any], list[str]]:
    try:
        with pa.parquet.ParquetFile(path) as file:
            names = file.schema_arrow.names
            here = [name for name in names if name in KNOWN]
            metadata = (file.schema_arrow.metadata or {}).get(METADATA)
            table = file.read(columns=here)
            table.validate(full=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise bad_file(path, f"it is damaged, or no parquet file ({error})", NAME_IT) from error
    twice = sorted({name for name in here if here.count(name) > 1})
    if twice:
        raise bad_file(path, f"it has two columns {twice[0]!r}", "Keep one of them.")
    columns = {name: _numpy(path, name, table[name]) for name in here if name != "classes"}
    if metadata is not None:
        try:
            columns["classes"] = np.asarray(json.loads(metadata))
        except ValueError as error:
            raise bad_file(path, f"its class names are no JSON ({error})", AGAIN) from error
    return columns, [name for name in names if name not in KNOWN]


def _numpy(path: Path, name: str, column: pa.ChunkedArray) -> np.ndarray:
    values = column.combine_chunks()
    if isinstance(values, pa.ChunkedArray):
        values = pa.concat_arrays(values.chunks) if values.num_chunks else pa.array([], values.type)
    is_list = pa.types.is_list(values.type) or pa.types.is_large_list(values.type)
    is_fixed = pa.types.is_fixed_size_list(values.type)
    if not (is_list or is_fixed):
        if pa.types.is_decimal(values.type):
            values = values.cast(pa.float64())
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
    n_columns = values.type.list_size if is_fixed else width[0] if len(width) else 0
    return np.asarray(flat).reshape(len(values), n_columns)


def _arrow(values: np.ndarray) -> pa.Array:
    if values.ndim == 1:
        return pa.array(values)
    return pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])


def _decoded(name: str, values: np.ndarray) -> np.ndarray:
    """Bytes as text. Text that is no Unicode is refused: nothing could print it."""
    try:
        if values.dtype.kind == "O":
            plain = [one.decode() if isinstance(one, bytes) else one for one in values.ravel().tolist()]
            values = np.array([*plain, None], dtype=object)[:-1].reshape(values.shape)
        if values.dtype.kind == "S":
            values = np.char.decode(values, "utf-8")
        if values.dtype.kind == "U":
            "".join(values.ravel().tolist()).encode()
    except (ValueError, SystemError) as error:
        raise ShapeError(
            f"'{name}' holds text that is no Unicode.", f"Reading it said: {error}.", "Write the text as UTF-8."
        ) from error
    return values


def _to_ids(values: np.ndarray) -> tuple[str, ...]:
    if values.ndim != 1 or values.dtype.kind not in "iuUfO":
        raise ShapeError(
            "'id' must be one text or number a case.",
            f"Got {values.dtype} of shape {values.shape}.",
            "Give ids=np.array([...], dtype=str), in the order of the embeddings.",
        )
    if values.dtype.kind == "f":
        rows = np.flatnonzero(~_is_whole(values))
        if len(rows):
            raise ShapeError(
                "'id' must be text or whole numbers.",
                f"Row {rows[0]} holds {values[rows[0]]}.",
                "Write ids as text.",
                rows=rows.tolist(),
            )
        values = values.astype(np.int64)
    _refuse_things("id", values)
    # without blanks around them, as ids in tables of answers
    ids = ["" if _is_blank(one) else str(one).strip() for one in values.tolist()]
    blank = [row for row, one in enumerate(ids) if not one]
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
    if len(names) < n_roles or len(set(names)) < len(names) or not all(one.strip() for one in names):
        raise ClassNamesError(
            f"'classes' must name each of the posterior's {n_roles} columns once.",
            f"Got {len(names)} names, {len(set(names))} of them different: {', '.join(map(repr, names[:5]))}.",
            "List every class in 'classes', in the order of the columns; those the classifier does not know come last.",
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
    if label is not None and (label.ndim != 1 or label.dtype.kind not in "fiubUO"):
        raise LabelError(
            "'label' must be one class a case.",
            f"Got {label.dtype} of shape {label.shape}.",
            "Give class names or indices; leave a label empty, or −1, where it is not known.",
        )
    if label is not None:
        _refuse_things("label", label)


def _refuse_things(name: str, values: np.ndarray) -> None:
    if values.dtype.kind != "O":
        return
    odd = [row for row, one in enumerate(values.tolist()) if not (_is_blank(one) or isinstance(one, str | int | float))]
    if odd:
        raise ShapeError(
            f"'{name}' must be one text or number a case.",
            f"Row {odd[0]} holds {str(values[odd[0]])[:60]}, a {type(values[odd[0]]).__name__}.",
            "Write it as text.",
            rows=odd,
        )


def _is_blank(one: Any) -> bool:
    return one is None or (isinstance(one, float) and one != one) or (isinstance(one, str) and not one.strip())


def _is_whole(values: np.ndarray) -> np.ndarray:
    """Whether each is an integer, and small enough that a float can tell it from the next."""
    wide = values.astype(np.float64)
    return np.asarray(np.isfinite(wide) & (wide == np.floor(wide)) & (np.abs(wide) < 2.0**53))


def _filled(label: np.ndarray, *, is_named: bool) -> np.ndarray | list[Any]:
    """Names with None for none, or whole numbers with −1 for none, whatever stood for them in the file."""
    if label.dtype.kind in "UO":
        plain = [None if _is_blank(one) else one for one in label.tolist()]
        text = [one for one in plain if isinstance(one, str)]
        if text and (is_named or not all(map(is_number, text))):
            return plain
        label = np.array([np.nan if one is None else float(one) for one in plain], dtype=np.float64)
    if label.dtype.kind != "f":
        return label
    filled = np.where(np.isnan(label), -1, label)
    bad = np.flatnonzero(~_is_whole(filled))
    if len(bad):
        raise LabelError(
            "'label' holds what is no class.",
            f"Row {bad[0]} holds {label[bad[0]]}; {len(bad)} of {len(label)} rows.",
            "Give class names or whole numbers; leave a label empty, or −1, where it is not known.",
            rows=bad.tolist(),
        )
    return filled.astype(np.int64)
