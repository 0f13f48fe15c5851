"""Recognizes users' functions that only call a vectorized feedline parser, and runs them on whole columns.

    lambda record: fl.io.parse_single_example(record, FEATURES)

    def parse(record):
        example = fl.io.parse_single_example(record, {"x": fl.io.FixedLenFeature([], fl.float32)})
        return example["x"], example.pop("label")

Such a function is a straight line of loads, one call, and a structure built from its results: it has no side effects,
and its result for a column can be computed step by step. That is done here, again for each block, since names may have
been rebound. On anything that is not certain to do the same, the function is called for each element.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Callable
from typing import Any

from feedline.structure.block import Block
from feedline.structure.nest import flatten
from feedline.structure.vectorized import VectorizedForm, is_plain, vectorized_form

_NOTHING = {"RESUME", "NOP", "CACHE", "COPY_FREE_VARS", "PRECALL", "NOT_TAKEN"}
_FLAGS = 0x04 | 0x08 | 0x20 | 0x80 | 0x100 | 0x200  # *args, **kwargs, generators, coroutines
_NULL = object()
_NULL_LAST = sys.version_info >= (3, 13)
_METHOD_BIT = sys.version_info >= (3, 12)

Step = tuple[str, Any]
Call = Callable[[VectorizedForm, Any, list[Any], dict[str, Any]], Any]


class Unknown(Exception):
    """Something that only a call of the function can show."""


class Placeholder:
    """A value that is only known for all elements at once, as a column or a spec: an argument of the function, or a
    part of the call's result.
    """

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Element(Placeholder):
    """An argument of the function."""

    __slots__ = ()


class Results(Placeholder):
    """A dict of columns or specs that the call returned."""

    __slots__ = ()


class _Pop(Placeholder):
    __slots__ = ()


class _Run:
    """One symbolic execution of a function's code. `call` makes the results of the one vectorized function."""

    def __init__(self, function: Any, call: Call) -> None:
        self.function, self.call = function, call
        self.called = False
        self.unknown: dict[int, Any] = {}

    def through(self, steps: list[Step], local: dict[str, Any]) -> Any:
        """The function's result. Each step is one instruction, applied to the known part of its values."""
        stack: list[Any] = []
        names: tuple[str, ...] = ()
        for op, arg in steps:
            match op:
                case "const":
                    stack.append(arg)
                case "fast":
                    stack.append(_known(local, arg))
                case "store":
                    local[arg] = stack.pop()
                case "global":
                    stack += _beside_null(_known(self.function.__globals__, arg[0]), arg[1])
                case "cell":
                    stack.append(self._cell(arg))
                case "null":
                    stack.append(_NULL)
                case "attr":
                    stack += _beside_null(_attribute(stack.pop(), arg[0]), arg[1])
                case "names":
                    names = arg
                case "call":
                    if arg < 0:  # the names are on the stack
                        names, arg = stack.pop(), -arg - 1
                    args = _popped(stack, arg)
                    stack.append(self._called(_callee(*_popped(stack, 2)), args, names))
                    names = ()
                case "item":
                    key = stack.pop()
                    stack.append(_item(stack.pop(), key))
                case "tuple":
                    parts = tuple(_popped(stack, arg))
                    stack.append(self._made(parts, parts))
                case "list":
                    values = _popped(stack, arg)
                    stack.append(self._made(values, values))
                case "extend":
                    values = _exactly(tuple, stack.pop())
                    stack[-arg].extend(values)
                    self._made(stack[-arg], values)
                case "map":
                    pairs = _popped(stack, 2 * arg)
                    stack.append(self._made(dict(zip(map(_key, pairs[::2]), pairs[1::2], strict=True)), pairs[1::2]))
                case "keyed":
                    keys = stack.pop()
                    values = _popped(stack, len(keys))
                    stack.append(self._made(dict(zip(keys, values, strict=True)), values))
                case "add":
                    value, key = stack.pop(), _key(stack.pop())
                    stack[-arg][key] = value
                    self._made(stack[-arg], [value])
                case "update":
                    more = _mapping(stack.pop())
                    stack[-arg].update(more)
                    self._made(stack[-arg], more.values())
                case "unpack":
                    parts = _exactly(tuple, stack.pop())
                    if len(parts) != arg:
                        raise Unknown
                    stack += reversed(parts)
                case "pop":
                    stack.pop()
                case "return":
                    return stack.pop()
        raise Unknown

    def _cell(self, name: str) -> Any:
        cells = dict(zip(self.function.__code__.co_freevars, self.function.__closure__ or (), strict=True))
        try:
            return cells[name].cell_contents
        except (KeyError, ValueError):  # not a captured variable, or one without a value yet
            raise Unknown from None

    def _called(self, callee: Any, args: list[Any], names: tuple[str, ...]) -> Any:
        split = len(args) - len(names)
        keywords = dict(zip(names, args[split:], strict=True))
        if isinstance(callee, _Pop):
            if len(args) != 1 or keywords:
                raise Unknown
            made = _item(callee.value, args[0])
            del callee.value.value[args[0]]
            return made
        return self.result(callee, args[:split], keywords)

    def result(self, callee: Any, args: list[Any], keywords: dict[str, Any]) -> Any:
        """The result of a call; raises `Unknown` if that is not known."""
        form = vectorized_form(callee)
        if form is None:
            if not is_plain(callee) or self._holds_parts(args, keywords):
                raise Unknown
            try:
                return callee(*args, **keywords)
            except Exception:
                raise Unknown from None
        first = args.pop(0) if args else keywords.pop(_first_name(callee), None)
        if self.called or not isinstance(first, Element) or self._holds_parts(args, keywords):
            raise Unknown
        self.called = True
        found = self.call(form, first.value, args, keywords)
        if found is None:
            raise Unknown
        if type(found) is dict:
            return Results(found)
        dicts = tuple([Results(one) for one in found])
        return self._made(dicts, dicts)

    def _holds_parts(self, args: list[Any], keywords: dict[str, Any]) -> bool:
        """Whether an unknown value is among arguments that must be known."""
        return any(isinstance(v, Placeholder) or id(v) in self.unknown for v in (*args, *keywords.values()))

    def _made(self, container: Any, parts: Any) -> Any:
        """A structure of `parts`, recorded in `unknown` if something in it is not known."""
        if any(isinstance(v, Placeholder) or id(v) in self.unknown for v in parts):
            self.unknown[id(container)] = container
        return container


