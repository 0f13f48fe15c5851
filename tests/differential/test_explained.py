"""Which differences count as intended, and which do not."""

from __future__ import annotations

from typing import Any

from tests.differential.explained import explanation, sequential

LINES = [
    "ds = d.Dataset.range(3)",
    "ds = ds.apply(d.experimental.assert_cardinality(9))",
    "ds = ds.window(2)",
    "ds = ds.skip(1)",
]
FAILED = {"error": "FailedPreconditionError", "msg": ""}
WHY = 'epoch 0, element 1: "end" expected, got FailedPreconditionError (it has only 3)'


def explained(why: str, epoch: list[Any], inputs: dict[int, list[Any]], got: Any = FAILED) -> bool:
    """`epoch` is TensorFlow's epoch, `inputs` its results by number of lines, and `got` feedline's second event."""

    def expected(lines: list[str]) -> dict[str, Any]:
        return {"epochs": [inputs.get(len(lines), [])]}

    return bool(explanation(LINES, why, {"epochs": [epoch]}, {"epochs": [[1, got]]}, expected))


def test_an_error_that_a_window_loses() -> None:
    assert explained(WHY, [1, "end"], {2: [1, 2, 3, FAILED]})


def test_an_error_that_the_input_of_the_window_does_not_raise() -> None:
    assert not explained(WHY, [1, "end"], {2: [1, 2, 3, "end"]})
    assert not explained(WHY, [1, "end"], {2: [1, 2, 3, {"error": "InvalidArgumentError"}]})
    assert not explained(WHY, [1, "end"], {1: [FAILED], 3: [FAILED]})


def test_an_error_that_tensorflow_raises_elsewhere() -> None:
    assert not explained(WHY, [1, 2, FAILED], {2: [1, 2, 3, FAILED]})


def test_elements_are_no_errors() -> None:
    why = "epoch 0, element 1: values [1] expected, got [2]"
    assert not explained(why, [1, "end"], {2: [1, 2, 3, FAILED]}, got=2)


def test_shuffle_and_repeat_of_nothing() -> None:
    lines = ["ds = d.Dataset.range(0)", "ds = ds.apply(d.experimental.shuffle_and_repeat(5, seed=8))"]
    why = "cardinality 9 expected, got 0"
    gold = {"epochs": [["end"]]}
    for cardinality in (0, 3):
        told = explanation(lines, why, gold, gold, lambda before, n=cardinality: {"cardinality": n})  # type: ignore[misc]
        assert bool(told) == (cardinality == 0)
    counted = [lines[0], "ds = ds.apply(d.experimental.shuffle_and_repeat(5, count=2, seed=8))"]
    assert not explanation(counted, why, gold, gold, lambda before: {"cardinality": 0})


def test_parallel_interleave_that_runs_ahead_as_little_as_it_can() -> None:
    line = "ds = ds.apply(d.experimental.parallel_interleave(lambda e: f(e), cycle_length=2, block_length=2{}))"
    for more in ("", ", sloppy=False"):
        plain, modest = sequential([line.format(more)])
        assert plain[0] == line.format(more)
        assert modest[0] == line.format(", buffer_output_elements=1, prefetch_input_elements=0")


def test_a_cache_that_parallel_calls_have_read_to_its_end() -> None:
    cached = ["ds = d.Dataset.range(9)", "ds = ds.shuffle(9, seed=2)", "ds = ds.cache()"]
    called = "ds = ds.map(lambda e: e, num_parallel_calls=-1)"
    cut = "ds = d.Dataset.zip({'a': d.Dataset.range(3), 'b': ds})"
    got: dict[str, Any] = {"epochs": [[1, 2, 3, "end"]] * 2}

    def is_explained(lines: list[str], why: str) -> bool:
        return bool(explanation(lines, why, got, got, lambda before: got))

    later, first = (f"epoch {n}, element 1: values [4] expected, got [2]" for n in (1, 0))
    assert is_explained([*cached, called, cut], later)
    assert is_explained([*cached, called, cut, "ds = ds.repeat(2)"], first)
    saved = f"feedline alone, after a save, at 12: {first.replace('expected, got', 'instead of')}"
    assert is_explained([*cached, called, cut, "ds = ds.repeat(2)"], saved)
    assert not is_explained([*cached, called, cut], saved)
    assert not is_explained([*cached, called, cut], first)
    assert not is_explained([*cached, called], later)
    assert not is_explained([*cached, cut], later)
    assert not is_explained([cached[0], cached[2], called, cut], later)


def test_a_refused_second_pass_over_a_cache_file() -> None:
    cached = ["ds = d.Dataset.range(9)", "ds = ds.cache(tmp + '/cache-1')", "ds = ds.concatenate(ds)"]
    ignored = [*cached, "ds = ds.apply(d.experimental.ignore_errors())"]
    why = "feedline alone, threads: epoch 0, element 1: 4 instead of 2"
    gold: dict[str, Any] = {"epochs": [[1, "end"]]}
    refused = {"epochs": [[1, {"error": "AlreadyExistsError"}]]}

    def is_explained(lines: list[str], why: str, told: dict[str, Any]) -> bool:
        return bool(explanation(lines, why, gold, gold, lambda before: told if before == cached else gold))

    assert is_explained(ignored, why, refused)
    assert not is_explained(ignored, why, gold)
    assert not is_explained(cached, why, refused)
    assert not is_explained(ignored, why.removeprefix("feedline alone, threads: "), refused)
    assert is_explained(cached, "feedline alone, threads: epoch 0, element 1: AlreadyExistsError instead of 2", gold)
