"""`tfds.features`: what a dataset's elements consist of, and how each part is stored and decoded."""

from __future__ import annotations

import io
import wave
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any, ClassVar

import numpy as np

from feedline.errors import InvalidArgumentError, UnimplementedError
from feedline.io.codecs import decode_compressed
from feedline.io.image.decode import decode_image
from feedline.structure import types
from feedline.structure.spec import DatasetSpec, RaggedTensorSpec, TensorSpec
from feedline.structure.types import DType, as_dtype

__all__ = [
    "Audio",
    "BBoxFeature",
    "ClassLabel",
    "Dataset",
    "FeatureConnector",
    "FeaturesDict",
    "Image",
    "LabeledImage",
    "Scalar",
    "Sequence",
    "Tensor",
    "TensorInfo",
    "Text",
    "Translation",
    "TranslationVariableLanguages",
    "Video",
]

Array = np.ndarray[Any, Any]
Shape = tuple[int | None, ...]

MOST_DEFAULTS = 1 << 20
"""The largest number of values in the array that is used for a missing one."""

RAW_TYPES = "iufbcV"
"""Kinds of NumPy types whose bytes are stored as they are; bfloat16 is of kind V."""


@dataclass(frozen=True)
class TensorInfo:
    """Shape and dtype of an array; how many of its leading dimensions are those of sequences.

    >>> fl.tfds.features.Image(shape=(28, 28, 1)).get_tensor_info()
    TensorInfo(shape=(28, 28, 1), dtype=uint8)
    """

    shape: Shape
    dtype: DType
    default_value: Any = None
    sequence_rank: int = 0

    def __repr__(self) -> str:
        return f"TensorInfo(shape={self.shape}, dtype={self.dtype.name})"

    def inside(self, lengths: Shape) -> TensorInfo:
        """This array as an item of sequences of these lengths."""
        return replace(self, shape=(*lengths, *self.shape), sequence_rank=self.sequence_rank + len(lengths))

    def spec(self) -> Any:
        """The spec of such arrays: ragged if they are items of more than one sequence."""
        if self.sequence_rank > 1:
            return RaggedTensorSpec(list(self.shape), self.dtype, self.sequence_rank - 1)
        return TensorSpec(list(self.shape), self.dtype)


class FeatureConnector:
    """A part of a dataset's elements: what it is, how it is stored in files, and how it is decoded.

    >>> features = fl.tfds.features.FeaturesDict({"image": fl.tfds.features.Image(), "label": np.int64})
    >>> features
    FeaturesDict({
        'image': Image(shape=(None, None, 3), dtype=uint8),
        'label': int64,
    })
    >>> features["image"].shape, features["label"].dtype
    ((None, None, 3), fl.int64)
    """

    def get_tensor_info(self) -> Any:
        """Shape and dtype of the decoded value; for nested features a dict of them."""
        raise TypeError(f"{type(self).__name__} must define get_tensor_info")

    def get_serialized_info(self) -> Any:
        """Shape and dtype of what the file holds, in the same form."""
        return self.get_tensor_info()

    def get_tensor_spec(self) -> Any:
        """The `TensorSpec` of the decoded value; for nested features a dict of them."""
        return _mapped(lambda info: info.spec(), self.get_tensor_info())

    @property
    def shape(self) -> Any:
        """The shape of the decoded value; None for unknown sizes."""
        return _mapped(lambda info: info.shape, self.get_tensor_info())

    @property
    def dtype(self) -> Any:
        """The dtype of the decoded value."""
        return _mapped(lambda info: info.dtype, self.get_tensor_info())

    @property
    def np_dtype(self) -> Any:
        """The dtype of the decoded value, as NumPy names it."""
        return _mapped(lambda info: info.dtype.dtype, self.get_tensor_info())

    @property
    def decodes(self) -> bool:
        """Whether the decoded value differs from the stored one."""
        return False

    def decode_example(self, example: Any) -> Any:
        """The decoded value for a stored one, for instance the pixels of a file's bytes."""
        return example

    def shown_extra(self) -> str:
        """What the representation says beside shape and dtype."""
        return ""

    def __repr__(self) -> str:
        info = self.get_tensor_info()
        return f"{type(self).__name__}(shape={info.shape}, dtype={info.dtype.name}{self.shown_extra()})"


def _mapped(function: Any, infos: Any) -> Any:
    if isinstance(infos, Mapping):
        return {key: _mapped(function, info) for key, info in infos.items()}
    return function(infos)


