"""Answers in a file: long (`item, expert, answer`, perhaps `label`) or wide (one column an expert, empty = no answer).

CSV or parquet. In a CSV everything is read as text, so that the ids 007 and 1e5 stay what they are; what the answers
are is decided with the classes. The names crowd-kit gives its columns, `task, worker, label`, are long too.
"""

import contextlib
import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from racer.errors import ClassNamesError, DuplicateExpertError, FileFormatError, LabelError, MissingColumnError
from racer.files.saying import bad_file, said_of

__all__ = ["AnswerFile", "read_answer_file"]

LONG = (
    {"item": "item", "expert": "expert", "answer": "answer"},
    {"item": "task", "expert": "worker", "answer": "label"},
)
CASE = ("item", "id", "case", "task")
"""What the column of a wide table that names the case may be called."""
OF_LONG = {"expert", "worker", "annotator", "answer", "response", "reader"}
"""Columns that show a table was meant to be long."""
TEXT = pa.large_string()


@final
@dataclass(frozen=True, eq=False)
class AnswerFile:
    """One row an answer, in text where the file has text: `item`, `expert`, `answer`, and `label` where it is given."""

    path: Path
    table: pa.Table
    place: Callable[[int], str]

    @property
    def has_label(self) -> bool:
        """Whether the truth stands beside the answers."""
        return "label" in self.table.column_names

    def class_column(self, name: str, classes: Sequence[str] | None) -> pa.Array:
        """`answer` or `label`, as names where there are names, else as numbers."""
        column = self.table[name].combine_chunks()
        return column if classes is not None else _as_numbers(column)

    def names(self) -> list[str]:
        """The different class names; none where every class is a number."""
        parts = [self.table[name].combine_chunks() for name in ("answer", "label") if name in self.table.column_names]
        said = {one for part in parts if _is_text(part.type) for one in part.unique().drop_null().to_pylist()}
        numbers = {one for one in said if _is_number(one)}
        if numbers == said:
            return []
        if numbers:
            self._refuse_mixture(parts, numbers, said)
        return sorted(said)

    def _refuse_mixture(self, parts: list[pa.Array], numbers: set[str], said: set[str]) -> None:
        # the kind of which there are fewer is the slip
        odd = pa.array(sorted(numbers if len(numbers) < len(said - numbers) else said - numbers), TEXT)
        rows = np.flatnonzero(pc.is_in(parts[0].cast(TEXT), value_set=odd).to_numpy(zero_copy_only=False))
        row = int(rows[0]) if len(rows) else None
        with said_of(self.path, self.place):
            raise LabelError(
                "Classes are names in some rows and numbers in others.",
                f"{odd[0].as_py()!r} beside {sorted(said - set(odd.to_pylist()))[:3]}; {len(rows)} answers.",
                "Give all as names, or all as numbers from 0; where the names are numbers, --classes lists them.",
                rows=[] if row is None else rows.tolist(),
            )


def read_answer_file(path: str | PathLike[str]) -> AnswerFile:
    """Read a table of answers; what it says is not looked at yet.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "answers.csv"
    >>> _ = path.write_text("item,ada,bo\\n7,cat,dog\\n8,,dog\\n")
    >>> read_answer_file(path).table.to_pydict()["expert"]
    ['ada', 'ada', 'bo', 'bo']
    """
    path = Path(path)
    is_csv = path.suffix.lower() not in (".parquet", ".pq")
    table, line_of = _read_csv(path) if is_csv else (_read_parquet(path), int)

    def place(row: int) -> str:
        return f"{'line' if is_csv else 'row'} {line_of(row)}"

    columns = _long_names(table)
    if columns is not None:
        with said_of(path):
            return AnswerFile(path, pa.table({to: _text(table[name]) for to, name in columns.items()}), place)
    return _melted(path, table, _case_column(path, table), place)


def _read_csv(path: Path) -> tuple[pa.Table, Callable[[int], int]]:
    try:
        with path.open("rb") as file:
            head = file.read(1 << 16)
    except OSError as error:
        raise bad_file(path, error.strerror or str(error), "Name a table of answers, .csv or .parquet.") from error
    if head[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise bad_file(path, "it is UTF-16", "Save it as UTF-8: 'CSV UTF-8' in a spreadsheet's list of formats.")
    if head[:4] in (b"PAR1", b"PK\x03\x04"):
        kind = "parquet" if head[:1] == b"P" and head[1:2] == b"A" else "a spreadsheet or an archive"
        raise bad_file(path, f"it is {kind}, not text", "Save it as CSV, or name it .parquet where it is one.")
    lines = head.decode("utf-8-sig", "replace").splitlines()
    if not lines or not lines[0].strip():
        raise bad_file(path, "its first line is empty", "Begin it with the names of its columns.")
    mark = next((one for one in ",;\t" if one in lines[0]), ",")
    names = next(csv.reader(lines[:1], delimiter=mark))
    convert = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, TEXT))
    parse = pa.csv.ParseOptions(delimiter=mark)
    try:
        table = pa.csv.read_csv(path, parse_options=parse, convert_options=convert)
        content = path.read_bytes()
        if content.rstrip(b"\r\n").count(b"\n") == len(table):
            return table, lambda row: row + 2
        # cells of several lines, a quote that nobody closed, or blank lines: the slow reader tells them apart
        line_of = _line_of(path, content, mark)
        if len(line_of) != len(table):
            parse.newlines_in_values = True
            table = pa.csv.read_csv(path, parse_options=parse, convert_options=convert)
    except FileFormatError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        raise _bad_line(path, parse, len(names), str(error)) from error
    if len(line_of) != len(table):
        raise bad_file(path, "its quotes can be read in two ways", "Put quotes in pairs, and none into plain cells.")
    return table, lambda row: line_of[row]


