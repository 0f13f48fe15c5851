"""`tf.compat.v1.flags` and `tf.compat.v1.app`: command lines with the package absl-py, as in TensorFlow 1.

What differs from `absl.flags` is what TensorFlow 1 allowed: older names of arguments, and flags that are read before
the command line has been parsed. The package is needed when a name is used.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

RENAMED = {"default_value": "default", "docstring": "help", "flag_name": "name"}
"""The older names of arguments."""
_WITH_OLD_NAMES = ("DEFINE_bool", "DEFINE_boolean", "DEFINE_float", "DEFINE_integer", "DEFINE_string")


def _absl(module: str) -> Any:
    """A module of absl-py."""
    try:
        found = importlib.import_module(f"absl.{module}")
    except ImportError:
        raise ImportError(
            f"tf.compat.v1.{module} is that of the package absl-py: pip install absl-py", name="absl"
        ) from None
    if module == "flags":
        found.disclaim_key_flags()  # a flag belongs to the module that calls DEFINE_string, not to this one
    return found


class Flags:
    """The values of all flags: absl's `FLAGS`, which parses the command line by itself when a flag is read.

    >>> import feedline.tf.compat.v1 as tf
    >>> number = tf.flags.DEFINE_integer("examples", 3, "how many")
    >>> "examples" in tf.flags.FLAGS, tf.flags.FLAGS["examples"].value
    (True, 3)
    """

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        values = self._values()
        if not hasattr(type(values), name) and not values.is_parsed():
            values(sys.argv)
        return getattr(values, name)

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self._values(), name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self._values(), name)

    def __getitem__(self, name: str) -> Any:
        return self._values()[name]

    def __setitem__(self, name: str, flag: object) -> None:
        self._values()[name] = flag

    def __contains__(self, name: object) -> bool:
        return name in self._values()

    def __iter__(self) -> Iterator[str]:
        return iter(self._values())

    def __len__(self) -> int:
        return len(self._values())

    def __call__(self, argv: Sequence[str], known_only: bool = False) -> list[str]:
        rest: list[str] = self._values()(argv, known_only)
        return rest

    def __dir__(self) -> list[str]:
        return dir(self._values())

    def __str__(self) -> str:
        return str(self._values())

    @staticmethod
    def _values() -> Any:
        return _absl("flags").FLAGS


FLAGS = Flags()


def run(main: Callable[[list[str]], Any] | None = None, argv: list[str] | None = None) -> None:
    """Parses the command line, calls `main` with what is left of it, and exits: `tf.compat.v1.app.run`.

    >>> import feedline.tf.compat.v1 as tf
    >>> if __name__ == "__main__":
    ...     tf.app.run()

    `main` is that of the script if it is None. Flags that nobody has defined stay in it.
    """
    flags, app = _absl("flags"), _absl("app")
    main = main or sys.modules["__main__"].main
    app.run(main, argv, flags_parser=lambda arguments: flags.FLAGS(arguments, known_only=True))


def _with_old_names(define: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(define)
    def defined(*args: Any, **kwargs: Any) -> Any:
        return define(*args, **{RENAMED.get(k, k): v for k, v in kwargs.items()})

    return defined


def __getattr__(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    found = getattr(_absl("flags"), name)
    return _with_old_names(found) if name in _WITH_OLD_NAMES else found


def __dir__() -> list[str]:
    return sorted(_absl("flags").__all__)
