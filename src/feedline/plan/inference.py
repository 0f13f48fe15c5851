"""The spec of what a user's function gives, seen in a few of its results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from feedline.structure.block import Block
from feedline.structure.nest import map_structure
from feedline.structure.spec import TensorSpec, general


def infer(samples: Sequence[Block]) -> Any:
    """The spec that fits all sampled blocks. A size of 0 counts as unknown: rather something is empty just now."""
    spec = samples[0].spec()
    for block in samples[1:]:
        merged = general(spec, block.spec())
        spec = spec if merged is None else merged
    return map_structure(_never_empty, spec)


def _never_empty(spec: Any) -> Any:
    if not isinstance(spec, TensorSpec) or not spec.shape.rank or 0 not in spec.shape:
        return spec
    return TensorSpec([d or None for d in spec.shape], spec.dtype)
