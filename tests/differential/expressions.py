"""Random expressions for functions."""

from __future__ import annotations

from dataclasses import replace

from tests.differential.element_types import Leaf, Type, arguments, size_of
from tests.differential.sources import Sources


class Expressions(Sources):
    """Makes expressions over the leaves of an element."""

    type: Type

    def integer(self, name: str, leaf: Leaf) -> str:
        """An int64 scalar computed from a leaf."""
        if leaf.kind == "ragged" and leaf.dtype == "string":
            return "xp.const(1, dtype=xp.int64)"
        if leaf.kind == "ragged":
            values = name if len(leaf.shape) == 1 else f"{name}.flat_values"
            return f"xp.reduce_sum(xp.cast({values}, xp.int64))"
        if leaf.kind == "sparse" and leaf.dtype == "string":
            return f"xp.cast(xp.size({name}.values), xp.int64)"
        if leaf.kind == "sparse":
            return f"xp.cast(xp.reduce_sum({name}.values), xp.int64)"
        if leaf.is_string:
            counted = f"xp.string_length({name})" if leaf.shape == () else f"xp.size({name})"
            return f"xp.cast({counted}, xp.int64)"
        if leaf.shape == ():
            return name if leaf.dtype == "int64" else f"xp.cast({name}, xp.int64)"
        return f"xp.reduce_sum(xp.cast({name}, xp.int64))"

    def some_integer(self) -> tuple[str, str]:
        """The parameters of a function, and an int64 scalar computed from one of them."""
        taken, found = arguments(self.type)
        return taken, self.integer(*self.dice.choice(found))

    def changed(self, name: str, leaf: Leaf) -> tuple[str, Leaf]:
        """An expression over a leaf, and the type of its value."""
        if leaf.kind != "dense":
            return name, leaf
        options: list[tuple[str, Leaf]] = [(name, leaf)]
        if leaf.is_number:
            options += [(f"{name} + 1", leaf), (f"{name} * 2", leaf), (f"{name} - 3", leaf)]
            options += [
                (f"xp.cast({name}, xp.{dtype})", replace(leaf, dtype=dtype))
                for dtype in ("float32", "int32", "float64")
            ]
            options += [(f"xp.stack([{name}, {name} * 2])", replace(leaf, shape=(2, *leaf.shape)))]
            if leaf.shape == () and leaf.is_int:
                options += [(f"xp.range({name} % 5)", replace(leaf, shape=(None,)))] * 2
                options += [(f"xp.fill([{name} % 4], 7)", Leaf("int32", (None,)))]
                options += [(f"xp.as_string({name})", Leaf("string", numeric=True))]
                options += [(f"xp.fail_if(xp.equal({name} % 7, {self.dice.randint(0, 6)}), {name})", leaf)]
            if leaf.shape == ():
                options += [(f"xp.fill([3], {name})", replace(leaf, shape=(3,)))]
        if leaf.dtype == "bool":
            options += [(f"xp.logical_not({name})", leaf), (f"xp.cast({name}, xp.int64)", replace(leaf, dtype="int64"))]
        if leaf.dtype == "uint8":
            options += [(f"xp.cast({name}, xp.float32) * 0.5", replace(leaf, dtype="float32"))]
        if leaf.is_string and leaf.shape == ():
            options += [
                (f"xp.string_length({name})", Leaf("int32")),
                (f"xp.string_join([{name}, 'x'], '-')", Leaf("string")),
                (f"xp.upper({name})", Leaf("string")),
                (f"xp.split_words({name})", Leaf("string", (None,))),
            ]
            if leaf.numeric:
                options += [(f"xp.to_number({name}, xp.{t})", Leaf(t)) for t in ("int64", "int64", "float32")]
        if leaf.shape:
            options += [(f"xp.expand_dims({name}, 0)", replace(leaf, shape=(1, *leaf.shape)))]
            options += [(f"xp.reshape({name}, [-1])", replace(leaf, shape=(size_of(leaf.shape),)))]
            if leaf.is_number:
                options += [(f"xp.reduce_sum({name})", replace(leaf, shape=()))]
            if len(leaf.shape) == 1:
                size = leaf.shape[0]
                options += [
                    (f"xp.concat([{name}, {name}], 0)", replace(leaf, shape=(None if size is None else 2 * size,)))
                ]
                options += [(f"xp.size({name})", Leaf("int32"))]
        return self.dice.choice(options)
