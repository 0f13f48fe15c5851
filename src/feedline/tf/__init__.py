"""`import feedline.tf as tf`: TensorFlow's names for input pipelines, on NumPy.

>>> import feedline.tf as tf
>>> ds = tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]])
>>> [x.numpy() for x in ds.map(lambda x: tf.cast(x, tf.float32) / 4)]
[array([0.25, 0.5 ], dtype=float32), array([0.75, 1.  ], dtype=float32)]

Values, dtypes and errors are TensorFlow's; memory is NumPy's. `names` is the table of names; each is imported when
it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from feedline.tf import names as _names

_names.register()
_TABLE = _names.table("")
__version__ = _names.VERSION

if not TYPE_CHECKING:

    def __getattr__(name):
        if name.startswith("__"):
            raise AttributeError(name)
        return _names.looked_up("", name, globals(), _TABLE)


def __dir__() -> list[str]:
    return _names.public("")
