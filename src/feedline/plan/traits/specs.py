"""Specs: which are known without running a user's function, and how the others are inferred."""

from __future__ import annotations

from typing import Any, ClassVar

from feedline.plan.node import Node


class InferredSpec(Node):
    """A node whose spec may only be found by running the user's function."""

    opaque: ClassVar[bool] = True
    """Whether the spec can only be found by running the function."""

    @property
    def traced_spec(self) -> Any:
        """The spec that tracing the function has given; None if it was not traced."""
        return None

    @property
    def spec_known(self) -> bool:
        """Whether the spec is available without running the function."""
        known = "element_spec" in self.__dict__ or self.traced_spec is not None
        return known or (not self.opaque and all(map(spec_known, self.inputs)))

    @property
    def spec_stated(self) -> bool:
        """Whether the spec holds for all elements if the inputs' do, not only for those that it was inferred from."""
        return not self.opaque or self.traced_spec is not None


class Sampled(Node):
    """A node that says itself which plan its spec is inferred from."""

    def sampled(self) -> Node:
        """A plan with elements of the same spec that is cheap to start."""
        return sampled(self.inputs[0])

    @property
    def sampled_whole(self) -> bool:
        """Whether `sampled` gives the same elements, all of them."""
        return True


def spec_known(plan: Node) -> bool:
    """Whether `element_spec` is available without running a user's function."""
    if "element_spec" in plan.__dict__:
        return True
    return plan.spec_known if isinstance(plan, InferredSpec) else all(map(spec_known, plan.inputs))


def spec_stated(plan: Node) -> bool:
    """Whether `element_spec` holds for all elements; one inferred from a few results of a function may not."""
    kept = plan.__dict__.get("_spec_stated")
    if kept is None:
        own = plan.spec_stated if isinstance(plan, InferredSpec) else True
        kept = plan.__dict__["_spec_stated"] = own and all(map(spec_stated, plan.inputs))
    return bool(kept)


def opaque(plan: Node) -> bool:
    """Whether a node's spec can only be found by running the user's function."""
    return isinstance(plan, InferredSpec) and plan.opaque


def sampled(plan: Node) -> Node:
    """A plan with elements of the same spec that is cheap to start, used to infer specs."""
    if isinstance(plan, Sampled):
        return plan.sampled()
    changed: dict[str, Any] = {f: _sampled(v) for f, v in plan.input_fields()}
    return plan.replace(**changed) if changed else plan


def sampled_whole(plan: Node) -> bool:
    """Whether a node's `sampled` gives the same elements, all of them."""
    return plan.sampled_whole if isinstance(plan, Sampled) else True


def _sampled(value: Any) -> Any:
    return tuple(map(sampled, value)) if isinstance(value, tuple) else sampled(value)
