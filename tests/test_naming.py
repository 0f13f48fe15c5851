"""What users see of names: methods are called after their class, and modules show their public names only."""

from __future__ import annotations

import inspect
import pickle
import pydoc
import traceback
from types import FunctionType, ModuleType
from typing import Any

import pytest

import feedline as fl
import feedline.compat.v1 as v1
import feedline.tf as tf
from feedline.tf import names as tensorflow_names
from feedline.tf.v1_graph import OnValues

MODULES = [
    *(fl, fl.data, fl.errors, fl.experimental, fl.image, fl.integrations, fl.io, fl.io.gfile, fl.ragged, fl.random),
    *(fl.sparse, fl.train, fl.compat, v1, v1.data, v1.data.experimental, v1.train),
    *(fl.tfds, fl.tfds.core, fl.tfds.decode, fl.tfds.features, fl.keras, fl.keras.utils),
    *(tf.data, tf.data.experimental, tf.compat.v1.data, tf.compat.v1.data.experimental),
]
CLASSES = [fl.Dataset, v1.data.Dataset]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_modules_show_public_names_only(module: ModuleType) -> None:
    shown = dir(module)
    also = {
        fl: ["compat", "keras", "tfds"],
        v1: tensorflow_names.public("compat.v1"),
        v1.data.experimental: fl.experimental.__all__,
    }.get(module, [])
    assert shown == sorted({*module.__all__, *also})
    for name in shown:
        value = getattr(module, name)
        assert not name.startswith("_") or name == "__version__"
        if isinstance(value, ModuleType) and not isinstance(value, OnValues):
            assert value in [*MODULES, v1.data.experimental, v1.data]


def test_what_packages_import_under_a_plain_name_is_public() -> None:
    for module in MODULES:
        if not hasattr(module, "__path__"):
            continue
        own = {n for n, v in vars(module).items() if n[0] != "_" and not isinstance(v, ModuleType)}
        assert own - {"annotations", "TYPE_CHECKING"} <= set(module.__all__), module


def public_functions() -> dict[str, FunctionType]:
    """All public functions, by a name that users write."""
    found: dict[str, FunctionType] = {}
    seen: set[str] = set()

    def walk(module: ModuleType, path: str) -> None:
        if module.__name__ in seen:
            return
        seen.add(module.__name__)
        for name in (name for name in dir(module) if not name.startswith("_")):
            value = getattr(module, name)
            if isinstance(value, ModuleType) and value.__name__.startswith("feedline"):
                walk(value, f"{path}.{name}")
            elif isinstance(value, FunctionType) and value.__module__.startswith("feedline"):
                found[f"{path}.{name}"] = value

    walk(tf, "tf")
    walk(fl, "fl")
    return found


def test_functions_that_are_made_have_names() -> None:
    assert {name for name, f in public_functions().items() if "<locals>" in f.__qualname__} == set()
    with pytest.raises(TypeError, match=r"^abs\(\) missing 1 required positional argument: 'x'$"):
        tf.abs()
    with pytest.raises(TypeError, match=r"^relu\(\) needs the argument 'features'$"):
        tf.nn.relu()
    with pytest.raises(TypeError, match=r"^relu\(\) has no argument 'x'; it has features, name$"):
        tf.nn.relu(x=1)


def methods(kind: type) -> list[tuple[str, Any]]:
    found = ((name, inspect.getattr_static(kind, name)) for name in dir(kind) if not name.startswith("_"))
    plain = ((name, value.__func__ if isinstance(value, staticmethod) else value) for name, value in found)
    return [(name, value) for name, value in plain if inspect.isfunction(value)]


@pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__module__)
def test_methods_are_called_after_their_class(kind: type) -> None:
    for name, method in methods(kind):
        assert (method.__name__, method.__qualname__) == (name, f"Dataset.{name}")
        assert name in method.__code__.co_qualname
        if method.__module__ == kind.__module__:
            assert pickle.loads(pickle.dumps(method)) is method


def test_messages_and_tracebacks_name_methods_so() -> None:
    ds: Any = fl.Dataset.range(3)
    with pytest.raises(TypeError, match=r"^Dataset\.map\(\) missing 1 required positional argument: 'map_func'$"):
        ds.map()
    with pytest.raises(TypeError, match=r"^Dataset\.enumerate\(\) got an unexpected keyword argument 'begin'$"):
        ds.enumerate(begin=1)
    with pytest.raises(TypeError) as caught:
        ds.filter(3)
    assert "filter" in [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert "\nmap(self" in pydoc.plain(pydoc.render_doc(fl.Dataset.map))
