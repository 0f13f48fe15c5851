"""Filters in a row as one step."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.harness import Raises, check, check_errors

import feedline as fl
from feedline.errors import InvalidArgumentError


def _fused(ds: Any) -> Any:
    options = fl.Options()
    options.experimental_optimization.filter_fusion = True
    return ds.with_options(options)


def _even(x: Any) -> bool:
    return bool(x % 2 == 0)


def _third(x: Any) -> bool:
    return bool(x % 3 == 0)


def test_rows_for_which_all_hold() -> None:
    ds = _fused(fl.Dataset.range(20).filter(_even).filter(_third).filter(lambda x: bool(x < 15)))
    assert [n.op for n in ds._prepared[0].walk()] == ["range", "chain", "with_options"]
    check(ds, [np.int64(x) for x in (0, 6, 12)])


def test_rows_keep_their_form() -> None:
    source = fl.Dataset.from_tensor_slices({"a": np.arange(6, dtype=np.int8), "b": list("uvwxyz")})
    ds = _fused(source.filter(lambda e: _even(e["a"])).filter(lambda e: _third(e["a"])))
    check(ds, [{"a": np.int8(0), "b": b"u"}])
    assert ds._prepared[0].element_spec == source.element_spec


def test_the_second_is_asked_only_where_the_first_holds() -> None:
    asked = []
    list(_fused(fl.Dataset.range(6).filter(_even).filter(lambda x: asked.append(int(x)) is None)))
    assert asked == [0, 2, 4]


def test_errors_name_the_predicate() -> None:
    def fails(x: Any) -> bool:
        if x == 4:
            raise ValueError("four")
        return True

    ds = _fused(fl.Dataset.range(8).filter(_even).filter(fails))
    text = r"filter at step 3 .*'fails'\) failed on element 4: ValueError: four"
    check_errors(ds, [np.int64(0), np.int64(2), Raises(InvalidArgumentError, text), np.int64(6)], optimizer=[True])


def test_an_answer_that_is_no_bool() -> None:
    ds = _fused(fl.Dataset.range(3).filter(_even).filter(lambda x: "yes"))
    check_errors(ds, [Raises(InvalidArgumentError, "bool")] * 2)


def test_comparisons_of_whole_columns_stay_by_themselves() -> None:
    ds = _fused(fl.Dataset.range(20).filter(lambda x: x > 3).filter(lambda x: x % 2 == 0))
    assert [n.op for n in ds._prepared[0].walk()] == ["range", "filter", "filter", "with_options"]
