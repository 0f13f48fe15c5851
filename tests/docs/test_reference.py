"""The API reference has every public name, and the table of tf.data's names is up to date."""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from types import ModuleType

import pytest

import feedline as fl
from feedline.compat import v1

MAKE = Path(__file__).parents[2] / "docs" / "make"


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"docs_make_{name}", MAKE / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    return script("reference")


MODULES = {
    "fl": fl,
    "fl.experimental": fl.experimental,
    "fl.io": fl.io,
    "fl.io.gfile": fl.io.gfile,
    "fl.train": fl.train,
    "fl.image": fl.image,
    "fl.random": fl.random,
    "fl.keras.utils": fl.keras.utils,
    "fl.tfds": fl.tfds,
    "fl.tfds.decode": fl.tfds.decode,
    "fl.tfds.features": fl.tfds.features,
    "fl.compat.v1.data": v1.data,
}


@pytest.mark.parametrize("path", MODULES)
def test_every_public_name_is_there(reference: ModuleType, path: str) -> None:
    text = "".join(reference.written(page) for page in reference.pages().values())
    for name in MODULES[path].__all__:
        if not inspect.ismodule(getattr(MODULES[path], name)):
            assert f"`{path}.{name}`" in text


def test_every_method_of_dataset_is_there(reference: ModuleType) -> None:
    names = {n for n in dir(fl.Dataset) if not n.startswith("_")}
    assert {f"fl.Dataset.{n}" for n in names} <= set(reference.anchors())


def test_examples_become_blocks_of_code(reference: ModuleType) -> None:
    doc = "Says a word.\n>>> print('a')\na\n<BLANKLINE>\nb\n\nMore."
    assert reference.prose(doc) == "Says a word.\n\n```pycon\n>>> print('a')\na\n\nb\n```\n\nMore."


def test_names_become_links(reference: ModuleType) -> None:
    page = "Use `fl.io.read_file(name)` or `Dataset.map`.\n```python\n# `fl.Dataset`\n```\n# `fl.Dataset`\n"
    assert reference.linked(page, "guide/page.md") == (
        "Use [`fl.io.read_file(name)`](../reference/io.md#fl.io.read_file) or "
        "[`Dataset.map`](../reference/dataset.md#fl.Dataset.map).\n```python\n# `fl.Dataset`\n```\n# `fl.Dataset`\n"
    )


def test_a_picture_has_a_form_for_dark_pages(reference: ModuleType) -> None:
    assert reference.themed("![A loop](../a-light.svg)\n\n![B](b.svg)") == (
        "![A loop](../a-light.svg#only-light)\n![A loop](../a-dark.svg#only-dark)\n\n![B](b.svg)"
    )


def test_a_signature_that_is_long_is_broken_into_lines(reference: ModuleType) -> None:
    assert reference.signature("fl.Dataset.take", fl.Dataset.take) == "```python\nDataset.take(count, name=None)\n```"
    lines = reference.signature("fl.Dataset.map", fl.Dataset.map).splitlines()
    assert lines[1] == "Dataset.map(" and "*, workers=" in " ".join(lines)


def test_the_table_of_names_is_up_to_date() -> None:
    names = script("names")
    assert names.PAGE.read_text() == names.page(), "run python docs/make/names.py"
