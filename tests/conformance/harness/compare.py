"""Compares two encoded results; returns a list of difference strings (empty = equal)."""

import json
import math


def _short(x, n=160):
    s = json.dumps(x, sort_keys=True) if not isinstance(x, str) else x
    return s if len(s) <= n else s[:n] + "..."


def _err_ok(gold_cls, got):
    return gold_cls in (got.get("mro") or [got.get("cls") or got.get("error")])


def _veq(a, b, tol):
    if isinstance(a, bool) or isinstance(b, bool):
        return type(a) is type(b) and a == b
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(_veq(x, y, tol) for x, y in zip(a, b, strict=False))
    if isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if a == b:
            # distinguish -0.0 from 0.0
            return not (a == 0 and math.copysign(1, a) != math.copysign(1, b))
        return tol is not None and abs(a - b) <= tol * max(1.0, abs(a))
    return type(a) is type(b) and a == b


def diff(g, c, tol=None, path="$", unordered=False):
    """g: golden node, c: candidate node."""
    if g.get("t") != c.get("t"):
        return ["{}: kind {} expected, got {} {}".format(path, g.get("t"), c.get("t"), _short(c))]
    t = g["t"]
    if t == "arr":
        for k in ("dtype", "shape"):
            if g[k] != c[k]:
                return [
                    "{}: {} {} expected, got {} (values {} / {})".format(
                        path, k, g[k], c[k], _short(g["v"], 60), _short(c["v"], 60)
                    )
                ]
        if not _veq(g["v"], c["v"], tol):
            return ["{}: values {} expected, got {}".format(path, _short(g["v"]), _short(c["v"]))]
        return []
    if t == "raised":
        return [] if _err_ok(g["cls"], c) else ["{}: raises {} expected, got {}".format(path, g["cls"], c["cls"])]
    if t == "dataset":
        ge, ce = g["elements"], c["elements"]
        out = []
        if unordered:
            ge = sorted(ge, key=lambda x: json.dumps(x, sort_keys=True))
            ce = sorted(ce, key=lambda x: json.dumps(x, sort_keys=True))
        for i, (a, b) in enumerate(zip(ge, ce, strict=False)):
            out += diff(a, b, tol, f"{path}[{i}]")
            if len(out) > 5:
                return out
        if len(ge) != len(ce):
            out.append(f"{path}: {len(ge)} elements expected, got {len(ce)}")
        if g["end"] != c["end"]:
            out.append(
                "{}: end {}({}) expected, got {}({}: {})".format(
                    path, g["end"], g.get("error", ""), c["end"], c.get("error", ""), _short(c.get("msg", ""))
                )
            )
        elif g["end"] == "error" and not _err_ok(g["error"], c):
            out.append(
                "{}: error {} expected, got {} ({})".format(path, g["error"], c["error"], _short(c.get("msg", "")))
            )
        return out
    if t == "ragged":
        out = []
        for k in ("splits", "splits_dtype"):
            if g[k] != c[k]:
                out.append(f"{path}: ragged {k} {_short(g[k])} expected, got {_short(c[k])}")
        return out + diff(g["flat"], c["flat"], tol, path + ".flat")
    if t == "sparse":
        out = []
        for k in ("indices", "dense_shape"):
            if g[k] != c[k]:
                out.append(f"{path}: sparse {k} {_short(g[k])} expected, got {_short(c[k])}")
        return out + diff(g["values"], c["values"], tol, path + ".values")
    if t == "namedtuple" and g["fields"] != c["fields"]:
        return ["{}: fields {} expected, got {}".format(path, g["fields"], c["fields"])]
    if t in ("tuple", "list", "namedtuple"):
        if len(g["v"]) != len(c["v"]):
            return [f"{path}: length {len(g['v'])} expected, got {len(c['v'])}: {_short(c)}"]
        out = []
        for i, (a, b) in enumerate(zip(g["v"], c["v"], strict=False)):
            out += diff(a, b, tol, f"{path}.{i}", unordered)
        return out
    if t == "dict":
        if sorted(g["v"]) != sorted(c["v"]):
            return ["{}: keys {} expected, got {}".format(path, sorted(g["v"]), sorted(c["v"]))]
        out = []
        for k in g["v"]:
            out += diff(g["v"][k], c["v"][k], tol, f"{path}.{k}", unordered)
        return out
    if t == "optional":
        if g["has"] != c["has"]:
            return ["{}: optional has_value {} expected, got {}".format(path, g["has"], c["has"])]
        return diff(g["v"], c["v"], tol, path + ".value")
    if t == "py":
        if g["type"] != c["type"] or not _veq(g["v"], c["v"], tol):
            return ["{}: {} {!r} expected, got {} {!r}".format(path, g["type"], g["v"], c["type"], c["v"])]
        return []
    return [] if g == c else [f"{path}: {_short(g)} expected, got {_short(c)}"]


def uncovered(g, c, path="spec"):
    """Differences between two encoded specs; the candidate may know dimensions that the golden one leaves open."""
    if g.get("t") != c.get("t") or g["t"] == "raised":
        return diff(g, c, path=path)
    if g["t"] in ("tuple", "list", "namedtuple") and len(g["v"]) == len(c["v"]):
        return [d for i, (a, b) in enumerate(zip(g["v"], c["v"], strict=True)) for d in uncovered(a, b, f"{path}.{i}")]
    if g["t"] == "dict" and g["v"].keys() == c["v"].keys():
        return [d for k in g["v"] for d in uncovered(g["v"][k], c["v"][k], f"{path}.{k}")]
    if g["t"] == "spec" and "shape" in g and "shape" in c and _shape_covers(g["shape"], c["shape"]):
        c = {**c, "shape": g["shape"]}
    return diff(g, c, path=path)


def _shape_covers(g, c):
    if g is None or c is None:
        return g is None
    return len(g) == len(c) and all(a is None or a == b for a, b in zip(g, c, strict=True))


def diff_result(gold, cand, tol=None, unordered=False, strict_phase=False, accept=()):
    """gold / cand: whole-case results {'ok': node} or {'error': cls, 'mro': [...]}."""
    if accept:
        c = cand if "error" in cand else cand["ok"]
        g = gold if "error" in gold else gold["ok"]
        if (
            g.get("error")
            and c.get("error")
            and not c.get("elements")
            and set(accept) & set(c.get("mro") or [c["error"]])
        ):
            return []
    if "error" in gold and "error" in cand:
        return (
            []
            if _err_ok(gold["error"], cand)
            else ["error {} expected, got {} ({})".format(gold["error"], cand["error"], _short(cand.get("msg", "")))]
        )
    if "error" in gold:
        c = cand["ok"]
        if c.get("t") == "dataset" and c["end"] == "error" and not c["elements"]:
            # raised on first next() instead of at construction
            if not _err_ok(gold["error"], c):
                return ["error {} expected, got {} at first element".format(gold["error"], c["error"])]
            return ["error raised at iteration, expected at construction"] if strict_phase else []
        return ["error {} expected, got {}".format(gold["error"], _short(c))]
    if "error" in cand:
        g = gold["ok"]
        if g.get("t") == "dataset" and g["end"] == "error" and not g["elements"] and _err_ok(g["error"], cand):
            return ["error raised at construction, expected at iteration"] if strict_phase else []
        return ["result expected, got error {}: {}".format(cand["error"], _short(cand.get("msg", ""), 400))]
    return diff(gold["ok"], cand["ok"], tol, unordered=unordered)
