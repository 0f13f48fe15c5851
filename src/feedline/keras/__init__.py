"""Keras's loaders, without Keras and TensorFlow."""

from __future__ import annotations

import sys as _sys

from feedline.keras import utils
from feedline.naming import show_public as _show_public

__all__ = ["utils"]

_show_public(_sys.modules[__name__], utils)
