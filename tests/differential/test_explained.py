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
    got["epochs"] = [[1, 2, 3]] * 2  # the comparison has stopped there
    assert is_explained([*cached, called], later)
    assert not is_explained([*cached, called], first)
    assert not is_explained(cached, later)


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


def test_a_snapshot_that_is_written_twice_at_a_time() -> None:
    written = ["ds = d.Dataset.range(9)", "ds = ds.shuffle(9, seed=2)", "ds = ds.snapshot(tmp + '/snapshot-1')"]
    twice = "ds = d.Dataset.choose_from_datasets([ds, ds.skip(2)], d.Dataset.range(3))"
    gold: dict[str, Any] = {"epochs": [[1, "end"]] * 2}

    def is_explained(lines: list[str], why: str) -> bool:
        return bool(explanation(lines, why, gold, gold, lambda before: gold))

    later, first = (f"epoch {n}, element 1: values [4] expected, got [2]" for n in (1, 0))
    assert is_explained([*written, twice], later)
    assert is_explained([*written, "ds = ds.concatenate(ds)"], later)
    assert not is_explained([*written, twice], first)
    assert not is_explained([*written, twice], f"feedline alone, threads: {later}")
    assert not is_explained([*written, "ds = ds.batch(2)"], later)
    assert not is_explained([written[0], twice, *written[1:]], later)


def test_a_cache_file_that_one_pass_writes_and_another_reads() -> None:
    made = ["ds = d.Dataset.range(9)", "ds = ds.shuffle(9, seed=2)"]
    kept, twice = "ds = ds.cache(tmp + '/cache-1')", "ds = d.Dataset.sample_from_datasets([ds, ds.take(3)], seed=4)"
    gold: dict[str, Any] = {"epochs": [[1, "end"]] * 2}

    def is_explained(lines: list[str], why: str) -> bool:
        return bool(explanation(lines, why, gold, gold, lambda before: gold))

    why = "epoch 0, element 1: values [4] expected, got [2]"
    assert is_explained([*made, kept, twice], why)
    assert not is_explained([made[0], kept, twice], why)
    assert not is_explained([*made, kept, "ds = ds.batch(2)"], why)
    assert not is_explained([*made, "ds = ds.cache()", twice], why)
    assert not is_explained([*made, kept, twice], f"feedline alone, threads: {why}")
    assert not is_explained([*made, kept, twice], "epoch 0, element 1: end expected, got [2]")


def test_the_input_that_rejection_resample_reads_ahead() -> None:
    why = "epoch 1, element 19: values [492] expected, got [488]"
    resampled = "ds = ds.rejection_resample(lambda e: xp.cast(e % 2, xp.int32), target_dist=[0.5, 0.5], seed=66)"
    gold: dict[str, Any] = {"epochs": [[1, "end"]] * 2}

    def is_explained(*steps: str) -> bool:
        return bool(explanation(["ds = d.Dataset.range(9)", *steps], why, gold, gold, lambda before: gold))

    for shuffled in ("ds.shuffle(2, seed=9)", "ds.apply(d.experimental.shuffle_and_repeat(2, seed=9))"):
        assert is_explained(f"ds = {shuffled}", resampled)
        assert not is_explained(resampled, f"ds = {shuffled}")
    assert not is_explained(resampled)


def test_resampled_tuples_of_one_component() -> None:
    lines = ["ds = d.Dataset.zip((d.Dataset.range(3),))", "ds = ds.rejection_resample(lambda a: a, [0.5, 0.5])"]
    why = "building it: TypeError (Invalid `datasets`. `datasets` must have compatible element specs) expected"
    scalar = {"t": "spec", "kind": "tensor", "dtype": "int64", "shape": []}
    for spec, explained in (
        ({"t": "tuple", "v": [scalar]}, True),
        ({"t": "tuple", "v": [scalar] * 2}, False),
        (scalar, False),
    ):
        assert bool(explanation(lines, why, {}, {}, lambda _, spec=spec: {"spec": spec})) is explained
