"""Checkpoints: where a run stands, as versioned JSON, and back.

A state is a NamedTuple of values, or a class with `save` and `load`. Values are what JSON has, plus bytes, arrays,
blocks, exceptions and nested runs. What is live (an open generator) is left out: its node opens it again from the rest.
The last value is a checksum of all text before it, so that damage is told at once and not by the elements after it.
"""

from __future__ import annotations

import base64
import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from feedline import errors, kernels
from feedline.engine.run import Cursor, Run
from feedline.errors import DataLossError, FailedPreconditionError, InvalidArgumentError, OpError
from feedline.plan.face import dataset, from_recipe, in_memory
from feedline.plan.node import Node
from feedline.structure.block import Block, Bytes, Objects, merged_spec, object_array
from feedline.structure.nest import LEAF, Tree
from feedline.structure.optional import Optional
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import RaggedTensorSpec
from feedline.structure.types import as_dtype

VERSION = 2
_CHECKSUM = re.compile(rb', "checksum": (\d+)}')


def dumps(cursor: Cursor) -> bytes:
    """Where a cursor stands."""
    run = cursor.run
    if not run.heavy and cursor.block is not None:
        assert cursor.before is not None
        return _dumped(cursor, cursor.before, cursor.handed_out(), None)
    with run.held() as states:
        return _dumped(cursor, states, 0, cursor.rest())


def _dumped(cursor: Cursor, states: list[Any], skip: int, rest: Block | None) -> bytes:
    plan = cursor.run.plan
    saved = {
        "version": VERSION,
        "plan": outline(plan),
        "generators": _counts(cursor.run, states),
        "states": [encode(s) for s in states],
        "skip": skip,
        "rest": encode(rest),
        "ended": cursor.ended,
    }
    text = json.dumps(saved).encode()[:-1]
    return text + b', "checksum": %d}' % kernels.crc32c(text)


def loads(state: Any, run: Run) -> Cursor:
    """A cursor over `run`, which has not been started, at the place that was saved."""
    try:
        saved = json.loads(state)
        version = saved["version"]
    except (ValueError, TypeError, KeyError, RecursionError) as e:
        raise DataLossError(f"this is no iterator state, or it is damaged: {e}") from None
    if version != VERSION:
        raise FailedPreconditionError(f"the state has version {version}, this feedline reads version {VERSION}")
    text = state.encode() if isinstance(state, str) else bytes(state)
    end = text.rfind(b", ")
    stored = _CHECKSUM.fullmatch(text, max(end, 0))
    if stored is None or int(stored[1]) != kernels.crc32c(text[:end]):
        raise DataLossError("this is no iterator state, or it is damaged: its checksum is wrong")
    if saved["plan"] != outline(run.plan):
        raise FailedPreconditionError(
            "the state belongs to another dataset: it was saved from\n  "
            + " → ".join(saved["plan"])
            + "\nand this is\n  "
            + " → ".join(outline(run.plan))
        )
    for generator, count in zip(counters(run.plan), saved["generators"], strict=True):
        generator.count = count
    run.states[:] = [decode_state(s, n, run) for s, n in zip(saved["states"], run.nodes, strict=True)]
    restored = Cursor(run)
    restored.ended = saved["ended"]
    rest = decode(saved["rest"], run.plan, run)
    if rest is not None:
        restored.block, restored.rows = rest, iter(rest.rows())
    left = saved["skip"]
    while left and restored.refill():
        assert restored.block is not None
        n = min(left, restored.block.n)
        for _ in range(n):
            next(restored.rows)
        left -= n
    return restored


def outline(plan: Node) -> list[str]:
    """The operators of a plan, inputs first: what must agree between a state and the plan it is loaded into."""
    return [n.op for n in plan.walk()]


def generators(plan: Node) -> list[Any]:
    """The seed generators of a plan, each once."""
    return _each_once(getattr(n, "generator", None) for n in plan.walk())


def counters(plan: Node) -> list[Any]:
    """What counts the iterations of a plan, each once: seed generators, and the epochs of users' functions."""
    return [*generators(plan), *_each_once(getattr(n, "epochs", None) for n in plan.walk())]


