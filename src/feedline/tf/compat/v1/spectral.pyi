"""The names of `tf.compat.v1.spectral` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.signal_ops import dct as dct
from feedline.tf.signal_ops import fft as fft
from feedline.tf.signal_ops import fft2d as fft2d
from feedline.tf.signal_ops import ifft as ifft
from feedline.tf.signal_ops import ifft2d as ifft2d
from feedline.tf.signal_ops import irfft as irfft
from feedline.tf.signal_ops import rfft as rfft

__all__ = [
    "dct",
    "fft",
    "fft2d",
    "ifft",
    "ifft2d",
    "irfft",
    "rfft",
]
