"""Rollback of a failed restore: what iterators of a dataset share is put back if a state is refused."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from feedline.plan.function import Function
from feedline.plan.node import Node
from feedline.plan.row_wise import epochs_of
from feedline.plan.traits.effects import stored_rows
from feedline.plan.traits.seeds import generator_of

_Entry = tuple[Any, str, Any]
_undo_log: ContextVar[list[_Entry] | None] = ContextVar("journal", default=None)


@contextmanager
def kept(plan: Node) -> Iterator[None]:
    """Context manager: if the body raises, restores iteration counts, the result signatures of functions, and memory
    caches.
    """
    entries: list[_Entry] = []
    token = _undo_log.set(entries)
    try:
        note(plan)
        yield
    except BaseException:
        for thing, name, value in reversed(entries):
            setattr(thing, name, value)
        raise
    finally:
        _undo_log.reset(token)


def note(plan: Node) -> None:
    """Records the values of another plan that may be changed."""
    entries = _undo_log.get()
    if entries is None:
        return
    for node in plan.walk():
        generator, epochs, store = generator_of(node), epochs_of(node), stored_rows(node)
        if generator is not None:
            entries += [(generator, name, getattr(generator, name)) for name in ("count", "seed", "seed2")]
        if epochs is not None:
            entries.append((epochs, "count", epochs.count))
        if store is not None:
            entries.append((store, "rows", store.rows))
        for field in dataclasses.fields(node):
            function = getattr(node, field.name)
            if isinstance(function, Function):
                entries.append((function, "_signature", function._signature))
