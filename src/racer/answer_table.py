"""Who answered what, read from a long table: one row an answer.

Columns `expert, item, answer` and optionally `label` (the truth); or crowd-kit's `task, worker, label`, where `label`
is what the worker answered. Anything Arrow can read is taken: a pandas or polars frame, a pyarrow table, a mapping of
columns, the path of a CSV or parquet file. Empty answers mean "did not answer" and are left out.
"""

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

from racer.errors import DuplicateAnswerError, LabelError, MissingColumnError, UnknownItemError

__all__ = ["AnswerTable", "read_answers"]

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


def read_answers(table: Any, items: Sequence[Any], classes: Sequence[str] | None, n_roles: int) -> AnswerTable:
    """Read a long table against the ids of the cases it speaks of.

    Ids are compared as text, so 7 in a parquet file and "7" in a CSV are the same item.

    >>> table = {"expert": ["ada", "bo"], "item": [7, 8], "answer": ["cat", "dog"]}
    >>> read_answers(table, items=["8", "7"], classes=["cat", "dog"], n_roles=2).item
    array([1, 0])
    """
    arrow = _to_arrow(table)
    names = _column_names(arrow)
    arrow = arrow.filter(pc.is_valid(_blank_to_null(arrow[names["answer"]])))
    expert_text, item_text = _as_text(arrow[names["expert"]]), _as_text(arrow[names["item"]])
    experts = pc.unique(expert_text)
    read = AnswerTable(
        experts=tuple(experts.to_pylist()),
        expert=_positions(expert_text, experts),
        item=_find_items(item_text, items),
        answer=_to_classes(arrow[names["answer"]], classes, n_roles, names["answer"]),
        label=_to_classes(arrow[names["label"]], classes, n_roles, names["label"]) if "label" in names else None,
    )
    _refuse_duplicates(read, items)
    return read


def _to_arrow(table: Any) -> pa.Table:
    if isinstance(table, (str, PathLike)):
        path = Path(table)
        return pa.parquet.read_table(path) if path.suffix in (".parquet", ".pq") else pa.csv.read_csv(path)
    if isinstance(table, pa.Table):
        return table
    if isinstance(table, Mapping) or hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    return pa.Table.from_pandas(table, preserve_index=False)


def _column_names(arrow: pa.Table) -> dict[str, str]:
    have = set(arrow.column_names)
    if {"expert", "item", "answer"} <= have:
        return {name: name for name in ("expert", "item", "answer", "label") if name in have}
    if set(CROWD_KIT.values()) <= have:
        return CROWD_KIT
    missing = sorted({"expert", "item", "answer"} - have)
    raise MissingColumnError(
        f"The table of answers lacks {', '.join(repr(name) for name in missing)}.",
        f"It has the columns {', '.join(repr(name) for name in arrow.column_names)}.",
        "Rename its columns to expert, item, answer (and label, the truth), or to crowd-kit's task, worker, label.",
        missing=missing,
        columns=arrow.column_names,
    )


def _blank_to_null(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
        return pc.if_else(pc.equal(pc.utf8_trim_whitespace(column), ""), None, column)
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_nan(column), None, column)
    return column


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_floating(column.type) and pc.all(pc.equal(pc.floor(column), column)).as_py():
        column = column.cast(pa.int64())  # integers that had gaps
    return column.cast(pa.large_string()).combine_chunks()


def _positions(text: pa.Array, among: pa.Array) -> Int[np.ndarray, " row"]:
    """Position of each text in `among`, −1 where it is not there."""
    found = pc.fill_null(pc.index_in(text, value_set=among), -1)
    return np.asarray(found, dtype=np.int64)


def _find_items(text: pa.Array, items: Sequence[Any]) -> Int[np.ndarray, " row"]:
    known = _as_text(pa.chunked_array([pa.array(np.asarray(items).tolist())]))
    position = _positions(text, known)
    if (position < 0).any():
        rows = np.flatnonzero(position < 0)
        raise UnknownItemError(
            "The table of answers names items that no case carries.",
            f"Row {rows[0]} asks for {text[rows[0]].as_py()!r}; {len(rows)} of {len(text)} rows.",
            "Add these cases, or drop the rows; ids are compared as text.",
            rows=rows.tolist(),
        )
    return position


def _to_classes(
    column: pa.ChunkedArray, classes: Sequence[str] | None, n_roles: int, name: str
) -> Int[np.ndarray, " row"]:
    if classes is not None:
        text = _as_text(column)
        position = _positions(text, pa.array([str(one) for one in classes], pa.large_string()))
        if (position < 0).any():
            rows = np.flatnonzero(position < 0)
            raise LabelError(
                f"Column '{name}' holds classes that 'classes' does not name.",
                f"Row {rows[0]} holds {text[rows[0]].as_py()!r}; classes are {list(classes)[:8]}.",
                "List every class, in the order of the posterior's columns.",
                rows=rows.tolist(),
            )
        return position
    if pa.types.is_floating(column.type) and pc.all(pc.equal(pc.floor(column), column)).as_py():
        column = column.cast(pa.int64())
    if not pa.types.is_integer(column.type):
        raise LabelError(
            f"Column '{name}' does not hold integers.",
            f"Its type is {column.type}, its first value {column[0].as_py()!r}.",
            f"Give classes=[…], the {n_roles} class names in the order of the posterior's columns.",
            column=name,
        )
    values = np.asarray(column.combine_chunks(), dtype=np.float64 if column.null_count else np.int64)
    return np.where(np.isnan(values), -1, values).astype(np.int64) if column.null_count else values


def _refuse_duplicates(table: AnswerTable, items: Sequence[Any]) -> None:
    key = table.expert * (len(items) + 1) + table.item
    _, first, count = np.unique(key, return_index=True, return_counts=True)
    if (count > 1).any():
        row = int(first[count > 1][0])
        raise DuplicateAnswerError(
            "An expert answered an item twice in the table.",
            f"Expert {table.experts[table.expert[row]]!r} on item {items[table.item[row]]!r}; "
            f"{int((count > 1).sum())} such pairs.",
            "Keep one answer for each expert and item, for example the last.",
            expert=table.experts[table.expert[row]],
            item=items[table.item[row]],
        )
