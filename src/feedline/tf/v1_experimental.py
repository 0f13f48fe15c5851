"""`tf.compat.v1.data.experimental` on tensors, executed eagerly or in a graph."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

from feedline.compat.v1.data import experimental as _graph
from feedline.compat.v1.data.dataset import in_graph, v1_dataset
from feedline.data import experimental as _experimental
from feedline.data.dataset import Dataset as FlDataset
from feedline.tf import v1_data
from feedline.tf.data import experimental as _eager
from feedline.tf.data.dataset import with_tensors
from feedline.tf.notes import explained
from feedline.tf.v1_graph import graph_mode

__all__ = sorted({*_graph.__all__, *_experimental.__all__})
_VALUES = {"at", "cardinality", "save"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(name if name.startswith("__") else explained(f"data.experimental.{name}"))
    if name in _graph.__all__:
        return getattr(_graph, name)
    found = vars(_experimental)[name]
    if isinstance(found, type) and issubclass(found, FlDataset):
        found = v1_data.reader(found)
    elif inspect.isfunction(found):
        found = _transformation(found) if _is_for_apply(found) else _function(name, found)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return list(__all__)


def _is_for_apply(function: Callable[..., Any]) -> bool:
    return str(inspect.signature(function).return_annotation).startswith("Callable")


def _transformation(make: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps `make`, whose result is for `apply`, for tensors and symbolic arguments."""
    on_tensors = with_tensors(make)

    @functools.wraps(make)
    def made(*args: Any, **kwargs: Any) -> Callable[[Any], Any]:
        def transform(dataset: Any) -> Any:
            if graph_mode():
                apply = in_graph(lambda ds, *a, **k: on_tensors(*a, **k)(ds), v1_data.Dataset)
                return apply(dataset, *args, **kwargs)
            return v1_dataset(on_tensors(*args, **kwargs)(dataset), v1_data.Dataset)

        return transform

    return made


def _function(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    eager = getattr(_eager, name)
    symbolic = getattr(_graph, name) if name in _VALUES else in_graph(with_tensors(function), v1_data.Dataset)

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return symbolic(*args, **kwargs) if graph_mode() else v1_dataset(eager(*args, **kwargs), v1_data.Dataset)

    return call