def _counts(run: Run, states: list[Any]) -> list[int]:
    """How far the counters were when the run was in `states`: it may have begun iterations since, which it will begin
    again when it is restored.
    """
    begun: dict[int, int] = {}
    for n, then, now in zip(run.nodes, states, run.states, strict=True):
        epochs = getattr(n, "epochs", None)
        if epochs is None or now is None or now.draws is None:
            continue
        since = now.draws[1] - (then.draws[1] if then is not None and then.draws is not None else now.draws[1])
        begun[id(epochs)] = max(since, begun.get(id(epochs), 0))
    return [c.count - begun.get(id(c), 0) for c in counters(run.plan)]


def _each_once(found: Iterable[Any]) -> list[Any]:
    return list({id(g): g for g in found if g is not None and hasattr(g, "count")}.values())


def encode(value: Any) -> Any:
    """`value` as JSON; what JSON has no form for becomes a dict with one key that says what it is."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic)):
        return value
    if isinstance(value, bytes):
        return {"b": base64.b64encode(value).decode()}
    if isinstance(value, (np.ndarray, np.generic)):
        return _encode_array(np.asarray(value), isinstance(value, np.generic))
    if isinstance(value, Block):
        return {"block": [_encode_tree(value.tree), value.n, [_encode_column(c) for c in value.columns]]}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return {"state": {k: encode(v) for k, v in zip(value._fields, value, strict=True)}}
    if isinstance(value, tuple):
        return {"tuple": [encode(v) for v in value]}
    if isinstance(value, list):
        return [encode(v) for v in value]
    if isinstance(value, dict):
        return {"dict": [[encode(k), encode(v)] for k, v in value.items()]}
    if isinstance(value, OpError):
        return {"error": [errors.op_class(type(value)).__name__, str(value)]}
    if isinstance(value, Exception):
        return {"error": [errors.op_class(type(value)).__name__, f"{type(value).__name__}: {value}"]}
    if isinstance(value, Run):
        with value.held() as states:
            coded = [encode(s) for s in states]
            return {"run": [encode(value.key), outline(value.plan), coded, _counts(value, states)]}
    if isinstance(value, RaggedTensor):
        return {"ragged": [encode(value.values), encode(value.row_splits)]}
    if isinstance(value, SparseTensor):
        return {"sparse": [encode(value.indices), encode(value.values), encode(value.dense_shape)]}
    if isinstance(value, Optional):
        if value.has_value():
            return {"optional": encode(Block.of_elements([value.get_value()]))}
        raise FailedPreconditionError("an empty optional in a shuffle or window buffer cannot be saved")
    plan = getattr(value, "_plan", None)
    if plan is not None:
        return {"dataset": _encode_dataset(plan)}
    if hasattr(value, "save") and hasattr(type(value), "load"):
        return {"saved": encode(value.save())}
    if hasattr(value, "close"):
        return None  # live: opened again from what the state says beside it
    raise FailedPreconditionError(f"a {type(value).__name__} cannot be part of a saved iterator state")


def _encode_dataset(plan: Node) -> Any:
    block = getattr(plan, "block", None)
    if isinstance(block, Block):
        return encode(block)
    recipe = plan.recipe() if hasattr(plan, "recipe") else None
    if recipe is not None:
        return {"recipe": [plan.op, encode(recipe)]}
    raise FailedPreconditionError(
        f"a dataset made by a function ({plan.op}) is waiting in a buffer and cannot be saved; "
        "save before it gets there, or flatten it with flat_map first"
    )


def _encode_array(array: np.ndarray[Any, Any], scalar: bool) -> Any:
    if array.dtype.kind == "O":
        items = [base64.b64encode(v).decode() for v in array.ravel().tolist()]
        return {"strings": [list(array.shape), items]}
    narrow = _narrowest(array)
    raw = base64.b64encode(np.ascontiguousarray(array, narrow).tobytes()).decode()
    return {"array": [as_dtype(array.dtype).name, list(array.shape), raw, scalar, as_dtype(narrow).name]}


def _narrowest(array: np.ndarray[Any, Any]) -> np.dtype[Any]:
    """The smallest type that holds the values: row numbers are int64 but seldom need it."""
    given: np.dtype[Any] = array.dtype
    if given != np.int64 or not array.size:
        return given
    low, high = int(array.min()), int(array.max())
    fitting = (np.dtype(t) for t in (np.uint8, np.uint16, np.uint32) if low >= 0 and high <= np.iinfo(t).max)
    return next(fitting, given)


def _encode_column(column: Any) -> Any:
    if isinstance(column, Bytes):
        column = column.objects()
    if not isinstance(column, Objects):
        return encode(column)
    ragged = None
    if isinstance(column.spec, RaggedTensorSpec):  # rows of ragged tensors are plain arrays that batch as ragged ones
        dims = column.spec.shape.dims
        ragged = [dims and list(dims), column.spec.dtype.name, column.spec.ragged_rank,
        column.spec.row_splits_dtype.name]
    return {"objects": [[encode(v) for v in column.items], ragged]}


def _encode_tree(tree: Tree) -> Any:
    if tree.kind is None:
        return None
    name = f"{tree.kind.__module__}:{tree.kind.__qualname__}"
    return [name, [encode(k) for k in tree.keys], [_encode_tree(c) for c in tree.children]]


def decode_state(value: Any, node: Node, run: Run) -> Any:
    """The state of `node` that `encode` described."""
    if isinstance(value, dict) and "state" in value:
        return node.State(**{k: decode(v, node, run) for k, v in value["state"].items()})
    if isinstance(value, dict) and "saved" in value:
        return node.State.load(decode(value["saved"], node, run))
    return decode(value, node, run)


def decode(value: Any, node: Node, run: Run) -> Any:
    """The inverse of `encode`, for a value in the state of `node`."""
    if isinstance(value, list):
        return [decode(v, node, run) for v in value]
    if not isinstance(value, dict):
        return value
    ((kind, got),) = value.items()
    if kind == "b":
        return base64.b64decode(got)
    if kind == "array":
        dtype, shape, raw, scalar, narrow = got
        stored = np.frombuffer(base64.b64decode(raw), as_dtype(narrow).dtype)
        array = stored.astype(as_dtype(dtype).dtype).reshape(shape)
        return array[()] if scalar else array
    if kind == "strings":
        shape, items = got
        return object_array([base64.b64decode(v) for v in items]).reshape(shape)
    if kind == "block":
        tree, n, columns = got
        leaves = [_decode_column(c, node, run) for c in columns]
        return Block(leaves, n, _decode_tree(tree, node, run))
    if kind == "tuple":
        return tuple(decode(v, node, run) for v in got)
    if kind == "dict":
        return {decode(k, node, run): decode(v, node, run) for k, v in got}
    if kind == "error":
        return getattr(errors, got[0], errors.UnknownError)(got[1])
    if kind == "ragged":
        return RaggedTensor.from_row_splits(decode(got[0], node, run), decode(got[1], node, run))
    if kind == "sparse":
        return SparseTensor(*(decode(v, node, run) for v in got))
    if kind == "optional":
        return Optional.from_value(decode(got, node, run).element(0))
    if kind == "dataset":
        if "recipe" in got:
            op, values = got["recipe"]
            return dataset(from_recipe(op, decode(values, node, run)))
        return dataset(in_memory(decode(got, node, run)))
    if kind == "run":
        return _decode_run(got, node, run)
    raise InvalidArgumentError(f"the iterator state holds {kind!r}, which this version does not know")


def _decode_run(got: Any, node: Node, run: Run) -> Run:
    key = decode(got[0], node, run)
    child = run.nested(node.child(key), key)
    if outline(child.plan) != got[1]:
        raise FailedPreconditionError(
            f"the function of {node.op} makes another dataset than when the state was saved: "
            f"{' → '.join(outline(child.plan))} instead of {' → '.join(got[1])}"
        )
    for generator, count in zip(counters(child.plan), got[3], strict=True):
        generator.count = count
    child.states[:] = [decode_state(s, n, child) for s, n in zip(got[2], child.nodes, strict=True)]
    return child


def _decode_column(value: Any, node: Node, run: Run) -> Any:
    if isinstance(value, dict) and "objects" in value:
        coded, ragged = value["objects"]
        items = [decode(v, node, run) for v in coded]
        return Objects(items, RaggedTensorSpec(*ragged) if ragged else merged_spec(items) if items else None)
    return decode(value, node, run)


def _decode_tree(value: Any, node: Node, run: Run) -> Tree:
    if value is None:
        return LEAF
    name, keys, children = value
    kind = _class_of(name)
    return Tree(kind, tuple(decode(k, node, run) for k in keys), tuple(_decode_tree(c, node, run) for c in children))


def _class_of(name: str) -> type:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    # Nothing but what elements are made of: putting an element together calls the class.
    fields = hasattr(found, "__dataclass_fields__") or hasattr(found, "__attrs_attrs__")
    if not isinstance(found, type) or not (fields or issubclass(found, (tuple, Mapping))):
        raise FailedPreconditionError(
            f"the iterator state needs the class {name}, which is not imported here, or no structure"
        )
    return found
