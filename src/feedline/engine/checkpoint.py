"""Checkpoints: the position of a run as a plain dict, and back.

States are stored by the steps of the plan as written, not by the nodes of one execution: nodes that only say how a plan
is run (prefetch, options, parallel calls) are no steps, so that a checkpoint also fits the plan with other choices of
that kind. Each step is stored with its arguments and functions, so that a plan that would give other elements is
refused with a message that says what differs.

    version    of this format
    python     the version whose bytecode the functions are compared by
    steps      one per step, inputs first: op, arguments, functions, state, and buffers directly above it
    counts     of the dataset's iteration counters
    skip       number of elements after the saved states that have been handed out
    rest       elements that have been made and not handed out
    due        an error that has not been raised yet, because an interrupt came first; usually there is none
    ended      whether the end was reached
    checksum   of all the above
"""

from __future__ import annotations

import hashlib
import json
import sys
from typing import Any

from feedline.engine.encoding import StateDecoder, count, counters, counts, encode, encode_step, generators, outline
from feedline.engine.run import Cursor, Run
from feedline.engine.state_validation import damage_on_error, damaged, well_formed
from feedline.engine.step_slots import name_of, rebuilt, step_slots, with_buffers
from feedline.errors import DataLossError, FailedPreconditionError, InvalidTypeError
from feedline.plan.fingerprint import marks
from feedline.plan.function import Function
from feedline.plan.interrupted import Exited
from feedline.plan.node import Node
from feedline.plan.traits.checkpoint import ResumableArgs, steps_of
from feedline.plan.traits.seeds import consumes_shared_seeds
from feedline.structure.block import Block

__all__ = ["VERSION", "counters", "dumps", "generators", "loaded", "loads", "outline", "saved", "with_buffers"]

VERSION = 3
_PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
_KEYS = {"version", "python", "steps", "counts", "skip", "rest", "ended", "checksum"}


# Saving.


def dumps(cursor: Cursor) -> bytes:
    """The position of a cursor as JSON."""
    return _text(saved(cursor)).encode()


def saved(cursor: Cursor) -> dict[str, Any]:
    """The position of a cursor as plain values."""
    run = cursor.run
    done = cursor.handed_out()
    before = None if run.mutable_state or cursor.block is None or done == cursor.block.n else cursor.before
    if before is not None and not (consumes_shared_seeds(run.plan) and run.root.has_drawn_seeds(before, run.copy())):
        return _saved(cursor, before, done, None)
    with run.held() as states:
        return _saved(cursor, states, 0, cursor.rest())


def _saved(cursor: Cursor, states: list[Any], skip: int, rest: Block | None) -> dict[str, Any]:
    run = cursor.run
    steps: list[dict[str, Any]] = []
    for site in step_slots(run.nodes):
        arguments, functions = marks(run.nodes[site.slot])
        step = encode_step(run.nodes, states, site)
        step["arguments"] = {name: list(mark) for name, mark in arguments.items()}
        step["functions"] = {name: [*mark, _results(run.nodes[site.slot], name)] for name, mark in functions.items()}
        steps.append(step)
    made = {
        "version": VERSION,
        "python": _PYTHON,
        "steps": steps,
        "counts": counts(run, states),
        "skip": skip,
        "rest": encode(rest),
        "ended": cursor.ended,
    }
    if cursor.due is not None:
        made["due"] = encode(cursor.due if isinstance(cursor.due, Exception) else Exited(cursor.due))
    return made | {"checksum": checksum(made)}


def _results(node: Node, name: str) -> Any:
    """The encoded signature of a function's results, if it has been called."""
    function = getattr(node, name)
    return encode(function.results if isinstance(function, Function) else None)


def _text(plain: object) -> str:
    return json.dumps(plain, sort_keys=True, separators=(",", ":"))


def checksum(plain: dict[str, Any]) -> str:
    """A checksum over all other entries, to detect a damaged state."""
    whole = {k: v for k, v in plain.items() if k != "checksum"}
    return hashlib.blake2b(_text(whole).encode(), digest_size=8).hexdigest()


# Loading.


def loads(state: object, run: Run, strict: bool = True) -> Cursor:
    """A cursor at the saved position, over a run like `run`, which must not have been started."""
    return loaded(checked(state), run, strict)


def checked(state: object) -> dict[str, Any]:
    """The state as a dict, as `saved` returned it; raises if it is damaged or of another version."""
    plain: Any = state
    if isinstance(state, (bytes, bytearray, memoryview, str)):
        try:
            plain = json.loads(bytes(state) if isinstance(state, memoryview) else state)
        except (ValueError, RecursionError) as e:
            raise DataLossError(f"not an iterator state, or a corrupt one: {e}") from None
    elif not isinstance(state, dict):
        raise InvalidTypeError(
            f"an iterator state must be the bytes of save() or the dict of state_dict(), got a {type(state).__name__}"
        )
    version = plain.get("version") if isinstance(plain, dict) else None
    if type(version) is not int:
        raise DataLossError("not an iterator state, or a corrupt one: it has no version")
    if version != VERSION:
        what = "a newer feedline; update feedline" if version > VERSION else "an older feedline; use that one"
        raise FailedPreconditionError(
            f"the state has version {version}, written by {what} to read it. This feedline reads version {VERSION}"
        )
    with damage_on_error():
        if set(plain) - {"due"} != _KEYS or plain["checksum"] != checksum(plain):
            raise damaged("its checksum is wrong")
    well_formed(plain)
    return dict(plain)


