"""`tf.signal`: windows, frames and Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, cast

import numpy as np

from feedline.errors import InvalidArgumentError, UnimplementedError
from feedline.naming import own_functions
from feedline.structure import types
from feedline.structure.dense import Array
from feedline.structure.types import as_dtype
from feedline.tf.arithmetic import FLOATS
from feedline.tf.array_ops import axis_of
from feedline.tf.parameters import respelled
from feedline.tf.signatures import documented
from feedline.tf.tensor import Tensor, TensorBase, as_tensor, integer, ints, op, tensor_of


def _window(a: float, length: int, periodic: bool, dtype: Any) -> Tensor:
    kind = as_dtype(dtype).dtype
    if length == 1:
        return tensor_of(np.ones(1, kind))
    even = 1 - length % 2
    n = length + (1 if periodic else 0) * even - 1
    count = np.arange(length).astype(kind)
    angles = (2 * math.pi * count / n).astype(kind)
    return tensor_of((a - (1 - a) * (_cosines(angles) if kind == np.float32 else np.cos(angles))).astype(kind))


_LANES = 8
_QUARTER = (-1.5703125, -0.000483989715576171875, 1.62865035235881805419921875e-07, 5.564431554416771e-11)
"""Minus half of pi, in four parts."""
_COSINE = (2.4372266125283204e-05, -0.0013886520173400641, 0.04166661947965622, -0.5, 1.0)
_SINE = (-0.00019592341140837031, 0.008332687365561657, -0.1666666203982298)


def _cosines(x: Array) -> Array:
    """Cosines of positive float32, as TensorFlow's vector code computes them; numbers that fill no vector apart.

    A polynomial in the square of the distance from the nearest multiple of half of pi.
    """
    turns = np.rint(x * np.float32(0.63661975)).astype(np.int32)
    near = x
    for part in _QUARTER:
        near = turns.astype(np.float32) * np.float32(part) + near
    square = near * near
    even, odd = (_polynomial(factors, square) for factors in (_COSINE, _SINE))
    made = np.where(turns % 2, odd * square * near + near, even) * np.where((turns + 1) & 2, -1, 1).astype(np.float32)
    rest = len(x) // _LANES * _LANES
    made[rest:] = np.cos(x[rest:].astype(np.float64))
    return made


def _polynomial(factors: tuple[float, ...], x: Array) -> Array:
    total = np.full_like(x, factors[0])
    for factor in factors[1:]:
        total = total * x + np.float32(factor)
    return total


def hann_window(
    window_length: object, periodic: bool = True, dtype: Any = types.float32, name: str | None = None
) -> Tensor:
    """A Hann window.

    >>> import feedline.tf as tf
    >>> tf.signal.hann_window(4).numpy()
    array([0. , 0.5, 1. , 0.5], dtype=float32)
    """
    return _window(0.5, integer(window_length, "window_length"), periodic, dtype)


def hamming_window(
    window_length: object, periodic: bool = True, dtype: Any = types.float32, name: str | None = None
) -> Tensor:
    """A Hamming window.

    >>> import feedline.tf as tf
    >>> tf.signal.hamming_window(2).numpy().round(2)
    array([0.08, 1.  ], dtype=float32)
    """
    return _window(0.54, integer(window_length, "window_length"), periodic, dtype)


def frame(
    signal: object,
    frame_length: object,
    frame_step: object,
    pad_end: bool = False,
    pad_value: object = 0,
    axis: int = -1,
    name: str | None = None,
) -> Tensor:
    """Overlapping parts of a signal.

    >>> import feedline.tf as tf
    >>> tf.signal.frame([1, 2, 3, 4], 2, 1).numpy().tolist()
    [[1, 2], [2, 3], [3, 4]]
    """
    array = as_tensor(signal)._array
    at = axis_of(axis, array.ndim)
    size, step = integer(frame_length, "frame_length"), integer(frame_step, "frame_step")
    moved = np.moveaxis(array, at, -1)
    if pad_end:
        count = -(-moved.shape[-1] // step)
        more = max(0, (count - 1) * step + size - moved.shape[-1])
        fill = as_tensor(pad_value, array.dtype)._array
        moved = np.concatenate([moved, np.full((*moved.shape[:-1], more), fill, array.dtype)], -1)
    else:
        count = max(0, 1 + (moved.shape[-1] - size) // step)
    places = np.arange(count)[:, None] * step + np.arange(size)
    return tensor_of(np.moveaxis(moved[..., places], (-2, -1), (at, at + 1)))


_SMALL, _SMALL_REAL = np.dtype(np.complex64), np.dtype(np.float32)


def _numbers(value: object, dtype: np.dtype[Any], real: bool) -> Array:
    """The operand of a transform. A value that is not a tensor gets `dtype`, but Python's complex numbers stay complex,
    except in transforms of or to real numbers.
    """
    given = as_tensor(value)
    keeps = not real and not isinstance(value, np.ndarray) and given.dtype.is_complex
    return given._array if keeps or isinstance(value, TensorBase) else as_tensor(value, like=dtype)._array


def _transform(name: str, function: Callable[..., Any], real_in: bool, real_out: bool) -> Callable[..., Tensor]:
    def transform(input: object, fft_length: object = None, name: str | None = None) -> Tensor:
        array = _numbers(input, _SMALL_REAL if real_in else _SMALL, real_in or real_out)
        if real_in is not (array.dtype.kind == "f"):
            raise InvalidArgumentError(
                f"{transform.__name__}: expected {'real' if real_in else 'complex'} numbers, got {array.dtype}"
            )
        made = function(array, None if fft_length is None else ints(fft_length)[-1])
        small = array.dtype in (np.float32, np.complex64)
        kind = (np.float32 if small else np.float64) if real_out else (np.complex64 if small else np.complex128)
        return tensor_of(np.asarray(made).astype(kind))

    dimensions = "two dimensions" if name.endswith("2d") else "dimension"
    return _as_tensorflow(transform, name, dimensions, 2)


def _as_tensorflow(transform: Callable[..., Tensor], name: str, dimensions: str, rank: int) -> Callable[..., Tensor]:
    """A transform with TensorFlow's name and parameters: only those of or to real numbers take a length."""
    real = name.startswith(("rfft", "irfft"))
    kind = "inverse Fourier transform" if name.startswith("i") else "Fourier transform"
    numbers = {"r": " of real numbers", "ir": " to real numbers"}[name.partition("fft")[0]] if real else ""
    text = f"The {kind} of the last {dimensions}{numbers}."
    dtype = "tf.float32" if name.startswith("r") else "tf.complex64"
    size = {"r": 3, "ir": 6}.get(name.partition("fft")[0], 4)
    example = f">>> tf.signal.{name}(tf.ones({[4] * rank}, {dtype})).shape"
    documented(transform, text, example, f"fl.TensorShape({[4] * (rank - 1) + [size]})")
    transform.__name__ = name
    return respelled(transform, "input_tensor:input fft_length name" if real else "input name")


