"""The names of `tf.compat.v1.signal` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.signal_ops import dct as dct
from feedline.tf.signal_ops import fft as fft
from feedline.tf.signal_ops import fft2d as fft2d
from feedline.tf.signal_ops import frame as frame
from feedline.tf.signal_ops import hamming_window as hamming_window
from feedline.tf.signal_ops import hann_window as hann_window
from feedline.tf.signal_ops import ifft as ifft
from feedline.tf.signal_ops import ifft2d as ifft2d
from feedline.tf.signal_ops import irfft as irfft
from feedline.tf.signal_ops import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from feedline.tf.signal_ops import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from feedline.tf.signal_ops import overlap_and_add as overlap_and_add
from feedline.tf.signal_ops import rfft as rfft
from feedline.tf.signal_ops import stft as stft

__all__ = [
    "dct",
    "fft",
    "fft2d",
    "frame",
    "hamming_window",
    "hann_window",
    "ifft",
    "ifft2d",
    "irfft",
    "linear_to_mel_weight_matrix",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "rfft",
    "stft",
]
