"""Errors that name the file, and the line a person would look for in it."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from racer.errors import FileFormatError, OutputError, RacerError

__all__ = ["bad_file", "require_file", "said_of"]


@contextlib.contextmanager
def said_of(path: Path, place: Callable[[int, str | None], str] | None = None, unit: str = "rows") -> Iterator[None]:
    """Whatever is refused inside is refused again with the file's name; `place` says where row r stands in it.

    `place` is also told which column is meant, where the error knows. `unit` is what the table counts.

    >>> with said_of(Path("answers.csv"), lambda row, column: f"line {row + 2}"):
    ...     raise RacerError("No class.", "Row 5 holds 'x'.", "Mend it.", rows=[5])
    Traceback (most recent call last):
    racer.errors.RacerError: No class.
      In 'answers.csv', line 7: holds 'x'.
      Mend it.
    """
    try:
        yield
    except (FileFormatError, OutputError):
        raise
    except RacerError as error:
        if "file" in error.data:  # of another file, which it has named
            raise
        rows = error.data.get("rows")
        values = f"In '{path}': {error.values}"
        if place is not None and rows:  # counted from 0 inside; a person counts lines
            where = place(rows[0], error.data.get("column"))
            counted = error.values.removeprefix(f"Row {rows[0]} ").replace(" rows.", f" {unit}.")
            values = f"In '{path}', {where}: {counted}"
        raise type(error)(error.what, values, error.fix, **{**error.data, "file": str(path)}) from error


def require_file(path: Path, fix: str) -> None:
    """Refuse what cannot be opened, in the words of the system."""
    try:
        path.open("rb").close()
    except OSError as error:
        raise bad_file(path, error.strerror or str(error), fix) from error


def bad_file(path: Path, why: str, fix: str) -> FileFormatError:
    """A file that cannot be read at all.

    >>> bad_file(Path("cases.npz"), "it is empty", "Write it again.").values
    "'cases.npz': it is empty."
    """
    why = " ".join(why.split()).rstrip(".")
    return FileFormatError("A file cannot be read.", f"'{path}': {why}.", fix, file=str(path))