def _line_of(path: Path, content: bytes, mark: str) -> list[int]:
    """The line each row begins on, in a file whose rows are not its lines."""
    reader = csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=mark, strict=True)
    found, begins = [], 1
    try:
        for row in reader:
            if row:
                found.append(begins)
            begins = reader.line_num + 1
    except csv.Error as error:
        raise bad_file(
            path, f"the row that begins on line {begins} does not end: {error}", "Close its quote, or take it away."
        ) from error
    return found[1:]


def _bad_line(path: Path, parse: pa.csv.ParseOptions, n_names: int, why: str) -> FileFormatError:
    """Read again to say where: the fast reader does not count lines."""
    content = path.read_bytes()
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        return bad_file(path, f"line {line} is not UTF-8", "Save it as UTF-8: 'CSV UTF-8' in a spreadsheet's formats.")
    odd: list[Any] = []

    def note(row: Any) -> str:
        odd.append(row)
        return "skip"

    parse.invalid_row_handler = note
    with contextlib.suppress(OSError, ValueError, pa.ArrowException):
        pa.csv.read_csv(path, read_options=pa.csv.ReadOptions(use_threads=False), parse_options=parse)
    if odd:
        why = f"line {odd[0].number} has {odd[0].actual_columns} cells, the first {n_names}: {odd[0].text[:60]!r}"
    return bad_file(path, why, "Give each row as many cells as the first; put cells that hold commas in quotes.")


def _read_parquet(path: Path) -> pa.Table:
    try:
        return pa.parquet.read_table(path)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise bad_file(
            path, f"it is no parquet file ({error})", "Name a table of answers, .csv or .parquet."
        ) from error


def _long_names(table: pa.Table) -> dict[str, str] | None:
    have = {name for name in table.column_names if table.column_names.count(name) == 1}
    for names in LONG:
        if set(names.values()) <= have:
            truth = {"label": "label"} if names["answer"] != "label" and "label" in have else {}
            return {**names, **truth}
    return None


def _case_column(path: Path, table: pa.Table) -> str:
    names = [name.strip().lower() for name in table.column_names]
    found = [name for name in CASE if name in table.column_names]
    twice = sorted({name for name in table.column_names if table.column_names.count(name) > 1})
    if found and not twice and not OF_LONG & set(names):
        return found[0]
    if twice and found and not OF_LONG & set(names):
        raise DuplicateExpertError(
            "An expert has two columns.",
            f"In '{path}': {twice[0]!r} stands twice among {len(names)} columns.",
            "Give each expert one column.",
            expert=twice[0],
            file=str(path),
        )
    raise MissingColumnError(
        "The table of answers is neither long nor wide.",
        f"'{path}' has the columns {', '.join(map(repr, table.column_names[:8])) or '(none)'}.",
        "Long: item, expert, answer (and label, the truth), or crowd-kit's task, worker, label. "
        "Wide: item, then one column an expert (and label).",
        columns=table.column_names,
        file=str(path),
    )


def _melted(path: Path, table: pa.Table, case: str, place: Callable[[int], str]) -> AnswerFile:
    """One row an answer, expert after expert."""
    experts = [name for name in table.column_names if name not in (case, "label")]
    if not experts:
        raise MissingColumnError(
            "The table of answers has no expert.",
            f"'{path}' has the columns {', '.join(map(repr, table.column_names))}.",
            f"Wide: {case}, then one column an expert. Long: item, expert, answer.",
            file=str(path),
        )
    n, k = len(table), len(experts)

    def again(name: str) -> pa.Array:
        one = _text(table[name])
        return pa.concat_arrays([one] * k)

    with said_of(path):
        answers = [_text(table[name]) for name in experts]
        if len({one.type for one in answers}) > 1:  # a column without answers, or numbers beside names
            answers = [one.cast(TEXT) for one in answers]
        columns = {
            "item": again(case),
            "expert": pa.array(np.repeat(np.array(experts, dtype=object), n), TEXT),
            "answer": pa.concat_arrays(answers),
            **({"label": again("label")} if "label" in table.column_names else {}),
        }
    return AnswerFile(
        path, pa.table(columns), lambda row: f"{place(row % n)}, column {experts[row // n]!r}" if n else place(row)
    )


def _text(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece; text stripped, and null where it is blank."""
    whole = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(whole.type):
        whole = whole.cast(whole.type.value_type)
    if not _is_text(whole.type):
        return whole
    trimmed = pc.utf8_trim_whitespace(whole.cast(TEXT))
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, TEXT), trimmed)


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return text.strip().lower() not in ("nan", "inf", "-inf", "infinity")


def _as_numbers(column: pa.Array) -> pa.Array:
    if not _is_text(column.type):
        return column
    with contextlib.suppress(pa.ArrowException):
        return column.cast(pa.int64())
    try:
        return column.cast(pa.float64())
    except pa.ArrowException as error:
        raise ClassNamesError(
            "The classes are names, and their order is not known.",
            f"For example {column.drop_null()[0].as_py()!r}.",
            "Name all classes in the order of the posterior's columns: --classes cat,dog.",
        ) from error
