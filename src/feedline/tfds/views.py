"""Datasets as NumPy arrays and as data frames."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from feedline.errors import InvalidTypeError
from feedline.integrations.dtypes import needed
from feedline.plan.dataset_base import DatasetBase

if TYPE_CHECKING:
    import pandas


def as_numpy(dataset: Any) -> Any:
    """The dataset, or the structure of datasets and arrays: feedline's elements are NumPy arrays already.

    >>> list(fl.tfds.as_numpy(fl.Dataset.range(2)))
    [np.int64(0), np.int64(1)]
    """
    return dataset


def as_dataframe(ds: Any, ds_info: Any = None) -> pandas.DataFrame:
    """The elements as rows of a data frame: one column per leaf, with the names on the way to it joined by "/".

    >>> ds = fl.Dataset.from_tensor_slices({"x": [1, 2], "name": {"first": ["a", "b"]}})
    >>> fl.tfds.as_dataframe(ds)
      name/first  x
    0       b'a'  1
    1       b'b'  2

    Requires pandas: `pip install 'feedline[pandas]'`.
    """
    if not isinstance(ds, DatasetBase):
        raise InvalidTypeError(f"tfds.as_dataframe: ds must be a dataset, got {type(ds).__name__}")
    frames = needed("pandas", "pandas", "tfds.as_dataframe")
    elements: Any = ds
    rows = [dict(_leaves(element, ())) for element in elements]
    columns = [name for name, _ in _leaves(elements.element_spec, ())]
    made: pandas.DataFrame = frames.DataFrame(rows, columns=columns)
    return made


def _leaves(value: Any, path: tuple[str, ...]) -> list[tuple[str, Any]]:
    if isinstance(value, dict):
        return [leaf for key in sorted(value) for leaf in _leaves(value[key], (*path, str(key)))]
    if isinstance(value, tuple):
        return [leaf for i, item in enumerate(value) for leaf in _leaves(item, (*path, str(i)))]
    return [("/".join(path) or "0", value)]
