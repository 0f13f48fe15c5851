"""Stated specs: the part of a plan's spec that is not inferred from results of functions."""

from __future__ import annotations

from typing import Any, ClassVar

from feedline.plan.inference import without_sizes
from feedline.plan.node import Node, node
from feedline.plan.traits.specs import opaque, spec_stated
from feedline.structure.nest import map_structure


@node
class SpecOnly(Node):
    """A stand-in for a plan of which only the spec matters."""

    op: ClassVar[str] = "stated"
    known: Any

    def spec(self) -> Any:
        """The given spec."""
        return self.known


def stated_spec(plan: Node) -> Any:
    """The spec of a plan's elements, with None for sizes that were only seen in a few results of a function."""
    if spec_stated(plan):
        return plan.element_spec
    if opaque(plan):
        return map_structure(without_sizes, plan.element_spec)
    return plan.replace(**{name: _stated(value) for name, value in plan.input_fields()}).spec()


def _stated(value: Any) -> Any:
    return tuple(map(_stated, value)) if isinstance(value, tuple) else SpecOnly(stated_spec(value))
