"""One progress bar, on standard error, in a terminal or when asked for."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(label: str, total: int, show: bool | None) -> Iterator[Callable[[str], None]]:
    """A bar of `total` steps; call what it gives once a step, with a word on how it goes.

    >>> with progress_bar("fitting", total=2, show=False) as step:
    ...     step("loss 0.6")
    """
    visible = sys.stderr.isatty() if show is None else show
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), disable=not visible) as bar:
        task = bar.add_task(label, total=total)
        yield lambda word: bar.update(task, advance=1, description=f"{label} · {word}")
        bar.update(task, completed=total)
