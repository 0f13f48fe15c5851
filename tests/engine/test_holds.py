"""Bytes that shuffles and interleaves keep back: told in reports, and part of the one budget."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.reports.measured import IN_ORDER

ROW = np.zeros(10_000, np.uint8)


def large(x: Any) -> Any:
    return ROW + np.uint8(x % 7)


def test_a_shuffle_tells_what_it_holds() -> None:
    with iter(fl.Dataset.range(500).map(large).shuffle(100, seed=1)) as it:
        next(it)
        (stage,) = it.report().stages
        assert stage.how == IN_ORDER and stage.key == "3 shuffle" and "elements" in stage.why
        assert 0.9e6 < stage.held < 1.2e6
        assert it.report().held == stage.held
        text = repr(it.report())
        assert "3 shuffle" in text and " KB  99 elements" in text
        for _ in it:
            pass
        report = it.report()
        assert report.held == report.stages[0].held == 0 and report.most > 0.9e6


def test_numbers_alone_are_small() -> None:
    rows = np.zeros((1000, 10_000), np.uint8)
    with iter(fl.Dataset.from_tensor_slices(rows).shuffle(1000, seed=1)) as it:
        next(it)
        (stage,) = it.report().stages
        assert stage.held < 20_000  # numbers of rows are shuffled, not rows


def test_an_interleave_tells_what_has_been_read(tmp_path: Path) -> None:
    names = []
    for i in range(3):
        names.append(str(tmp_path / str(i)))
        with fl.io.TFRecordWriter(names[-1]) as writer:
            for _ in range(2_000):
                writer.write(bytes(1000))
    ds = fl.Dataset.from_tensor_slices(names).interleave(fl.TFRecordDataset, cycle_length=3)
    with iter(ds.batch(8)) as it:
        held = []
        for _ in range(200):
            next(it)
            held.append(next(s.held for s in it.report().stages if s.key.endswith("interleave")))
        assert max(held) > 8_000 and max(held) < 10e6
        for _ in it:
            pass
        assert it.report().held == 0


def test_what_a_shuffle_holds_leaves_less_for_others() -> None:
    options = fl.Options()
    options.autotune.ram_budget = 600_000  # the shuffle alone takes more
    ds = fl.Dataset.range(300).map(large).shuffle(100, seed=1).prefetch(50)
    with iter(ds.with_options(options)) as it:
        for _ in range(20):
            next(it)
        time.sleep(0.2)
        ahead = next(s for s in it.report().stages if "prefetch" in s.key)
        assert len(it._run.stages[0].buffer.items) <= 1 and ahead.held <= 500_000
        assert len(list(it)) == 280
    with iter(ds) as it:
        for _ in range(20):
            next(it)
        until = time.monotonic() + 10
        while next(s for s in it.report().stages if "prefetch" in s.key).held < 100_000:
            assert time.monotonic() < until
            time.sleep(0.01)


def test_a_choice_file_names_no_buffers(tmp_path: Path) -> None:
    with iter(fl.Dataset.range(50).shuffle(10).prefetch(fl.AUTOTUNE)) as it:
        next(it)
        it.report().freeze(tmp_path / "chosen.json")
    assert "shuffle" not in (tmp_path / "chosen.json").read_text()


SCRIPT = """
import resource, sys
import feedline as fl
names = fl.Dataset.from_tensor_slices(sys.argv[2:]).repeat(40)
parallel = None if sys.argv[1] == "0" else int(sys.argv[1])
def peak(files):
    count = 0
    ds = names.take(files).interleave(fl.TFRecordDataset, cycle_length=files, num_parallel_calls=parallel)
    for batch in ds.batch(64):
        count += len(batch)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
few = peak(8)
print(peak(160) - few)
"""


@pytest.mark.parametrize("calls", ["0", "4"])
def test_many_files_at_once_take_little_more_memory_than_few(tmp_path: Path, calls: str) -> None:
    names = []
    for i in range(4):
        names.append(str(tmp_path / str(i)))
        with fl.io.TFRecordWriter(names[-1]) as writer:
            for _ in range(1_500):
                writer.write(bytes(1000))
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, calls, *names], capture_output=True, text=True, timeout=120, check=True
    )
    assert int(done.stdout) < 60 << 20  # 160 files of 1.5 MB each, of which each would else have its own megabyte
