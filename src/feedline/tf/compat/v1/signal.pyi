"""The names of `tf.compat.v1.signal` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.signal_ops import dct as dct
from feedline.tf.signal_ops import fft as fft
from feedline.tf.signal_ops import fft2d as fft2d
from feedline.tf.signal_ops import fft3d as fft3d
from feedline.tf.signal_ops import fftshift as fftshift
from feedline.tf.signal_ops import frame as frame
from feedline.tf.signal_ops import hamming_window as hamming_window
from feedline.tf.signal_ops import hann_window as hann_window
from feedline.tf.signal_ops import idct as idct
from feedline.tf.signal_ops import ifft as ifft
from feedline.tf.signal_ops import ifft2d as ifft2d
from feedline.tf.signal_ops import ifft3d as ifft3d
from feedline.tf.signal_ops import ifftshift as ifftshift
from feedline.tf.signal_ops import inverse_stft as inverse_stft
from feedline.tf.signal_ops import inverse_stft_window_fn as inverse_stft_window_fn
from feedline.tf.signal_ops import irfft as irfft
from feedline.tf.signal_ops import irfft2d as irfft2d
from feedline.tf.signal_ops import irfft3d as irfft3d
from feedline.tf.signal_ops import kaiser_window as kaiser_window
from feedline.tf.signal_ops import linear_to_mel_weight_matrix as linear_to_mel_weight_matrix
from feedline.tf.signal_ops import mfccs_from_log_mel_spectrograms as mfccs_from_log_mel_spectrograms
from feedline.tf.signal_ops import overlap_and_add as overlap_and_add
from feedline.tf.signal_ops import rfft as rfft
from feedline.tf.signal_ops import rfft2d as rfft2d
from feedline.tf.signal_ops import rfft3d as rfft3d
from feedline.tf.signal_ops import stft as stft
from feedline.tf.signal_ops import vorbis_window as vorbis_window

__all__ = [
    "dct",
    "fft",
    "fft2d",
    "fft3d",
    "fftshift",
    "frame",
    "hamming_window",
    "hann_window",
    "idct",
    "ifft",
    "ifft2d",
    "ifft3d",
    "ifftshift",
    "inverse_stft",
    "inverse_stft_window_fn",
    "irfft",
    "irfft2d",
    "irfft3d",
    "kaiser_window",
    "linear_to_mel_weight_matrix",
    "mfccs_from_log_mel_spectrograms",
    "overlap_and_add",
    "rfft",
    "rfft2d",
    "rfft3d",
    "stft",
    "vorbis_window",
]
