"""Which files and elements a state may name: what restoring costs over a source without an end."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

import feedline as fl


def test_endless_sources_are_not_searched() -> None:
    """A state with nested datasets is restored at once."""
    ds = fl.Dataset.counter().take(12).interleave(lambda e: fl.Dataset.range(e % 5).map(lambda z: z + e))
    with iter(ds) as it:
        seen = [int(next(it)) for _ in range(7)]
        state = it.save()
        rest = [int(x) for x in it]
    assert len(seen) == 7
    begun = time.perf_counter()
    for _ in range(20):
        with iter(ds) as it:
            it.restore(state)
            assert [int(x) for x in it] == rest
    assert time.perf_counter() - begun < 8  # each took seconds where 130,000 numbers were looked at first


def test_a_file_may_be_read_in_two_ways(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text("number,name\n" + "".join(f"{i},n{i}\n" for i in range(12)))

    def build() -> fl.Dataset[Any]:
        records = fl.data.experimental.CsvDataset(str(path), [np.int64, fl.string], header=True)
        groups = records.group_by_window(lambda a, b: a % 3, lambda k, w: w.batch(2), window_size=2)
        csv = fl.data.experimental.make_csv_dataset(str(path), 2, label_name="name", num_epochs=1, shuffle=False)
        return fl.Dataset.zip((csv, groups))

    iterator = iter(build())
    next(iterator)
    other = iter(build())
    other.restore(iterator.save())
    assert repr(next(other)) == repr(next(iterator))
