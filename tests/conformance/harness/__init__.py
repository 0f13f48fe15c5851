"""Implementation-neutral test harness for tf.data-like libraries."""

from .registry import REGISTRY, case, cases  # noqa: F401
