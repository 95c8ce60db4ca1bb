"""Who answered what, read from a long table: one row an answer.

Columns `expert, item, answer` and optionally `label` (the truth); or crowd-kit's `task, worker, label`, where `label`
is what the worker answered. Anything Arrow can read is taken: a pandas or polars frame, a pyarrow table, a mapping of
columns, the path of a CSV or parquet file. Empty answers, and −1 among numbers, mean "did not answer" and are left
out; the experts of such rows stay. Other columns are not looked at.
"""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet
from jaxtyping import Int

from racer.classes import refuse_unordered
from racer.errors import (
    DuplicateAnswerError,
    LabelError,
    MissingColumnError,
    ShapeError,
    UnknownExpertError,
    UnknownItemError,
)
from racer.naming import did_you_mean, some_names

__all__ = ["AnswerTable", "as_text", "in_order_of", "is_numeric", "is_text", "read_answers", "read_classes"]

NATIVE = {name: name for name in ("expert", "item", "answer", "label")}
CROWD_KIT = {"expert": "worker", "item": "task", "answer": "label"}


@final
@dataclass(frozen=True, eq=False)
class AnswerTable:
    """Answers as integers: positions in `experts`, in the items asked for, in the classes."""

    experts: tuple[str, ...]
    expert: Int[np.ndarray, " answer"]
    item: Int[np.ndarray, " answer"]
    answer: Int[np.ndarray, " answer"]
    label: Int[np.ndarray, " answer"] | None


def read_answers(
    table: Any, items: Sequence[Any], classes: Sequence[str] | None, n_roles: int, *, with_label: bool = True
) -> AnswerTable:
    """Read a long table against the ids of the cases it speaks of.

    Ids are compared as text, so 7 in a parquet file and "7" in a CSV are the same item, and "007" is another.

    >>> table = {"expert": ["ada", "bo"], "item": [7, 8], "answer": ["cat", "dog"]}
    >>> read_answers(table, items=["8", "7"], classes=["cat", "dog"], n_roles=2).item
    array([1, 0])
    """
    ids, names = _item_ids(items), _class_names(classes, n_roles)
    arrow = _to_arrow(table, named_classes=classes is not None)
    columns = {name: _blank_to_null(_as_column(arrow[column])) for name, column in _column_names(arrow).items()}
    answer = _to_classes(columns["answer"], names, n_roles, "answer")
    answered = answer >= 0
    row = np.flatnonzero(answered)
    who, which = (as_text(columns[name], name) for name in ("expert", "item"))
    experts = who.unique().drop_null()
    expert, item = _positions(who, experts)[row], _positions(which, ids)[row]
    _refuse_unknown(expert, item, row, which)
    _refuse_repeated(expert, item, row, experts, ids)
    has_label = with_label and "label" in columns
    return AnswerTable(
        experts=tuple(experts.to_pylist()),
        expert=expert,
        item=item,
        answer=answer[row],
        label=_to_classes(columns["label"], names, n_roles, "label", answered)[row] if has_label else None,
    )


def read_classes(values: Any, classes: Sequence[str] | None, n_roles: int, name: str) -> Any:
    """Class indices for class names. Numbers are indices already, unless numbers are what the classes are called.

    >>> read_classes(["dog", None], classes=["cat", "dog"], n_roles=2, name="label")
    array([ 1, -1])
    """
    if classes is None:
        return values
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    named_by_text = all(isinstance(one, str) for one in classes)
    if named_by_text and not any(isinstance(one, str) for one in np.asarray(values, dtype=object).flat):
        return values
    return _to_classes(_blank_to_null(_as_column(values)), _class_names(classes, n_roles), n_roles, name)


def in_order_of(items: Sequence[Any], values: Any, name: str) -> Any:
    """Values in the order of the items, where they come by id; else as they are.

    >>> in_order_of(["a", "b"], {"b": 1, "a": 0}, "label")
    [0, 1]
    """
    by_id = values if isinstance(values, Mapping) else None
    if by_id is None and hasattr(values, "index") and hasattr(values, "to_numpy"):
        index = list(values.index)
        if index == list(range(len(index))):
            return values.to_numpy()
        by_id = dict(zip(index, values.to_list(), strict=True))
    if by_id is None:
        return values
    by_text = {str(one): value for one, value in by_id.items()}
    missing = [str(one) for one in items if str(one) not in by_text]
    if missing:
        raise UnknownItemError(
            f"'{name}' is given by id, and lacks some.",
            f"It has none for {missing[0]!r}; {len(missing)} of {len(items)} cases.",
            "Give one for each case; where the order is that of the cases, give the plain values: series.to_numpy().",
            name=name,
        )
    return [by_text[str(one)] for one in items]


