"""Spec inference for users' functions.

The structure and dtypes of the results, and their possible sizes, are seen in the results for the first few elements.
Later results may have other sizes, so a size is stated only if it is found to come from something fixed:

- If elements have a dimension of unknown size, the function is tried with an element of other sizes there. A size in
  its results that changes then depends on the unknown one, and is unknown too. If it rejects them, all sizes are.
  Likewise with elements of other ranks, where a rank is unknown.
- If elements hold integers, which may be lengths, the function is tried with larger ones.
- If elements hold strings, ragged or sparse tensors, or datasets, these may determine any size. The function is tried
  with other sizes in the known dimensions: sizes that change with those are known, all others are not.

If there is no element at all, the function is tried with zeros, and with ones if it rejects these.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any

import numpy as np

from feedline.plan.trials import limited
from feedline.structure.nest import flatten, map_structure
from feedline.structure.resized import Change, Pick, resized
from feedline.structure.spec import DatasetSpec, RaggedTensorSpec, SparseTensorSpec, TensorSpec, general

_SHAPED = (TensorSpec, SparseTensorSpec, RaggedTensorSpec)
VALUES = (1, 2, 3)
"""The amounts that are added to integers in a trial."""
MANY = 100
MOST_BYTES = 1 << 22
"""The most bytes of an element in a trial, give or take a row."""

Try = Callable[[Any], Any]


def infer(
    found: Sequence[Any],
    given: Any,
    elements: Callable[[], Iterable[Any]],
    attempt: Try,
    complete: bool = False,
    strings_decide: bool = True,
) -> Any:
    """The spec that fits the results of a function for elements of spec `given`.

    `found` are the specs of its results for some elements, `complete` if there are no others. `attempt` gives the spec
    of its result for an element, and `elements` gives elements to try: real ones, or made-up ones if there are none. A
    size of 0 in the results counts as unknown, unless elements have one, too: more likely something is empty just now.
    """
    spec = _merged(found)
    unknown, hidden = _is_open(given), strings_decide and _is_hidden(given)
    if unknown or (not complete and (hidden or _has_integers(given))):
        spec = _Trials(given, elements, attempt).confirmed(spec, unknown, hidden)
    return spec if _has_empty(given) else map_structure(_never_empty, spec)


def infer_unseen(
    given: Any, stand_ins: Iterable[Any], attempt: Try, failed: Exception | None = None, strings_decide: bool = True
) -> Any:
    """The spec of the results when there is no element; `failed` is the reason, if any, and is raised if the function
    rejects all stand-ins. If the function only accepts the sizes it was tried with, these are taken as its sizes.
    """
    errors: list[Exception] = [] if failed is None else [failed]
    for element in stand_ins:
        try:
            spec = attempt(element)
        except Exception as e:
            errors.append(e)
            continue
        unknown, hidden = _is_open(given), strings_decide and _is_hidden(given)
        if unknown or hidden or _has_integers(given):
            spec = _Trials(given, partial(list, [element]), attempt).confirmed(spec, unknown, hidden, trusted=True)
        return spec if _has_empty(given) else map_structure(_never_empty, spec)
    raise errors[0]


class _Trials:
    """A function and the elements to try it with."""

    def __init__(self, given: Any, elements: Callable[[], Iterable[Any]], attempt: Try) -> None:
        self.given, self.elements, self.attempt = given, elements, attempt

    def confirmed(self, spec: Any, unknown: bool, hidden: bool, trusted: bool = False) -> Any:
        """The spec without the sizes that may differ for other elements."""
        if not any(isinstance(leaf, _SHAPED) and leaf.shape.rank for leaf in flatten(spec)[0]):
            return spec
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # empty elements among them
            base = self._base()
            if base is None:
                return map_structure(without_sizes, spec)
            plain, element = base
            spec = self._following_no_value(spec, element)
            if unknown:
                spec = self._following_rank(self._following_none(spec, element, trusted), element)
            if hidden:
                spec = self._following_known(spec, plain, element)
        return spec

    def _base(self) -> tuple[Any, Any] | None:
        """The spec of the result for an element, and that element."""
        for element in self.elements():
            got = self._result(element, lambda _: False, lambda n: n)
            if got is not None:
                return got, element
        return None

    def _result(self, element: Any, pick: Pick, change: Change) -> Any:
        try:
            return self.attempt(resized(element, self.given, pick, change))
        except Exception:
            return None

    def _following_no_value(self, spec: Any, element: Any) -> Any:
        """The spec without the sizes that change when integers do."""
        leaves, tree = flatten(element)
        if any(map(_is_integer, leaves)):
            for more in VALUES:
                made = tree.unflatten([leaf + leaf.dtype.type(more) if _is_integer(leaf) else leaf for leaf in leaves])
                got = self._result(made, lambda _: False, lambda n: n)
                merged = None if got is None else general(spec, got)
                spec = spec if merged is None else merged
        return spec

    def _following_none(self, spec: Any, element: Any, trusted: bool) -> Any:
        """The spec without the sizes that change when unknown ones do; without any if no trial succeeds."""
        times = MOST_BYTES // max(1, _size(element))
        many = max(2, min(MANY, int(times ** (1 / max(1, _most_unknown(self.given))))))
        larger: list[Change] = [lambda n: n + 1, lambda n: 2 * n, lambda n: many * n]
        smaller: list[Change] = [lambda _: 1, lambda _: 0]
        tried = 0
        for change in (*larger, *smaller):
            with limited() if change is larger[-1] else nullcontext():
                got = self._result(element, _is_unknown, change)
            merged = None if got is None else general(spec, got)
            if merged is not None:
                spec = merged
                tried += change in larger
        return spec if tried or trusted else map_structure(without_sizes, spec)

    def _following_rank(self, spec: Any, element: Any) -> Any:
        """The spec without the ranks that change when unknown ones do."""
        if all(dims is not None for dims in _shapes(self.given)):
            return spec
        leaves, tree = flatten(element)
        given = flatten(self.given)[0]
        changes: list[Callable[[Any], Any]] = [lambda array: array[None], lambda array: array[0]]
        for change in changes:
            pairs = zip(leaves, given, strict=True)
            made = [change(leaf) if _is_rankless(want, leaf) else leaf for leaf, want in pairs]
            got = self._result(tree.unflatten(made), lambda _: False, lambda n: n)
            merged = None if got is None else general(spec, got)
            spec = spec if merged is None else merged
        return spec

    def _following_known(self, spec: Any, plain: Any, element: Any) -> Any:
        """The spec with only the sizes that change when known ones do."""
        for change in (lambda n: n + 1, lambda n: 2 * n):
            got = self._result(element, _is_known, change)
            merged = None if got is None else general(plain, got)
            if merged is not None:
                break
        else:
            merged = plain
        leaves, tree = flatten(spec)
        order = tree.order_of(flatten(merged)[1], exact=True)
        seen = flatten(merged)[0] if order is None else [flatten(merged)[0][i] for i in order]
        return tree.unflatten([_only_open(leaf, s) for leaf, s in zip(leaves, seen, strict=True)])


def _merged(specs: Sequence[Any]) -> Any:
    spec = specs[0]
    for other in specs[1:]:
        merged = general(spec, other)
        spec = spec if merged is None else merged
    return spec


def _is_unknown(d: int | None) -> bool:
    return d is None


def _is_known(d: int | None) -> bool:
    return d is not None


def _shapes(given: Any) -> Iterator[Any]:
    return (leaf.shape.dims for leaf in flatten(given)[0] if isinstance(leaf, _SHAPED))


def _is_open(given: Any) -> bool:
    """Whether elements have unknown sizes."""
    return any(dims is None or None in dims for dims in _shapes(given))


def _is_hidden(given: Any) -> bool:
    """Whether elements hold values with sizes of their own: strings, ragged or sparse tensors, datasets."""
    return any(
        leaf is not None and (not isinstance(leaf, TensorSpec) or leaf.dtype.kind == "O") for leaf in flatten(given)[0]
    )


def _has_integers(given: Any) -> bool:
    leaves = (leaf for leaf in flatten(given)[0] if isinstance(leaf, TensorSpec))
    return any(leaf.shape.rank == 0 and leaf.dtype.kind in "iu" for leaf in leaves)


def _is_integer(leaf: Any) -> bool:
    return isinstance(leaf, np.integer)


def _is_rankless(spec: Any, leaf: Any) -> bool:
    return isinstance(spec, TensorSpec) and spec.shape.rank is None and isinstance(leaf, np.ndarray) and leaf.size > 0


def _most_unknown(given: Any) -> int:
    """The largest number of unknown sizes in one leaf."""
    return max((sum(d is None for d in dims) for dims in _shapes(given) if dims is not None), default=0)


def _has_empty(given: Any) -> bool:
    inside = (leaf.element_spec for leaf in flatten(given)[0] if isinstance(leaf, DatasetSpec))
    return any(0 in (dims or ()) for dims in _shapes(given)) or any(map(_has_empty, inside))


def _size(element: Any) -> int:
    return sum(getattr(leaf, "nbytes", 0) for leaf in flatten(element)[0])


def _without(spec: Any, unknown: Callable[[int], bool]) -> Any:
    """The spec with None for the dimensions selected by `unknown`."""
    if not isinstance(spec, _SHAPED) or not spec.shape.rank:
        return spec
    dims = [None if unknown(i) else d for i, d in enumerate(spec.shape)]
    if isinstance(spec, RaggedTensorSpec):
        return RaggedTensorSpec(dims, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
    return type(spec)(dims, spec.dtype)


def without_sizes(spec: Any) -> Any:
    """The spec of a component with all dimensions unknown."""
    return _without(spec, lambda _: True)


def _only_open(spec: Any, seen: Any) -> Any:
    """The spec with only those dimensions that are unknown in `seen`."""
    dims = getattr(getattr(seen, "shape", None), "dims", None) or ()
    return _without(spec, lambda i: i >= len(dims) or dims[i] is not None)


def _never_empty(spec: Any) -> Any:
    if not isinstance(spec, TensorSpec) or not spec.shape.rank or 0 not in spec.shape:
        return spec
    return TensorSpec([d or None for d in spec.shape], spec.dtype)
