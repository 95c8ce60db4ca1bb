"""Checks every shaped annotation of the package while the tests run, and nothing else.

`ArrayLike` and other doors stay open to whatever a test pushes through: what comes of that is for the package to say.
"""

import functools
import inspect
import typing

import numpy as np
import torch
from jaxtyping import AbstractArray


def is_shaped(hint):
    return isinstance(hint, type) and issubclass(hint, AbstractArray)


def shaped_hints(function):
    hints = inspect.get_annotations(function)
    options = {name: [hint, *typing.get_args(hint)] for name, hint in hints.items()}
    return {name: [one for one in among if is_shaped(one)] for name, among in options.items()}


def check(function):
    """A type checker for `jaxtyping.jaxtyped`: arrays must have the dtype and the axes that are written down."""
    hints = {name: among for name, among in shaped_hints(function).items() if among}
    if not hints:
        return function
    signature = inspect.signature(function)

    def require(name, value):
        if isinstance(value, torch.Tensor | np.ndarray) and not any(isinstance(value, one) for one in hints[name]):
            raise TypeError(f"{function.__qualname__}: {name} is {value.dtype} {tuple(value.shape)}, not {hints[name]}")

    @functools.wraps(function)
    def checked(*args, **kwargs):
        given = signature.bind(*args, **kwargs).arguments
        for name in hints.keys() & given.keys():
            require(name, given[name])
        value = function(*args, **kwargs)
        if "return" in hints:
            require("return", value)
        return value

    return checked