def _to_arrow(table: Any, named_classes: bool) -> pa.Table:
    try:
        if isinstance(table, (str, PathLike)):
            path = Path(table)
            is_parquet = path.suffix.lower() in (".parquet", ".pq")
            return pa.parquet.read_table(path) if is_parquet else _read_csv(path, named_classes)
        if isinstance(table, Mapping):
            return pa.table({str(name): _as_column(table[name]) for name in table})
        try:
            return pa.table(table)
        except pa.ArrowException:  # a data frame with ids of several kinds in one column
            return pa.table({str(name): _as_column(table[name]) for name in table.columns})
    except (OSError, TypeError, ValueError, AttributeError, pa.ArrowException) as error:
        source = repr(str(table)) if isinstance(table, (str, PathLike)) else f"a {type(table).__name__}"
        raise ShapeError(
            "The table of answers cannot be read.",
            f"Reading {source} raised {type(error).__name__}: {' '.join(str(error).split())}",
            "Give a data frame, a pyarrow table, {column: values} of equal lengths, or the path of a CSV or parquet.",
        ) from error


def _read_csv(path: Path, named_classes: bool) -> pa.Table:
    # left to guess, a reader turns the ids 007 and 1e5 into the numbers 7 and 100000, and the class True into true
    ids = {"expert", "item", *CROWD_KIT.values()} - {"label"}
    text = ids | {"answer", "label"} if named_classes else ids
    kinds = pa.csv.ConvertOptions(column_types=dict.fromkeys(text, pa.large_string()))
    return pa.csv.read_csv(path, convert_options=kinds)


def _as_column(values: Any) -> pa.Array:
    if isinstance(values, pa.ChunkedArray):
        return values.combine_chunks()
    if hasattr(values, "detach"):
        values = values.detach().cpu().numpy()
    try:
        return pa.array(values, from_pandas=True)
    except pa.ArrowException:  # several kinds in one column
        return pa.array([None if _is_missing(one) else str(one) for one in values])


def _is_missing(one: Any) -> bool:
    try:
        return one is None or bool(one != one)
    except TypeError:  # pandas' NA is neither equal to itself nor not
        return True
    except ValueError:  # an array
        return False


def _item_ids(items: Sequence[Any]) -> pa.Array:
    refuse_unordered(items, "items")
    ids = as_text(_blank_to_null(_as_column(items)), "items")
    seen = ids.value_counts()
    if len(seen) < len(ids):
        often = int(seen.field("counts").to_numpy().argmax())
        raise ShapeError(
            "'items' must give each case an id of its own.",
            f"{seen[often]['values'].as_py()!r} stands there {seen[often]['counts']} times.",
            "Make the ids unique; they are compared as text.",
        )
    return ids


def _class_names(classes: Sequence[str] | None, n_roles: int) -> pa.Array | None:
    if classes is None:
        return None
    refuse_unordered(classes, "classes")
    names = as_text(_blank_to_null(_as_column(classes)), "classes")
    n_different = len(names.drop_null().unique())
    if not n_roles == len(names) == n_different:
        raise LabelError(
            f"'classes' must name each of the {n_roles} classes once.",
            f"Got {len(names)} names, {n_different} of them different: {', '.join(map(repr, names.to_pylist()[:5]))}.",
            "List every class in 'classes', in the order of the posterior's columns.",
        )
    return names


def _column_names(arrow: pa.Table) -> dict[str, str]:
    have = {name for name in arrow.column_names if arrow.column_names.count(name) == 1}
    if {"expert", "item", "answer"} <= have:
        return {name: column for name, column in NATIVE.items() if column in have}
    if set(CROWD_KIT.values()) <= have:
        return CROWD_KIT
    only = arrow.column_names[0] if len(arrow.column_names) == 1 else ""
    other = next((mark for mark in ";\t|" if mark in only), None)
    hint = "" if other is None else f" It looks separated by {other!r}: pandas.read_csv(path, sep={other!r}) reads it."
    fix = "Rename its columns to expert, item, answer (and label, the truth), or to crowd-kit's task, worker, label."
    missing = sorted({"expert", "item", "answer"} - have)
    raise MissingColumnError(
        f"The table of answers lacks {', '.join(repr(name) for name in missing)}.",
        f"It has the columns {', '.join(repr(name) for name in arrow.column_names) or '(none)'}.",
        fix + hint,
        missing=missing,
        columns=arrow.column_names,
    )


def _blank_to_null(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if is_text(column.type):
        column = column.cast(pa.large_string())
        return pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)
    return pc.if_else(pc.is_nan(column), None, column) if pa.types.is_floating(column.type) else column