def feature_of(value: object) -> FeatureConnector:
    """A feature from a feature, a dtype, or a dict of these."""
    if isinstance(value, FeatureConnector):
        return value
    if isinstance(value, Mapping):
        return FeaturesDict(value)
    return Tensor(shape=(), dtype=value)


class FeaturesDict(FeatureConnector, Mapping[str, Any]):
    """Features by name.

    >>> fl.tfds.features.FeaturesDict({"x": np.int32, "nested": {"y": fl.tfds.features.Text()}}).get_tensor_spec()
    {'nested': {'y': TensorSpec(shape=(), dtype=string)}, 'x': TensorSpec(shape=(), dtype=int32)}
    """

    def __init__(self, feature_dict: Mapping[str, Any]) -> None:
        self._features = {key: feature_of(value) for key, value in sorted(feature_dict.items())}

    def get_tensor_info(self) -> dict[str, Any]:
        """That of each feature."""
        return {key: feature.get_tensor_info() for key, feature in self._features.items()}

    def get_serialized_info(self) -> dict[str, Any]:
        """That of each feature."""
        return {key: feature.get_serialized_info() for key, feature in self._features.items()}

    def get_tensor_spec(self) -> dict[str, Any]:
        """That of each feature."""
        return {key: feature.get_tensor_spec() for key, feature in self._features.items()}

    def deserialize_example(self, serialized_example: bytes, *, decoders: Any = None) -> dict[str, Any]:
        """The decoded features of one serialized example, for records that were read otherwise."""
        from feedline.tfds.decoding import deserialized

        made: dict[str, Any] = deserialized(self, serialized_example, decoders)
        return made

    def __getitem__(self, key: str) -> Any:
        return self._features[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._features)

    def __len__(self) -> int:
        return len(self._features)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and isinstance(other, FeaturesDict) and self._features == other._features

    def __hash__(self) -> int:
        return hash(tuple(self._features))

    def __repr__(self) -> str:
        lines = [f"    {line}" for key, f in self._features.items() for line in f"{key!r}: {_short(f)},".split("\n")]
        return "\n".join([f"{type(self).__name__}({{", *lines, "})"])


def _short(feature: FeatureConnector) -> str:
    """A scalar shows only its dtype."""
    if type(feature) is Tensor and feature.size == ():
        return feature.kind.name
    return repr(feature)


class Translation(FeaturesDict):
    """A text in several languages, by language.

    >>> list(fl.tfds.features.Translation(["en", "fr"]))
    ['en', 'fr']
    """

    def __init__(self, languages: Any) -> None:
        super().__init__({language: Text() for language in languages})

    @property
    def languages(self) -> list[str]:
        """The languages, sorted."""
        return sorted(self)


@dataclass(frozen=True, repr=False)
class Sequence(FeatureConnector):
    """A list of values of one feature, or a dict of lists.

    >>> fl.tfds.features.Sequence(np.int64).shape, fl.tfds.features.Sequence({"x": np.int64}, length=3).shape
    ((None,), {'x': (3,)})
    """

    feature: Any
    length: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "feature", feature_of(self.feature))

    def get_tensor_info(self) -> Any:
        """That of the feature, with a dimension in front."""
        return _mapped(lambda info: info.inside((self.length,)), self.feature.get_tensor_info())

    def get_serialized_info(self) -> Any:
        """That of the feature, with a dimension in front."""
        return _mapped(lambda info: info.inside((self.length,)), self.feature.get_serialized_info())

    def __getitem__(self, key: str) -> Any:
        return self.feature[key]

    def __repr__(self) -> str:
        inner = _short(self.feature)
        if type(self.feature) is FeaturesDict:
            inner = inner.removeprefix("FeaturesDict(").removesuffix(")")
        return f"{type(self).__name__}({inner})"


class Dataset(Sequence):
    """A nested dataset, such as the steps of an episode: it is an `fl.Dataset` in the element.

    >>> fl.tfds.features.Dataset({"reward": np.float32}).get_tensor_spec()
    DatasetSpec({'reward': TensorSpec(shape=(), dtype=float32)})
    """

    def get_tensor_info(self) -> Any:
        """That of one element of the nested dataset."""
        return self.feature.get_tensor_info()

    def get_tensor_spec(self) -> Any:
        """The `DatasetSpec` of the nested dataset."""
        return DatasetSpec(self.feature.get_tensor_spec())


