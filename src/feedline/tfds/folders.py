"""Folders: where a dataset is, given its name."""

from __future__ import annotations

import json
import os
import re
from typing import NamedTuple

from feedline.errors import InvalidArgumentError, NotFoundError
from feedline.io import gfile
from feedline.io.files import read_file
from feedline.tfds.info import FEATURES

_NAME = re.compile(
    r"(?P<name>[A-Za-z]\w*)(/(?P<config>[\w+.-]+))?(:(?P<version>(\d+|\*)(\.(\d+|\*)){2}))?", re.ASCII
)
_VERSION = re.compile(r"\d+\.\d+\.\d+")
PUBLIC = "gs://tfds-data/datasets"


class DatasetName(NamedTuple):
    """The parts of a name such as "mnist", "mnist:3.*.*" or "c4/en:3.1.0"."""

    name: str
    config: str | None
    version: str | None


def dataset_name(name: object, config: str | None = None, version: str | None = None) -> DatasetName:
    """The parts of a name, and those given beside it."""
    found = _NAME.fullmatch(name) if isinstance(name, str) else None
    wanted = None if found is None else (config or found["config"])
    if found is None or wanted in (".", ".."):
        raise InvalidArgumentError(
            "tfds: the name of a dataset has the form name[/config][:version], as in 'mnist', 'c4/en' or "
            f"'mnist:3.*.*', got {name!r}"
        )
    for key, given in (("config", config), ("version", version)):
        if given is not None and found[key] not in (None, str(given)):
            raise InvalidArgumentError(f"tfds: the name {name!r} and {key}={given!r} differ")
    chosen = version if version is not None else found["version"]
    return DatasetName(_snake_case(found["name"]), wanted, None if chosen is None else str(chosen))


def _snake_case(name: str) -> str:
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", words).lower()


def data_folder(data_dir: object) -> str:
    """The folder that holds all datasets: as given, else TFDS_DATA_DIR, else ~/tensorflow_datasets."""
    chosen = data_dir if data_dir is not None else os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets"
    if isinstance(chosen, os.PathLike):
        chosen = os.fspath(chosen)
    if not isinstance(chosen, str):
        raise InvalidArgumentError(f"tfds: data_dir must be a path, got {data_dir!r}")
    return chosen if "://" in chosen else os.path.expanduser(chosen)


def version_folder(wanted: DatasetName, data_dir: str) -> str:
    """The folder of the newest version of a dataset that matches."""
    top = gfile.join(data_dir, wanted.name)
    config = wanted.config or _default_config(top)
    folder = gfile.join(top, config) if config else top
    for version in reversed(_versions(folder)):
        if _matches(version, wanted.version) and gfile.exists(gfile.join(folder, version, FEATURES)):
            found: str = gfile.join(folder, version)
            return found
    raise _not_found(wanted, data_dir, top, folder)


def _entries(folder: str) -> list[str]:
    return [name.rstrip("/") for name in gfile.listdir(folder)] if gfile.isdir(folder) else []


def _versions(folder: str) -> list[str]:
    found = [name for name in _entries(folder) if _VERSION.fullmatch(name)]
    return sorted(found, key=lambda name: [int(part) for part in name.split(".")])


def _matches(version: str, wanted: str | None) -> bool:
    if wanted is None:
        return True
    return all(b in ("*", a) for a, b in zip(version.split("."), wanted.split("."), strict=False))


def _default_config(top: str) -> str | None:
    """The config that the folder names as the usual one."""
    path = gfile.join(top, ".config", "metadata.json")
    if not gfile.exists(path):
        return None
    try:
        held = json.loads(read_file(path))
        name = held.get("default_config_name") if isinstance(held, dict) else None
    except ValueError:
        raise InvalidArgumentError(f"tfds: {path} is not JSON; name the config, as in 'name/config'") from None
    return name if isinstance(name, str) and re.fullmatch(r"[\w+-][\w+.-]*", name, re.ASCII) else None


def _not_found(wanted: DatasetName, data_dir: str, top: str, folder: str) -> NotFoundError:
    there = [name for name in _entries(top) if not name.startswith(".")]
    versions = _versions(folder)
    title = "/".join(part for part in (wanted.name, wanted.config) if part)
    title += f":{wanted.version}" if wanted.version else ""
    if versions:
        hint = f" It has the versions {', '.join(versions)}."
    elif there:
        hint = f" It has {', '.join(sorted(there)[:20])}: name one, as in {wanted.name}/{sorted(there)[0]}."
    else:
        hint = ""
    return NotFoundError(
        f"tfds: there is no dataset {title!r}: looked in {folder}.{hint} feedline reads the folders that "
        "tensorflow_datasets writes, and downloads nothing. Pass the data_dir that has it, or write it once where "
        f"TensorFlow is installed: python -c \"import tensorflow_datasets as tfds; tfds.load({title!r}, "
        f"data_dir={data_dir!r})\""
    )
