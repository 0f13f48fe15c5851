"""Statistics of values in one pass and bounded memory: moments, a histogram whose range grows, frequent values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence

import numpy as np

from feedline.structure.block import Array

BINS = 64
LARGEST, SMALLEST = 1e300, 1e-290
"""Histograms count larger numbers as this one, so that their range is finite; smaller differences count as none."""
KEPT = 512
"""Counters of frequent values."""
BARS = " ▁▂▃▄▅▆▇█"


class Moments:
    """Number, mean, standard deviation, least and greatest of numbers; NaN and infinities are counted apart.

    >>> from feedline.tools.shared.sketches import Moments
    >>> moments = Moments()
    >>> moments.add(np.array([1.0, 2.0, 3.0, np.nan]))
    >>> moments.count, moments.mean, moments.least, moments.greatest, moments.odd
    (3, 2.0, 1.0, 3.0, 1)
    """

    def __init__(self) -> None:
        self.count = self.odd = 0
        self.mean = self._squares = 0.0
        self.least, self.greatest = math.inf, -math.inf

    def add(self, values: Array) -> None:
        """Adds numbers."""
        numbers = values.astype(np.float64, copy=False)
        fine = numbers[np.isfinite(numbers)]
        self.odd += len(numbers) - len(fine)
        if not len(fine):
            return
        count, least, greatest = len(fine), float(fine.min()), float(fine.max())
        with np.errstate(over="ignore"):  # the deviation of numbers near the largest is infinite
            mean = float(fine.mean())
            mean = mean if math.isfinite(mean) else float((fine / count).sum().clip(least, greatest))
            squares = float(((fine - mean) ** 2).sum())
        total, apart = self.count + count, mean - self.mean
        self._squares += squares + apart * (self.count * count / total) * apart if self.count else squares
        share = count / total
        self.mean += apart * share if math.isfinite(apart) else mean * share - self.mean * share
        self.count = total
        self.least, self.greatest = min(self.least, least), max(self.greatest, greatest)

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return math.sqrt(self._squares / self.count) if self.count else 0.0


class GrowingHistogram:
    """Counts of numbers in bins of equal width. If a number lies outside, bins are joined in pairs until it does not.

    >>> from feedline.tools.shared.sketches import GrowingHistogram
    >>> histogram = GrowingHistogram()
    >>> histogram.add(np.arange(100.0))
    >>> int(histogram.counts.sum())
    100
    """

    def __init__(self) -> None:
        self.counts: Array = np.zeros(BINS, np.int64)
        self.start = self.width = 0.0
        self._whole = False

    def add(self, values: Array) -> None:
        """Adds numbers; those that are not finite are left out."""
        numbers = values.astype(np.float64, copy=False)
        numbers = numbers[np.isfinite(numbers)].clip(-LARGEST, LARGEST)
        if not len(numbers):
            return
        least, greatest = float(numbers.min()), float(numbers.max())
        if not self.width:
            self._whole = values.dtype.kind in "biu"
            self.width = max((greatest - least) / (BINS - 1), abs(least) * 1e-9, SMALLEST)
            if self._whole:  # each bin holds as many integers as any other
                self.width = max(1.0, math.ceil(self.width))
            self.start = least
        while least < self.start or greatest >= self.start + BINS * self.width:
            self._double(down=least < self.start)
        at = np.clip(((numbers - self.start) / self.width).astype(np.int64), 0, BINS - 1)
        self.counts += np.bincount(at, minlength=BINS)

    def _double(self, down: bool) -> None:
        joined = self.counts[::2] + self.counts[1::2]
        none = np.zeros(BINS // 2, np.int64)
        self.counts = np.concatenate([none, joined] if down else [joined, none])
        if down:
            self.start -= BINS * self.width
        self.width *= 2

    def bars(self, least: float, greatest: float, columns: int) -> str:
        """The distribution between the least and the greatest number, as so many characters of different height. What
        the first and the last bin hold lies between these numbers.
        """
        least, greatest = max(float(least), -LARGEST), min(float(greatest), LARGEST)
        if not self.width or greatest - least <= SMALLEST:
            return "█" if self.counts.any() else ""
        end = greatest + self._whole  # the bin of the greatest integer is as wide as the others
        edges = np.clip(self.start + self.width * np.arange(BINS + 1), least, end)
        below = np.concatenate([[0], np.cumsum(self.counts)])
        cuts = np.linspace(least, end, columns + 1)
        heights = np.diff(np.interp(cuts, edges, below))
        top = heights.max()
        levels = np.ceil(heights / top * (len(BARS) - 1)).astype(np.int64) if top else np.zeros(columns, np.int64)
        return "".join(BARS[level] for level in levels.tolist())


class FrequentValues:
    """The most frequent values, with lower bounds of their counts: Misra and Gries' sketch with `KEPT` counters. No
    value that makes up more than 1 / `KEPT` of all is missed, and no count is too low by more than `error`.

    >>> from feedline.tools.shared.sketches import FrequentValues
    >>> values = FrequentValues()
    >>> values.add([b"a", b"b", b"a"])
    >>> values.most_common(1), values.error
    ([(b'a', 2)], 0)
    """

    def __init__(self) -> None:
        self._counts: Counter[Hashable] = Counter()
        self.total = self.error = 0

    def add(self, values: Iterable[Hashable] | Sequence[Hashable]) -> None:
        """Adds values."""
        new = Counter(values)
        self.total += new.total()
        self._counts += new
        if len(self._counts) > KEPT:
            least = sorted(self._counts.values(), reverse=True)[KEPT]
            self.error += least
            self._counts = Counter({value: n - least for value, n in self._counts.items() if n > least})

    def most_common(self, n: int) -> list[tuple[Hashable, int]]:
        """The most frequent values; ties in their order."""
        listed = sorted(self._counts.items(), key=lambda item: (-item[1], str(item[0])))
        return listed[:n]

    @property
    def exact(self) -> bool:
        """Whether all values have been counted."""
        return not self.error

    def __len__(self) -> int:
        return len(self._counts)
