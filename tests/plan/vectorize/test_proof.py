"""Which functions are run for many rows at once, and which never are."""

from __future__ import annotations

import functools
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.plan.traits.effects import side_effect_free
from feedline.plan.vectorize import makes_side_effect_free_datasets, program_of
from feedline.plan.vectorize.proof import proof_of

MEAN = np.arange(3, dtype=np.float32)
LIST: list[Any] = [1]
DICT = {"a": {"b": 1}}
COUNT = 0
OBJECTS = np.array([print], object)
LARGE = dict.fromkeys(range(2000))
FUNCTIONS = [np.add]


class Holder:
    value = 1

    def __add__(self, other: Any) -> Any:
        LIST.append(other)
        return other

    def __call__(self, x: Any) -> Any:
        return x

    def method(self, x: Any) -> Any:
        return x


HOLDER = Holder()
HOLDER.scale = 2  # type: ignore[attr-defined]


def counts(x: Any) -> Any:
    global COUNT
    COUNT += 1
    return x


def stores(x: Any) -> Any:
    global COUNT
    COUNT = x
    return x


def appends(x: Any) -> Any:
    LIST.append(x)
    return x


def changes_outside(x: Any) -> Any:
    DICT["a"] = x
    return x


def changes_under_another_name(x: Any) -> Any:
    d = DICT
    d["b"] = x
    return x


def changes_what_a_method_gives(x: Any) -> Any:
    d = DICT.get("a")
    d["b"] = x
    return x


def gives_outside() -> Any:
    return DICT


def changes_what_a_helper_gives(x: Any) -> Any:
    d = gives_outside()
    d["b"] = x
    return x


def changes_its_argument(d: Any) -> Any:
    d["b"] = 1
    return d


def lets_a_helper_change(x: Any) -> Any:
    changes_its_argument(DICT)
    return x


def lets_an_inner_function_change(x: Any) -> Any:
    def inner(d: Any) -> None:
        d["b"] = x

    inner(DICT)
    return x


def changes_a_default(x: Any, d: Any = DICT) -> Any:
    d["b"] = x
    return x


def changes_one_of_two(x: Any) -> Any:
    d = {"x": x}
    d = DICT
    d["b"] = x
    return x


def changes_deeper(x: Any) -> Any:
    d = {"x": DICT}
    d["x"]["b"] = x
    return x


def writes_to_an_array(x: Any) -> Any:
    MEAN[0] = x
    return x


def writes_to_its_argument(x: Any) -> Any:
    x[0] = 1
    return x


def in_place(x: Any) -> Any:
    x += 1
    return x


def in_place_outside(x: Any) -> Any:
    m = MEAN
    m -= x
    return m


def changes_a_part_of_what_it_made(x: Any) -> Any:
    d, _ = tuple([DICT, x])
    d["b"] = x
    return x


def changes_a_part_of_its_argument(d: Any) -> Any:
    inner = d["inner"]
    inner["b"] = 1
    return d


def sets_an_attribute(x: Any) -> Any:
    HOLDER.value = x
    return x


def deletes(x: Any) -> Any:
    del DICT["a"]
    return x


def imports(x: Any) -> Any:
    import math

    return math.floor(x)


def catches(x: Any) -> Any:
    try:
        return x[5]
    except IndexError:
        return x