def _forward(function: Callable[..., Any]) -> Callable[..., Any]:
    """A transform without a scale that computes float32 in float32, as TensorFlow does.

    NumPy computes in float64 unless it scales. A scale by a power of two loses nothing, so it is undone; other lengths
    stay with float64, which is nearer to the true values.
    """

    def transform(array: Array, length: int | None) -> Array:
        size = array.shape[-1] if length is None else length
        if array.dtype not in (_SMALL, _SMALL_REAL) or size < 1 or size & (size - 1):
            return cast("Array", function(array, length))
        made = cast("Array", function(array, length, norm="forward"))
        for part in (made.real, made.imag):
            np.multiply(part, _SMALL_REAL.type(size), out=part)
        return made

    return transform


fft = _transform("fft", _forward(np.fft.fft), False, False)
ifft = _transform("ifft", np.fft.ifft, False, False)
fft2d = _transform("fft2d", np.fft.fft2, False, False)
ifft2d = _transform("ifft2d", np.fft.ifft2, False, False)
rfft = _transform("rfft", _forward(np.fft.rfft), True, False)
irfft = _transform("irfft", np.fft.irfft, False, True)


def stft(
    signals: object,
    frame_length: object,
    frame_step: object,
    fft_length: object = None,
    window_fn: Callable[..., Any] | None = hann_window,
    pad_end: bool = False,
    name: str | None = None,
) -> Tensor:
    """The short-time Fourier transform of signals.

    >>> import feedline.tf as tf
    >>> tf.signal.stft(tf.zeros([10]), 4, 2).shape
    fl.TensorShape([4, 3])
    """
    size = integer(frame_length, "frame_length")
    length = 1 << (size - 1).bit_length() if fft_length is None else integer(fft_length, "fft_length")
    frames = frame(signals, size, frame_step, pad_end)
    if window_fn is not None:
        frames = frames * window_fn(size, dtype=frames.dtype)
    return rfft(frames, [length])


