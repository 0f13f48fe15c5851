"""`tf.keras.applications`: how the pixels of pretrained models are scaled. The models are Keras's.

The functions are made of others of `feedline.tf`, so that a traced function records these.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import feedline.tf as tf

_BLUE_GREEN_RED = (103.939, 116.779, 123.68)
"""ImageNet's mean colour, as Caffe's models have it."""
_MEAN, _DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
"""ImageNet's mean colour and standard deviation, for pixels between 0 and 1."""


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Images of 0 to 255, scaled as a model needs them: `tf.keras.applications.imagenet_utils.preprocess_input`.

    >>> import feedline.tf as tf
    >>> tf.keras.applications.imagenet_utils.preprocess_input(tf.constant([[[0.0, 51.0, 255.0]]]), mode="tf").numpy()
    array([[[-1. , -0.6,  1. ]]], dtype=float32)

    `mode` is "caffe" (BGR, less the mean of ImageNet), "tf" (-1 to 1) or "torch" (0 to 1, less the mean, divided by the
    standard deviation). `data_format` is "channels_last", the default, or "channels_first". A NumPy array gives a new
    array.
    """
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"preprocess_input: mode must be 'caffe', 'tf' or 'torch', got {mode!r}")
    if data_format not in (None, "channels_first", "channels_last"):
        raise ValueError(
            f"preprocess_input: data_format must be 'channels_first' or 'channels_last', got {data_format!r}"
        )
    first = data_format == "channels_first"
    return _of_array(x, first, mode) if isinstance(x, np.ndarray) else _of_tensor(x, first, mode)


def caffe(x: Any, data_format: str | None = None) -> Any:
    """Images as BGR, less the mean of ImageNet: `preprocess_input` of resnet, resnet50, vgg16 and vgg19.

    >>> import feedline.tf as tf
    >>> tf.keras.applications.resnet50.preprocess_input(tf.constant([[[200.0, 150.0, 100.0]]])).numpy()
    array([[[-3.939003, 33.221   , 76.32    ]]], dtype=float32)
    """
    return preprocess_input(x, data_format, "caffe")


def scaled(x: Any, data_format: str | None = None) -> Any:
    """Pixels between -1 and 1: `preprocess_input` of mobilenet, inception_v3, xception and others.

    >>> import feedline.tf as tf
    >>> tf.keras.applications.mobilenet_v2.preprocess_input(tf.constant([0.0, 127.5, 255.0])).numpy()
    array([-1.,  0.,  1.], dtype=float32)
    """
    return preprocess_input(x, data_format, "tf")


def normalized(x: Any, data_format: str | None = None) -> Any:
    """Images with ImageNet's mean 0 and standard deviation 1: `preprocess_input` of densenet.

    >>> import feedline.tf as tf
    >>> tf.keras.applications.densenet.preprocess_input(tf.zeros([1, 1, 3])).numpy().round(3)
    array([[[-2.118, -2.036, -1.804]]], dtype=float32)
    """
    return preprocess_input(x, data_format, "torch")


def unchanged(x: Any, data_format: str | None = None) -> Any:
    """The images as they are: `preprocess_input` of models that scale their input themselves, such as efficientnet.

    >>> import feedline.tf as tf
    >>> tf.keras.applications.efficientnet.preprocess_input(255.0)
    255.0
    """
    return x


def _of_tensor(x: Any, first: bool, mode: str) -> Any:
    rank = len(x.shape)
    if mode == "tf":
        return x / 127.5 - 1.0
    if mode == "torch":
        x = x / 255.0
        return (x - _colour(x, _MEAN, first, rank)) / _colour(x, _DEVIATION, first, 3 if first else rank)
    if not first:
        channels = tf.stack([x[..., i] for i in (2, 1, 0)], axis=-1)
    elif rank == 3:
        channels = tf.stack([x[i, ...] for i in (2, 1, 0)], axis=0)
    else:
        channels = tf.stack([x[:, i, :] for i in (2, 1, 0)], axis=1)
    return channels + _colour(x, tuple(-c for c in _BLUE_GREEN_RED), first, rank)


def _colour(x: Any, of_channels: tuple[float, ...], first: bool, rank: int) -> Any:
    """One value per channel, with the dtype of the images, in a shape that is broadcast to theirs."""
    before = int(rank != 3) if first else rank - 1
    after = (2 if rank == 3 else rank - 2) if first else 0
    return tf.cast(np.reshape(of_channels, (1,) * before + (3,) + (1,) * after), x.dtype)


def _of_array(x: np.ndarray[Any, Any], first: bool, mode: str) -> np.ndarray[Any, Any]:
    made = x.astype(x.dtype if np.issubdtype(x.dtype, np.floating) else np.float32)
    if mode == "tf":
        made /= 127.5
        made -= 1.0
        return made
    channels = np.moveaxis(made, 0 if made.ndim == 3 else 1, -1) if first else made
    if mode == "caffe":
        channels = channels[..., ::-1]
    else:
        made /= 255.0
    for i in range(3):
        channels[..., i] -= (_BLUE_GREEN_RED if mode == "caffe" else _MEAN)[i]
        if mode == "torch":
            channels[..., i] /= _DEVIATION[i]
    return np.moveaxis(channels, -1, 0 if made.ndim == 3 else 1) if first else channels
