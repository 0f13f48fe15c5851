"""Integrations: methods of `Dataset` that pass its elements to other libraries.

They depend on `Dataset` and are attached to it when feedline is imported. The libraries themselves are imported when a
method is called.
"""

from __future__ import annotations

from feedline.data.dataset import Dataset as _Dataset
from feedline.integrations.jax import to_jax
from feedline.integrations.keras import formatted as _formatted
from feedline.integrations.keras import to_keras
from feedline.integrations.ray_data import to_ray_dataset
from feedline.integrations.tables import to_arrow, to_pandas
from feedline.integrations.torch import to_torch
from feedline.naming import own_methods as _own_methods

__all__ = ["to_arrow", "to_jax", "to_keras", "to_pandas", "to_ray_dataset", "to_torch"]

for _name in __all__:
    setattr(_Dataset, _name, globals()[_name])
    _own_methods(_Dataset, [(_name, globals()[_name])])
setattr(_Dataset, "__format__", _formatted)  # noqa: B010  the class, a lower layer, does not know of it