class ParseCall:
    """A user's function that can be given whole columns: its code as `steps`, or one of feedline's own functions
    (`given`), with the arguments already `bound` to it.
    """

    def __init__(
        self,
        function: types.FunctionType | None,
        steps: list[Step],
        given: Any,
        bound: tuple[list[Any], dict[str, Any]],
    ) -> None:
        self.function, self.steps, self.given, self.bound = function, steps, given, bound

    def columns(self, block: Block) -> tuple[int, Any] | None:
        """The number of rows before the first that cannot be vectorized, and the structure of their columns."""
        if block.tree.kind is tuple:
            if any(child.kind is not None for child in block.tree.children):
                return None
        elif block.tree.kind is not None:
            return None
        done: list[int] = []

        def call(form: VectorizedForm, column: object, args: list[Any], keywords: dict[str, Any]) -> Any:
            found = form.columns(column, *args, **keywords)
            if found is None:
                return None
            done.append(found[0])
            return found[1] if found[0] else None

        result = self._run(block.columns, call)
        if result is None:
            return (0, None) if done == [0] else None
        return done[0], result

    def spec(self, spec: object) -> Any:
        """The spec of the results for elements of `spec`; None if it is not known."""
        leaves, tree = flatten(spec)
        if tree.kind not in (None, tuple) or any(child.kind is not None for child in tree.children):
            return None
        return self._run(leaves, lambda form, one, args, keywords: form.spec(one, *args, **keywords))

    def known(self) -> bool:
        """Whether the function is of the kind described above, with the values that its names have now."""
        count = 1
        if self.function is not None:
            code, (args, keywords) = self.function.__code__, self.bound
            given = set(code.co_varnames[: code.co_argcount]) & set(keywords)
            count = code.co_argcount - len(args) - len(given | self._with_defaults())
        return self._run([None] * count, lambda form, one, args, keys: form.spec(one, *args, **keys)) is not None

    def _with_defaults(self) -> set[str]:
        function: Any = self.function
        names = function.__code__.co_varnames[: function.__code__.co_argcount]
        return set(names[len(names) - len(function.__defaults__ or ()) :])

    def _run(self, values: list[Any], call: Call) -> Any:
        elements = [Element(value) for value in values]
        try:
            run = _Run(self.function, call)
            if self.function is None:  # one of feedline's functions, perhaps with some arguments bound
                args, keywords = self.bound
                result = run.result(self.given, [*args, *elements], dict(keywords))
            else:
                result = run.through(self.steps, self._arguments(elements))
            made = _unwrapped(result)
            return made if run.called and flatten(made)[0] else None
        except Unknown:
            return None
        except Exception:  # invalid features and the like: a call for one element gives a better error
            return None

    def _arguments(self, elements: list[Element]) -> dict[str, Any]:
        function: Any = self.function
        code = function.__code__
        args, keywords = self.bound
        positional = [*args, *elements]
        names = code.co_varnames[: code.co_argcount]
        if len(positional) > len(names):
            raise Unknown
        defaults = function.__defaults__ or ()
        local = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) | (function.__kwdefaults__ or {})
        local.update(zip(names, positional, strict=False))
        local.update(keywords)
        allowed = set(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
        if set(local) != allowed or set(keywords) & set(names[: len(positional)]):
            raise Unknown
        return local


def parse_call(call: object) -> ParseCall | None:
    """The `ParseCall` of a function of the kind described above; None for all others."""
    bound: tuple[list[Any], dict[str, Any]] = ([], {})
    while type(call) is functools.partial:
        bound = [*call.args, *bound[0]], {**call.keywords, **bound[1]}
        call = call.func
    if type(call) is types.MethodType:
        bound = [call.__self__, *bound[0]], bound[1]
        call = call.__func__
    made: ParseCall | None = None
    if vectorized_form(call) is not None:
        made = ParseCall(None, [], call, bound)
    elif type(call) is types.FunctionType and not call.__code__.co_flags & _FLAGS:
        steps = _steps(call.__code__)
        made = None if steps is None else ParseCall(call, steps, None, bound)
    return made if made is not None and made.known() else None


@functools.lru_cache(maxsize=1024)
def _steps(code: types.CodeType) -> list[Step] | None:
    """The code as steps that are the same in all Python versions; None if it has an instruction not known here."""
    steps: list[Step] = []
    for op in dis.get_instructions(code):
        found = _NOTHING_TO_DO if op.opname in _NOTHING else _step(code, op)
        if found is None:
            return None
        steps += found
    return steps


_NOTHING_TO_DO: list[Step] = []
_SIMPLE = {
    "LOAD_FAST": "fast",
    "LOAD_FAST_BORROW": "fast",
    "LOAD_FAST_CHECK": "fast",
    "STORE_FAST": "store",
    "LOAD_DEREF": "cell",
    "LOAD_CONST": "const",
    "LOAD_CONST_IMMORTAL": "const",
    "LOAD_SMALL_INT": "const",
}
_COUNTED = {
    "BUILD_TUPLE": "tuple",
    "BUILD_LIST": "list",
    "BUILD_MAP": "map",
    "LIST_EXTEND": "extend",
    "MAP_ADD": "add",
    "DICT_UPDATE": "update",
    "UNPACK_SEQUENCE": "unpack",
    "CALL": "call",
}
_PLAIN = {
    "PUSH_NULL": "null",
    "BINARY_SUBSCR": "item",
    "BUILD_CONST_KEY_MAP": "keyed",
    "POP_TOP": "pop",
    "RETURN_VALUE": "return",
}
_TWICE = {
    "LOAD_FAST_LOAD_FAST": ("fast", "fast"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("fast", "fast"),
    "STORE_FAST_LOAD_FAST": ("store", "fast"),
    "STORE_FAST_STORE_FAST": ("store", "store"),
}


def _step(code: types.CodeType, op: dis.Instruction) -> list[Step] | None:
    name, arg = op.opname, op.arg or 0
    if name in _SIMPLE:
        return [(_SIMPLE[name], op.argval)]
    if name in _COUNTED:
        return [(_COUNTED[name], arg)]
    if name in _PLAIN:
        return [(_PLAIN[name], None)]
    if name in _TWICE:
        return list(zip(_TWICE[name], op.argval, strict=True))
    match name:
        case "LOAD_GLOBAL":
            return [("global", (op.argval, bool(arg & 1)))]
        case "LOAD_ATTR" | "LOAD_METHOD":
            return [("attr", (op.argval, name == "LOAD_METHOD" or (_METHOD_BIT and bool(arg & 1))))]
        case "KW_NAMES":
            return [("names", code.co_consts[arg])]
        case "CALL_KW":
            return [("call", -arg - 1)]
        case "RETURN_CONST":
            return [("const", op.argval), ("return", None)]
        case "BINARY_OP" if op.argrepr == "[]":
            return [("item", None)]
    return None


def _beside_null(value: object, null: bool) -> list[Any]:
    """A value as it is pushed on the stack: a callee has a NULL in the place of `self`, before or after it."""
    if not null:
        return [value]
    return [value, _NULL] if _NULL_LAST else [_NULL, value]


def _popped(stack: list[Any], count: int) -> list[Any]:
    taken = stack[len(stack) - count :]
    del stack[len(stack) - count :]
    return taken


def _callee(first: object, second: object) -> Any:
    if first is _NULL:
        return second
    if second is _NULL:
        return first
    raise Unknown


def _known(space: dict[str, Any], name: str) -> Any:
    if name not in space:
        raise Unknown
    return space[name]


def _attribute(value: object, name: str) -> Any:
    """An attribute that is found without running any code."""
    if type(value) is Results and name == "pop":
        return _Pop(value)
    if type(value) is types.ModuleType:
        return _known(vars(value), name)
    if isinstance(value, type) and is_plain(value):
        return _known(dict(vars(value)), name)
    kind: Any = type(value)
    if kind.__getattribute__ is not object.__getattribute__ or any(name in vars(base) for base in kind.__mro__):
        raise Unknown
    held = value.__dict__ if hasattr(value, "__dict__") else None
    if type(held) is not dict:
        raise Unknown
    return _known(held, name)


def _item(value: object, key: object) -> Any:
    """An item of a dict or tuple; an item of the call's results is a `Placeholder`, which may be returned."""
    if type(value) is tuple and type(key) is int and -len(value) <= key < len(value):
        return value[key]
    held = value.value if type(value) is Results else value
    if type(held) is not dict or type(key) not in (str, int) or key not in held:
        raise Unknown
    return Placeholder(held[key]) if held is not value else held[key]


def _mapping(value: Any) -> dict[Any, Any]:
    if type(value) is Results:
        return {key: Placeholder(held) for key, held in value.value.items()}
    found: dict[Any, Any] = _exactly(dict, value)
    return found


def _key(key: object) -> Any:
    if type(key) not in (str, int):
        raise Unknown
    return key


def _exactly(kind: type, value: object) -> Any:
    if type(value) is not kind:
        raise Unknown
    return value


def _first_name(function: Any) -> str:
    code: types.CodeType = function.__code__
    return code.co_varnames[0]


def _unwrapped(result: object) -> Any:
    """The returned structure with its columns. Raises `Unknown` if it holds anything else."""
    if type(result) is Placeholder or type(result) is Results:
        return result.value
    if type(result) is tuple and result:
        return tuple([_unwrapped(part) for part in result])
    if type(result) is dict and result:
        return {key: _unwrapped(part) for key, part in result.items()}
    raise Unknown
