"""Shows that the comparison can fail: mutates every golden record and expects a difference; then runs
a tiny NumPy implementation, correct and with an injected fault."""

import collections
import copy
import warnings

from . import ministub, registry
from .compare import diff_result


def _walk(n, path=()):
    if isinstance(n, dict):
        yield n, path
        for k, v in n.items():
            if k not in ("mro",):
                yield from _walk(v, (*path, k))
    elif isinstance(n, list):
        for i, v in enumerate(n):
            yield from _walk(v, (*path, i))


def _get(x, path):
    for p in path:
        x = x[p]
    return x


def mutations(rec):
    """Yields (kind, mutated copy)."""

    def mk(path, f):
        c = copy.deepcopy(rec)
        f(_get(c, path))
        return c

    if "error" in rec:
        c = copy.deepcopy(rec)
        c["error"] = "SomeOtherError"
        c.pop("mro", None)
        yield "error class", c
        c = {"ok": {"t": "dataset", "elements": [], "end": "done"}}
        yield "no error", c
        return
    yield "error instead", {"error": "TypeError", "mro": ["TypeError", "Exception"]}
    seen = set()
    for node, path in _walk(rec["ok"], ("ok",)):
        t = node.get("t")
        if not isinstance(t, str):
            continue  # the mapping of a dict node that has a key "t"
        if (t, len(path)) in seen and len(path) > 6:
            continue
        seen.add((t, len(path)))
        if t == "arr":
            yield "dtype", mk(path, lambda n: n.__setitem__("dtype", "int16" if n["dtype"] != "int16" else "int8"))
            yield "shape", mk(path, lambda n: n.__setitem__("shape", n["shape"] + [1]))
            if node["v"]:

                def ch(n):
                    v = n["v"][-1]
                    n["v"][-1] = (
                        (not v)
                        if isinstance(v, bool)
                        else (
                            v + 1
                            if isinstance(v, int)
                            else (
                                (v * 1.0000001 + 1e-30 if v * 1.0000001 + 1e-30 != v else v + 1)
                                if isinstance(v, float)
                                else ([v[0], 77.0] if isinstance(v, list) else v + "AAAA")
                            )
                        )
                    )

                yield "value", mk(path, ch)
        elif t == "dataset":
            if node["elements"]:
                yield "drop element", mk(path, lambda n: n["elements"].pop())
                if len(node["elements"]) > 1 and node["elements"][0] != node["elements"][1]:
                    yield (
                        "swap elements",
                        mk(path, lambda n: n["elements"].__setitem__(slice(0, 2), n["elements"][1::-1])),
                    )
                yield "extra element", mk(path, lambda n: n["elements"].append(n["elements"][-1]))

            def end(n):
                n["end"], n["error"] = ("error", "InternalErrorX") if n["end"] != "error" else ("done", "")
                n.pop("mro", None)

            yield "end", mk(path, end)
            if node["end"] == "error":
                yield "error class", mk(path, lambda n: (n.__setitem__("error", "SomeOtherError"), n.pop("mro", None)))
        elif t == "ragged":
            yield "splits", mk(path, lambda n: n["splits"][0].append(99))
            yield "splits dtype", mk(path, lambda n: n.__setitem__("splits_dtype", "int8"))
        elif t == "sparse":
            yield "dense shape", mk(path, lambda n: n["dense_shape"].append(1))
            if node["indices"]:
                yield "index", mk(path, lambda n: n["indices"][0].__setitem__(0, 55))
        elif t == "raised":
            yield "raised class", mk(path, lambda n: (n.__setitem__("cls", "SomeOtherError"), n.pop("mro", None)))
        elif t in ("tuple", "list", "namedtuple"):
            yield "length", mk(path, lambda n: n["v"].append({"t": "none"}))
            yield "kind", mk(path, lambda n: n.__setitem__("t", "dict" if n["t"] != "dict" else "tuple"))
        elif t == "dict":
            yield "key", mk(path, lambda n: n["v"].__setitem__("__new__", {"t": "none"}))
        elif t == "py":
            yield (
                "py value",
                mk(path, lambda n: n.__setitem__("v", "other" if not isinstance(n["v"], str) else n["v"] + "x")),
            )
        elif t == "spec":
            yield "spec", mk(path, lambda n: n.__setitem__("kind", "other"))
        elif t in ("dtype", "shape"):
            yield t, mk(path, lambda n: n.__setitem__("v", "other"))
        elif t == "none":
            yield "none", mk(path, lambda n: n.__setitem__("t", "py") or n.update(type="int", v=0))
        elif t == "optional":
            yield "optional", mk(path, lambda n: n.__setitem__("has", not n["has"]))


def _stub_passes(bug, golden):
    """The cases that pass with the stub."""
    import run

    from . import impl_feedline

    ministub.BUG = bug
    impl = impl_feedline.NpImpl(ministub)
    xp = impl_feedline.XP(impl, ministub)
    xp.errors = ministub.errors
    runner = run.Runner(impl, ministub, xp, None, lambda: None)
    passed = set()
    for name, c in sorted(registry.REGISTRY.items()):
        with run.time_limit(name, 10):
            got = runner.run(c)
        if not diff_result(golden[name], got, c.tol, c.unordered, False, c.accept):
            passed.add(name)
    ministub.BUG = None
    return passed


def main():
    """Prints what was tried; 1 where something went unnoticed."""
    import run

    warnings.simplefilter("ignore")
    golden = run.load_golden()
    bad = 0
    kinds = collections.Counter()
    for name, record in golden.items():
        if diff_result(record, copy.deepcopy(record)):
            print("FALSE DIFFERENCE", name)
            bad += 1
        for kind, mutated in mutations(record):
            kinds[kind] += 1
            if not diff_result(record, mutated):
                print("UNDETECTED", kind, name)
                bad += 1
    print(f"mutations: {kinds.total()} made, {bad} undetected or false ({dict(sorted(kinds.items()))})")
    run.load_cases()
    good = _stub_passes(None, golden)
    lost = good - _stub_passes("batch", golden)
    print(f"stub: {len(good)} cases pass; with a fault in batch {len(lost)} of them fail, e.g. {sorted(lost)[:3]}")
    if len(good) < 100 or len(lost) < 10:
        print("more was expected of the stub")
        bad += 1
    print("selftest", "FAILED" if bad else "ok")
    return int(bad > 0)
