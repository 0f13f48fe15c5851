"""`tf.signal`: windows, frames and Fourier transforms."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError
from feedline.structure import types
from feedline.structure.dense import Array
from feedline.structure.types import as_dtype
from feedline.tf.array_ops import axis_of
from feedline.tf.tensor import Tensor, as_tensor, integer, ints, tensor_of


def _window(a: float, length: int, periodic: bool, dtype: Any) -> Tensor:
    kind = as_dtype(dtype).dtype
    if length == 1:
        return tensor_of(np.ones(1, kind))
    even = 1 - length % 2
    n = length + (1 if periodic else 0) * even - 1
    count = np.arange(length).astype(kind)
    return tensor_of((a - (1 - a) * np.cos((2 * math.pi * count / n).astype(kind))).astype(kind))


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


def _transform(name: str, function: Callable[..., Any], real_in: bool, real_out: bool) -> Callable[..., Tensor]:
    def transform(input: object, fft_length: object = None, name: str | None = None) -> Tensor:
        array = as_tensor(input)._array
        if real_in is not (array.dtype.kind == "f"):
            raise InvalidArgumentError(
                f"{name}: expected {'real' if real_in else 'complex'} numbers, got {array.dtype}"
            )
        made = function(array) if fft_length is None else function(array, ints(fft_length)[-1])
        small = array.dtype in (np.float32, np.complex64)
        kind = (np.float32 if small else np.float64) if real_out else (np.complex64 if small else np.complex128)
        return tensor_of(np.asarray(made).astype(kind))

    transform.__doc__ = f"`tf.signal.{name}`: a Fourier transform of the last dimension."
    return transform


fft = _transform("fft", np.fft.fft, False, False)
ifft = _transform("ifft", np.fft.ifft, False, False)
fft2d = _transform("fft2d", np.fft.fft2, False, False)
ifft2d = _transform("ifft2d", np.fft.ifft2, False, False)
rfft = _transform("rfft", np.fft.rfft, True, False)
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
    """The discrete cosine transform of type 2 of the last dimension.

    >>> import feedline.tf as tf
    >>> tf.signal.dct([1.0, 1.0]).numpy().round(4)
    array([4., 0.], dtype=float32)
    """
    array = as_tensor(input)._array
    if type != 2 or axis != -1:
        raise InvalidArgumentError(f"dct: only type 2 of the last dimension is supported, got type {type}, axis {axis}")
    size = array.shape[-1]
    k, i = np.arange(size)[:, None], np.arange(size)
    basis = 2 * np.cos(math.pi * k * (2 * i + 1) / (2 * size))
    made: Array = array.astype(np.float64) @ basis.T
    if norm == "ortho":
        made = made * np.where(np.arange(size) == 0, math.sqrt(1 / (4 * size)), math.sqrt(1 / (2 * size)))
    return tensor_of((made[..., :n] if n is not None else made).astype(array.dtype))


def mfccs_from_log_mel_spectrograms(log_mel_spectrograms: object, name: str | None = None) -> Tensor:
    """Cepstral coefficients from logarithms of mel spectrograms.

    >>> import feedline.tf as tf
    >>> tf.signal.mfccs_from_log_mel_spectrograms(tf.zeros([2, 20])).shape
    fl.TensorShape([2, 20])
    """
    array = as_tensor(log_mel_spectrograms)._array
    return tensor_of((dct(array)._array * (1 / math.sqrt(array.shape[-1] * 2.0))).astype(array.dtype))
