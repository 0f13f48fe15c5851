"""Runs the micro benchmarks and prints ratios against TensorFlow: `make bench`, or `python bench/micro/run.py [-k
NAME]`.

Each measurement is a separate process; implementations alternate within a round, so that a busy machine slows all of
them alike. TensorFlow 2.21 is in a separate virtual environment, which is created on the first run (about 1.5 GB).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
TF_VENV = HERE.parents[1] / ".venv-tensorflow"

# workload: its implementations, and (figure, peer or None, bound, is the bound a minimum?)
WORKLOADS: dict[str, tuple[list[str], list[tuple[str, str | None, float, bool]]]] = {
    "range_loop": (["feedline", "tf"], [("rate", "tf", 100, True)]),
    "map_batch": (["feedline", "tf"], [("rate", "tf", 10, True)]),
    "map_batch_opaque": (["feedline", "tf"], [("rate", "tf", 1, True)]),
    "shuffle_batch": (["feedline", "tf", "take"], [("rate", "tf", 5, True), ("rate", "take", 0.5, True)]),
    "tfrecord_batch": (["feedline", "tf"], [("rate", "tf", 4, True)]),
    "parse_example": (["feedline", "tf"], [("rate", "tf", 2, True)]),
    "shuffle_parse": (["feedline", "tf"], [("rate", "tf", 5, True)]),
    "parse_sequence_example": (["feedline", "tf"], [("rate", "tf", 2, True)]),
    "node_overhead": (["feedline"], [("microseconds", None, 1.0, False)]),
    "shuffle_memory": (["feedline"], [("bytes", None, 40.0, False)]),
    "import_time": (["feedline"], [("seconds", None, 0.15, False)]),
}


def tensorflow() -> str:
    """The interpreter that has TensorFlow; creates its environment if necessary."""
    python = TF_VENV / "bin" / "python"
    if not (TF_VENV / ".installed").exists():
        print("== installing tensorflow-cpu 2.21 into .venv-tensorflow (once)", flush=True)
        venv.create(TF_VENV, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "tensorflow-cpu==2.21.0"], check=True)
        (TF_VENV / ".installed").touch()
    return str(python)


def measure(workload: str, implementation: str) -> dict[str, float]:
    """One measurement in a fresh process."""
    python = tensorflow() if implementation == "tf" else sys.executable
    command = [python, str(HERE / "workloads.py"), workload, implementation]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    result: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return result


def main() -> int:
    """Runs the rounds and prints a table; the exit status says whether every bound holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-k", default="", help="only workloads whose name contains this")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    chosen = {name: spec for name, spec in WORKLOADS.items() if args.k in name}
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    for number in range(args.rounds):
        for name, (implementations, _) in chosen.items():
            for implementation in implementations:
                progress(f"round {number + 1} of {args.rounds}: {name} {implementation}")
                found.setdefault((name, implementation), []).append(measure(name, implementation))
    progress("")
    print(f"{'workload':<22} {'feedline':>16}   {'against':<24} {'ratio':>8}   {'bound':>8}")
    good = True
    for name, (_, bounds) in chosen.items():
        for key, peer, bound, at_least in bounds:
            good &= report(name, key, peer, bound, at_least, found)
    return 0 if good else 1


def progress(text: str) -> None:
    """Shows the current measurement on one line, if the output is a terminal."""
    if sys.stdout.isatty():
        print(f"\r{text:<72}", end="" if text else "\r", flush=True)


def report(name: str, key: str, peer: str | None, bound: float, at_least: bool, found: Any) -> bool:
    """One line of the table."""
    own = statistics.median(r[key] for r in found[name, "feedline"])
    if peer is None:
        value, against, ratio = own, "", f"{own:8.3g}"
    else:
        other = statistics.median(r[key] for r in found[name, peer])
        value = own / other
        against, ratio = f"{peer} {shown(key, other)}", f"{value:7.1f} x" if value >= 1 else f"{value:6.2f} x"
    holds = value >= bound if at_least else value <= bound
    sign = "≥" if at_least else "≤"
    verdict = "ok" if holds else "MISSED"
    print(f"{name:<22} {shown(key, own):>16}   {against:<24} {ratio:>8}   {sign}{bound:>6g}   {verdict}")
    return holds


def shown(key: str, value: float) -> str:
    """A figure with its unit."""
    if key == "rate":
        return f"{value / 1e6:.3g} M/s"
    return {"microseconds": f"{value:.2f} µs", "bytes": f"{value:.1f} B/row", "seconds": f"{value * 1e3:.0f} ms"}[key]


if __name__ == "__main__":
    raise SystemExit(main())
