"""Names in messages: some of many, and the one that was perhaps meant."""

from collections.abc import Collection, Sequence
from difflib import get_close_matches

__all__ = ["did_you_mean", "some_names"]


def some_names(names: Sequence[str], most: int = 12) -> str:
    """The first few of many names.

    >>> some_names(["ada", "bo", "cy"], most=2)
    "'ada', 'bo', … (3)"
    """
    return (", ".join(map(repr, names[:most])) + f", … ({len(names)})" * (len(names) > most)) or "nobody"


def did_you_mean(name: str, known: Collection[str]) -> str:
    """A question, where some known name is close; else nothing.

    >>> did_you_mean("Labeler7", ["labeller6", "labeller7"])
    "Was 'labeller7' meant?"
    """
    by_lower = {one.lower(): one for one in reversed(list(known))}
    near = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.75)
    return f"Was {by_lower[near[0]]!r} meant?" if near else ""
