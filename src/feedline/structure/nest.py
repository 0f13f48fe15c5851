"""Nested structures: elements flattened into leaves and rebuilt.

Tuples, namedtuples, mappings, dataclasses and attrs classes are structure; everything else, lists and None included, is
a leaf. A `Tree` is a structure without its leaves. The keys of a mapping keep their order. A class with TensorFlow's
methods `__tf_flatten__`, which separates data from metadata, and `__tf_unflatten__` is flattened and rebuilt with
these.
"""

from __future__ import annotations

import dataclasses
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

LEAF_PATH = "$"


class Tree:
    """The shape of a structure: its containers, without the leaves.

    `kind` is the container's class, None for a leaf. Trees compare by value; mappings with the same keys in another
    order are different trees that `order_of` can align. `fixed` is the metadata of a class with `__tf_flatten__`.
    """

    __slots__ = ("_build", "_paths", "children", "fixed", "keys", "kind", "size")

    def __init__(
        self, kind: type | None, keys: tuple[Any, ...] = (), children: tuple[Tree, ...] = (), fixed: object = None
    ) -> None:
        self.kind = kind
        self.keys = keys
        self.children = children
        self.fixed = fixed
        self.size: int = 1 if kind is None else sum(c.size for c in children)
        self._build: Callable[[Sequence[Any]], Any] | None = None
        self._paths: list[str] | None = None

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """Builds this structure from `leaves`."""
        if self._build is None:
            self._build = _builder(self)
        return self._build(leaves)

    def flatten(self, value: object) -> list[Any]:
        """The leaves of `value`, which must have this structure. Mappings may list their keys in any order."""
        out: list[Any] = []
        _flatten_as(self, value, out, LEAF_PATH)
        return out

    def flatten_up_to(self, value: object, exact: bool = False, partial: bool = False) -> list[Any]:
        """Flattens `value` as far as this structure goes; a leaf may stand for a structure. If `exact`, a namedtuple
        does not match a tuple, or a namedtuple of another name. If `partial`, None stands for any part: all its leaves
        are None.
        """
        out: list[Any] = []
        _flatten_as(self, value, out, LEAF_PATH, deeper=True, exact=exact, partial=partial)
        return out

    def paths(self) -> list[str]:
        """One path per leaf, for instance `$.image` or `$[0]`."""
        if self._paths is None:
            self._paths = list(_paths(self, LEAF_PATH))
        return self._paths

    def map(self, function: Callable[..., Any], *leaves: Sequence[Any]) -> Any:
        """The structure whose leaves are `function` of the given ones."""
        return self.unflatten([function(*vs) for vs in zip(*leaves, strict=True)])

    def order_of(self, other: Tree, exact: bool = False) -> list[int] | None:
        """The index in `other` of each leaf of this tree; None if the two structures differ. `exact` is as in
        `flatten_up_to`.
        """
        out: list[Any] = []
        try:
            _flatten_as(self, other.unflatten(range(other.size)), out, LEAF_PATH, exact=exact)
        except TypeError:
            return None
        return out

    @property
    def is_leaf(self) -> bool:
        """Whether the tree is a single leaf."""
        return self.kind is None

    def kinds(self) -> set[type]:
        """The classes of this structure and of those inside it."""
        found = set() if self.kind is None else {self.kind}
        return found.union(*(child.kinds() for child in self.children))

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Tree)
            and self.kind is other.kind
            and self.keys == other.keys
            and self.children == other.children
            and (self.fixed is other.fixed or _equal(self.fixed, other.fixed))
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.keys, self.children))

    def __repr__(self) -> str:
        return f"Tree({self.unflatten(['*'] * self.size)!r})"

    def __reduce__(self) -> Any:
        return Tree, (self.kind, self.keys, self.children, self.fixed)


LEAF = Tree(None)


def flat(n: int) -> Tree:
    """The tree of a plain tuple of n leaves."""
    return Tree(tuple, tuple(range(n)), (LEAF,) * n)


def is_namedtuple(value: object) -> bool:
    """Whether a value is an instance of a `collections.namedtuple` or `typing.NamedTuple` class."""
    return isinstance(value, tuple) and hasattr(value, "_fields")


def fields_of(value: object) -> tuple[str, ...] | None:
    """The field names of a dataclass or attrs instance, None for anything else."""
    if isinstance(value, type):
        return None
    if dataclasses.is_dataclass(value):
        return tuple(f.name for f in dataclasses.fields(value))
    attrs_fields = getattr(type(value), "__attrs_attrs__", None)
    return None if attrs_fields is None else tuple(a.name for a in attrs_fields)


def has_tf_flatten(kind: type) -> bool:
    """Whether a class has TensorFlow's `__tf_flatten__` and `__tf_unflatten__`."""
    return hasattr(kind, "__tf_flatten__") and hasattr(kind, "__tf_unflatten__")


def _data(value: Any) -> Sequence[Any]:
    """The data of an object with `__tf_flatten__`."""
    parts: Sequence[Any] = value.__tf_flatten__()[1]
    return parts


def is_structure(value: object) -> bool:
    """Whether a value is a container, not a leaf."""
    return isinstance(value, (tuple, Mapping)) or has_tf_flatten(type(value)) or fields_of(value) is not None


def _equal(a: object, b: object) -> bool:
    try:
        return bool(a == b)
    except Exception:  # arrays and the like, whose comparison is not a bool
        return False


def flatten(value: object) -> tuple[list[Any], Tree]:
    """The leaves of a structure, and the tree to rebuild it."""
    out: list[Any] = []
    return out, _flatten(value, out)


def map_structure(function: Callable[[Any], Any], value: object) -> Any:
    """The same structure with `function` applied to each leaf."""
    leaves, tree = flatten(value)
    return tree.unflatten([function(v) for v in leaves])


