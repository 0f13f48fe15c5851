"""The functions of `tf.io`, `tf.audio` and `tf.image` that `fl.io` and `fl.image` have, on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from feedline import image as _image
from feedline import io as _io
from feedline.errors import InvalidArgumentError
from feedline.io.tensor import tensor_type
from feedline.structure.types import DType
from feedline.tf.border import lifted, lifted_structure
from feedline.tf.sparse_ops import SparseTensor
from feedline.tf.tensor import Tensor, as_tensor, integer, ints, tensor_of

decode_and_crop_jpeg = lifted(_io.decode_and_crop_jpeg)
decode_base64 = lifted(_io.decode_base64)
decode_bmp = lifted(_io.decode_bmp)
decode_compressed = lifted(_io.decode_compressed)
decode_csv = lifted_structure(_io.decode_csv)
decode_gif = lifted(_io.decode_gif)
decode_image = lifted(_io.decode_image)
decode_jpeg = lifted(_io.decode_jpeg)
decode_json_example = lifted(_io.decode_json_example)
decode_png = lifted(_io.decode_png)
decode_raw = lifted(_io.decode_raw)
_sparse: Callable[..., Any] = _io.deserialize_many_sparse
deserialize_many_sparse: Callable[..., SparseTensor] = lifted_structure(_sparse)
encode_base64 = lifted(_io.encode_base64)
encode_jpeg = lifted(_io.encode_jpeg)
encode_png = lifted(_io.encode_png)
extract_jpeg_shape = lifted(_io.extract_jpeg_shape)
is_jpeg = lifted(_io.is_jpeg)
matching_files = lifted(_io.matching_files)
parse_example = lifted_structure(_io.parse_example)
parse_sequence_example = lifted_structure(_io.parse_sequence_example)
parse_single_example = lifted_structure(_io.parse_single_example)
parse_single_sequence_example = lifted_structure(_io.parse_single_sequence_example)
parse_tensor = lifted(_io.parse_tensor)
read_file = lifted(_io.read_file)
serialize_many_sparse = lifted(_io.serialize_many_sparse)
serialize_sparse = lifted(_io.serialize_sparse)
serialize_tensor = lifted(_io.serialize_tensor)
write_file = lifted_structure(_io.write_file)
convert_image_dtype = lifted(_image.convert_image_dtype)


def resize(
    images: object,
    size: object,
    method: str = "bilinear",
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> Tensor:
    """Images in another size: see `fl.image.resize`.

    >>> import feedline.tf as tf
    >>> tf.image.resize(tf.zeros([4, 6, 3]), [2, 3]).shape
    fl.TensorShape([2, 3, 3])
    """
    pixels = as_tensor(images)._array
    return as_tensor(_image.resize(pixels, ints(size, "size"), method, preserve_aspect_ratio, antialias))


# Audio


class DecodedWav(NamedTuple):
    """The result of `decode_wav`."""

    audio: Tensor
    sample_rate: Tensor


def decode_wav(
    contents: object, desired_channels: int = -1, desired_samples: int = -1, name: str | None = None
) -> DecodedWav:
    """The samples [length, channels] of a WAV file with 16 bits per sample, as floats, and the sample rate.

    >>> import feedline.tf as tf
    >>> audio, rate = tf.audio.decode_wav(tf.audio.encode_wav([[0.0], [0.5]], 8000))
    >>> audio.numpy().tolist(), rate.numpy()
    ([[0.0], [0.5]], np.int32(8000))
    >>> tf.audio.decode_wav(tf.audio.encode_wav([[0.0], [0.5]], 8000)).sample_rate.numpy()
    np.int32(8000)
    """
    data = as_tensor(contents).numpy()
    if not isinstance(data, bytes):
        raise InvalidArgumentError("decode_wav: contents must be a single string")
    channels, rate, samples = _wav(data)
    array = samples.reshape(-1, channels)
    if desired_channels > 0 and desired_channels != channels:
        array = (
            np.repeat(array[:, :1], desired_channels, 1) if channels < desired_channels else array[:, :desired_channels]
        )
    if desired_samples >= 0:
        array = array[:desired_samples]
        array = np.pad(array, ((0, desired_samples - len(array)), (0, 0)))
    return DecodedWav(tensor_of(array.astype(np.float32) / np.float32(32768)), as_tensor(rate, np.int32))


def _wav(data: bytes) -> tuple[int, int, Any]:
    """The number of channels, the sample rate and the samples of a WAV file. Every length is checked."""
    if len(data) < 12 or data[:4] != b"RIFF" or data[8:12] != b"WAVE":
        raise InvalidArgumentError("Header mismatch: a WAV file begins with RIFF and WAVE")
    at, form = 12, None
    while at + 8 <= len(data):
        kind, size = data[at : at + 4], int.from_bytes(data[at + 4 : at + 8], "little")
        at += 8
        if kind == b"fmt ":
            if size < 16 or at + size > len(data):
                raise InvalidArgumentError("Bad format chunk size for WAV")
            form = np.frombuffer(data, "<u2", 8, at)
        elif kind == b"data":
            if form is None:
                raise InvalidArgumentError("Data chunk before the format chunk of a WAV file")
            channels, bits = int(form[1]), int(form[7])
            rate = int(form[2]) | int(form[3]) << 16
            if int(form[0]) not in (1, 0xFFFE) or bits != 16 or channels < 1:
                raise InvalidArgumentError(f"Can only read 16-bit WAV files, but received {bits}")
            size = min(size, len(data) - at)
            frames = size // (2 * channels)
            return channels, rate, np.frombuffer(data, "<i2", frames * channels, at)
        at += size + (size & 1)
    raise InvalidArgumentError("No data chunk found in a WAV file")


def encode_wav(audio: object, sample_rate: object, name: str | None = None) -> Tensor:
    """Floats between -1 and 1 [length, channels] as a WAV file with 16 bits per sample.

    >>> import feedline.tf as tf
    >>> len(tf.audio.encode_wav([[0.0], [0.5]], 8000).numpy())
    48
    """
    samples = as_tensor(audio, np.float32)._array
    if samples.ndim != 2:
        raise InvalidArgumentError(f"audio must be 2-dimensional but got shape {samples.shape}")
    rate, channels = integer(sample_rate, "sample_rate"), samples.shape[1]
    scaled = samples * np.float32(32768)
    whole = np.clip(np.trunc(scaled + np.copysign(np.float32(0.5), scaled)), -32768, 32767)
    body = whole.astype("<i2").tobytes()
    head = b"fmt " + np.array([16], "<u4").tobytes() + np.array([1, channels], "<u2").tobytes()
    head += np.array([rate, rate * channels * 2], "<u4").tobytes() + np.array([channels * 2, 16], "<u2").tobytes()
    chunks = b"WAVE" + head + b"data" + np.array([len(body)], "<u4").tobytes() + body
    return as_tensor(b"RIFF" + np.array([len(chunks)], "<u4").tobytes() + chunks)


# TensorProto


class TensorProto:
    """A serialized tensor: what `tf.make_tensor_proto` returns. It has the part of the message that pipelines read."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return tensor_type(self._data)[0]

    @property
    def tensor_shape(self) -> ShapeProto:
        """The shape, as a message."""
        return ShapeProto([SizeProto(size) for size in tensor_type(self._data)[1]])

    def SerializeToString(self) -> bytes:
        """The bytes of the message."""
        return self._data

    def ParseFromString(self, serialized: bytes) -> int:
        """Replaces the contents by those of serialized bytes, and returns their number."""
        tensor_type(serialized)
        self._data = bytes(serialized)
        return len(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> TensorProto:
        """The message in serialized bytes."""
        tensor_type(serialized)
        return cls(bytes(serialized))


class SizeProto(NamedTuple):
    """A dimension of a `TensorProto`."""

    size: int


class ShapeProto(NamedTuple):
    """The shape of a `TensorProto`."""

    dim: list[SizeProto]


def make_ndarray(tensor: TensorProto) -> Any:
    """The array in a `TensorProto`.

    >>> import feedline.tf as tf
    >>> tf.make_ndarray(tf.make_tensor_proto([1, 2])).tolist()
    [1, 2]
    """
    return np.asarray(_io.parse_tensor(tensor.SerializeToString(), tensor.dtype))


def make_tensor_proto(
    values: object, dtype: Any = None, shape: Any = None, verify_shape: bool = False, allow_broadcast: bool = False
) -> TensorProto:
    """A value as a message, for `make_ndarray` and `tf.io.parse_tensor`.

    >>> import feedline.tf as tf
    >>> proto = tf.make_tensor_proto([[1, 2]])
    >>> proto.dtype, [d.size for d in proto.tensor_shape.dim]
    (fl.int32, [1, 2])
    """
    array = as_tensor(values, dtype)._array
    if shape is not None:
        array = np.broadcast_to(array, ints(shape)) if array.size == 1 else array.reshape(ints(shape))
    return TensorProto(_io.serialize_tensor(array))
