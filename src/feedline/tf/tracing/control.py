"""Control flow in a trace: branches and the functions of loops become graphs inside the graph."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

from feedline.errors import InvalidTypeError
from feedline.structure.spec import RaggedTensorSpec, TensorShape, TensorSpec, type_spec_from_value
from feedline.tf import array_ops, image_ops
from feedline.tf.control_flow import _as_result, _dtype_of, _truth
from feedline.tf.control_flow import switch_case as _switch_case
from feedline.tf.nest_ops import flatten, map_structure, pack_sequence_as
from feedline.tf.tensor import Composite, as_tensor, integer
from feedline.tf.tracing import specs
from feedline.tf.tracing.graph import Inferred, InnerGraph, NeedsValue, Slot, Symbol, Trace, line
from feedline.tf.tracing.symbolic import called, complete, symbolic

Call = Callable[..., Any]


def _inside(function: Call, given: list[Inferred]) -> tuple[Trace, list[Any], Any]:
    """The trace of a function inside the one that is open, the leaves of its result, and their structure."""
    with Trace() as trace:
        args = [symbolic(trace, trace.graph.slot(), known) for known in given]
        trace.graph.inputs = trace.graph.slots
        result = map_structure(_as_result, function(*args))
        leaves = flatten(result)
        trace.graph.result = [Slot(trace.held(leaf)) if isinstance(leaf, Symbol) else leaf for leaf in leaves]
    return trace, leaves, result


def _spec(leaf: Any) -> Any:
    return leaf.spec if isinstance(leaf, Symbol) else type_spec_from_value(leaf)


def _branches(trace: Trace, name: str, choice: Any, choose: Call, functions: list[Call]) -> Any:
    """The results of one of several functions, which is chosen for each element."""
    made = [_inside(function, []) for function in functions]
    first = made[0]
    for _, leaves, _ in made[1:]:
        if len(leaves) != len(first[1]):
            raise InvalidTypeError(f"{name}: the branches must return the same structure")
    found: list[Inferred | None] = []
    for parts in zip(*(leaves for _, leaves, _ in made), strict=True):
        kinds = [_spec(part) for part in parts]
        if all(kind is None for kind in kinds):
            found.append(None)
            continue
        if any(kind is None or kind.dtype != kinds[0].dtype or type(kind) is not type(kinds[0]) for kind in kinds):
            raise InvalidTypeError(f"{name}: the branches must return the same types, got {kinds}")
        found.append(Inferred(specs.common(kinds, False)))
    subs = [InnerGraph(inner.graph) for inner, _, _ in made]
    effect = any(call.effect for inner, _, _ in made for call in inner.graph.calls)
    symbols = trace.record(f"control_flow.{name}", choose, (choice, subs), {}, found, effect)
    return pack_sequence_as(first[2], symbols)


def _by_truth(pred: Any, branches: list[Call]) -> Any:
    return branches[0 if _truth(pred, "cond") else 1]()


def _cond(trace: Trace, function: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    bound = specs.arguments(function, args, kwargs)
    pred, true, false = bound["pred"], bound.get("true_fn"), bound.get("false_fn")
    true, false = true or bound.get("fn1"), false or bound.get("fn2")
    if not isinstance(pred, Symbol) or not callable(true) or not callable(false):
        return function(*args, **kwargs)
    return _branches(trace, "cond", pred, _by_truth, [true, false])


def _switched(index: Any, branches: list[Call]) -> Any:
    number = integer(index, "branch_index")
    return branches[number if 0 <= number < len(branches) - 1 else -1]()


def _switch(trace: Trace, function: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    bound = specs.arguments(function, args, kwargs)
    index, given = bound["branch_index"], bound["branch_fns"]
    if not isinstance(index, Symbol) or complete(index) is not None:
        return _switch_case(*args, **kwargs)
    pairs = isinstance(given, dict) or all(isinstance(b, tuple) for b in given)
    branches = dict(given) if pairs else dict(enumerate(given))
    functions = [branches[i] for i in sorted(branches)]
    return _branches(trace, "switch_case", index, _switched, [*functions, bound["default"] or functions[-1]])


def _case(trace: Trace, function: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    bound = specs.arguments(function, args, kwargs)
    given = bound["pred_fn_pairs"]
    pairs = list(given.items()) if isinstance(given, dict) else list(given)
    pairs = [(p.deref() if hasattr(p, "deref") else p, f) for p, f in pairs]
    if bound["exclusive"] or not all(isinstance(p, Symbol) and complete(p) is None for p, _ in pairs):
        raise NeedsValue(f"tf.case of these predicates is called for each element ({line()})")
    last = bound["default"] or pairs[-1][1]
    preds = pairs if bound["default"] else pairs[:-1]

    def chain(i: int) -> Any:
        if i == len(preds):
            return last()
        pred, true = preds[i]
        inner = _cond_of(pred, true, functools.partial(chain, i + 1))
        return inner

    return chain(0)


def _cond_of(pred: Any, true: Call, false: Call) -> Any:
    from feedline.tf.control_flow import cond

    return called("control_flow.cond", cond, (pred, true, false), {})


def _map_fn(trace: Trace, function: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    bound = specs.arguments(function, args, kwargs)
    elems, fn = bound["elems"], bound["fn"]
    leaves = flatten(elems)
    if not callable(fn) or any(isinstance(leaf, Composite) for leaf in leaves):
        raise NeedsValue(f"map_fn over ragged or sparse tensors is called for each element ({line()})")
    given, count = [], None
    for leaf in leaves:
        dims = specs.shape_of(leaf)
        if dims is None or not dims:
            raise NeedsValue(f"map_fn over a tensor of unknown rank is called for each element ({line()})")
        count = dims[0] if count is None else count
        given.append(Inferred(TensorSpec(dims[1:], leaf.dtype if isinstance(leaf, Symbol) else as_tensor(leaf).dtype)))
    inner, made, result = _inside(lambda *rows: fn(pack_sequence_as(elems, list(rows))), given)
    signature = bound.get("fn_output_signature") or bound.get("dtype")
    wanted = None if signature is None else flatten(signature)
    found: list[Any] = []
    for i, leaf in enumerate(made):
        spec = _spec(leaf)
        if not isinstance(spec, TensorSpec) or (wanted is not None and isinstance(wanted[i], RaggedTensorSpec)):
            raise NeedsValue(f"map_fn with ragged results is called for each element ({line()})")
        stated: Any = None if wanted is None else wanted[i]
        dtype = spec.dtype if stated is None else _dtype_of(stated)
        shape = TensorShape([count]).concatenate(spec.shape)
        found.append(Inferred(TensorSpec(shape, dtype)))
    sub = InnerGraph(inner.graph, flatten, functools.partial(pack_sequence_as, result))
    effect = any(call.effect for call in inner.graph.calls)
    named = {k: v for k, v in bound.items() if k not in ("fn", "elems")}
    symbols = trace.record("control_flow.map_fn", _mapped(function), (sub, elems), named, found, effect)
    return pack_sequence_as(result, symbols)


def _mapped(function: Call) -> Call:
    return lambda fn, elems, **named: flatten(function(fn, elems, **named))


def _concat(trace: Trace, function: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """`tf.concat` of a single tensor is that tensor, in TensorFlow's graphs."""
    values = specs.arguments(function, args, kwargs)["values"]
    if isinstance(values, Symbol) or (isinstance(values, list) and len(values) == 1 and isinstance(values[0], Symbol)):
        single = values if isinstance(values, Symbol) else values[0]
        return called("array_ops.identity", array_ops.identity, (single,), {})
    return trace.record(
        "array_ops.concat", function, args, kwargs, specs.inferred("array_ops.concat", function, args, kwargs)
    )


