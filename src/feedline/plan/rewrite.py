"""Rewriting plans. Nodes are never changed in place: existing references to a plan stay valid."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeVar

from feedline.plan.node import Node

N = TypeVar("N", bound=Node)

Rewrite = Callable[[Node], Node | None]
"""Gives a better plan with the same elements, or None if it knows none."""


def replace_node(old: Node, new: N) -> N:
    """`new` in the place of `old`: with its step number in messages, and its spec if that is known already."""
    if new is not old:
        new.__dict__["position"] = old.position
        if "element_spec" in old.__dict__:
            new.__dict__["element_spec"] = old.element_spec
    return new


def convert_node(cls: type[N], old: Node, **changes: Any) -> N:
    """A node of another class with the fields it shares with `old`, in old's place."""
    names = {f.name for f in dataclasses.fields(cls)} & {f.name for f in dataclasses.fields(old)}
    return replace_node(old, cls(**{name: getattr(old, name) for name in names} | changes))


def with_inputs(old: Node, inputs: tuple[Node, ...]) -> Node:
    """A copy of `old` with other inputs; `old` itself if they are the same."""
    if all(a is b for a, b in zip(old.inputs, inputs, strict=True)):
        return old
    left = iter(inputs)
    changes = {
        name: tuple([next(left) for _ in value]) if isinstance(value, tuple) else next(left)
        for name, value in old.input_fields()
    }
    made: Node = old.replace(**changes)
    return replace_node(old, made)


def bottom_up(plan: Node, rewrite: Rewrite) -> Node:
    """The plan after one pass of `rewrite` over all nodes, inputs first. Unchanged parts are not copied, and a node
    that is used twice stays one node.
    """
    done: dict[int, Node] = {}

    def visit(old: Node) -> Node:
        if id(old) not in done:
            new = with_inputs(old, tuple([visit(n) for n in old.inputs]))
            better = rewrite(new)
            done[id(old)] = new if better is None else better
        return done[id(old)]

    return visit(plan)
