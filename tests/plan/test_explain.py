"""Plans in words."""

from __future__ import annotations

import re
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.plan.explain import WIDTH, bytes_text, call_text, spec_text


def decode(x: Any) -> Any:
    return str(x)


def _never(*args: Any) -> Any:
    raise AssertionError("a function of the user's ran")


Point = namedtuple("Point", "x y")


def test_the_whole_text() -> None:
    ds = fl.Dataset.range(10).take(-1).shuffle(4, seed=1).repeat(2).map(decode).batch(3)
    line = decode.__code__.co_firstlineno
    assert (
        str(ds.explain())
        == f"""\
as written                                    elements  spec
  6   batch(3)                                       7  unknown until it runs
  5 ƒ map(decode)                                   20  unknown until it runs
        decode at test_explain.py:{line}, once per element
  4   repeat(2)                                     20  int64
  3   shuffle(4, seed=1)                            10  int64
        holds up to 4 elements, 32 B
  2   take(-1)                                      10  int64
  1   range(10)                                     10  int64

as it runs                                    elements  spec
  6   map_and_batch(3)                               7  unknown until it runs
        an element that fails drops its whole batch
  5 ƒ map(decode)                                   20  unknown until it runs
        decode at test_explain.py:{line}, once per element
  4   shuffle_and_repeat(4, seed=1, count=2)        20  int64
        holds up to 4 elements, 32 B
  1   range(10)                                     10  int64

rewritten by
      noop_elimination           step 2
      shuffle_and_repeat_fusion  step 4
      map_and_batch_fusion       step 6

ƒ runs your code: elements are computed only when requested"""
    )


def test_branches() -> None:
    ds = fl.Dataset.zip((fl.Dataset.range(3).map(lambda x: x + 1), fl.Dataset.range(4))).batch(2)
    lines = str(ds.explain()).splitlines()
    assert [line[:20].rstrip() for line in lines[1:7]] == [
        "  4   batch(2)",
        "  3   zip()",
        "  2   ├─ map(lambda)",
        "      │    lambda at",
        "  1   │  range(3)",
        "  1   └─ range(4)",
    ]
    assert lines[-5:-2] == ["element spec", "      $[0]  int64[?]", "      $[1]  int64[?]"]
    assert "it runs as written" in lines


def test_at_a_prompt_it_shows_lines() -> None:
    text = fl.Dataset.range(3).explain()
    assert isinstance(text, str)
    assert repr(text) == str(text)
    assert "\n" in repr(text)


def test_nothing_of_the_users_runs() -> None:
    ds = fl.Dataset.range(3).map(_never).filter(_never).batch(2)
    for text in (repr(ds), str(ds.explain()), ds._repr_html_()):
        assert "unknown until it runs" in text


def test_lines_fit() -> None:
    wide = {f"feature_with_a_long_name_{i}": np.zeros((4, i + 1), np.float32) for i in range(12)}
    options = fl.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.dataset_name = "a name that goes on and on and on and on and on"
    ds = fl.Dataset.from_tensor_slices(wide).with_options(options).shuffle(10**9, seed=2**30)
    for _ in range(6):
        ds = fl.Dataset.zip((ds, ds))
    assert max(map(len, str(ds.explain()).splitlines())) <= WIDTH


def test_why_it_cannot_run() -> None:
    text = str(fl.Dataset.range(3).shuffle(2).repeat(0).explain())
    assert "cannot run\n      repeat at step 3: after a shuffle, count must be" in text
    assert max(map(len, text.splitlines())) <= WIDTH


@pytest.mark.parametrize(
    ("ds", "text"),
    [
        (fl.Dataset.range(10), "range(10)"),
        (fl.Dataset.range(2, 10), "range(2, stop=10)"),
        (fl.Dataset.range(2, 10, 3, output_type=fl.int8), "range(2, stop=10, step=3, output_type=int8)"),
        (fl.Dataset.range(10).batch(3, drop_remainder=True), "batch(3, drop_remainder=True)"),
        (fl.Dataset.range(10).shuffle(3, seed=7), "shuffle(3, seed=7)"),
        (fl.Dataset.range(10).shuffle(3), "shuffle(3)"),
        (
            fl.Dataset.range(10).shuffle(3, seed=7, reshuffle_each_iteration=False),
            "shuffle(3, seed=7, reshuffle_each_iteration=False)",
        ),
        (fl.Dataset.range(10).repeat(), "repeat()"),
        (fl.Dataset.range(10).map(decode, num_parallel_calls=4), "map(decode, num_parallel_calls=4)"),
        (fl.Dataset.range(10).map(lambda x: x + 1), "map(lambda)"),
        (fl.Dataset.range(10).map(np.square), "map(square)"),
        (fl.Dataset.zip((fl.Dataset.range(1), fl.Dataset.range(2))), "zip()"),
        (fl.Dataset.from_tensor_slices(np.zeros((1, 512))), "from_tensor_slices(1 row, 4.0 KiB)"),
        (fl.Dataset.from_tensor_slices(np.zeros((1000, 512))), "from_tensor_slices(1,000 rows, 3.9 MiB)"),
    ],
)
def test_steps_as_one_would_write_them(ds: Any, text: str) -> None:
    assert call_text(ds._plan) == text