def _resize_images(trace: Trace, function: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """TensorFlow 1's resizing returns images of the wanted size as they are, if their size is known here."""
    bound = specs.arguments(function, args, kwargs)
    dims, size = specs.shape_of(bound["images"]), specs.vector(bound["size"])
    keeps = bound["preserve_aspect_ratio"]  # then TensorFlow computes the size when the function runs
    known = dims is not None and len(dims) > 2 and None not in dims[-3:-1] and size is not None and None not in size
    if known and not keeps and image_ops.is_resized(cast(Any, dims), cast(Any, size), False):
        return called("array_ops.identity", array_ops.identity, (bound["images"],), {})
    name, function = "image_ops.resize_images", image_ops.always_resized
    return trace.record(name, function, args, kwargs, specs.inferred(name, function, args, kwargs))


def _called(trace: Trace, function: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise NeedsValue(f"tf.{function.__name__} is called for each element ({line()})")


SPECIAL: dict[str, Call] = {
    "control_flow.cond": _cond,
    "control_flow.cond_v1": _cond,
    "control_flow.switch_case": _switch,
    "control_flow.case": _case,
    "control_flow.map_fn": _map_fn,
    "control_flow.vectorized_map": _map_fn,
    "control_flow.tuple_": lambda trace, function, args, kwargs: list(args[0]),
    **{f"control_flow.{n}": _called for n in ("while_loop", "scan", "foldl", "foldr")},
    **{f"v1_ops.{n}": _called for n in ("while_loop", "map_fn")},
    "array_ops.concat": _concat,
    "image_ops.resize_images": _resize_images,
}
"""Functions that are not recorded as they are."""