def overlap_and_add(signal: object, frame_step: object, name: str | None = None) -> Tensor:
    """A signal from overlapping frames, which are added.

    >>> import feedline.tf as tf
    >>> tf.signal.overlap_and_add([[1, 1], [2, 2]], 1).numpy()
    array([1, 3, 2], dtype=int32)
    """
    array, step = as_tensor(signal)._array, integer(frame_step, "frame_step")
    frames, size = array.shape[-2:]
    out = np.zeros((*array.shape[:-2], (frames - 1) * step + size), array.dtype)
    for i in range(frames):
        out[..., i * step : i * step + size] += array[..., i, :]
    return tensor_of(out)


def linear_to_mel_weight_matrix(
    num_mel_bins: int = 20,
    num_spectrogram_bins: object = 129,
    sample_rate: object = 8000,
    lower_edge_hertz: float = 125.0,
    upper_edge_hertz: float = 3800.0,
    dtype: Any = types.float32,
    name: str | None = None,
) -> Tensor:
    """Weights that turn a spectrogram into one on the mel scale.

    >>> import feedline.tf as tf
    >>> tf.signal.linear_to_mel_weight_matrix(20, 129, 8000).shape
    fl.TensorShape([129, 20])
    """
    kind = as_dtype(dtype).dtype
    bins, rate = integer(num_spectrogram_bins, "num_spectrogram_bins"), float(as_tensor(sample_rate))
    if (
        num_mel_bins <= 0
        or bins <= 0
        or lower_edge_hertz < 0
        or lower_edge_hertz >= upper_edge_hertz
        or upper_edge_hertz > rate / 2
    ):
        raise InvalidArgumentError(
            "linear_to_mel_weight_matrix: the numbers of bins must be positive, and the edges in order"
        )

    def mel(hertz: Any) -> Any:
        return 1127.0 * np.log(1.0 + hertz / 700.0)

    linear = np.linspace(0.0, rate / 2, bins)[1:]
    spectrum = mel(linear)[:, None]
    edges = np.linspace(mel(lower_edge_hertz), mel(upper_edge_hertz), num_mel_bins + 2)
    lower, centre, upper = edges[:-2], edges[1:-1], edges[2:]
    weights = np.maximum(0.0, np.minimum((spectrum - lower) / (centre - lower), (upper - spectrum) / (upper - centre)))
    return tensor_of(np.pad(weights, [(1, 0), (0, 0)]).astype(kind))


