"""Outputs that are there whole, or not at all.

What is written first stands beside its place under a hidden name, and is renamed into it when nothing is missing. An
error, or Ctrl-C, leaves what was there before. A folder replaces only one that holds nothing but such outputs.
"""

import contextlib
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from racer.errors import OutputError

__all__ = ["replace_file", "whole_file", "whole_folder"]


@contextlib.contextmanager
def whole_file(path: str | PathLike[str]) -> Iterator[Path]:
    """A path to write to; afterwards the file stands at `path`.

    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp())
    >>> with whole_file(folder / "a.txt") as hidden:
    ...     _ = hidden.write_text("all of it")
    >>> [one.name for one in folder.iterdir()]
    ['a.txt']
    """
    place = Path(os.path.realpath(path))
    hidden = _beside(place)
    with _reported(place), _parents(place):
        _refuse_no_file(place)
        try:
            # found out now, not after minutes of work
            hidden.touch(exist_ok=False)
            yield hidden
            _flush(hidden)
            os.replace(hidden, place)
        finally:
            hidden.unlink(missing_ok=True)


@contextlib.contextmanager
def whole_folder(path: str | PathLike[str], ours: str) -> Iterator[Path]:
    """A folder to write into; afterwards it stands at `path`. `ours` is a pattern of the names that it may replace.

    >>> import tempfile
    >>> place = Path(tempfile.mkdtemp()) / "report"
    >>> with whole_folder(place, ours=r"index\\.html") as hidden:
    ...     _ = (hidden / "index.html").write_text("<p>")
    >>> [one.name for one in place.iterdir()]
    ['index.html']
    """
    place = Path(os.path.realpath(path))
    hidden = _beside(place)
    with _reported(place), _parents(place):
        refuse_foreign(place, ours)
        if Path.cwd().is_relative_to(place):
            raise _cannot(place, "it is the folder you work in", "Name a folder in it; nothing was touched.")
        try:
            hidden.mkdir()
            yield hidden
            _swap(hidden, place)
        finally:
            shutil.rmtree(hidden, ignore_errors=True)


def replace_file(path: Path, content: bytes) -> None:
    """Write a file in one step; OSError where it cannot be."""
    hidden = _beside(path)
    try:
        with hidden.open("xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(hidden, path)
    except BaseException:
        hidden.unlink(missing_ok=True)
        raise


def refuse_foreign(place: Path, ours: str) -> None:
    """Refuse to put a folder where a file stands, or another folder with things of somebody else's in it."""
    if place.is_dir():
        foreign = sorted(one.name for one in place.iterdir() if not re.fullmatch(ours, one.name))
        if foreign:
            raise _cannot(
                place,
                f"it holds {foreign[0]!r}, which racer did not write; {len(foreign)} such",
                "Name a new folder, or empty this one; nothing was touched.",
            )
    elif os.path.lexists(place):
        raise _cannot(place, "it is a file", "Name a folder.")


def _refuse_no_file(place: Path) -> None:
    # a device or a pipe would be replaced by a file for everybody
    if place.exists() and not place.is_file():
        raise _cannot(place, "it is a folder" if place.is_dir() else "it is no plain file", "Name a file.")


def _beside(path: Path) -> Path:
    # not tempfile: its files can be read by their owner alone, and a service may run as somebody else
    return path.with_name(f".{path.name[:50]}.{secrets.token_hex(8)}")


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _swap(new: Path, place: Path) -> None:
    if not place.exists():
        os.rename(new, place)
        return
    old = _beside(place)
    try:
        os.rename(place, old)
        os.rename(new, place)
    finally:
        if old.exists() and not place.exists():
            os.rename(old, place)
        shutil.rmtree(old, ignore_errors=True)


@contextlib.contextmanager
def _parents(place: Path) -> Iterator[None]:
    """The folders above, made if need be, and gone again if the output does not come to stand."""
    made = [one for one in place.parents if not one.exists()]
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        yield
    except BaseException:
        for one in made:  # the innermost first
            with contextlib.suppress(OSError):
                one.rmdir()
        raise


@contextlib.contextmanager
def _reported(place: Path) -> Iterator[None]:
    try:
        yield
    except OutputError:
        raise
    except OSError as error:
        raise _cannot(
            place,
            error.strerror or str(error),
            "Name a place that can be written and has room; nothing was left there.",
        ) from error


def _cannot(place: Path, why: str, fix: str) -> OutputError:
    return OutputError("The output cannot be written there.", f"'{place}': {why}.", fix, path=str(place))
