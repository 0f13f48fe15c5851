"""Keras's loaders, without Keras and TensorFlow."""

from __future__ import annotations

from feedline.keras import utils

__all__ = ["utils"]
