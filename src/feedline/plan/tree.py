"""A plan as data: a tree of frozen nodes with fields, equality and positions."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar, cast, dataclass_transform

from feedline.plan.same_arguments import brief, same
from feedline.sharing import cached_property

if TYPE_CHECKING:
    from feedline.plan.node import Node

C = TypeVar("C")


@dataclass_transform(frozen_default=True, eq_default=False)
def node(cls: type[C]) -> type[C]:
    """Makes a Node class a frozen dataclass. It inherits the methods of `PlanTree`: dataclasses would compile them
    again for each class, which is most of the cost of importing them.
    """
    made: Any = dataclasses.dataclass(init=False, eq=False, repr=False, match_args=False)(cls)
    made._fields = dataclasses.fields(made)
    made._names = tuple([f.name for f in made._fields])
    return cls


@node
class PlanTree:
    """A node as data. Fields that are nodes, or tuples of nodes, are its inputs; the others are its arguments."""

    op: ClassVar[str] = ""
    """The method's name, for messages and pictures."""

    _fields: ClassVar[tuple[dataclasses.Field[Any], ...]] = ()
    _names: ClassVar[tuple[str, ...]] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        names = self._names
        if len(args) == len(names) and not kwargs:
            self.__dict__.update(zip(names, args, strict=True))
            return
        given = dict(zip(names, args, strict=False)) | kwargs
        if len(given) < len(args) + len(kwargs) or not given.keys() <= set(names):
            wrong = f"got {len(args)} values and {list(kwargs)}"
            raise TypeError(f"{type(self).__name__} has the fields {', '.join(names)}; {wrong}")
        for f in self._fields:
            if f.name not in given:
                if f.default is not dataclasses.MISSING:
                    given[f.name] = f.default
                elif f.default_factory is not dataclasses.MISSING:
                    given[f.name] = f.default_factory()
                else:
                    raise TypeError(f"{type(self).__name__} requires {f.name}")
        self.__dict__.update(given)

    def __setattr__(self, name: str, value: object) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot change {name}: a plan is a value; use replace()")

    def __delattr__(self, name: str) -> None:
        raise dataclasses.FrozenInstanceError(f"cannot delete {name}: a plan is a value")

    @cached_property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes this one reads from."""
        return tuple([n for _, v in self.input_fields() for n in (v if isinstance(v, tuple) else (v,))])

    @cached_property
    def position(self) -> int:
        """The number of this step, counted from the source, as errors name it."""
        return 1 + max((n.position for n in self.inputs), default=0)

    def arguments(self) -> dict[str, Any]:
        """The fields that are not inputs and differ from their defaults, as `explain` shows them."""
        inputs, shown = {f for f, _ in self.input_fields()}, {}
        for f in dataclasses.fields(self):
            value = getattr(self, f.name)
            if f.name in inputs or not f.repr or (f.default is not dataclasses.MISSING and value is f.default):
                continue
            shown[f.name] = value
        return shown

    def replace(self, **changes: Any) -> Self:
        """A copy with other fields, which keeps this node's `position` for messages."""
        made = dataclasses.replace(self, **changes)
        made.__dict__["position"] = self.position
        return made

    def walk(self) -> Iterator[Node]:
        """This node and everything below it, inputs first."""
        for n in self.inputs:
            yield from n.walk()
        yield cast("Node", self)

    def input_fields(self) -> list[tuple[str, Any]]:
        """The names and values of the fields that hold nodes, or tuples of them."""
        found = []
        for name in self._names:
            value = getattr(self, name)
            if isinstance(value, PlanTree) or (isinstance(value, tuple) and value and isinstance(value[0], PlanTree)):
                found.append((name, value))
        return found

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return False
        return all(same(getattr(self, f.name), getattr(other, f.name)) for f in dataclasses.fields(self) if f.compare)

    def __hash__(self) -> int:
        return hash((type(self).__name__, self.position))

    def __repr__(self) -> str:
        parts = [repr(n) for n in self.inputs] + [f"{k}={brief(v)}" for k, v in self.arguments().items()]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __getstate__(self) -> dict[str, Any]:
        kept = {f.name for f in dataclasses.fields(self)} | {"position"}
        return {k: v for k, v in self.__dict__.items() if k in kept}
