#!/usr/bin/env python3
"""Runs the conformance corpus: checks an implementation against TensorFlow's results, or records these again.

run.py check  [--impl feedline] [-k REGEX] [-v]     compare with golden.jsonl
run.py record --out FILE [--impl tf] [-k REGEX]     needs tensorflow-cpu
run.py same   A B                                   are two recordings equal?
run.py list   [-k REGEX]                            the names of the cases
run.py selftest                                     checks that the comparison can fail
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")

from harness.compare import diff, diff_result, uncovered  # noqa: E402

from harness import encode, registry  # noqa: E402 - found through the path that was just set

MISSING = {"t": "missing"}


class CaseTimeout(BaseException):
    """A case took too long."""


def load_cases(folder: Path = HERE / "cases") -> dict[str, Any]:
    """Registers every case of a folder; returns all registered cases by name."""
    for path in sorted(folder.glob("*.py")):
        name = f"case_{folder.name}_{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return registry.REGISTRY


def load_golden(path: Path = HERE / "golden.jsonl") -> dict[str, Any]:
    """The records of a file by case."""
    records = (json.loads(line) for line in path.read_text().splitlines() if line.strip())
    return {r["case"]: r for r in records if "case" in r}


class Runner:
    """Runs cases on one implementation."""

    def __init__(self, impl: Any, d: Any, xp: Any, io: Any, reset: Callable[[], None]) -> None:
        self.impl, self.d, self.xp, self.io, self.reset = impl, d, xp, io, reset

    @classmethod
    def of(cls, name: str) -> Runner:
        """A runner for `tf`, or for a module with the layout of feedline."""
        if name == "tf":
            from harness import impl_tf

            return cls(*impl_tf.make(), impl_tf.reset)
        from harness import impl_feedline

        impl, d, xp, io = impl_feedline.make(name)
        return cls(impl, d, xp, io, lambda: impl_feedline.reset(d))

    def run(self, case: Any) -> dict[str, Any]:
        """The result of a case: its elements or value with cardinality and spec, or its error."""
        tmp = tempfile.mkdtemp(prefix="conformance_")
        try:
            self.reset()
            try:
                out = self._result(case, tmp)
            except CaseTimeout as e:
                out = {"error": "CaseTimeout", "mro": ["CaseTimeout"], "msg": str(e)}
            except Exception as e:
                out = {**_raised(e), "msg": str(e)}
            self.reset()
        finally:
            shutil.rmtree(tmp, ignore_errors=True)
        return _scrub(out, tmp)

    def _result(self, case: Any, tmp: str) -> dict[str, Any]:
        result = case(self.d, self.xp, self.io, tmp)
        out: dict[str, Any] = {"ok": encode.encode(result, self.impl, case.limit)}
        if case.unordered and out["ok"].get("t") == "dataset":
            out["ok"]["elements"].sort(key=lambda e: json.dumps(e, sort_keys=True))
        if self.impl.is_dataset(result):
            try:
                out["spec"] = encode.encode(result.element_spec, self.impl)
            except Exception as e:
                out["spec"] = {"t": "raised", "cls": type(e).__name__, "mro": _raised(e)["mro"], "msg": str(e)}
            try:
                out["cardinality"] = int(self.xp.value(result.cardinality()))
            except Exception as e:
                out["cardinality"] = type(e).__name__
        return out


def differences(case: Any, golden: dict[str, Any], got: dict[str, Any], phase: bool = False) -> list[str]:
    """Where a result differs from its record: elements, end or error, cardinality."""
    found = diff_result(golden, got, case.tol, case.unordered, phase, case.accept)
    if "cardinality" in golden and golden["cardinality"] != got.get("cardinality"):
        found.append(f"cardinality {golden['cardinality']} expected, got {got.get('cardinality')}")
    return list(found)


def spec_differences(golden: dict[str, Any], got: dict[str, Any], seen: bool = False) -> list[str]:
    """Where `element_spec` differs from the record.

    A spec that was inferred (`seen`) from the results of a user's function may know more dimensions, and is missing if
    the function had no result.
    """
    if "spec" not in golden:
        return []
    spec = got.get("spec", MISSING)
    if seen and spec["t"] == "raised" and not golden["ok"]["elements"]:
        return []
    return list((uncovered if seen else diff)(golden["spec"], spec, path="spec"))


def _raised(error: Exception) -> dict[str, Any]:
    return {"error": type(error).__name__, "mro": [k.__name__ for k in type(error).__mro__]}


def _scrub(node: Any, tmp: str) -> Any:
    """The result without parts that differ between runs: paths in messages."""
    if isinstance(node, dict):
        return {k: _clean(v, tmp) if k == "msg" else _scrub(v, tmp) for k, v in node.items()}
    return [_scrub(v, tmp) for v in node] if isinstance(node, list) else node


def _clean(message: str, tmp: str) -> str:
    message = re.sub(r"\{\{.*?\}\}", "", message.replace(tmp, "$TMP"))
    message = re.sub(r"(/[\w.\-+]+){2,}", "$PATH", message.replace("$TMP/", "$TMP:"))
    return message.strip().split("\n")[0][:160]


@contextlib.contextmanager
def time_limit(name: str, seconds: float) -> Iterator[None]:
    """Raises CaseTimeout after a time limit; ends the process if native code blocks the signal."""

    def alarm(*_: object) -> None:
        raise CaseTimeout(f"timed out after {seconds:g}s")

    def hard_exit() -> None:
        sys.stderr.write(f"{name} hangs in native code: no return after {seconds:g}s, process ended\n")
        sys.stderr.flush()
        os._exit(3)

    dog = threading.Timer(seconds * 1.5 + 2, hard_exit)
    dog.daemon = True
    dog.start()
    signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        dog.cancel()


def select(pattern: str) -> list[Any]:
    """The cases whose name matches, sorted by name."""
    return [c for n, c in sorted(load_cases().items()) if not pattern or re.search(pattern, n) or pattern in n]


def without(keys: tuple[str, ...], node: Any) -> Any:
    """A record without some keys, at any depth."""
    if isinstance(node, dict):
        return {k: without(keys, v) for k, v in node.items() if k not in keys}
    return [without(keys, v) for v in node] if isinstance(node, list) else node


def check(args: argparse.Namespace) -> int:
    """Prints each case that differs, and a line per topic."""
    runner, golden = Runner.of(args.impl), load_golden()
    topics: dict[str, list[int]] = {}
    for case in select(args.k):
        with time_limit(case.name, args.timeout):
            got = runner.run(case)
        record = golden.get(case.name)
        found = ["no golden record"] if record is None else differences(case, record, got, args.strict_phase)
        found += spec_differences(record or {}, got)
        topics.setdefault(case.name.split("/")[0], [0, 0])[bool(found)] += 1
        if found:
            print(f"FAIL {case.name}", *found[:4], sep="\n     ")
        elif args.verbose:
            print(f"pass {case.name}")
    for topic, (good, bad) in sorted(topics.items()):
        print(f"  {topic:<22} {good:4} passed {bad:4} failed")
    bad = sum(b for _, b in topics.values())
    print(f"{sum(g for g, _ in topics.values())} passed, {bad} failed")
    return int(bad > 0)


def record(args: argparse.Namespace) -> int:
    """Writes the results of an implementation, one line per case."""
    runner, started = Runner.of(args.impl), time.monotonic()
    version = importlib.metadata.version("tensorflow-cpu") if args.impl == "tf" else runner.d.__version__
    cases = select(args.k)
    with open(args.out, "w") as f:
        f.write(json.dumps({"recorded_with": args.impl, "version": version}) + "\n")
        for case in cases:
            with time_limit(case.name, args.timeout):
                got = without(("mro",), runner.run(case))
            f.write(json.dumps({"case": case.name, **got}, sort_keys=True) + "\n")
            error = got.get("error")
            if args.verbose or error in ("CaseTimeout", "AttributeError", "NameError", "KeyError", "ImportError"):
                print(f"{case.name:<60} {error or 'ok'}")
    print(f"{len(cases)} cases recorded in {time.monotonic() - started:.1f}s")
    return 0


def same(args: argparse.Namespace) -> int:
    """Prints the cases in which two recordings differ, ignoring messages."""
    a, b = load_golden(Path(args.a)), load_golden(Path(args.b))
    keys = ("msg", "mro")
    bad = sorted(n for n in a.keys() | b.keys() if without(keys, a.get(n)) != without(keys, b.get(n)))
    for name in bad:
        print(f"DIFFERS {name}")
    print(f"{len(a.keys() | b.keys()) - len(bad)} identical, {len(bad)} different")
    return int(bool(bad))


def list_cases(args: argparse.Namespace) -> int:
    """Prints the names."""
    print(*(c.name for c in select(args.k)), sep="\n")
    return 0


def selftest(args: argparse.Namespace) -> int:
    """See harness/selftest.py."""
    from harness import selftest as tests

    return tests.main()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, function in (("check", check), ("record", record), ("list", list_cases)):
        p = commands.add_parser(name, help=function.__doc__)
        p.set_defaults(function=function)
        p.add_argument("-k", default="", help="only cases whose name matches this regular expression, or holds it")
        p.add_argument("-v", "--verbose", action="store_true")
        p.add_argument("--impl", default="tf" if name == "record" else "feedline", help="tf, or a module name")
        p.add_argument("--timeout", type=float, default=60.0 if name == "record" else 20.0, help="seconds per case")
        if name == "check":
            p.add_argument(
                "--strict-phase", action="store_true", help="errors must come at construction as in TensorFlow"
            )
        if name == "record":
            p.add_argument("--out", required=True)
    p = commands.add_parser("same", help=same.__doc__)
    p.set_defaults(function=same)
    p.add_argument("a")
    p.add_argument("b")
    commands.add_parser("selftest", help=selftest.__doc__).set_defaults(function=selftest)
    args = parser.parse_args()
    return int(args.function(args))


if __name__ == "__main__":
    sys.exit(main())