class Video(Sequence):
    """A sequence of images.

    >>> fl.tfds.features.Video(shape=(None, 64, 64, 3))
    Video(Image(shape=(64, 64, 3), dtype=uint8))
    """

    def __init__(self, shape: Any = None, encoding_format: str | None = "png", dtype: object = types.uint8) -> None:
        dims = tuple(shape) if shape else (None, None, None, 3)
        if len(dims) != 4:
            raise InvalidArgumentError(f"tfds.features.Video: shape must have 4 dimensions, got {shape!r}")
        image = Image(shape=dims[1:], dtype=dtype, encoding_format=encoding_format)
        super().__init__(image, dims[0])


class TranslationVariableLanguages(Sequence):
    """Texts with their languages, of which each element may have others.

    >>> fl.tfds.features.TranslationVariableLanguages().shape
    {'language': (None,), 'translation': (None,)}
    """

    def __init__(self, languages: Any = None) -> None:
        object.__setattr__(self, "languages", sorted(languages) if languages else None)
        super().__init__({"language": Text(), "translation": Text()})

    def __repr__(self) -> str:
        return repr(self.feature).replace("FeaturesDict", type(self).__name__, 1)


@dataclass(frozen=True, repr=False)
class Tensor(FeatureConnector):
    """An array. With an `encoding`, "bytes" or "zlib", it is stored as one string.

    >>> fl.tfds.features.Tensor(shape=(None, 2), dtype=np.float32)
    Tensor(shape=(None, 2), dtype=float32)
    """

    size: Shape
    kind: DType
    encoding: str = "none"
    optional: bool = False

    ENCODINGS: ClassVar[tuple[str, ...]] = ("none", "bytes", "zlib")

    def __init__(self, shape: Any, dtype: Any, encoding: Any = "none", optional: bool = False) -> None:
        chosen = str(encoding or "none").lower()
        if chosen not in self.ENCODINGS:
            raise InvalidArgumentError(
                f"tfds.features.{type(self).__name__}: encoding must be one of {self.ENCODINGS}, got {encoding!r}"
            )
        object.__setattr__(self, "size", tuple(shape))
        object.__setattr__(self, "kind", as_dtype(dtype))
        object.__setattr__(self, "encoding", chosen)
        object.__setattr__(self, "optional", bool(optional))
        if optional and prod(n or 0 for n in self.size) > MOST_DEFAULTS:
            raise InvalidArgumentError(
                f"tfds.features.{type(self).__name__}: {shape} is too large for an optional array"
            )

    @property
    def decodes(self) -> bool:
        """Whether the array is stored as a string."""
        return self.encoding != "none"

    @property
    def _dynamic(self) -> bool:
        return self.size.count(None) > 1

    def get_tensor_info(self) -> TensorInfo:
        """Shape and dtype of the array."""
        return TensorInfo(self.size, self.kind, self._default())

    def get_serialized_info(self) -> Any:
        """The array, or the string it is stored as; with the shape, if more than one size is unknown."""
        value = TensorInfo((), types.string) if self.decodes else self.get_tensor_info()
        if not self._dynamic:
            return value
        return {"shape": TensorInfo((len(self.size),), types.int32), "value": value}

    def _default(self) -> Any:
        """The value that is used for a missing one, if the array is optional."""
        if not self.optional:
            return None
        if self.kind == types.string:
            lowest: Any = b""
        elif self.kind.is_integer:
            lowest = int(np.iinfo(self.kind.dtype).min)
        else:
            lowest = float(np.finfo(self.kind.dtype).min) if self.kind.is_floating else 0
        return lowest if not self.size else [lowest] * prod(d or 0 for d in self.size)

    def decode_example(self, example: Any) -> Any:
        """The array for its bytes."""
        if not self.decodes:
            return example["value"] if self._dynamic else example
        data, shape = example, self.size
        if self._dynamic:
            data, shape = example["value"], _merged(example["shape"], self.size)
        raw = decode_compressed(data, "ZLIB") if self.encoding == "zlib" else data
        if self.kind.kind not in RAW_TYPES:
            raise UnimplementedError(f"tfds.features.Tensor: {self.kind.name} cannot be read from bytes")
        if len(raw) % self.kind.size:
            raise InvalidArgumentError(
                f"tfds.features.Tensor: {len(raw)} bytes are no array of {self.kind.name}: that has {self.kind.size} "
                "bytes per value"
            )
        return reshaped(np.frombuffer(raw, self.kind.dtype), shape)


