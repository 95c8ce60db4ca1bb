"""Options that several commands share, and the reading of `name=value`. Imports nothing heavy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Annotations",
    "CasesFile",
    "Classes",
    "ContextSize",
    "RouterFolder",
    "Seed",
    "SkipUnknown",
    "by_expert",
    "listed",
]

CasesFile = Annotated[
    Path, typer.Option("--cases", help="Cases: .npz or .parquet with id, embedding, posterior, and label where known.")
]
Annotations = Annotated[
    Path,
    typer.Option(
        "--annotations",
        help="Answers: .csv or .parquet, long (item, expert, answer, perhaps label) or wide (an expert a column).",
    ),
]
RouterFolder = Annotated[Path, typer.Argument(help="A folder that 'racer fit' wrote.")]
ContextSize = Annotated[
    int, typer.Option("--context-size", min=0, help="How many past answers describe an expert.", show_default=True)
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Same seed, same result.")]
Classes = Annotated[
    str | None,
    typer.Option(
        "--classes",
        help="Class names in the order of the posterior's columns, as cat,dog. Not needed where the file of cases has "
        "them, where classes are numbers, or where the sorted names are in that order.",
    ),
]
SkipUnknown = Annotated[
    bool, typer.Option("--skip-unknown", help="Leave out answers to items that no case carries, instead of refusing.")
]


def listed(text: Sequence[str] | str | None) -> list[str] | None:
    """Names between commas, from an option that may be given several times.

    >>> listed(["ada, bo", "cy"])
    ['ada', 'bo', 'cy']
    """
    if text is None:
        return None
    parts = [text] if isinstance(text, str) else text
    names = [name.strip() for part in parts for name in part.split(",") if name.strip()]
    if not names:
        raise typer.BadParameter(f"{', '.join(parts)!r} names nobody and nothing.")
    return names


def _each(given: Sequence[str]) -> list[str]:
    """`a=1,b=2` is two; a name may hold a comma where only one number is given."""
    return [part for text in given for part in (text.split(",") if text.count("=") > 1 else [text])]


def by_expert(given: Sequence[str], option: str, kind: type[float] | type[int]) -> float | dict[str, float] | None:
    """`ada=0.05` for one expert, a plain number for all; None where nothing is given.

    >>> by_expert(["ada=0.05", "bo=0.1"], "--cost", float)
    {'ada': 0.05, 'bo': 0.1}
    >>> by_expert(["40"], "--capacity", int)
    40
    """
    found: dict[str, float] = {}
    for text in _each(given):
        expert, equals, number = text.rpartition("=")
        try:
            value = kind(number)
        except ValueError:
            value = None
        if value is None or expert in found or (len(given) > 1 and not equals) or (equals and not expert):
            what = "a whole number" if kind is int else "a number"
            raise typer.BadParameter(
                f"got {', '.join(map(repr, given))}. Give {what} for all, once, or expert=number for each of some.",
                param_hint=f"'{option}'",
            )
        found[expert] = value
    return found.get("") if list(found) == [""] else found or None
