"""`tfds.builder` and `tfds.load`: datasets from the folders that tensorflow_datasets writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.io import gfile
from feedline.io.files import read_file
from feedline.plan.arguments import AUTOTUNE
from feedline.structure.ragged import RaggedTensor
from feedline.tfds.decode import Decoder, PartialDecoding, SkipDecoding
from feedline.tfds.decoding import FeatureLayout, Part, decoded, structure_of
from feedline.tfds.features import FeatureConnector, FeaturesDict
from feedline.tfds.folders import PUBLIC, data_folder, dataset_name, version_folder
from feedline.tfds.info import INFO, DatasetInfo, InfoFile, parsed_json, read_info, read_splits
from feedline.tfds.reading import FORMATS, ReadConfig, records
from feedline.tfds.splits import AbstractSplit, SplitDict, SplitInfo

AUTOCACHE = 250 << 20
"""Datasets of more bytes are not kept in memory."""


class DatasetBuilder:
    """A dataset in a folder, from `builder` or `builder_from_directory`: `info` describes it, `as_dataset` reads it.

    >>> def sizes(builder: fl.tfds.core.DatasetBuilder) -> dict[str, int]:
    ...     return {name: split.num_examples for name, split in builder.info.splits.items()}
    """

    def __init__(self, info: DatasetInfo, file_format: str | None = None) -> None:
        self.info = info
        self._file_format = _checked_format(info, file_format)

    @property
    def name(self) -> str:
        """The name of the dataset."""
        return self.info.name

    @property
    def version(self) -> str:
        """The version of the dataset."""
        return self.info.version

    @property
    def data_dir(self) -> str:
        """The folder of this version."""
        return self.info.data_dir

    def __repr__(self) -> str:
        return f"<DatasetBuilder {self.info.full_name} in {self.info.data_dir}>"

    def download_and_prepare(self, **kwargs: Any) -> None:
        """Does nothing: the folder is there."""

    def as_dataset(
        self,
        split: Any = None,
        *,
        batch_size: int | None = None,
        shuffle_files: bool = False,
        decoders: Any = None,
        read_config: ReadConfig | None = None,
        as_supervised: bool = False,
    ) -> Any:
        """The dataset of a split, with the arguments of `load`; a dict of all splits if `split` is None, and lists and
        dicts of datasets for those of splits.
        """
        config = read_config or ReadConfig()
        wanted = {name: name for name in self.info.splits} if split is None else split
        return _for_each(
            wanted, lambda one: self._single(one, batch_size, shuffle_files, decoders, config, as_supervised)
        )

    def _single(
        self, split: Any, batch_size: int | None, shuffle: bool, decoders: Any, config: ReadConfig, supervised: bool
    ) -> Any:
        file_format = _checked_format(self.info, config.file_format) if config.file_format else self._file_format
        part = self._splits(file_format)[split]
        if not part.file_instructions:
            raise InvalidArgumentError(f"tfds: the split {split!r} of {self.info.full_name} has no examples")
        reader = ElementReader(self.info, decoders, supervised, config)
        ds = records(part.file_instructions, config, file_format, shuffle, self.info.disable_shuffling)
        ds = reader.decoded(ds)
        if self._fits_in_memory(part, shuffle, config):
            ds = ds.cache()
        whole = batch_size == -1
        if batch_size is not None and batch_size != 0:
            ds = ds.padded_batch(self.info.splits.total_num_examples if whole else batch_size)
        if not config.skip_prefetch:
            ds = ds.prefetch(AUTOTUNE)
        return ds.get_single_element() if whole else ds

    def _splits(self, file_format: str) -> SplitDict:
        if file_format == self.info.file_format:
            return self.info.splits
        where = gfile.join(self.info.data_dir, INFO)
        return read_splits(self.info.data_dir, InfoFile(parsed_json(read_file(where)), where), self.name, file_format)

    def _fits_in_memory(self, part: SplitInfo, shuffle: bool, config: ReadConfig) -> bool:
        """Whether it is kept in memory: it is small, its size is known, and an epoch is like the one before."""
        new_order = shuffle and config.shuffle_reshuffle_each_iteration is not False and part.num_shards > 1
        return config.try_autocache and 0 < self.info.dataset_size <= AUTOCACHE and not new_order


def _checked_format(info: DatasetInfo, file_format: Any) -> str:
    chosen = str(getattr(file_format, "value", file_format) or info.file_format)
    if chosen not in (info.file_format, *info.alternative_file_formats):
        there = [info.file_format, *info.alternative_file_formats]
        raise InvalidArgumentError(f"tfds: {info.data_dir} has files in the formats {there}, not {chosen!r}")
    if chosen not in FORMATS:
        raise InvalidArgumentError(
            f"tfds: {info.data_dir} has files in the format {chosen!r}; feedline reads {', '.join(FORMATS)}"
        )
    return chosen


def _for_each(splits: Any, function: Any) -> Any:
    """The structure of lists, tuples and dicts with its splits replaced."""
    if isinstance(splits, Mapping):
        return {key: _for_each(value, function) for key, value in splits.items()}
    if isinstance(splits, (list, tuple)) and not isinstance(splits, AbstractSplit):
        return type(splits)(_for_each(value, function) for value in splits)
    return function(splits)


class ElementReader:
    """How examples become elements: which features are read, the decoders of users, and the supervised structure."""

    def __init__(self, info: DatasetInfo, decoders: Any, supervised: bool, config: ReadConfig) -> None:
        features: FeatureConnector = info.features
        if isinstance(decoders, PartialDecoding):
            features, decoders = decoders.extract_features(features), decoders.decoders
        if not isinstance(features, FeaturesDict):
            raise InvalidTypeError(f"tfds: {info.full_name}: its features must be a FeaturesDict, got {features!r:.80}")
        self._config, self._keys = config, None
        if supervised:
            if not info.supervised_keys:
                raise InvalidArgumentError(
                    f"tfds: {info.full_name} does not say which features are input and label; leave out as_supervised, "
                    f"and pick them in a map: its features are {list(features)}"
                )
            self._keys = info.supervised_keys
        self._structure = structure_of(features, "", (), decoders)
        self._custom = _custom(decoders, self._structure)

    def decoded(self, ds: Any) -> Any:
        """The dataset of serialized examples as elements."""
        ids, structure = self._config.add_tfds_id, self._structure
        later = bool(self._custom) or ids
        layout = FeatureLayout(structure if self._keys is None or later else _picked(structure, self._keys), ids=ids)
        ds = decoded(ds, layout, self._config.num_parallel_calls_for_decode)
        if not self._custom and not (later and self._keys is not None):
            return ds
        custom, keys = self._custom, self._keys

        def finished(element: dict[str, Any]) -> Any:
            made = _with_decoders(element, custom)
            return made if keys is None else _picked(made, keys)

        return ds.map(finished, num_parallel_calls=self._config.num_parallel_calls_for_decode)


def _picked(found: Mapping[str, Any], keys: Any) -> Any:
    """The structure of keys with each replaced by the item of that name."""
    if isinstance(keys, str):
        if keys not in found:
            raise InvalidArgumentError(f"tfds: as_supervised needs the feature {keys!r}, there are {list(found)}")
        return found[keys]
    if isinstance(keys, Mapping):
        return {name: _picked(found, key) for name, key in keys.items()}
    return tuple(_picked(found, key) for key in keys)


def _custom(decoders: Any, structure: Any) -> Any:
    """The decoders that are functions of users, with their parts."""
    if isinstance(decoders, Mapping):
        found = {name: _custom(value, structure[name]) for name, value in decoders.items()}
        return {name: value for name, value in found.items() if value}
    if decoders is None or isinstance(decoders, SkipDecoding):
        return None
    if not isinstance(decoders, Decoder) or not isinstance(structure, Part):
        raise InvalidTypeError(f"tfds: decoders must be those of fl.tfds.decode, one per feature, got {decoders!r}")
    decoders.setup(feature=structure.feature)
    return decoders, len(structure.lengths)


def _with_decoders(value: Any, custom: Any) -> Any:
    if not custom:
        return value
    if isinstance(custom, Mapping):
        return {name: _with_decoders(item, custom.get(name)) for name, item in value.items()}
    decoder, rank = custom
    if rank == 0:
        return decoder.decode_example(value)
    items = value.flat_values if isinstance(value, RaggedTensor) else value
    made = np.stack([np.asarray(decoder.decode_example(item)) for item in items])
    return value.with_flat_values(made) if isinstance(value, RaggedTensor) else made


def disable_progress_bar() -> None:
    """Does nothing: nothing is downloaded, so there is no progress to show.

    >>> fl.tfds.disable_progress_bar()
    """


def enable_progress_bar() -> None:
    """Does nothing: nothing is downloaded, so there is no progress to show.

    >>> fl.tfds.enable_progress_bar()
    """


def builder(
    name: str,
    *,
    data_dir: Any = None,
    config: str | None = None,
    version: str | None = None,
    file_format: str | None = None,
    try_gcs: bool = False,
) -> DatasetBuilder:
    """The builder of a dataset by name, for instance "mnist", "c4/en" or "mnist:3.*.*", in `data_dir`.

    >>> fl.tfds.builder("mnist", data_dir="nowhere")
    Traceback (most recent call last):
    feedline.errors.NotFoundError: tfds: there is no dataset 'mnist': looked in nowhere/mnist. ...

    `data_dir` is by default the environment variable TFDS_DATA_DIR, or ~/tensorflow_datasets; with `try_gcs` it is
    tensorflow_datasets' public bucket. The newest version that matches is taken. Nothing is downloaded or written.
    """
    wanted = dataset_name(name, config, version)
    folder = version_folder(wanted, PUBLIC if try_gcs and data_dir is None else data_folder(data_dir))
    return builder_from_directory(folder, file_format)


def builder_from_directory(builder_dir: Any, file_format: str | None = None) -> DatasetBuilder:
    """The builder of the dataset in a folder, such as ~/tensorflow_datasets/mnist/3.0.1.

    >>> fl.tfds.builder_from_directory("nowhere")
    Traceback (most recent call last):
    feedline.errors.NotFoundError: tfds: nowhere is no folder of a dataset: it has no dataset_info.json. ...
    """
    return DatasetBuilder(read_info(data_folder(builder_dir).rstrip("/")), file_format)


def builder_from_directories(builder_dirs: Sequence[Any]) -> DatasetBuilder:
    """The builder of a dataset whose files are in several folders, with the same features: each split has the files of
    all folders.

    >>> fl.tfds.builder_from_directories([])
    Traceback (most recent call last):
    feedline.errors.InvalidArgumentError: tfds.builder_from_directories: there must be at least one folder
    """
    infos = [builder_from_directory(folder).info for folder in builder_dirs]
    if not infos:
        raise InvalidArgumentError("tfds.builder_from_directories: there must be at least one folder")
    for info in infos[1:]:
        if info.features != infos[0].features:
            raise InvalidArgumentError(
                f"tfds.builder_from_directories: {info.data_dir} has other features than {infos[0].data_dir}"
            )
    names = dict.fromkeys(name for info in infos for name in info.splits)
    joined = []
    for name in names:
        parts = [info.splits[name] for info in infos if name in info.splits]
        files = [file for part in parts for file in part.file_instructions]
        joined.append(SplitInfo(name, files, sum(part.num_bytes for part in parts)))
    return DatasetBuilder(replace(infos[0], splits=SplitDict(joined)))


def load(
    name: str,
    *,
    split: Any = None,
    data_dir: Any = None,
    batch_size: int | None = None,
    shuffle_files: bool = False,
    download: bool = True,
    as_supervised: bool = False,
    decoders: Any = None,
    read_config: ReadConfig | None = None,
    with_info: bool = False,
    builder_kwargs: Mapping[str, Any] | None = None,
    download_and_prepare_kwargs: Mapping[str, Any] | None = None,
    as_dataset_kwargs: Mapping[str, Any] | None = None,
    try_gcs: bool = False,
    file_format: str | None = None,
) -> Any:
    """Reads a dataset that tensorflow_datasets has written: the same elements, in the same order.

    >>> import json, tempfile
    >>> folder = tempfile.mkdtemp() + "/numbers/1.0.0"
    >>> info = {"name": "numbers", "version": "1.0.0", "splits": [{"name": "train", "shardLengths": [3]}]}
    >>> core = "tensorflow_datasets.core.features."
    >>> x = {"type": core + "tensor_feature.Tensor", "content": {"shape": [], "dtype": "int32"}}
    >>> features = {"type": core + "features_dict.FeaturesDict", "content": {"x": x}}
    >>> fl.io.write_file(f"{folder}/dataset_info.json", json.dumps(info))
    >>> fl.io.write_file(f"{folder}/features.json", json.dumps(features))
    >>> _ = fl.io.write_examples(f"{folder}/numbers-train.tfrecord-00000-of-00001", {"x": range(3)})
    >>> list(fl.tfds.load("numbers", split="train[1:]", data_dir=folder.removesuffix("/numbers/1.0.0")))
    [{'x': np.int32(1)}, {'x': np.int32(2)}]

    name           "name", "name/config", or either with ":version", in which "*" stands for any number
    split          a split, as in "train", "train[:10%]", "train[100:200]", "train[2shard:]" or "train+test"; a list or
                   dict of splits; by default a dict of all
    data_dir       where the datasets are; by default TFDS_DATA_DIR, or ~/tensorflow_datasets
    batch_size     elements are batches, padded with zeros; with -1 one batch of everything is returned
    shuffle_files  shuffles the files, with the seed of `read_config`
    as_supervised  elements are pairs of input and label
    decoders       how features are decoded, for instance `{"image": fl.tfds.decode.SkipDecoding()}`
    read_config    see `ReadConfig`
    with_info      returns also the `DatasetInfo`

    A dataset that is small is kept in memory after the first epoch (`ReadConfig.try_autocache`). Nothing is ever
    downloaded, so `download` has no effect.
    """
    given = dict(builder_kwargs or {})
    given.setdefault("data_dir", data_dir)
    made = builder(name, try_gcs=try_gcs, **given)
    config = read_config or ReadConfig()
    if file_format is not None:
        config = config.replace(file_format=file_format)
    more = {
        "split": split,
        "batch_size": batch_size,
        "shuffle_files": shuffle_files,
        "decoders": decoders,
        "read_config": config,
        "as_supervised": as_supervised,
    }
    found = made.as_dataset(**{**more, **(as_dataset_kwargs or {})})
    return (found, made.info) if with_info else found


