"""`tf.data.experimental`: one line per name; each is documented where it is defined."""

from __future__ import annotations

from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from feedline.structure.optional import Optional

__all__ = ["AUTOTUNE", "INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "Optional"]
