"""What measuring costs: the processor time of pipelines without it, as it always is, and while a run is recorded.

    python bench/micro/report_cost.py            # about a minute

The three ways alternate, and the least time of each is compared, so that other work on the machine disturbs little.
`measured` is what every iterator does (it.report()), `recorded` what `Dataset.profile` and `fl.trace` do.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import feedline as fl
from feedline.engine.input import Input, MeasuredInput
from feedline.engine.step_times import StepTimes

LIMIT = 1.02


class unmeasured:
    """Context manager: steps are not measured."""

    def __enter__(self) -> None:
        self._kept = StepTimes.__call__, MeasuredInput.__call__
        StepTimes.__call__ = lambda self, want: self._top(want)  # type: ignore[method-assign]
        MeasuredInput.__call__ = Input.__call__  # type: ignore[method-assign]

    def __exit__(self, *_: object) -> None:
        StepTimes.__call__, MeasuredInput.__call__ = self._kept  # type: ignore[method-assign]


calls = [0]


def opaque(x: Any) -> Any:
    """A function that is called once per element, since it has an effect."""
    calls[0] += 1
    return x


def passes(x: Any) -> bool:
    """A predicate that is called once per element."""
    calls[0] += 1
    return bool(x >= 0)


def pipelines(folder: Path, scale: float) -> dict[str, fl.Dataset[Any]]:
    """The pipelines, each with much work of one kind: about a third of a second, so that starting counts little."""
    many = int(100_000 * scale)
    path = str(folder / "records")
    with fl.io.TFRecordWriter(path) as writer:
        for i in range(many):
            writer.write(b"%d" % i * 20)
    rows = np.zeros((many, 64), np.float32)
    passed = fl.Dataset.range(many // 3).map(opaque).filter(passes)
    return {
        "range, shuffle, batch": fl.Dataset.range(400 * many).shuffle(1000, seed=1).batch(32),
        "rows, shuffle, batch": fl.Dataset.from_tensor_slices(rows).repeat(80).shuffle(1000, seed=1).batch(64),
        "records, batch": fl.TFRecordDataset(path).repeat(60).batch(64),
        "range, map": fl.Dataset.range(3 * many).map(opaque),
        "range, map, batch": fl.Dataset.range(4 * many).map(opaque).batch(32),
        "range, map, filter, batch, prefetch": passed.batch(8).prefetch(2),
    }


def seconds(ds: fl.Dataset[Any], way: Callable[[], AbstractContextManager[object]]) -> float:
    """The processor time of one pass."""
    with way():
        before = time.process_time()
        for _ in ds:
            pass
        return time.process_time() - before


def main() -> None:
    """Prints the ratios; exits with 1 if one is beyond the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--scale", type=float, default=1.0, help="factor on the number of elements")
    parser.add_argument("-k", default="", help="only pipelines whose name has this text")
    args = parser.parse_args()
    bad = 0
    with TemporaryDirectory() as folder:
        ways = {"measured": nullcontext, "recorded": lambda: fl.trace(f"{folder}/run.json"), "bare": unmeasured}
        print(f"{'pipeline':<38} {'bare':>9} {'measured':>9} {'recorded':>9}")
        for name, ds in pipelines(Path(folder), args.scale).items():
            if args.k not in name:
                continue
            least = dict.fromkeys(ways, float("inf"))
            for _ in range(args.rounds):
                for way, make in ways.items():
                    least[way] = min(least[way], seconds(ds, make))
            ratios = [least[way] / least["bare"] for way in ("measured", "recorded")]
            bad += max(ratios) > LIMIT
            print(f"{name:<38} {least['bare']:>8.3f}s {ratios[0]:>8.3f}x {ratios[1]:>8.3f}x", flush=True)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
