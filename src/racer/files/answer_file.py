"""Answers in a file: long (`item, expert, answer`, perhaps `label`) or wide (one column an expert, empty = no answer).

CSV or parquet. In a CSV everything is read as text, so that the ids 007 and 1e5 stay what they are; what the answers
are is decided with the classes. The names crowd-kit gives its columns, `task, worker, label`, are long too.
"""

import contextlib
import csv
import io
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from racer.answer_table import is_numeric, is_text
from racer.errors import DuplicateExpertError, FileFormatError, LabelError, MissingColumnError
from racer.files.saying import bad_file, require_file, said_of
from racer.naming import some_names

__all__ = ["AnswerFile", "is_number", "read_answer_file"]

LONG = (
    {"item": "item", "expert": "expert", "answer": "answer"},
    {"item": "task", "expert": "worker", "answer": "label"},
)
CASE = ("item", "id", "case", "task")
"""What the column of a wide table that names the case may be called."""
OF_LONG = {"expert", "worker", "annotator", "answer", "response", "reader"}
"""Columns that show a table was meant to be long."""
TRUTH = {"truth", "true_label", "gold", "gold_label", "ground_truth", "target", "diagnosis", "y", "y_true", "class"}
"""Columns of a wide table that would make an expert who is always right."""
TEXT = pa.large_string()
NAME_IT = "Name a table of answers, .csv or .parquet."
Place = Callable[[int, str | None], str]
"""Where a row of the table, or its cell in a column, stands in the file."""


