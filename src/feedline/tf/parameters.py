"""Parameters of functions: one function under TensorFlow's several lists of parameters, and its errors for NumPy's."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError


class StaticArgumentError(InvalidArgumentError):
    """An argument that is not a tensor, or a shape, is wrong, whatever the values of tensors are: TensorFlow raises
    such errors while it traces a function.
    """


def one_of(value: Any, choices: tuple[Any, ...], what: str) -> Any:
    """The value of an argument, which must be one of a few choices.

    >>> from feedline.tf.parameters import one_of
    >>> one_of("BYTE", ("BYTE", "UTF8_CHAR"), "unit")
    'BYTE'
    """
    if value not in choices:
        raise StaticArgumentError(f"{what} must be {', '.join(map(str, choices[:-1]))} or {choices[-1]}, got {value!r}")
    return value


def respelled(function: Callable[..., Any], parameters: str) -> Callable[..., Any]:
    """The function with other parameters: `a:b` is the function's parameter `b` under the name `a`.

    >>> from feedline.tf.parameters import respelled
    >>> respelled(pow, "power:exp base")(3, 2)
    8
    """
    pairs = [(shown, own or shown) for shown, _, own in (p.partition(":") for p in parameters.split())]
    names = [shown for shown, _ in pairs]
    owns = dict(pairs)
    known = inspect.signature(function).parameters
    needed = [shown for shown, own in pairs if known[own].default is inspect.Parameter.empty]

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{call.__name__}() takes {len(names)} arguments, got {len(args)}")
        given = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name in given:
                raise TypeError(f"{call.__name__}() got two values for the argument {name!r}")
            if name not in owns:
                raise TypeError(f"{call.__name__}() has no argument {name!r}; it has {', '.join(names)}")
            given[name] = value
        for name in needed:
            if name not in given:
                raise TypeError(f"{call.__name__}() needs the argument {name!r}")
        return function(**{owns[name]: value for name, value in given.items()})

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    made = [known[own].replace(name=shown, kind=kind) for shown, own in pairs]
    required = [p.default is p.empty for p in made]
    for i, p in enumerate(made):  # a default before a parameter without one is not allowed in a signature
        if required[i] and not all(required[:i]):
            made[i] = p.replace(default=None)
    call.__signature__ = inspect.Signature(made)  # type: ignore[attr-defined]
    return call


def explained(function: Callable[..., Any], name: str) -> Callable[..., Any]:
    """The function with TensorFlow's errors for those of NumPy and Python about its arguments."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except _OF_NUMPY as e:
            if type(e) not in _OF_NUMPY:
                raise
            kind = InvalidTypeError if type(e) is TypeError else InvalidArgumentError
            raise kind(str(e) if str(e).startswith(f"{name}(") else f"{name}: {e}") from e

    return call


_OF_NUMPY = (ValueError, TypeError, IndexError, OverflowError, ZeroDivisionError, np.exceptions.AxisError)