# Types of Python, NumPy and feedline found to be leaves, which never become structures: they need no further check.
_LEAVES: set[type] = set()


def _flatten(value: Any, out: list[Any]) -> Tree:
    if type(value) in _LEAVES:
        out.append(value)
        return LEAF
    if has_tf_flatten(type(value)):
        fixed, parts = value.__tf_flatten__()
        children = tuple([_flatten(v, out) for v in parts])
        return Tree(type(value), tuple(range(len(children))), children, fixed)
    if isinstance(value, tuple):
        children = tuple([_flatten(v, out) for v in value])
        return Tree(type(value), getattr(value, "_fields", None) or tuple(range(len(value))), children)
    if isinstance(value, Mapping):
        kind = type(value) if isinstance(value, (dict, OrderedDict)) else dict
        return Tree(
            dict if kind is defaultdict else kind, tuple(value), tuple([_flatten(v, out) for v in value.values()])
        )
    names = fields_of(value)
    if names is not None:
        return Tree(type(value), names, tuple([_flatten(getattr(value, n), out) for n in names]))
    if type(value).__module__.partition(".")[0] in ("builtins", "numpy", "feedline"):
        _LEAVES.add(type(value))
    out.append(value)
    return LEAF


def same_tuples(a: type, b: type) -> bool:
    """Whether two classes are both plain tuples, or namedtuples of one name with the same fields."""
    fields = getattr(a, "_fields", None)
    return fields == getattr(b, "_fields", None) and (fields is None or a.__name__ == b.__name__)


def _flatten_as(
    tree: Tree,
    value: object,
    out: list[Any],
    path: str,
    deeper: bool = False,
    exact: bool = False,
    partial: bool = False,
) -> None:
    kind = tree.kind
    if value is None and partial:
        out += [None] * tree.size
        return
    if kind is None:
        if not deeper and is_structure(value):
            raise TypeError(f"expected a single value at {path}, got {type(value).__name__}")
        out.append(value)
        return
    if has_tf_flatten(kind):
        parts: Sequence[Any] = _data(value) if isinstance(value, kind) else ()
        if not isinstance(value, kind) or len(parts) != len(tree.children):
            raise TypeError(f"expected a {kind.__name__} at {path}, got {_brief(value)}")
    elif issubclass(kind, tuple):
        if not isinstance(value, tuple) or len(value) != len(tree.children):
            raise TypeError(f"expected a {kind.__name__} of {len(tree.children)} at {path}, got {_brief(value)}")
        if exact and not same_tuples(type(value), kind):
            raise TypeError(f"expected a {kind.__name__} at {path}, got {_brief(value)}")
        parts = value
    elif issubclass(kind, Mapping):
        if not isinstance(value, Mapping) or set(value) != set(tree.keys):
            raise TypeError(f"expected a mapping with keys {list(tree.keys)} at {path}, got {_brief(value)}")
        parts = [value[k] for k in tree.keys]
    else:
        if fields_of(value) != tree.keys:
            raise TypeError(f"expected a {kind.__name__} at {path}, got {_brief(value)}")
        parts = [getattr(value, k) for k in tree.keys]
    for key, child, part in zip(tree.keys, tree.children, parts, strict=True):
        _flatten_as(child, part, out, _join(path, key), deeper, exact, partial)


def _brief(value: object) -> str:
    if isinstance(value, tuple):
        return f"{type(value).__name__} of {len(value)}"
    if isinstance(value, Mapping):
        return f"a mapping with keys {list(value)}"
    return type(value).__name__


def _join(path: str, key: object) -> str:
    return f"{path}.{key}" if isinstance(key, str) and key.isidentifier() else f"{path}[{key!r}]"


def _paths(tree: Tree, path: str) -> Iterator[str]:
    if tree.kind is None:
        yield path
    for key, child in zip(tree.keys, tree.children, strict=True):
        yield from _paths(child, _join(path, key))


def _builder(tree: Tree) -> Callable[[Sequence[Any]], Any]:
    """The function that builds `tree` from leaves; the common flat shapes get one without a loop."""
    kind = tree.kind
    if kind is None:
        return lambda leaves: leaves[0]
    flat_children = all(c.kind is None for c in tree.children)
    make = _maker(kind, tree.keys, tree.fixed)
    if flat_children:
        return make
    spans: list[tuple[int, int, Tree]] = []
    at = 0
    for child in tree.children:
        spans.append((at, at + child.size, child))
        at += child.size

    def build(leaves: Sequence[Any]) -> Any:
        return make([leaves[i] if c.kind is None else c.unflatten(leaves[i:j]) for i, j, c in spans])

    return build


def _maker(kind: Any, keys: tuple[Any, ...], fixed: Any) -> Callable[[Sequence[Any]], Any]:
    if has_tf_flatten(kind):
        unflatten = object.__new__(kind).__tf_unflatten__  # on an instance, as TensorFlow does
        return lambda parts: unflatten(fixed, tuple(parts))
    if kind is tuple:
        return tuple
    if kind is dict:
        return lambda parts: dict(zip(keys, parts, strict=True))
    if issubclass(kind, tuple):
        return lambda parts: kind(*parts)
    if issubclass(kind, Mapping):
        return lambda parts: kind(zip(keys, parts, strict=True))
    return lambda parts: _make_object(kind, keys, parts)


def _make_object(kind: type, keys: tuple[str, ...], parts: Sequence[Any]) -> Any:
    # Fields are set directly, since __init__ may leave some out (init=False) or check values that are specs here.
    made: Any = object.__new__(kind)
    for key, part in zip(keys, parts, strict=True):
        object.__setattr__(made, key, part)
    return made