@final
@dataclass(frozen=True, eq=False)
class AnswerFile:
    """One row an answer, in text where the file has text: `item`, `expert`, `answer`, and `label` where it is given."""

    path: Path
    table: pa.Table
    place: Place
    unit: str = "rows"

    @property
    def has_label(self) -> bool:
        """Whether the truth stands beside the answers."""
        return "label" in self._names

    @property
    def _names(self) -> list[str]:
        names: list[str] = self.table.column_names
        return names

    def class_column(self, name: str, classes: Sequence[str] | None) -> pa.Array:
        """`answer` or `label`, as names where there are names, else as numbers."""
        column = self.table[name].combine_chunks()
        if not (is_text(column.type) or is_numeric(column.type)):
            with said_of(self.path):
                raise LabelError(
                    f"'{name}' must hold the names of classes, or their numbers.",
                    f"Got {column.type}, starting {str(column[:1].to_pylist())[:60]}.",
                    "Give text, or numbers from 0; for no answer leave the cell empty.",
                )
        return column if classes is not None else _as_numbers(column)

    def names(self) -> list[str]:
        """The different class names; none where every class is a number."""
        parts: dict[str, pa.Array] = {
            name: self.table[name].combine_chunks()
            for name in ("answer", "label")
            if name in self._names and is_text(self.table[name].type)
        }
        said = {one for part in parts.values() for one in part.unique().drop_null().to_pylist()}
        numbers = {one for one in said if is_number(one)}
        if numbers == said:
            return []
        if numbers:
            self._refuse_mixture(parts, numbers, said)
        return sorted(said)

    def _refuse_mixture(self, parts: dict[str, pa.Array], numbers: set[str], said: set[str]) -> None:
        # the kind of which there are fewer is the slip
        odd = numbers if len(numbers) < len(said - numbers) else said - numbers
        found = {
            name: np.flatnonzero(pc.is_in(part, value_set=pa.array(sorted(odd), part.type)).to_numpy(False))
            for name, part in parts.items()
        }
        column, rows = next((name, rows) for name, rows in found.items() if len(rows))
        with said_of(self.path, self.place, self.unit):
            raise LabelError(
                "Classes are names in some rows and numbers in others.",
                f"{parts[column][rows[0]].as_py()!r} beside {', '.join(map(repr, sorted(said - odd)[:3]))}; "
                f"{len(rows)} of {len(parts[column])} rows.",
                "Give all as names, or all as numbers from 0; where the names are numbers, --classes lists them.",
                rows=rows.tolist(),
                column=column,
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

    def place(row: int, column: str | None = None) -> str:
        return f"{'line' if is_csv else 'row'} {line_of(row)}"

    table = _in_lower_case(table)
    columns = _long_names(table)
    if columns is not None:
        with said_of(path):
            return AnswerFile(path, pa.table({to: _text(table[name]) for to, name in columns.items()}), place)
    return _melted(path, table, _case_column(path, table), place)


def _read_csv(path: Path) -> tuple[pa.Table, Callable[[int], int]]:
    text, content = _csv_text(path)
    first = io.StringIO(text, newline="").readline()
    if not first.strip():
        raise bad_file(path, "its first line is empty", "Begin it with the names of its columns.")
    mark = max(",;\t", key=re.sub(r'"[^"]*("|$)', "", first).count)
    names, _ = next(_rows(path, text, mark))
    convert = pa.csv.ConvertOptions(column_types=dict.fromkeys(names, TEXT))
    parse = pa.csv.ParseOptions(delimiter=mark)
    try:
        table = pa.csv.read_csv(pa.BufferReader(content), parse_options=parse, convert_options=convert)
        if content.rstrip(b"\r\n").count(b"\n") == len(table):
            return table, lambda row: row + 2
        # cells of several lines, a quote that nobody closed, or blank lines: the slow reader tells them apart
        line_of = _line_of(path, text, mark, len(names))
        if len(line_of) != len(table):
            parse.newlines_in_values = True
            table = pa.csv.read_csv(pa.BufferReader(content), parse_options=parse, convert_options=convert)
    except FileFormatError:
        raise
    except (OSError, ValueError, pa.ArrowException) as error:
        _line_of(path, text, mark, len(names))  # knows the line, where it finds the mistake too
        raise bad_file(path, str(error), "Write it again as CSV, with cells that hold commas in quotes.") from error
    if len(line_of) != len(table):
        raise bad_file(path, "its quotes can be read in two ways", "Put quotes in pairs, and none into plain cells.")
    return table, lambda row: line_of[row]


def _csv_text(path: Path) -> tuple[str, bytes]:
    """The file, read once: it may be a pipe."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise bad_file(path, error.strerror or str(error), NAME_IT) from error
    if content[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise bad_file(path, "it is UTF-16", "Save it as UTF-8: 'CSV UTF-8' in a spreadsheet's list of formats.")
    if content[:4] in (b"PAR1", b"PK\x03\x04"):
        kind = "parquet" if content[:4] == b"PAR1" else "a spreadsheet or an archive"
        raise bad_file(path, f"it is {kind}, not text", "Save it as CSV, or name it .parquet where it is one.")
    try:
        return content.decode("utf-8-sig"), content
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        why = f"line {line} is not UTF-8"
        raise bad_file(path, why, "Save it as UTF-8: 'CSV UTF-8' in a spreadsheet's formats.") from error


def _rows(path: Path, text: str, mark: str) -> Iterator[tuple[list[str], int]]:
    """The rows that are not blank, and the line each begins on."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, strict=True)
    begins = 1
    try:
        for row in reader:
            if row:
                yield row, begins
            begins = reader.line_num + 1
    except csv.Error as error:
        is_open = "end of data" in str(error) or "limit" in str(error)
        why = "does not end: a quote is not closed" if is_open else f"has a quote out of place: {error}"
        fix = "Close the quote, or take it away; in a quoted cell a quote is written twice."
        raise bad_file(path, f"the row that begins on line {begins} {why}", fix) from error


def _line_of(path: Path, text: str, mark: str, n_names: int) -> list[int]:
    """The line each row begins on, in a file whose rows are not its lines."""
    found = []
    for row, line in _rows(path, text, mark):
        if len(row) != n_names:
            why = f"line {line} has {len(row)} cells, the first {n_names}: {mark.join(row)[:60]!r}"
            raise bad_file(path, why, "Give each row as many cells as the first; put cells that hold commas in quotes.")
        found.append(line)
    return found[1:]


def _read_parquet(path: Path) -> pa.Table:
    require_file(path, NAME_IT)
    try:
        table = pa.parquet.read_table(path)
        table.validate(full=True)  # text that is no UTF-8 is found here, or nowhere in particular
        return table.rename_columns(table.column_names)
    except (OSError, ValueError, pa.ArrowException) as error:
        raise bad_file(path, f"it is damaged, or no parquet file ({error})", NAME_IT) from error


def _in_lower_case(table: pa.Table) -> pa.Table:
    """Known names in any case and with blanks around them are those names, where none stands there already."""
    have, known = set(table.column_names), {*CASE, *OF_LONG, "label"}

    def plain(name: str) -> str:
        lower = name.strip().lower()
        return lower if lower in known and lower not in have else name

    return table.rename_columns([plain(name) for name in table.column_names])


def _long_names(table: pa.Table) -> dict[str, str] | None:
    have = {name for name, n in Counter(table.column_names).items() if n == 1}
    others = [{"item": name, "expert": "expert", "answer": "answer"} for name in CASE]
    for names in (*LONG, *others):
        if set(names.values()) <= have:
            truth = {"label": "label"} if names["answer"] != "label" and "label" in have else {}
            return {**names, **truth}
    return None


def _case_column(path: Path, table: pa.Table) -> str:
    names = [name.strip().lower() for name in table.column_names]
    found = [name for name in CASE if name in table.column_names]
    twice = sorted(name for name, n in Counter(table.column_names).items() if n > 1)
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
    lacks = f"it lacks {', '.join(sorted({'item', 'expert', 'answer'} - set(names)))}"
    if not OF_LONG & set(names):
        lacks = f"none of its columns is called {', '.join(CASE[:-1])} or {CASE[-1]}"
    raise MissingColumnError(
        "The table of answers is neither long nor wide.",
        f"'{path}': {lacks}. Its columns: {some_names(table.column_names)}.",
        "Rename them. Long: item, expert, answer (and label, the truth), or crowd-kit's task, worker, label. "
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
    truths = [name for name in experts if name.strip().lower().replace(" ", "_") in TRUTH]
    if truths:
        raise MissingColumnError(
            f"Is {truths[0]!r} an expert, or the truth?",
            f"In '{path}': it is a column beside {some_names([one for one in experts if one not in truths])}.",
            "Rename it to label if it is the truth. If it is an expert, give the table in the long layout.",
            columns=truths,
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

    of_case = {"item": case, "label": "label"}

    def cell(row: int, column: str | None) -> str:
        return f"{place(row % n)}, column {of_case.get(column or '', experts[row // n])!r}"

    return AnswerFile(path, pa.table(columns), cell, unit="cells")


def _text(column: pa.ChunkedArray) -> pa.Array:
    """The column in one piece; text stripped, and null where it is blank."""
    whole = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if pa.types.is_dictionary(whole.type):
        whole = whole.cast(whole.type.value_type)
    if not is_text(whole.type):
        return whole
    trimmed = pc.utf8_trim_whitespace(whole.cast(TEXT))
    return pc.if_else(pc.equal(trimmed, ""), pa.scalar(None, TEXT), trimmed)


def is_number(text: str) -> bool:
    """Whether a text is a number and no name.

    >>> [is_number(one) for one in ("2", "1e3", "nan", "7_000")]
    [True, True, False, False]
    """
    try:
        return text.isascii() and "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


def _as_numbers(column: pa.Array) -> pa.Array:
    if not is_text(column.type):
        return column
    with contextlib.suppress(pa.ArrowException):
        return column.cast(pa.int64())
    return pa.array([None if one is None else float(one) for one in column.to_pylist()], pa.float64())
