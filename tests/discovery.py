"""Every concrete method in the package, found by walking it."""

import importlib
import inspect
import pkgutil

import racer
from racer.competence import AbstractMethod


def concrete_methods() -> list[type[AbstractMethod]]:
    for module in pkgutil.walk_packages(racer.__path__, "racer."):
        importlib.import_module(module.name)
    found, waiting = set(), [AbstractMethod]
    while waiting:
        one = waiting.pop()
        waiting += one.__subclasses__()
        if not inspect.isabstract(one) and one.__module__.startswith("racer."):
            found.add(one)
    return sorted(found, key=lambda method: method.name)
