"""`tf.keras.utils`: Keras's loaders, as datasets of tensors."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ParamSpec

from feedline.keras import utils as _utils
from feedline.tf.border import to_values
from feedline.tf.data.dataset import Dataset, tf_dataset

P = ParamSpec("P")

pad_sequences = _utils.pad_sequences


def _of_tensors(loader: Callable[P, Any]) -> Callable[P, Any]:
    """A loader whose datasets are of tensors, with the attributes `class_names` and `file_paths`."""

    def converted(made: Any) -> Any:
        found: Dataset[Any] = tf_dataset(made)
        found.__dict__.update({k: v for k, v in vars(made).items() if k in ("class_names", "file_paths")})
        return found

    @functools.wraps(loader)
    def load(*args: Any, **kwargs: Any) -> Any:
        made = loader(*to_values(args), **to_values(kwargs))
        return type(made)(map(converted, made)) if isinstance(made, (list, tuple)) else converted(made)

    return load


audio_dataset_from_directory = _of_tensors(_utils.audio_dataset_from_directory)
image_dataset_from_directory = _of_tensors(_utils.image_dataset_from_directory)
text_dataset_from_directory = _of_tensors(_utils.text_dataset_from_directory)
timeseries_dataset_from_array = _of_tensors(_utils.timeseries_dataset_from_array)
