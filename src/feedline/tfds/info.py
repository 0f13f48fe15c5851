"""`DatasetInfo`: what the files dataset_info.json and features.json of a folder say."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from feedline.errors import InvalidArgumentError, NotFoundError
from feedline.io import gfile
from feedline.io.files import read_file
from feedline.tfds.features import FeatureConnector
from feedline.tfds.features_json import features_from_json
from feedline.tfds.splits import FileInstruction, SplitDict, SplitInfo

TEMPLATE = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
INFO, FEATURES = "dataset_info.json", "features.json"
_VARIABLE = re.compile(r"\{(\w+)\}")
MOST_SHARDS = 10_000_000
MOST = 1 << 48
"""More examples or bytes than a dataset has."""


@dataclass(frozen=True, repr=False)
class DatasetInfo:
    """A dataset's name, version, features, splits and more.

    >>> import inspect
    >>> [name for name in inspect.signature(fl.tfds.core.DatasetInfo).parameters][:5]
    ['name', 'version', 'data_dir', 'features', 'splits']
    """

    name: str
    version: str
    data_dir: str
    features: FeatureConnector
    splits: SplitDict
    config_name: str | None = None
    description: str = ""
    citation: str = ""
    homepage: str = ""
    supervised_keys: Any = None
    file_format: str = "tfrecord"
    alternative_file_formats: tuple[str, ...] = ()
    disable_shuffling: bool = False
    download_size: int = 0
    release_notes: Mapping[str, str] = field(default_factory=dict)
    metadata: Any = None

    @property
    def full_name(self) -> str:
        """Name, config and version, as in "mnist/3.0.1"."""
        return "/".join(part for part in (self.name, self.config_name, self.version) if part)

    @property
    def dataset_size(self) -> int:
        """The size of all files in bytes."""
        return sum(info.num_bytes for info in self.splits.values())

    def __repr__(self) -> str:
        rows = {
            "name": self.name,
            "full_name": self.full_name,
            "description": self.description,
            "homepage": self.homepage,
            "data_dir": self.data_dir,
            "file_format": self.file_format,
            "download_size": self.download_size,
            "dataset_size": self.dataset_size,
            "features": self.features,
            "supervised_keys": self.supervised_keys,
            "disable_shuffling": self.disable_shuffling,
            "splits": self.splits,
            "citation": self.citation,
        }
        lines = [f"    {key}={value!r},".replace("\n", "\n    ") for key, value in rows.items()]
        return "\n".join(["tfds.core.DatasetInfo(", *lines, ")"])


class InfoFile:
    """dataset_info.json, or an object in it, with checks of what it holds."""

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, Mapping):
            raise InvalidArgumentError(f"{where} must be a JSON object, got {values!r:.80}")
        self.values, self.where = values, where

    def _get(self, key: str, kind: type, default: Any) -> Any:
        found = self.values.get(key)
        if found is None:
            return default
        if not isinstance(found, kind):
            raise InvalidArgumentError(f"{self.where}: {key!r} must be a {kind.__name__}, got {found!r:.80}")
        return found

    def text(self, key: str) -> str:
        """A string; "" if there is none."""
        found: str = self._get(key, str, "")
        return found

    def items(self, key: str) -> list[Any]:
        """A list; empty if there is none."""
        found: list[Any] = self._get(key, list, [])
        return found

    def mapping(self, key: str) -> Mapping[str, Any]:
        """An object; empty if there is none."""
        found: Mapping[str, Any] = self._get(key, dict, {})
        return found

    def count(self, value: object, key: str) -> int:
        """A number of something, which may be written as a string."""
        try:
            if isinstance(value, (bool, float)) or not isinstance(value, (int, str)):
                raise ValueError
            number = int(value)
        except ValueError:
            number = -1
        if not 0 <= number <= MOST:
            raise InvalidArgumentError(f"{self.where}: {key!r} must be a number, at least 0, got {value!r:.80}")
        return number


def read_info(folder: str) -> DatasetInfo:
    """What the files of a folder say."""
    where = gfile.join(folder, INFO)
    file = InfoFile(parsed_json(_contents(where, folder)), where)
    name, file_format = file.text("name"), file.text("fileFormat") or "tfrecord"
    if not name:
        raise InvalidArgumentError(f"{where} has no 'name'")
    return DatasetInfo(
        name=name,
        version=file.text("version"),
        data_dir=folder,
        features=_features(folder),
        splits=read_splits(folder, file, name, file_format),
        config_name=file.text("configName") or None,
        description=file.text("description"),
        citation=file.text("citation"),
        homepage=str(next(iter(_urls(file)), "")),
        supervised_keys=_supervised(file),
        file_format=file_format,
        alternative_file_formats=tuple(str(found) for found in file.items("alternativeFileFormats")),
        disable_shuffling=bool(file.values.get("disableShuffling")),
        download_size=file.count(file.values.get("downloadSize") or 0, "downloadSize"),
        release_notes={str(key): str(value) for key, value in file.mapping("releaseNotes").items()},
        metadata=_metadata(folder),
    )


def _urls(file: InfoFile) -> list[Any]:
    urls = file.mapping("location").get("urls", [])
    return urls if isinstance(urls, list) else []


def _contents(path: str, folder: str) -> bytes:
    try:
        return read_file(path)
    except NotFoundError:
        raise NotFoundError(
            f"tfds: {folder} is no folder of a dataset: it has no {path.rpartition('/')[2]}. The folder of a version "
            "is needed, such as ~/tensorflow_datasets/mnist/3.0.1, written by tensorflow_datasets 4 or later"
        ) from None


def parsed_json(text: bytes, what: str = INFO) -> Any:
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as e:
        raise InvalidArgumentError(f"tfds: {what} is not JSON: {e}; the folder is damaged, write it again") from None


def _metadata(folder: str) -> Any:
    path = gfile.join(folder, "metadata.json")
    return parsed_json(read_file(path), "metadata.json") if gfile.exists(path) else None


def _features(folder: str) -> FeatureConnector:
    where = gfile.join(folder, FEATURES)
    contents = _contents(where, folder)
    present = set(gfile.listdir(folder))

    def names(feature: str) -> list[str] | None:
        name = f"{feature}.labels.txt"
        if name not in present:
            return None
        lines = read_file(gfile.join(folder, name)).decode("utf-8", "replace").split("\n")
        return [line.strip() for line in lines if line.strip()]

    return features_from_json(contents, where, names)


def _supervised(file: InfoFile) -> Any:
    """The structure of supervised elements: nested tuples and dicts of names of features."""
    held = file.mapping("supervisedKeys")
    if not held:
        return None
    if held.get("input") and held.get("output"):
        return held["input"], held["output"]
    return _nest(held, file.where)


def _nest(held: Any, where: str) -> Any:
    if isinstance(held, Mapping):
        key, items, items_by_name = held.get("featureKey"), held.get("tuple"), held.get("dict")
        if isinstance(key, str):
            return key
        if isinstance(items, Mapping) and isinstance(items.get("items"), list):
            return tuple(_nest(item, where) for item in items["items"])
        if isinstance(items_by_name, Mapping) and isinstance(items_by_name.get("dict"), Mapping):
            return {str(name): _nest(item, where) for name, item in sorted(items_by_name["dict"].items())}
    raise InvalidArgumentError(f"{where}: 'supervisedKeys' must name features, got {held!r:.80}")


def read_splits(folder: str, file: InfoFile, name: str, file_format: str) -> SplitDict:
    """The splits in dataset_info.json, with their files."""
    found = []
    for index, held in enumerate(file.items("splits")):
        split = InfoFile(held, f"{file.where}, split {index}")
        title = split.text("name")
        lengths = [split.count(n, "shardLengths") for n in split.items("shardLengths")]
        template = split.text("filepathTemplate") or TEMPLATE
        if len(lengths) > MOST_SHARDS:
            raise InvalidArgumentError(f"{split.where}: {len(lengths)} shards are too many")
        values = {"DATASET": name, "SPLIT": title, "FILEFORMAT": file_format}
        files = [
            FileInstruction(gfile.join(folder, _filled(template, values, i, len(lengths), split)), 0, n, n)
            for i, n in enumerate(lengths)
        ]
        full = [file for file in files if file.take]
        empty = tuple(i for i, n in enumerate(lengths) if not n)
        size = split.count(split.values.get("numBytes") or 0, "numBytes")
        found.append(SplitInfo(title, full, size, empty))
    return SplitDict(found)


def _filled(template: str, values: dict[str, str], index: int, count: int, split: InfoFile) -> str:
    """The name of a file from the template for all of them."""
    digits = max(5, len(str(count)))
    number, total = f"{index:0{digits}}", f"{count:0{digits}}"
    known = {**values, "SHARD_INDEX": number, "NUM_SHARDS": total, "SHARD_X_OF_Y": f"{number}-of-{total}"}

    def value(found: re.Match[str]) -> str:
        if found[1] not in known:
            raise InvalidArgumentError(f"{split.where}: 'filepathTemplate' has the unknown variable {found[0]}")
        return known[found[1]]

    return _inside(_VARIABLE.sub(value, template), split)


def _inside(name: str, split: InfoFile) -> str:
    """The name, if it names a file in the dataset's folder or below."""
    parts = re.split(r"[/\\]", name)
    if any(part in ("", ".", "..") or "\0" in part for part in parts) or ":" in parts[0]:
        raise InvalidArgumentError(f"{split.where} names the file {name!r:.200}, which is not in the dataset's folder")
    return name
