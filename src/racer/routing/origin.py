"""Origin: where a router comes from."""

from dataclasses import dataclass
from typing import final

__all__ = ["Origin"]


@final
@dataclass(frozen=True)
class Origin:
    """What the classes are called, in the order of the posterior's columns, and whom the method was fitted on.

    `classes` is None where classes are numbers. `context_size` and `seed` are those of the fit.

    >>> Origin(classes=("cat", "dog")).class_name(1)
    'dog'
    """

    classes: tuple[str, ...] | None = None
    fitted_on: tuple[str, ...] = ()
    context_size: int | None = None
    seed: int | None = None

    def class_name(self, column: int) -> str:
        """What a class is called; its number where it has no name."""
        return str(column) if self.classes is None else self.classes[column]
