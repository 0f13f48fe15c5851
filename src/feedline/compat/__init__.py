"""Older ways of using feedline's datasets. `v1` is TensorFlow 1's: graphs, sessions and their iterators."""

from __future__ import annotations

from feedline.compat import v1

__all__ = ["v1"]
