"""A map and the filter after it as one step."""

from __future__ import annotations

from typing import Any

from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError


def _fused(ds: Any, *more: str) -> Any:
    options = fl.Options()
    for name in ("map_and_filter_fusion", *more):
        setattr(options.experimental_optimization, name, True)
    return ds.with_options(options)


def _long(text: bytes) -> bool:
    return bool(len(text) > 1)


def test_what_the_map_makes_is_what_the_filter_sees() -> None:
    ds = _fused(fl.Dataset.range(8, 12).map(str).filter(_long))
    assert [n.op for n in ds._prepared[0].walk()] == ["range", "chain", "with_options"]
    check(ds, [b"10", b"11"])
    assert ds._prepared[0].element_spec == fl.TensorSpec([], fl.string)
    assert ds._prepared[0].cardinality() == fl.UNKNOWN_CARDINALITY


def test_nothing_passes() -> None:
    ds = _fused(fl.Dataset.range(3).map(str).filter(_long))
    check(ds, [])
    assert ds._prepared[0].element_spec == fl.TensorSpec([], fl.string)


def test_a_filter_before_a_map_stays() -> None:
    ds = _fused(fl.Dataset.range(3).filter(bool).map(str))
    assert [n.op for n in ds._prepared[0].walk()] == ["range", "filter", "map", "with_options"]


def test_after_maps_that_have_been_fused() -> None:
    ds = _fused(fl.Dataset.range(8, 12).map(int).map(str).filter(_long), "map_fusion")
    assert [n.op for n in ds._prepared[0].walk()] == ["range", "chain", "with_options"]
    check(ds, [b"10", b"11"])


def test_errors_name_the_step() -> None:
    def one(x: Any) -> str:
        if x == 1:
            raise ValueError
        return str(x)

    def two(x: bytes) -> bool:
        if x == b"2":
            raise ValueError
        return True

    ds = _fused(fl.Dataset.range(4).map(one).filter(two))
    first = Raises(InvalidArgumentError, "map at step 2 .*'one'.* on element 1")
    second = Raises(InvalidArgumentError, "filter at step 3 .*'two'.* on element 2")
    check_errors(ds, [b"0", first, second, b"3"], optimizer=[True])
