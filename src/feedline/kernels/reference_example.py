"""The kernels that write and scan examples and read sequence examples, in plain Python (see `reference`)."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from feedline import wire
from feedline.kernels.entries import (
    CONTEXT,
    LISTS,
    Span,
    holds_more,
    kind_of,
    read_entries,
    sequence_entries,
    skip,
    spans,
    values,
)
from feedline.kernels.reference import (
    Buffer,
    Int64,
    _checked,
    _column,
    _not_negative,
    _plain,
    _strings,
    tfrecord_framed,
)

Scanned = tuple[bytes, bool, int, int, int, int, int, int, int, int]
"""What `scan_examples` tells of a key."""


def framed_examples(
    keys: list[bytes],
    kinds: NDArray[np.uint8],
    values: list[Any],
    sizes: Int64,
    splits: list[Int64 | None],
    rows: int,
) -> bytes:
    """Columns as `Example` messages, one per row, in TFRecord frames. Keys are written in the given order.

    `kinds` are the field numbers of the lists in a Feature: 1 strings, 2 float32, 3 int64. The values of a column are a
    list of strings or an array, all rows concatenated. Each row has as many values as its column's size, or those
    between two of its `splits`.

    >>> kinds, sizes = np.array([3], np.uint8), np.array([1])
    >>> data = fl.kernels.framed_examples([b"a"], kinds, [np.array([7, 8])], sizes, [None], 2)
    >>> data == fl.kernels.tfrecord_framed([fl.train.example({"a": i}).SerializeToString() for i in (7, 8)])
    True
    """
    if rows < 0:
        raise ValueError(f"rows must not be negative, got {rows}")
    if not len(keys) == len(kinds) == len(values) == len(sizes) == len(splits):
        raise ValueError("keys, kinds, values, sizes and splits must have the same length")
    entries: list[list[bytes]] = []
    for key, kind, column, size, ends in zip(keys, kinds.tolist(), values, sizes.tolist(), splits, strict=True):
        if not isinstance(key, bytes):
            raise TypeError("a key must be bytes")
        if kind not in (1, 2, 3):
            raise ValueError("a kind must be 1, 2 or 3")
        if kind == 1 and not all(isinstance(s, bytes) for s in column):
            raise TypeError("a string must be bytes")
        if kind > 1:
            _plain(column, [np.float32, np.int64][kind - 2], 1, "values")
        if ends is not None:
            _plain(ends, np.int64, 1, "splits")
            if len(ends) != rows + 1:
                raise ValueError("splits must have one entry more than rows")
            if ends[0] < 0 or ends[-1] > len(column) or (np.diff(ends) < 0).any():
                raise ValueError("splits must be non-decreasing and within the values")
        elif size < 0:
            raise ValueError(f"a size must not be negative, got {size}")
        elif len(column) != rows * size:
            raise ValueError("the number of values must be rows * size")
        at = np.arange(rows + 1) * size if ends is None else ends
        entries.append([_entry(key, kind, column[at[i] : at[i + 1]]) for i in range(rows)])
    return tfrecord_framed([wire.delimited(1, b"".join(entry[i] for entry in entries)) for i in range(rows)])


def _entry(key: bytes, kind: int, values: Any) -> bytes:
    if kind == 1:
        inside = b"".join(wire.delimited(1, v) for v in values)
    elif not len(values):
        inside = b""
    elif kind == 2:
        inside = wire.delimited(1, values.astype("<f4").tobytes())
    else:
        inside = wire.delimited(1, wire.packed(values.tolist()))
    return wire.delimited(1, wire.delimited(1, key) + wire.delimited(2, wire.delimited(kind, inside)))


def parse_sequences(
    strings: list[bytes] | NDArray[Any] | tuple[Buffer, Int64, int],
    keys: list[bytes],
    kinds: NDArray[np.uint8],
    sizes: Int64,
    defaults: list[Any],
    list_keys: list[bytes],
    list_kinds: NDArray[np.uint8],
    list_sizes: Int64,
    needed: NDArray[np.uint8],
    threads: int = 1,
    filled: bool = True,
) -> tuple[int, list[tuple[NDArray[Any], Int64 | None]], list[tuple[NDArray[Any], Int64, Int64 | None]]]:
    """The features and feature lists of serialized `SequenceExample` messages, as columns, up to the first bad one.

    `strings` and the context features are as in `parse_examples`, with these differences: of duplicate keys the last
    entry counts; an entry without a list is bad if the key has a size; and so are a value before its key, and bytes
    after the last float. A list has any number of steps, with nothing after the values of each. With a size n each step
    has n values; with -1 or -2, any number. A message without a list that is `needed` is bad.

    Returns the number of good messages before the first bad one, a pair for each context key as in `parse_examples`,
    and three arrays for each list. With a size: the values of each message (if `filled`, padded with zeros or empty
    strings to the most steps), the number of steps per message, and None. Without: all values, the number of steps per
    message, and the number of values per step, or for -2 the position of each value: message, step, index in the step.

    >>> step = b"\\x0a\\x05\\x1a\\x03\\x0a\\x01\\x07"
    >>> data = b"\\x12\\x15\\x0a\\x13\\x0a\\x01a\\x12\\x0e" + step + step
    >>> none, kinds = ([], np.zeros(0, np.uint8), np.zeros(0, np.int64), []), np.array([3], np.uint8)
    >>> lists = [b"a"], kinds, np.array([1]), np.zeros(1, np.uint8)
    >>> fl.kernels.parse_sequences([data, b""], *none, *lists)
    (2, [], [(array([7, 7, 0, 0]), array([2, 0]), None)])
    """
    wanted_context = _checked(keys, kinds, sizes, defaults, threads, -1)
    if not len(list_keys) == len(list_kinds) == len(list_sizes) == len(needed):
        raise ValueError("list_keys, list_kinds, list_sizes and needed must have the same length")
    wanted_lists = _checked(list_keys, list_kinds, list_sizes, [None] * len(list_keys), threads, -2)
    _plain(needed, np.uint8, 1, "needed")
    must = {key for key, is_needed in zip(list_keys, needed.tolist(), strict=True) if is_needed}
    contexts, lists = [], []
    for data in _strings(strings):
        try:
            context, found = sequence_entries(data)
            contexts.append({key: _feature(data, context.get(key), *wanted) for key, wanted in wanted_context.items()})
            if must - found.keys():
                raise wire.WireError("a required list is missing")
            lists.append(
                {key: _steps(data, found.get(key), kind, size) for key, (kind, size, _) in wanted_lists.items()}
            )
        except wire.WireError:
            break
    done = len(lists)
    in_context = [_column([row[key] for row in contexts[:done]], *wanted_context[key][:2]) for key in wanted_context]
    in_lists = [_list([row[key] for row in lists], *wanted_lists[key][:2], filled) for key in wanted_lists]
    return done, in_context, in_lists


def scan_examples(
    strings: list[bytes] | NDArray[Any] | tuple[Buffer, Int64, int], threads: int = 1
) -> tuple[int, int, list[Scanned]]:
    """What serialized `Example` and `SequenceExample` messages hold, up to the first that is damaged.

    Returns the number of good messages before the first bad one, how many of those have no features at all, and a tuple
    for each key and type of its values, sorted: the key; whether it is a feature list; the type, which is 1 for
    strings, 2 for float32, 3 for int64 and 0 for none; the number of messages that have it; the number of the first;
    the least and the most values of a feature, or of a step of a list; all values; the bytes of all strings; and the
    number of features, or of steps. Of duplicate keys the last feature that holds a list counts, and the last feature
    list that has steps. The messages are given as in `parse_examples`. Up to `threads` threads read large inputs.

    >>> data = b"\\x0a\\x0c\\x0a\\x0a\\x0a\\x01a\\x12\\x05\\x1a\\x03\\x0a\\x01\\x07"
    >>> fl.kernels.scan_examples([data, b"", b"?"])
    (2, 1, [(b'a', False, 3, 1, 0, 1, 1, 1, 0, 1)])
    """
    _not_negative(threads, "threads")
    found: dict[tuple[bytes, bool, int], list[int]] = {}
    done = bare = 0
    for data in _strings(strings):
        try:
            seen = _scanned(data)
        except wire.WireError:
            break
        bare += not seen
        for name, features in seen.items():
            counts = [count for count, _ in features]
            tally = found.setdefault(name, [0, done, counts[0], counts[0], 0, 0, 0])
            tally[0] += 1
            tally[2], tally[3] = min(tally[2], *counts), max(tally[3], *counts)
            tally[4:] = tally[4] + sum(counts), tally[5] + sum(size for _, size in features), tally[6] + len(counts)
        done += 1
    rows = [(*name, *tally) for name, tally in sorted(found.items())]
    return done, bare, cast(list[Scanned], rows)


def _scanned(data: bytes) -> dict[tuple[bytes, bool, int], list[tuple[int, int]]]:
    """The number of values, and the bytes of strings, of each feature of a message; raises `WireError`."""
    features: list[tuple[bytes, Span]] = []
    lists: list[tuple[bytes, Span]] = []
    at, end = 0, len(data)
    while at < end:
        if data[at] in (CONTEXT, LISTS):
            into = features if data[at] == CONTEXT else lists
            length, at = wire.read_varint(data, at + 1, end)
            at = read_entries(data, at, min(at + length, end), into)
        else:
            at = skip(data, at, end)
    seen: dict[tuple[bytes, bool, int], list[tuple[int, int]]] = {}
    hollow, held = set(), set()
    for key, span in reversed(features):
        if key not in held:
            kind, amount = _amount(data, span)
            if kind:
                held.add(key)
                seen[key, False, kind] = [amount]
            else:
                hollow.add(key)
    seen |= {(key, False, 0): [(0, 0)] for key in hollow - held}
    for key, span in _last_with_steps(lists).items():
        steps = [_amount(data, step) for step in spans(data, *span)]
        for kind, amount in steps or [(0, (0, 0))]:
            seen.setdefault((key, True, kind), []).append(amount)
    return seen


def _last_with_steps(lists: list[tuple[bytes, Span]]) -> dict[bytes, Span]:
    found: dict[bytes, Span] = {}
    for key, span in lists:
        if span[0] < span[1] or key not in found:
            found[key] = span
    return found


def _amount(data: bytes, span: Span) -> tuple[int, tuple[int, int]]:
    """The type of a Feature, the number of its values, and the bytes of its strings."""
    kind = kind_of(data, span)
    if kind is None:
        return 0, (0, 0)
    found = values(data, span)
    return kind, (len(found), sum(map(len, found)) if kind == 1 else 0)


def _feature(data: bytes, span: Span | None, kind: int, size: int, default: object) -> Any:
    """The values of a context feature; raises `WireError` if their type or number is wrong."""
    if span is None:
        if size >= 0 and default is None:
            raise wire.WireError("a required key is missing")
        return default if size >= 0 else ()
    found = _values(data, span, kind)
    if found is None and size >= 0:
        raise wire.WireError("no list")
    found = () if found is None else found
    if size not in (-1, len(found)):
        raise wire.WireError("a different number of values")
    return found


def _steps(data: bytes, span: Span | None, kind: int, size: int) -> list[Any]:
    out = []
    for step in spans(data, *span) if span is not None else []:
        found = _values(data, step, kind)
        if found is not None and holds_more(data, step):
            raise wire.WireError("data after a list")
        found = () if found is None else found
        if size not in (-1, -2, len(found)):
            raise wire.WireError("a different number of values")
        out.append(found)
    return out


def _values(data: bytes, span: Span, kind: int) -> Any:
    number = kind_of(data, span)
    if number not in (None, kind):
        raise wire.WireError("a different type")
    return None if number is None else values(data, span, strict=True)


def _list(rows: list[list[Any]], kind: int, size: int, filled: bool) -> tuple[NDArray[Any], Int64, Int64 | None]:
    steps = np.array([len(row) for row in rows], np.int64)
    if size < 0 or not filled:
        flat, lengths = _column([step for row in rows for step in row], kind, -1)
        return flat, steps, None if size >= 0 else lengths if size == -1 else _places(rows)
    longest = int(steps.max(initial=0))
    out: NDArray[Any] = np.empty((len(rows), longest * size), [None, object, np.float32, np.int64][kind])
    out[...] = b"" if kind == 1 else 0
    for i, row in enumerate(rows):
        out[i, : len(row) * size] = [value for step in row for value in step]
    return out.ravel(), steps, None


def _places(rows: list[list[Any]]) -> Int64:
    places = [(i, j, k) for i, row in enumerate(rows) for j, step in enumerate(row) for k in range(len(step))]
    return np.array(places, np.int64).ravel()