def is_text(kind: pa.DataType) -> bool:
    """Whether a column holds text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_numeric(kind: pa.DataType) -> bool:
    """Whether a column holds numbers, or nothing."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)
    return any(one(kind) for one in kinds)


def as_text(column: pa.Array, name: str) -> pa.Array:
    """Ids as text: whole numbers without a point, truth values as Python writes them."""
    if pa.types.is_floating(column.type):
        with contextlib.suppress(pa.ArrowInvalid):
            column = column.cast(pa.int64())  # integers that had gaps; 1e16 would not read as one
    if pa.types.is_boolean(column.type):
        column = pc.if_else(column, "True", "False")  # as Python and pandas write them
    try:
        return column.cast(pa.large_string())
    except pa.ArrowException as error:
        raise ShapeError(
            f"'{name}' must hold text or numbers.",
            f"Got {column.type}, starting {str(column[:1].to_pylist())[:60]}.",
            "Give one plain id a row.",
            name=name,
        ) from error


def _positions(text: pa.Array, among: pa.Array) -> Int[np.ndarray, " row"]:
    """Position of each text in `among`, −1 where it is not there."""
    found = pc.fill_null(pc.index_in(text, value_set=among, skip_nulls=True), -1)
    return np.asarray(found, dtype=np.int64)


def _to_classes(
    column: pa.Array, names: pa.Array | None, n_roles: int, name: str, where: np.ndarray | bool = True
) -> Int[np.ndarray, " row"]:
    """Class indices, −1 where there is none; checked only in the rows `where` says."""
    if names is not None:
        position = _positions(as_text(column, name), names)
        bad = (position < 0) & np.asarray(column.is_valid())
        fix = (
            "List every class in 'classes', in the order of the posterior's columns; leave a cell empty for no answer."
        )
    elif not is_numeric(column.type):
        position, bad = np.full(len(column), -1), np.asarray(column.is_valid())
        fix = f"Give classes=[…] (--classes a,b), the {n_roles} class names in the order of the posterior's columns."
    else:
        number = column.cast(pa.float64(), safe=False).fill_null(-1).to_numpy()
        bad = (number != np.floor(number)) | (number < -1) | (number >= n_roles)
        position = np.where(bad, -1, number).astype(np.int64)
        fix = f"Classes run from 0 to {n_roles - 1}; for no answer leave the cell empty, for names give classes=[…]."
    bad = bad & where
    if bad.any():
        rows = np.flatnonzero(bad)
        odd = column[rows[0]].as_py()
        near = "" if names is None else did_you_mean(str(odd), names.to_pylist())
        known = "" if names is None else f" Classes are {some_names(names.to_pylist())}."
        raise LabelError(
            f"'{name}' holds what is no class.",
            f"Row {rows[0]} holds {odd!r}; {len(rows)} of {len(bad)} rows.{known}",
            f"{near} {fix}".strip(),
            column=name,
            rows=rows.tolist(),
        )
    return position


def _refuse_unknown(expert: np.ndarray, item: np.ndarray, row: np.ndarray, which: pa.Array) -> None:
    nobody, nothing = row[expert < 0], row[item < 0]
    if len(nobody):
        raise UnknownExpertError(
            "The table of answers holds answers of nobody.",
            f"Row {nobody[0]} has an answer but no expert; {len(nobody)} of {len(row)} answers.",
            "Name the expert of each answer, or drop these rows.",
            rows=nobody.tolist(),
        )
    if len(nothing):
        raise UnknownItemError(
            "The table of answers names items that no case carries.",
            f"Row {nothing[0]} asks for {which[nothing[0]].as_py()!r}; {len(nothing)} of {len(row)} answers.",
            "Add these cases, or drop the rows; ids are compared as text.",
            rows=nothing.tolist(),
        )


def _refuse_repeated(expert: np.ndarray, item: np.ndarray, row: np.ndarray, experts: pa.Array, ids: pa.Array) -> None:
    key = expert * (len(ids) + 1) + item
    order = np.argsort(key, kind="stable")
    again = np.sort(order[1:][key[order[1:]] == key[order[:-1]]])
    if len(again):
        who, which = experts[expert[again[0]]].as_py(), ids[item[again[0]]].as_py()
        raise DuplicateAnswerError(
            "An expert answered an item twice in the table.",
            f"Row {row[again[0]]} is expert {who!r} on item {which!r} again; {len(again)} such rows.",
            "Keep one answer for each expert and item, for example the last.",
            expert=who,
            item=which,
            rows=row[again].tolist(),
        )