def dct(
    input: object, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The discrete cosine transform of the last dimension, cut or filled with zeros to the length `n`.

    >>> import feedline.tf as tf
    >>> tf.signal.dct([1.0, 1.0]).numpy().round(4)
    array([4., 0.], dtype=float32)
    """
    given = as_tensor(input)
    if type not in (1, 2, 3, 4):
        raise InvalidArgumentError(f"dct: type must be 1, 2, 3 or 4, got {type}")
    if axis != -1:
        raise UnimplementedError(f"dct: axis must be -1. Got: {axis}")
    if norm not in (None, "ortho") or (norm and type == 1):
        raise InvalidArgumentError(f"dct: norm must be None, or 'ortho' except for type 1, got {norm!r}")
    if n is not None and n < 1:
        raise InvalidArgumentError("n should be a positive integer or None")
    made: Tensor = _dct(given, type=type, size=given.shape[-1] if n is None else n, ortho=norm == "ortho")
    return made


@op("DCT", FLOATS)
def _dct(x: Array, type: int, size: int, ortho: bool) -> Array:
    if not x.ndim or (type == 1 and size < 2):
        raise InvalidArgumentError(f"dct: {list(x.shape)} has no dimension to transform, or it is too short")
    used = x[..., :size].astype(np.float64)
    used = np.concatenate([used, np.zeros((*used.shape[:-1], size - used.shape[-1]))], -1)
    k, i = np.arange(size)[:, None], np.arange(size)
    if type == 1:
        basis = np.cos(math.pi * k * i / (size - 1)) * np.where((i == 0) | (i == size - 1), 1.0, 2.0)
    elif type == 2:
        basis = 2 * np.cos(math.pi * k * (2 * i + 1) / (2 * size))
    elif type == 3:
        basis = np.cos(math.pi * i * (2 * k + 1) / (2 * size)) * np.where(i == 0, 1.0, 2.0)
    else:
        basis = 2 * np.cos(math.pi * (2 * k + 1) * (2 * i + 1) / (4 * size))
    if ortho:
        least = math.sqrt(1 / (4 * size)) if type == 2 else math.sqrt(1 / size)
        rest = math.sqrt(1 / (2 * size))
        basis = basis * np.where((k if type == 2 else i) == 0, least if type != 4 else rest, rest)
    made: Array = (used @ basis.T).astype(x.dtype)
    return made


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: object, name: str | None = None) -> Tensor:
    """Cepstral coefficients from logarithms of mel spectrograms.

    >>> import feedline.tf as tf
    >>> tf.signal.mfccs_from_log_mel_spectrograms(tf.zeros([2, 20])).shape
    fl.TensorShape([2, 20])
    """
    array = as_tensor(log_mel_spectrograms)._array
    return tensor_of((dct(array)._array * (1 / math.sqrt(array.shape[-1] * 2.0))).astype(array.dtype))


# More transforms


def _many(name: str, kind: str, count: int, inverse: bool) -> Callable[..., Tensor]:
    """A transform of the last `count` dimensions: of complex numbers, or (`r`) of or to real ones."""
    function = getattr(np.fft, f"{'i' if inverse else ''}{kind}fftn")

    def transform(input: object, fft_length: object = None, name: str | None = None) -> Tensor:
        array = _numbers(input, _SMALL_REAL if kind == "r" and not inverse else _SMALL, kind == "r")
        if (kind == "r" and not inverse) is not (array.dtype.kind == "f"):
            kinds = "real" if kind == "r" and not inverse else "complex"
            raise InvalidArgumentError(f"{transform.__name__}: expected {kinds} numbers, got {array.dtype}")
        small = array.dtype in (np.float32, np.complex64)
        lengths = None if fft_length is None else ints(fft_length)
        made = np.asarray(function(array, lengths, tuple(range(-count, 0))))
        real = kind == "r" and inverse
        wanted = (np.float32 if small else np.float64) if real else (np.complex64 if small else np.complex128)
        return tensor_of(made.astype(wanted))

    return _as_tensorflow(transform, name, f"{'two' if count == 2 else 'three'} dimensions", count)


fft3d = _many("fft3d", "", 3, False)
ifft3d = _many("ifft3d", "", 3, True)
rfft2d = _many("rfft2d", "r", 2, False)
irfft2d = _many("irfft2d", "r", 2, True)
rfft3d = _many("rfft3d", "r", 3, False)
irfft3d = _many("irfft3d", "r", 3, True)


def fftshift(x: object, axes: object = None, name: str | None = None) -> Tensor:
    """The result of a transform with frequency zero in the middle.

    >>> import feedline.tf as tf
    >>> tf.signal.fftshift([0, 1, 2, -2, -1]).numpy()
    array([-2, -1,  0,  1,  2], dtype=int32)
    """
    return tensor_of(np.fft.fftshift(as_tensor(x)._array, None if axes is None else ints(axes, "axes")))


def ifftshift(x: object, axes: object = None, name: str | None = None) -> Tensor:
    """The inverse of `fftshift`.

    >>> import feedline.tf as tf
    >>> tf.signal.ifftshift([-2, -1, 0, 1, 2]).numpy()
    array([ 0,  1,  2, -2, -1], dtype=int32)
    """
    return tensor_of(np.fft.ifftshift(as_tensor(x)._array, None if axes is None else ints(axes, "axes")))


def idct(
    input: object, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None, name: str | None = None
) -> Tensor:
    """The inverse of the discrete cosine transform, up to a factor of twice the size without `norm`.

    >>> import feedline.tf as tf
    >>> tf.signal.idct(tf.signal.dct([1.0, 2.0], norm="ortho"), norm="ortho").numpy().round(4)
    array([1., 2.], dtype=float32)
    """
    return dct(input, {2: 3, 3: 2}.get(type, type), n, axis, norm)


def kaiser_window(
    window_length: object, beta: object = 12.0, dtype: Any = types.float32, name: str | None = None
) -> Tensor:
    """A Kaiser window.

    >>> import feedline.tf as tf
    >>> tf.signal.kaiser_window(3).numpy().round(4)
    array([1.e-04, 1.e+00, 1.e-04], dtype=float32)
    """
    made = np.kaiser(integer(window_length, "window_length"), float(as_tensor(beta)))
    return tensor_of(made.astype(as_dtype(dtype).dtype))


def vorbis_window(window_length: object, dtype: Any = types.float32, name: str | None = None) -> Tensor:
    """A Vorbis window, whose squares add up to one for frames that overlap by a half.

    >>> import feedline.tf as tf
    >>> tf.signal.vorbis_window(2).numpy()
    array([0.70710677, 0.70710677], dtype=float32)
    """
    length = integer(window_length, "window_length")
    inner = np.sin(math.pi / length * (np.arange(length) + 0.5)) ** 2
    return tensor_of(np.sin(math.pi / 2 * inner).astype(as_dtype(dtype).dtype))


def inverse_stft_window_fn(
    frame_step: object, forward_window_fn: Callable[..., Any] = hann_window, name: str | None = None
) -> Callable[..., Tensor]:
    """The window for `inverse_stft` with which it inverts `stft`.

    >>> import feedline.tf as tf
    >>> tf.signal.inverse_stft_window_fn(2)(4).shape
    fl.TensorShape([4])
    """

    def window(frame_length: object, dtype: Any = types.float32) -> Tensor:
        size, step = integer(frame_length, "frame_length"), integer(frame_step, "frame_step")
        forward = as_tensor(forward_window_fn(size, dtype=dtype))._array
        overlaps = -(-size // step)
        denominator = np.pad(np.square(forward), (0, overlaps * step - size)).reshape(overlaps, step)
        total = np.tile(denominator.sum(0, keepdims=True), (overlaps, 1)).reshape(-1)[:size]
        return tensor_of((forward / total).astype(forward.dtype))

    return window


def inverse_stft(
    stfts: object,
    frame_length: object,
    frame_step: object,
    fft_length: object = None,
    window_fn: Callable[..., Any] | None = hann_window,
    name: str | None = None,
) -> Tensor:
    """Signals from their short-time Fourier transforms.

    >>> import feedline.tf as tf
    >>> x = tf.constant([1.0, 2.0, 3.0, 4.0])
    >>> tf.signal.inverse_stft(tf.signal.stft(x, 2, 2, window_fn=None), 2, 2, window_fn=None).numpy().round(4)
    array([1., 2., 3., 4.], dtype=float32)
    """
    size = integer(frame_length, "frame_length")
    length = 1 << (size - 1).bit_length() if fft_length is None else integer(fft_length, "fft_length")
    frames = irfft(stfts, [length])._array
    if length > size:
        frames = frames[..., :size]
    elif length < size:
        frames = np.pad(frames, [(0, 0)] * (frames.ndim - 1) + [(0, size - length)])
    if window_fn is not None:
        frames = frames * as_tensor(window_fn(size, dtype=as_dtype(frames.dtype)))._array
    return overlap_and_add(tensor_of(frames), frame_step)


own_functions(globals())