def within(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return x / 0


def asserts(x: Any) -> Any:
    assert x is not None
    return x


def raises(x: Any) -> Any:
    raise ValueError(x)


def yields(x: Any) -> Any:
    yield x


async def waits(x: Any) -> Any:
    return x


def defines(x: Any) -> Any:
    class Inner:
        y = x

    return Inner.y


def calls_itself(x: Any) -> Any:
    return calls_itself(x - 1)


def captures() -> Any:
    total = 0

    def f(x: Any) -> Any:
        nonlocal total
        total = total + x
        return total

    return f


def captured(value: Any) -> Any:
    return lambda x: x + value


NO: list[Any] = [
    *(counts, stores, appends, changes_outside, changes_under_another_name, changes_what_a_method_gives),
    *(changes_what_a_helper_gives, lets_a_helper_change, lets_an_inner_function_change, changes_a_default),
    *(changes_one_of_two, changes_deeper, writes_to_an_array, writes_to_its_argument, in_place, in_place_outside),
    *(changes_a_part_of_what_it_made, changes_a_part_of_its_argument),
    *(sets_an_attribute, deletes, imports, catches, within, asserts, raises, yields, waits, defines, calls_itself),
    *(captures(), captured(HOLDER), captured(print), captured(OBJECTS), captured(LARGE), captured([HOLDER])),
    lambda x: print(x),
    lambda x: random.random() + x,
    lambda x: np.random.rand() + x,
    lambda x: x + time.time(),
    lambda x: open(x).read(),  # noqa: SIM115
    lambda x: fl.io.read_file(x),
    lambda x: fl.io.write_file("a", x),
    lambda x: x + fl.random.element_rng() if hasattr(fl.random, "element_rng") else print(x),
    lambda x: HOLDER + x,
    lambda x: HOLDER(x),
    lambda x: HOLDER.method(x),
    lambda x: HOLDER.value + x,
    lambda x: HOLDER.scale * x,  # type: ignore[attr-defined]
    lambda x: FUNCTIONS[0](x, x),
    lambda x: (lambda f: f(x, x, MEAN))(np.add),
    lambda x: np.add(x, x, MEAN),
    lambda x: np.add(x, x, out=MEAN),
    lambda x: np.add(x, x, where=MEAN > 1),
    lambda x: np.add(*[x, x, MEAN]),
    lambda x: np.stack([x, x], 0, MEAN),
    lambda x: np.add.at(MEAN, 0, x),
    lambda x: np.exp(x),
    lambda x: np.sum(x),
    lambda x: x.sum(),
    lambda x: x.mean(),
    lambda x: x.sort(),
    lambda x: x.fill(1),
    lambda x: x.tofile("a"),
    lambda x: x.__class__,
    lambda x: LIST.append(x),
    lambda x: LIST.pop(),
    lambda x: LIST.__setitem__(0, x),
    lambda x: DICT.update(a=x),
    lambda x: DICT["a"].update(b=x),
    lambda x: DICT.setdefault("a", x),
    lambda x: (y := x) + y if isinstance(x, np.ndarray) else x,
    lambda x: float(x),
    lambda x: str(x),
    lambda x: id(x),
    lambda x: type(x)(x),
    lambda x: eval("x"),
    lambda x: globals(),
    lambda x: vars(x),
    lambda x: setattr(HOLDER, "value", x),
    lambda x: list(map(print, x)),
    lambda x: undefined + x,  # type: ignore[name-defined]  # noqa: F821
    lambda x: undefined.name(x),  # type: ignore[name-defined]  # noqa: F821
    lambda x: np.no_such_function(x),  # type: ignore[attr-defined]
    lambda x: {x for _ in x},
    lambda x: fl.Dataset.range(3),
    lambda x: fl.TextLineDataset(x),
    lambda x: x.skip(1),
    functools.partial(captured(1)),
    functools.partial,
    HOLDER,
    HOLDER.method,
    np.negative,
    print,
    len,
]


@pytest.mark.parametrize("call", NO)
def test_never_run_for_many_rows(call: Any) -> None:
    assert program_of(call) is None


def changes_what_it_made(x: Any) -> Any:
    d = {"x": x}
    d["y"] = x
    d.update(z=x)
    del d["x"]
    return d


def changes_an_element(d: Any) -> Any:
    label = d.pop("label")
    d["more"] = 1
    return d, label


YES: list[Any] = [
    changes_what_it_made,
    changes_an_element,
    captured(1),
    captured(MEAN),
    captured((1, [2, {"a": np.dtype("int8")}])),
    lambda x: DICT["a"]["b"] + x,
    lambda x: [x for _ in DICT.items()],
    lambda x: [x + len(k) for k in DICT],
    lambda x: LIST[0] + x,
    lambda x: LIST.copy()[0] + x,
    lambda x: MEAN.shape[0] + x,
    lambda x: MEAN.reshape(3, 1) + x,
    lambda x: x.astype(float),
    lambda x: x.astype(fl.float32),
    lambda x: gives_outside()["a"],
    lambda x: tuple(v for v in x),
]


@pytest.mark.parametrize("call", YES)
def test_may_be_run_for_many_rows(call: Any) -> None:
    assert program_of(call) is not None


def test_a_variable_without_a_value_yet() -> None:
    def outer() -> Callable[..., Any]:
        def f(x: Any) -> Any:
            return x + later

        assert program_of(f) is None
        later = 1
        return f

    assert program_of(outer()) is not None


def test_code_is_looked_at_once() -> None:
    proof = proof_of(captured(1).__code__)
    assert proof is not None and proof_of(captured(2).__code__) is proof
    assert [read.name for read in proof.values] == ["value"]


QUIET: list[Any] = [
    lambda p: fl.TextLineDataset(p),
    lambda p: fl.TextLineDataset(p, compression_type="GZIP").skip(1).take(5),
    lambda p: fl.TFRecordDataset(p, num_parallel_reads=2).repeat(2).batch(3),
    lambda p: fl.experimental.CsvDataset(p, [fl.float32], header=True).shard(2, 1),
    lambda p: fl.FixedLengthRecordDataset(p, 4).prefetch(1).enumerate(),
]
LOUD: list[Any] = [
    lambda p: fl.TextLineDataset(p).map(print),
    lambda p: fl.TextLineDataset(p).filter(len),
    lambda p: fl.TextLineDataset(p).shuffle(3),
    lambda p: fl.TextLineDataset(p).cache(),
    lambda p: fl.TextLineDataset(LIST.pop()),
    lambda p: fl.Dataset.from_generator(lambda: [1], fl.int32),
    lambda p: HOLDER.method(p),
    lambda p: fl.TextLineDataset(p).take(HOLDER.scale),  # type: ignore[attr-defined]
    lambda p: (print(p), fl.TextLineDataset(p))[1],
    fl.TextLineDataset,
]


@pytest.mark.parametrize("call", QUIET)
def test_functions_that_make_quiet_datasets(call: Any) -> None:
    assert makes_side_effect_free_datasets(call) and program_of(call) is None
    assert side_effect_free(fl.Dataset.from_tensors("a").interleave(call)._plan)
    assert side_effect_free(fl.Dataset.from_tensors("a").flat_map(call)._plan)


@pytest.mark.parametrize("call", LOUD)
def test_functions_that_may_not(call: Any) -> None:
    assert not makes_side_effect_free_datasets(call)
    assert not side_effect_free(fl.Dataset.from_tensors("a").interleave(call)._plan)
