"""`timeseries_dataset_from_array`: windows of a time series."""

from __future__ import annotations

from typing import Any

import numpy as np

from feedline.data.dataset import Dataset
from feedline.errors import InvalidArgumentError
from feedline.keras.utils.directories import BUFFER, MOST_SEED, only_datasets
from feedline.plan.arguments import AUTOTUNE

Array = np.ndarray[Any, Any]


def timeseries_dataset_from_array(
    data: Any,
    targets: Any,
    sequence_length: int,
    sequence_stride: int = 1,
    sampling_rate: int = 1,
    batch_size: int | None = 128,
    shuffle: bool = False,
    seed: int | None = None,
    start_index: int | None = None,
    end_index: int | None = None,
    format: str = "tf",
) -> Any:
    """Windows of `sequence_length` steps of a time series, with the target of each, in batches.

    >>> x = np.arange(6)
    >>> list(fl.keras.utils.timeseries_dataset_from_array(x, x * 10, sequence_length=3, batch_size=2))
    [(array([[0, 1, 2],
           [1, 2, 3]]), array([ 0, 10])), (array([[2, 3, 4],
           [3, 4, 5]]), array([20, 30]))]

    `targets[i]` belongs to the window that begins at `data[i]`; pass `targets[n:]` to predict later ones, or None for
    windows alone. Windows begin every `sequence_stride` steps, and have every `sampling_rate`-th step. Only steps from
    `start_index` to `end_index` are used. `shuffle` has Keras's order for a given `seed`.
    """
    op = "timeseries_dataset_from_array"
    only_datasets(op, format)
    count = len(data)
    _check(op, count, start_index, end_index, sampling_rate, sequence_stride)
    start, end = start_index or 0, end_index if end_index is not None else count
    windows = end - start - (sequence_length - 1) * sampling_rate
    windows = windows if targets is None else min(windows, len(targets))
    positions = np.arange(0, windows, sequence_stride, dtype=np.int32 if windows < 2**31 - 1 else np.int64)
    if shuffle:
        seed = int(np.random.randint(MOST_SEED)) if seed is None else seed
        np.random.RandomState(seed).shuffle(positions)
    steps = _tensor(data[start:end])
    ends = None if targets is None else _tensor(targets[start:end])
    if ends is not None and len(positions) and positions.max() >= len(ends):
        raise InvalidArgumentError(f"{op}: there are {len(ends)} targets for windows up to number {positions.max()}")
    offsets = np.arange(sequence_length, dtype=np.int64) * sampling_rate

    def gathered(begins: Any) -> Any:
        """The windows at these positions: one, or a batch."""
        found = steps[np.asarray(begins)[..., None] + offsets]
        return found if ends is None else (found, ends[begins])

    ds: Any = Dataset.from_tensor_slices(positions)
    if shuffle:
        ds = ds.shuffle(BUFFER if batch_size is None else 8 * batch_size, seed=seed)
    if batch_size is not None:
        ds = ds.batch(batch_size)
    return ds.map(gathered, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE)


def _tensor(values: Any) -> Array:
    """An array with TensorFlow's dtype."""
    made: Array = Dataset.from_tensors(values).get_single_element()
    return np.asarray(made)


def _check(op: str, count: int, start: int | None, end: int | None, rate: int, stride: int) -> None:
    if start is not None and not 0 <= start < count:
        raise InvalidArgumentError(f"{op}: start_index must be from 0 to {count - 1}, got {start}")
    if end is not None and not (start or 0) < end < count:
        raise InvalidArgumentError(f"{op}: end_index must be after start_index, and before {count}, got {end}")
    for name, value in (("sampling_rate", rate), ("sequence_stride", stride)):
        if not 0 < value < count:
            raise InvalidArgumentError(f"{op}: {name} must be positive, and less than {count}, got {value}")