def _merged(found: Any, stated: Shape) -> Shape:
    """The shape in the file, with the sizes that are known anyway."""
    sizes = [int(n) for n in np.asarray(found).tolist()]
    return tuple(a if b is None else b for a, b in zip(sizes, stated, strict=True))


def reshaped(flat: Array, shape: Shape) -> Array:
    """The values in this shape, of which one size may be unknown."""
    known = prod(n for n in shape if n is not None)
    rest = flat.size // known if known else 0
    sizes = tuple(rest if n is None else n for n in shape)
    if prod(sizes) != flat.size:
        raise InvalidArgumentError(f"tfds: {flat.size} values do not have the shape {shape}")
    return flat.reshape(sizes)


class Scalar(Tensor):
    """A single number or string.

    >>> fl.tfds.features.Scalar(np.int32)
    Scalar(shape=(), dtype=int32)
    """

    def __init__(self, dtype: Any, optional: bool = False) -> None:
        super().__init__((), dtype, optional=optional)


class Text(Tensor):
    """A text, as UTF-8 bytes.

    >>> fl.tfds.features.Text()
    Text(shape=(), dtype=string)
    """

    def __init__(self, optional: bool = False) -> None:
        super().__init__((), types.string, optional=optional)


class BBoxFeature(Tensor):
    """A bounding box: four numbers, by default ymin, xmin, ymax, xmax, from 0 to 1.

    >>> fl.tfds.features.BBoxFeature()
    BBoxFeature(shape=(4,), dtype=float32)
    """

    def __init__(self, bbox_format: Any = "REL_YXYX") -> None:
        super().__init__((4,), types.float32)
        object.__setattr__(self, "bbox_format", bbox_format)


class ClassLabel(Tensor):
    """The number of a class, and the names of all classes.

    >>> label = fl.tfds.features.ClassLabel(names=["cat", "dog"])
    >>> label.num_classes, label.names, label.int2str(1), label.str2int("cat")
    (2, ['cat', 'dog'], 'dog', 0)
    """

    def __init__(self, num_classes: int | None = None, names: Any = None) -> None:
        super().__init__((), types.int64)
        named = None if names is None else tuple(str(name) for name in names)
        if named is not None and len(set(named)) != len(named):
            raise InvalidArgumentError(f"tfds.features.ClassLabel: names must differ, got {list(named)}")
        if named is not None and num_classes not in (None, len(named)):
            raise InvalidArgumentError(
                f"tfds.features.ClassLabel: there are {len(named)} names, but num_classes is {num_classes}"
            )
        object.__setattr__(self, "num_classes", num_classes if named is None else len(named))
        object.__setattr__(self, "_names", named)

    num_classes: int | None
    _names: tuple[str, ...] | None

    @property
    def names(self) -> list[str]:
        """The names of the classes; their numbers if they have none."""
        return [str(i) for i in range(self.num_classes or 0)] if self._names is None else list(self._names)

    def int2str(self, int_value: int) -> str:
        """The name of a class."""
        names = self.names
        if not 0 <= int_value < len(names):
            raise InvalidArgumentError(f"tfds: there are {len(names)} classes, got the number {int_value}")
        return names[int_value]

    def str2int(self, str_value: str) -> int:
        """The number of a class."""
        names = self.names
        if str_value not in names:
            raise InvalidArgumentError(f"tfds: no class is named {str_value!r}; the names begin with {names[:10]}")
        return names.index(str_value)

    def shown_extra(self) -> str:
        """The number of classes."""
        return f", num_classes={self.num_classes}"


@dataclass(frozen=True, repr=False)
class Image(FeatureConnector):
    """An image, stored as a PNG, JPEG, BMP or GIF file.

    >>> fl.tfds.features.Image(shape=(28, 28, 1)).decode_example(fl.io.encode_png(np.ones((1, 2, 1), np.uint8)))
    array([[[1],
            [1]]], dtype=uint8)

    The dtype is uint8, uint16, or, with one channel, float32, whose four bytes are stored as four channels.
    """

    size: Shape
    kind: DType
    encoding_format: str | None

    def __init__(self, shape: Any = None, dtype: object = None, encoding_format: str | None = None) -> None:
        size, kind = tuple(shape) if shape else (None, None, 3), as_dtype(dtype or types.uint8)
        if kind not in (types.uint8, types.uint16, types.float32):
            raise InvalidArgumentError(f"tfds.features.Image: dtype must be uint8, uint16 or float32, got {kind.name}")
        if len(size) not in (3, 4) or size[-1] not in (0, 1, 2, 3, 4) or (kind == types.float32 and size[-1] != 1):
            raise InvalidArgumentError(f"tfds.features.Image: no {kind.name} image has the shape {size}")
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "kind", kind)
        object.__setattr__(self, "encoding_format", encoding_format)

    @property
    def decodes(self) -> bool:
        """True: the file's bytes become pixels."""
        return True

    def get_tensor_info(self) -> TensorInfo:
        """Shape and dtype of the pixels."""
        return TensorInfo(self.size, self.kind)

    def get_serialized_info(self) -> TensorInfo:
        """The bytes of the image file."""
        return TensorInfo((), types.string)

    def decode_example(self, example: Any) -> Array:
        """The pixels of an image file."""
        if self.kind == types.float32:
            return np.ascontiguousarray(decode_image(example, channels=4)).view(np.float32)
        return decode_image(example, channels=self.size[-1], dtype=self.kind)