def test_a_global_seed_shows() -> None:
    fl.random.set_seed(5)
    assert call_text(fl.Dataset.range(10).shuffle(3, seed=7)._plan) == "shuffle(3, seed=(5, 7))"


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (fl.TensorSpec([], fl.int64), "int64"),
        (fl.TensorSpec([None, 3], fl.float32), "float32[?, 3]"),
        (fl.TensorSpec(None, fl.string), "string[…]"),
        (fl.RaggedTensorSpec([None, None], fl.int32), "ragged int32[?, ?]"),
        (fl.SparseTensorSpec([4], fl.int32), "sparse int32[4]"),
        (fl.DatasetSpec(fl.TensorSpec([], fl.int8)), "dataset of int8"),
        ((fl.TensorSpec([2], fl.int8),), "(int8[2],)"),
        ({"a": (fl.TensorSpec([2], fl.int8), None)}, "{a: (int8[2], None)}"),
        (Point(fl.TensorSpec([], fl.int8), fl.TensorSpec([], fl.bool)), "Point(x: int8, y: bool)"),
    ],
)
def test_specs(spec: Any, text: str) -> None:
    assert spec_text(spec) == text


def test_sizes() -> None:
    assert [bytes_text(n) for n in (0, 1023, 1024, 1536, 3 << 20, 5 << 40, 1 << 60)] == [
        *("0 B", "1023 B", "1.0 KiB", "1.5 KiB", "3.0 MiB", "5.0 TiB", "1048576.0 TiB")
    ]


def test_what_a_shuffle_holds() -> None:
    rows = fl.Dataset.from_tensor_slices({"a": np.zeros((20, 256), np.float32), "b": np.zeros(20, np.int64)})
    assert "holds up to 10 elements, 10.1 KiB" in str(rows.shuffle(10).explain())
    assert "holds up to 20 elements, 20.2 KiB" in str(rows.shuffle(fl.UNKNOWN_CARDINALITY).explain())
    assert "holds up to 10 elements, 80 B" in str(rows.shuffle(10).explain())  # as it runs: row numbers
    words = fl.Dataset.from_tensor_slices(["a", "b"])
    assert "holds up to 2 elements\n" in str(words.shuffle(5).explain())
    assert "holds all elements" in str(words.repeat().take(4).filter(_never).shuffle(fl.UNKNOWN_CARDINALITY).explain())


def test_repr() -> None:
    ds = fl.Dataset.range(10).map(lambda x: x * 2).batch(3)
    assert repr(ds) == (
        "<fl.Dataset batch(3) ← map(lambda) ← range(10): TensorSpec(shape=(None,), dtype=int64), 4 elements>"
    )
    assert repr(fl.Dataset.range(1)) == "<fl.Dataset range(1): TensorSpec(shape=(), dtype=int64), 1 element>"
    assert repr(fl.Dataset.range(2).repeat().take(-2)).endswith("dtype=int64), length unknown>")
    assert repr(fl.Dataset.range(2).map(decode).repeat()) == (
        "<fl.Dataset repeat() ← map(decode) ← range(2): spec unknown until it runs, infinite>"
    )


def test_repr_of_long_and_wide_plans_stays_a_line() -> None:
    ds = fl.Dataset.range(10)
    for _ in range(50):
        ds = ds.prefetch(1)
    assert repr(ds).count("prefetch(1)") == 4
    many = fl.Dataset.zip(tuple(fl.Dataset.range(i).batch(2) for i in range(9)))
    assert repr(many).startswith("<fl.Dataset zip(batch(2) ← …, batch(2) ← …, batch(2) ← …, …): (int64[?], ")
    assert len(repr(many)) < 300


def test_repr_says_what_is_known_by_now() -> None:
    ds = fl.Dataset.range(3).map(decode)
    assert "unknown until it runs" in repr(ds)
    assert ds.element_spec is not None
    assert "TensorSpec(shape=(), dtype=string)" in repr(ds)


def _numbers() -> Any:
    yield 1


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda files: files.flat_map(fl.TFRecordDataset), "positions if the datasets of flat_map only read files"),
        (lambda files: fl.TFRecordDataset(files), "a checkpoint saves file positions: about 43.9 KiB"),
        (lambda files: fl.TFRecordDataset(files).take(5).prefetch(2), "a checkpoint saves file positions"),
        (lambda files: fl.TFRecordDataset(files).map(lambda x: x[:3]), "a checkpoint saves file positions"),
        (lambda files: fl.TFRecordDataset(files).map(decode), r"elements themselves: map \(step 3\) cannot recompute"),
        (
            lambda files: fl.Dataset.from_generator(_numbers, output_signature=fl.TensorSpec([], fl.int32)),
            r"the elements themselves: from_generator \(step 1\) cannot repeat them",
        ),
    ],
)
def test_what_a_checkpoint_of_a_shuffle_holds_is_told(make: Any, text: str) -> None:
    files = fl.Dataset.from_tensor_slices(["never", "opened"])
    lines = str(make(files).shuffle(10_000).batch(2).explain()).splitlines()
    (told, *_) = [line for line in lines if "a checkpoint saves" in line]
    assert re.search(text, told) and len(told) <= WIDTH


def test_long_notes_are_wrapped() -> None:
    ds = fl.Dataset.from_tensors("a").interleave(fl.TFRecordDataset).shuffle(4096, seed=2)
    text = str(ds.explain())
    assert "only read files, else the elements" in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= WIDTH
