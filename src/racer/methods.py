"""Every method by name, and reading saved ones."""

from collections.abc import Mapping
from os import PathLike
from types import MappingProxyType

from racer.artifact import read_method, restore_method
from racer.competence import (
    IFDMLP,
    AbstractMethod,
    ClassGated,
    ClassifierConfidence,
    GlobalAccuracy,
    IFDScore,
    RacerDeepSets,
    RacerKernel,
    RacerKNN,
)
from racer.errors import ArtifactError, SettingError
from racer.naming import did_you_mean

__all__ = ["REGISTRY", "load", "method_class"]

REGISTRY: Mapping[str, type[AbstractMethod]] = MappingProxyType(
    {
        method.name: method
        for method in (
            ClassifierConfidence,
            GlobalAccuracy,
            ClassGated,
            IFDScore,
            IFDMLP,
            RacerKNN,
            RacerKernel,
            RacerDeepSets,
        )
    }
)
"""Kebab-case name → class."""


def method_class(name: str) -> type[AbstractMethod]:
    """The class of a method, by name.

    >>> method_class("ifd-score")()
    IFDScore(alpha=1.0, beta=1.0)
    """
    if name not in REGISTRY:
        raise SettingError(
            f"There is no method {name!r}.",
            f"Known are {', '.join(REGISTRY)}.",
            did_you_mean(name, REGISTRY) or "Choose one of them.",
            name=name,
        )
    return REGISTRY[name]


def load(folder: str | PathLike[str], *others: type[AbstractMethod]) -> AbstractMethod:
    """Read a method that `save` wrote; name your own classes in `others`.

    Nothing in the files is executed, and a file that was cut, edited or comes from elsewhere is refused.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     IFDScore(alpha=2.0).save(folder)
    ...     load(folder)
    IFDScore(alpha=2.0, beta=1.0)
    """
    stored = read_method(folder)
    known = {**REGISTRY, **{method.name: method for method in others}}
    if stored.name not in known:
        raise ArtifactError(
            "This racer does not know the saved method.",
            f"It is called {stored.name!r}; known are {', '.join(known)}.",
            "Update racer, or pass your own class: racer.load(folder, MyMethod).",
            name=stored.name,
        )
    return restore_method(stored, known[stored.name])