class LabeledImage(Image):
    """An image whose pixels are class numbers.

    >>> fl.tfds.features.LabeledImage(labels=["sky", "road"]).names
    ['sky', 'road']
    """

    def __init__(
        self, labels: Any = None, shape: Any = None, dtype: object = None, encoding_format: str | None = None
    ) -> None:
        super().__init__(shape or (None, None, 1), dtype, encoding_format)
        given = {"names": labels} if isinstance(labels, (list, tuple)) else {"num_classes": labels}
        object.__setattr__(self, "_label", ClassLabel(**given))

    _label: ClassLabel

    @property
    def num_classes(self) -> int | None:
        """The number of classes."""
        return self._label.num_classes

    @property
    def names(self) -> list[str]:
        """The names of the classes."""
        return self._label.names

    def shown_extra(self) -> str:
        """The number of classes."""
        return f", num_classes={self.num_classes}"


class Audio(Tensor):
    """Samples of sound, or, with `lazy_decode`, the sound file, of which WAV is supported.

    >>> fl.tfds.features.Audio(sample_rate=16000).sample_rate
    16000
    """

    def __init__(
        self,
        file_format: str | None = None,
        shape: Any = (None,),
        dtype: Any = types.int64,
        sample_rate: int | None = None,
        encoding: Any = "none",
        lazy_decode: bool = False,
    ) -> None:
        super().__init__(shape, dtype, encoding)
        object.__setattr__(self, "file_format", file_format)
        object.__setattr__(self, "sample_rate", sample_rate)
        object.__setattr__(self, "lazy_decode", lazy_decode)

    file_format: str | None
    sample_rate: int | None
    lazy_decode: bool

    @property
    def decodes(self) -> bool:
        """Whether samples are stored as a string."""
        return self.lazy_decode or super().decodes

    def get_serialized_info(self) -> Any:
        """The samples, or the sound file."""
        return TensorInfo((), types.string) if self.lazy_decode else super().get_serialized_info()

    def decode_example(self, example: Any) -> Any:
        """The samples."""
        if not self.lazy_decode:
            return super().decode_example(example)
        if self.file_format not in (None, "wav"):
            raise UnimplementedError(
                f"tfds.features.Audio: {self.file_format} files cannot be decoded; read their bytes with "
                "decoders={name: fl.tfds.decode.SkipDecoding()}, and decode them in a map"
            )
        return _wav_samples(example, self.size[1] if len(self.size) > 1 else 1).astype(self.kind.dtype)


WAV_TYPES: dict[int, np.dtype[Any]] = {1: np.dtype("u1"), 2: np.dtype("<i2"), 4: np.dtype("<i4")}


def _wav_samples(data: bytes, channels: int | None) -> Array:
    try:
        with wave.open(io.BytesIO(data)) as file:
            found, width, frames = file.getnchannels(), file.getsampwidth(), file.readframes(file.getnframes())
    except (wave.Error, EOFError) as e:
        raise InvalidArgumentError(f"tfds.features.Audio: this is not a WAV file of samples: {e}") from None
    if width not in WAV_TYPES or channels not in (None, found):
        raise UnimplementedError(
            f"tfds.features.Audio: a WAV file with {found} channels of {8 * width} bits cannot be decoded to {channels}"
        )
    kind = WAV_TYPES[width]
    samples: Array = np.frombuffer(frames[: len(frames) - len(frames) % (width * found)], kind).astype(np.int32)
    samples = samples - 128 if width == 1 else samples
    return samples.reshape(-1, found) if found > 1 else samples
