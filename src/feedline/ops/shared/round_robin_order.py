"""Row order of a round robin: which row of which source comes when, as in `interleave`, for sources of known length.

Between the ends of two sources the order is regular, so that a few spans describe any number of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from feedline.structure.block import Array


class Span(NamedTuple):
    """Whole rounds: the sources in turn, and the first row of each."""

    sources: tuple[int, ...]
    firsts: tuple[int, ...]


class RoundRobin:
    """The order of `interleave(cycle_length=cycle)` over sources with these lengths."""

    def __init__(self, lengths: Sequence[int], cycle: int) -> None:
        self.rows = sum(lengths)
        self._spans: list[Span] = []
        self._starts: list[int] = []
        self._plan(lengths, cycle)

    def _plan(self, lengths: Sequence[int], cycle: int) -> None:
        """Simulates the interleave, whole rounds at once while every slot has rows."""
        slots: list[int | None] = [None] * cycle
        read = [0] * len(lengths)
        coming = iter(range(len(lengths)))
        at = total = 0
        ended = False
        while slots:
            source = slots[at]
            if source is None:
                slots[at] = source = next(coming, None)
                if source is None:
                    ended = True
                    before = sum(s is not None for s in slots[:at])
                    slots = [s for s in slots if s is not None]
                    at = before % max(1, len(slots))
                continue
            order = [s for s in slots[at:] + slots[:at] if s is not None]
            rounds = min(lengths[s] - read[s] for s in order) if len(order) == len(slots) else 0
            turn = order if rounds else [source] if read[source] < lengths[source] else []
            if turn:
                self._starts.append(total)
                self._spans.append(Span(tuple(turn), tuple(read[s] for s in turn)))
                count = max(1, rounds)
                for s in turn:
                    read[s] += count
                total += count * len(turn)
                at = at if rounds else (at + 1) % len(slots)
            elif ended:
                del slots[at]
                at %= max(1, len(slots))
            else:
                slots[at] = None
                at = (at + 1) % len(slots)

    def span(self, start: int, want: int) -> list[tuple[int, int, int]]:
        """Rows from `start` on, between one and `want`: for each source in turn its number, first row and row count."""
        i = int(np.searchsorted(self._starts, start, "right")) - 1
        sources, firsts = self._spans[i]
        end = self._starts[i + 1] if i + 1 < len(self._starts) else self.rows
        count, k = min(want, end - start), len(sources)
        done, first = divmod(start - self._starts[i], k)
        shares = []
        for j in range(k):
            slot = (first + j) % k
            shares.append((sources[slot], firsts[slot] + done + (first + j) // k, -(-(count - j) // k)))
        return shares

    @staticmethod
    def order(counts: Sequence[int]) -> Array:
        """The permutation that brings the concatenated rows of one span's sources into order."""
        k = len(counts)
        slots = np.repeat(np.arange(k), counts)
        rounds = np.concatenate([np.arange(n) for n in counts])
        return np.argsort(rounds * k + slots, kind="stable")

    def places(self, index: Array) -> tuple[Array, Array]:
        """The source of each of these rows, and the row's number in it."""
        spans = np.searchsorted(self._starts, index, "right") - 1
        sources, rows = np.empty(len(index), np.int64), np.empty(len(index), np.int64)
        for i in np.unique(spans).tolist():
            here = spans == i
            rounds, slots = np.divmod(index[here] - self._starts[i], len(self._spans[i].sources))
            sources[here] = np.array(self._spans[i].sources)[slots]
            rows[here] = np.array(self._spans[i].firsts)[slots] + rounds
        return sources, rows
