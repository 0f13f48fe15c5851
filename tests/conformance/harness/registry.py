"""Case registry.  A case is `fn(d, xp, io, tmp)`; see README.md."""

REGISTRY = {}


class Case:
    def __init__(self, name, fn, args, tol, limit, unordered, accept=()):
        self.accept = tuple(accept)
        self.name, self.fn, self.args = name, fn, args
        self.tol, self.limit, self.unordered = tol, limit, unordered

    def __call__(self, d, xp, io, tmp):
        return self.fn(d, xp, io, tmp, *self.args)


def _add(name, fn, args, tol, limit, unordered, accept=()):
    if name in REGISTRY:
        raise RuntimeError("duplicate case name " + name)
    if "/" not in name:
        raise RuntimeError("case name needs topic/name: " + name)
    REGISTRY[name] = Case(name, fn, args, tol, limit, unordered, accept)


def case(name, tol=None, limit=200, unordered=False, accept=()):
    """Registers one case.  tol: relative float tolerance; unordered: compare as a multiset;
    accept: further exception class names a checked implementation may raise (where TF's own class is
    an accident of its internals)."""

    def deco(fn):
        _add(name, fn, (), tol, limit, unordered, accept)
        return fn

    return deco


def _pname(p):
    if isinstance(p, (tuple, list)):
        return ",".join(_pname(q) for q in p)
    if isinstance(p, str):
        return p.encode("unicode_escape").decode().replace(" ", "_")
    return str(p).replace(" ", "")


def cases(name, params, tol=None, limit=200, unordered=False, accept=()):
    """Registers one case per parameter tuple: `fn(d, xp, io, tmp, *params[i])`."""

    def deco(fn):
        for p in params:
            args = p if isinstance(p, tuple) else (p,)
            _add(f"{name}[{_pname(p)}]", fn, args, tol, limit, unordered, accept)
        return fn

    return deco
