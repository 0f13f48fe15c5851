"""Older APIs for feedline's datasets. `v1` is TensorFlow 1's: graphs, sessions and their iterators."""

from __future__ import annotations

import sys as _sys

from feedline.compat import v1
from feedline.naming import show_public as _show_public

__all__ = ["v1"]

_show_public(_sys.modules[__name__], v1.data, v1.train)