def loaded(plain: dict[str, Any], run: Run, strict: bool = True, decoder: StateDecoder | None = None) -> Cursor:
    """A cursor at the position of a state that `checked` has accepted."""
    changes = compared(plain, run.plan, strict)
    run = with_buffers(run, [plain])
    decoder = decoder or StateDecoder(strict)
    if changes:
        nothing_ready(plain, changes)
        run.states[:] = with_skips_applied(plain, as_saved(run, changes), decoder)[0].states
        run.restored = True
        cursor = Cursor(run)
    else:
        rest = _filled(plain, run, decoder)
        cursor = Cursor(run)
        if rest is not None:
            cursor.block, cursor.rows = rest, iter(rest.rows())
        _skip_rows(cursor, plain["skip"])
    cursor.ended = cursor.ended or plain["ended"]
    cursor.due = _due(plain, run, decoder)
    return cursor


def _due(plain: dict[str, Any], run: Run, decoder: StateDecoder) -> Exception | None:
    """The error of a state that has not been raised yet."""
    due = decoder.value(plain.get("due"), run.plan, run)
    if due is not None and not isinstance(due, Exception):
        raise damaged("due is not an error")
    return due


def _filled(plain: dict[str, Any], run: Run, decoder: StateDecoder) -> Block | None:
    """Restores the states into a run; returns the elements that have been made but not handed out."""
    decoder.enter(run)
    decoder.fill(run, plain["steps"])
    rest: Block | None = decoder.value(plain["rest"], run.plan, run)
    if rest is not None and not isinstance(rest, Block):
        raise damaged("rest is not a block of elements")
    count(run.plan, plain["counts"])
    return rest


def _skip_rows(cursor: Cursor, left: int) -> None:
    while left and cursor.refill():
        assert cursor.block is not None
        n = min(left, cursor.block.n)
        for _ in range(n):
            next(cursor.rows)
        left -= n


def as_saved(run: Run, changes: dict[int, dict[str, int]]) -> Run:
    """A run, in the caller's thread, of the plan with the arguments it had when the state was saved."""
    old = rebuilt(run.plan, lambda node, i: node.replace(**changes[i]) if i in changes else node)
    return Run(old, run.prepare)


def with_skips_applied(plain: dict[str, Any], run: Run, decoder: StateDecoder) -> tuple[Run, Block | None]:
    """The run at the exact saved position, with nothing left to skip; and the elements that have been made but not
    handed out.
    """
    rest = _filled(plain, run, decoder)
    run.apply_skips()
    left = plain["skip"]
    while left:
        block = run.pull(left)
        if block is None:
            break
        left -= block.n
    return run, rest


def nothing_ready(plain: dict[str, Any], changes: dict[int, dict[str, int]]) -> None:
    """Raises if the state holds elements that were made with arguments that have changed since."""
    first = min(changes)
    above = [step["state"] for step in plain["steps"][first + 1 :]] + [s["waiting"] for s in plain["steps"][first:]]
    if plain["rest"] is not None or _has_rows(above):
        names = ", ".join(f"{name}={was}" for name, was in changes[first].items())
        raise FailedPreconditionError(
            f"the state holds elements that {plain['steps'][first]['op']} made with {names} and that have not "
            f"been consumed; restore it with {names}, or save a state without such elements (no shuffle or "
            "cache above)"
        )


_ROWS = ("again", "block", "places", "made", "error", "run")


def _has_rows(value: object) -> bool:
    if isinstance(value, dict):
        return any(k in _ROWS and v for k, v in value.items()) or any(map(_has_rows, value.values()))
    return isinstance(value, list) and any(map(_has_rows, value))


# What may differ between a state and the plan it is loaded into.


def compared(plain: dict[str, Any], plan: Node, strict: bool) -> dict[int, dict[str, int]]:
    """Raises if a state does not fit a plan. Returns, by step, the saved values of arguments that have changed and may
    change.
    """
    nodes = steps_of(plan)
    was, now = [step["op"] for step in plain["steps"]], [name_of(n) for n in nodes]
    if was != now:
        raise FailedPreconditionError(
            f"the state belongs to another dataset: it was saved from\n  {' → '.join(was)}\nand this is\n  "
            f"{' → '.join(now)}"
        )
    changes: dict[int, dict[str, int]] = {}
    wrong: list[str] = []
    same_python = plain["python"] == _PYTHON
    for number, (step, node) in enumerate(zip(plain["steps"], nodes, strict=True)):
        arguments, functions = marks(node)
        for name in sorted({*arguments, *step["arguments"]}):
            before, after = step["arguments"].get(name), arguments.get(name)
            if before is not None and after is not None and before[1] == after.digest:
                continue
            if isinstance(node, ResumableArgs) and name in node.resumable_args and before is not None:
                changes.setdefault(number, {})[name] = int(before[0])
                continue
            was_, is_ = before[0] if before else "missing", after.text if after else "missing"
            if was_ == is_:
                was_, is_ = f"{was_} with different contents", is_
            wrong.append(f"step {node.position}, {node.op}: {name} was {was_}, is {is_}")
        for name in sorted({*functions, *step["functions"]}):
            before, after = step["functions"].get(name), functions.get(name)
            if same_python and (before is None or after is None or before[1] != after.digest):
                where = f" (at {after.text})" if after and after.text else ""
                wrong.append(f"step {node.position}, {node.op}: the code of {name}{where} has changed")
    if wrong and strict:
        raise FailedPreconditionError(
            "the state belongs to a dataset with different elements:\n  "
            + "\n  ".join(wrong)
            + "\nRestore it into the dataset it was saved from, or continue at the same position in this one "
            "with load_state_dict(state, strict=False)."
        )
    return changes
