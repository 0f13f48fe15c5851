"""engine/report.py: what an iterator tells about itself, and choices that are kept for the next run."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.context import forced
from feedline.engine.report import (
    HOLDS,
    IN_ORDER,
    MORE_CALLS,
    NESTED,
    SOURCE,
    Processors,
    Report,
    Stage,
    WorkTime,
    _advice,
    made,
    read_choices,
)


def waiting(x: Any) -> Any:
    time.sleep(0.004)
    return np.int64(x)


def frozen(path: Path) -> fl.Options:
    options = fl.Options()
    options.autotune.frozen = str(path)
    return options


def test_text_is_a_table_and_says_where_the_time_goes() -> None:
    stages = [
        Stage("3 prefetch", "thread", None, 4, 0.25, 0.1, 2_500, "empty 1 of 9 times"),
        Stage("2 map", "threads", 8, None, 12.0, 0.5, 1_000_000, "8 calls have 7.9x the throughput of one"),
    ]
    lines = repr(Report(stages, 2.0, 1_002_500, 4_000_000_000, 2_000_000, "do this")).splitlines()
    assert lines[0].split("  ")[0] == "step" and lines[0].endswith("why")
    columns = [[cell for cell in line.split("  ") if cell] for line in lines[1:3]]
    assert [c.strip() for c in columns[0]] == [
        "3 prefetch", "thread", "4", "0.25 s", "0.10 s", "2.5 KB", "empty 1 of 9 times",
    ]
    assert [c.strip() for c in columns[1]][:5] == ["2 map", "threads", "8", "12.00 s", "0.50 s"]
    assert lines[3] == (
        "1.0 MB buffered, at most 2.0 MB so far; the limit is 4.0 GB (options.autotune.ram_budget)"
    )
    assert lines[4] == "do this"


def test_a_plan_without_anything_in_the_background() -> None:
    with iter(fl.Dataset.range(5)) as it:
        list(it)
        report = it.report()
    assert report.stages == [] and repr(report).startswith("no step runs in the background\n")


def test_stages_from_the_consumer_down_nested_ones_too() -> None:
    ds = fl.Dataset.range(4).interleave(lambda x: fl.Dataset.range(3).map(waiting, num_parallel_calls=2), 2)
    with forced("thread"), iter(ds.map(waiting, num_parallel_calls=3).prefetch(2)) as it:
        for _ in range(3):
            next(it)
        stages = it.report().stages
    keys = [s.key for s in stages]
    assert keys[:4] == ["4 prefetch", "3 map", "2 prefetch", "2 interleave"]  # a thread reads for the map
    assert set(keys[4:]) == {"2/2 map"}
    assert all(s.how in ("thread", "threads", "alone", HOLDS) and s.why for s in stages)


def test_who_works_and_who_waits() -> None:
    with forced("thread"), iter(fl.Dataset.range(30).map(waiting, num_parallel_calls=2)) as it:
        list(it)
        report = it.report()
    (stage,) = report.stages
    assert stage.worked >= 0.1 and stage.calls == 2 and stage.held == 0
    assert "the consumer waited" in report.advice and "2 map" in report.advice


def test_a_pipeline_that_keeps_up_says_so() -> None:
    with iter(fl.Dataset.range(3).prefetch(2)) as it:
        for _ in it:
            time.sleep(0.05)
        assert "keeps up" in it.report().advice


def test_a_step_without_threads_is_named_as_the_slow_one() -> None:
    with iter(fl.Dataset.range(20).map(waiting)) as it:
        list(it)
        advice = it.report().advice
    assert "step 2 map (waiting) is the busiest: give it num_parallel_calls" in advice and "prefetch" not in advice


def quick(x: Any) -> Any:
    time.sleep(0.0003)
    return np.int64(x)


def passes(x: Any) -> bool:
    return bool(quick(x) >= 0)


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("at", [2, 3, 4])
def test_the_slow_one_of_several_functions_is_named(at: int, ahead: bool) -> None:
    ds = fl.Dataset.range(60)
    for step in (2, 3, 4):
        ds = ds.map(waiting) if step == at else ds.filter(passes) if step == 3 else ds.map(quick)
    ds = ds.batch(2)
    with iter(ds.prefetch(fl.AUTOTUNE) if ahead else ds) as it:
        list(it)
        advice = it.report().advice
    assert f"step {at} map (waiting)" in advice


def test_the_slow_function_of_nested_datasets_is_named() -> None:
    def dawdles(x: Any) -> Any:
        time.sleep(0.03)
        return x

    ds = fl.Dataset.range(4).flat_map(lambda _: fl.Dataset.range(6).map(dawdles)).map(quick)
    with iter(ds) as it:
        list(it)
        assert "step 2/2 map (dawdles)" in it.report().advice


def test_a_slow_source_is_no_case_for_a_prefetch() -> None:
    def slowly() -> Any:
        for i in range(20):
            time.sleep(0.004)
            yield i

    ds = fl.Dataset.from_generator(slowly, output_signature=fl.TensorSpec([], fl.int64))
    for dataset in (ds, ds.prefetch(2), ds.map(np.positive)):
        with iter(dataset) as it:
            list(it)
            advice = it.report().advice
        assert "prefetch(fl.AUTOTUNE)" not in advice and "num_parallel_calls" not in advice


@pytest.mark.parametrize(
    ("stage", "never"),
    [
        (Stage("2 map", "threads", 2, None, 4.0, 1.0, 0, "", "f", True), "AUTOTUNE"),
        (Stage("2 map", "processes", 2, None, 4.0, 1.0, 0, "", "f", True), "num_parallel_calls"),
        (Stage("2 map", "processes", 2, None, 4.0, 1.0, 0, "", "f", False), 'workers="process"'),
        (Stage("2 map", "alone", 0, None, 4.0, 1.0, 0, "", "f", True), "AUTOTUNE"),
    ],
)
def test_nothing_is_recommended_that_is_given_already(stage: Stage, never: str) -> None:
    advice = _advice([stage], 4.0, 3.9, {})
    assert "step 2 map (f) is the busiest" in advice and never not in advice


def test_reports_while_it_runs_in_another_thread() -> None:
    ds = fl.Dataset.range(40).interleave(
        lambda x: fl.Dataset.range(3).map(np.positive, num_parallel_calls=2).prefetch(1), 4, num_parallel_calls=4
    )
    with forced("thread"), iter(ds) as it:
        reader = threading.Thread(target=lambda: list(it))
        reader.start()
        while reader.is_alive():
            repr(it.report())
        reader.join()


def test_choices_are_kept_and_used(tmp_path: Path) -> None:
    path = tmp_path / "choices.json"
    ds = fl.Dataset.range(150).map(waiting, num_parallel_calls=fl.AUTOTUNE).prefetch(fl.AUTOTUNE)
    with iter(ds) as it:
        list(it)
        report = it.report()
    report.freeze(path)
    chosen = read_choices(str(path))
    assert chosen == {s.key: {"calls": s.calls, "buffer": s.buffer} for s in report.stages}
    assert chosen["2 map"]["calls"] > 1
    with iter(ds.with_options(frozen(path))) as it:
        assert [int(x) for x in it] == list(range(150))
        again = {s.key: s for s in it.report().stages}
    assert again["2 map"].calls == chosen["2 map"]["calls"] and "options.autotune.frozen" in again["2 map"].why
    assert again["3 prefetch"].buffer == chosen["3 prefetch"]["buffer"]


def test_choices_can_be_written_by_hand(tmp_path: Path) -> None:
    path = tmp_path / "choices.json"
    path.write_text(json.dumps({"version": 1, "stages": {"2 map": {"calls": 5, "buffer": None}}}))
    ds = fl.Dataset.range(60).map(waiting, num_parallel_calls=fl.AUTOTUNE)
    with iter(ds.with_options(frozen(path))) as it:
        assert [int(x) for x in it] == list(range(60))
        assert it.report().stages[0].calls == 5
    path.write_text(json.dumps({"version": 1, "stages": {"2 map": {"calls": 0, "buffer": None}}}))
    with iter(ds.map(np.positive).with_options(frozen(path))) as it:
        next(it)
        assert it.report().stages[-1].how == "alone"


def test_writing_replaces_the_file_or_leaves_it(tmp_path: Path) -> None:
    path = tmp_path / "choices.json"
    report = Report([Stage("2 map", "threads", 4, None, 0.0, 0.0, 0, "")], 1.0, 0, 0, 0, "")
    report.freeze(path)
    before = path.read_text()
    bad = Report([Stage("2 map", "threads", object(), None, 0.0, 0.0, 0, "")], 1.0, 0, 0, 0, "")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        bad.freeze(path)
    assert path.read_text() == before and [p.name for p in tmp_path.iterdir()] == ["choices.json"]


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 9, "stages": {}}', '{"version": 1, "stages": 3}'])
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "choices.json"
    path.write_text(text)
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"choices\.json was not written by Report\.freeze"):
        iter(fl.Dataset.range(3).with_options(frozen(path)))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(fl.errors.NotFoundError, match=r"options\.autotune\.frozen.*nowhere\.json"):
        iter(fl.Dataset.range(3).with_options(frozen(tmp_path / "nowhere.json")))


def advice(waited: float, **stage: Any) -> str:
    """What is said of one stage, after a second of which the consumer waited so much."""
    given = {"key": "2 map", "calls": None, "buffer": None, "waited": waited, "held": 0, "why": ""} | stage
    return made(context([Stage(**given)], {}), waited).advice


def context(stages: list[Stage], work: dict[str, WorkTime]) -> Any:
    """An execution context on eight processors that began a second ago."""
    return SimpleNamespace(
        stages=[SimpleNamespace(stats=lambda s=s: s) for s in stages],
        began=time.perf_counter() - 1.0,
        budget=SimpleNamespace(held=0, limit=1, most=0),
        work=work,
        cpu_before=time.process_time(),
        cores=8,
    )


@pytest.mark.parametrize(
    ("waited", "stage", "says"),
    [
        (0.01, {"how": "thread", "worked": 0.9, "buffer": 2}, "the pipeline keeps up"),
        (0.5, {"how": "alone", "worked": 0.5}, "step 2 map is the busiest: it runs without workers"),
        (0.5, {"how": "threads", "worked": 0.9, "calls": 2}, "more parallel calls may help"),
        (0.5, {"how": "processes", "worked": 0.9, "calls": 2}, "more parallel calls may help"),
        (0.5, {"how": "thread", "worked": 0.01, "buffer": 2}, "mostly for the source"),
        (0.5, {"how": "threads", "worked": 0.01, "calls": 2}, "steps without threads"),
        (0.5, {"how": "thread", "worked": 0.95, "buffer": 2}, "the steps before it are slower than the consumer"),
        (0.1, {"how": "thread", "worked": 0.5, "buffer": 2}, "keeps up on average"),
        (0.9, {"how": "alone", "worked": 0.9, "buffer": 2}, "less time than the overhead of a thread"),
    ],
)
def test_advice(waited: float, stage: dict[str, Any], says: str) -> None:
    assert says in advice(waited, **stage)


def test_the_step_that_is_waited_for_is_named_not_the_one_that_waits() -> None:
    """A prefetch spends its time waiting for the calls of the map below it."""
    above = Stage("4 prefetch", "thread", None, 2, 0.9, 0.9, 0, "")
    held = Stage("3 shuffle", "holds", None, None, 0.0, 0.0, 0, "")
    below = Stage("2 map", "threads", 2, None, 1.6, 0.8, 0, "")
    other = Stage("1/2 map", "threads", 1, None, 0.1, 0.0, 0, "")
    report = made(context([above, held, below, other], {}), 0.9)
    assert "step 2 map is the busiest: more parallel calls" in report.advice


def work(seconds: float, remedy: str = IN_ORDER, name: str = "") -> WorkTime:
    made = WorkTime(name, remedy)
    made.seconds = seconds
    return made


@pytest.mark.parametrize(
    ("times", "says"),
    [
        ({"1 list_files": work(0.5, SOURCE), "2 map": work(0.1, MORE_CALLS, "f")}, "1 list_files is the busiest: it"),
        ({"3 batch": work(0.5), "2 map": work(0.1, MORE_CALLS, "f")}, "3 batch is the busiest: it runs in order"),
        ({"3 batch": work(0.1), "2 map": work(0.5, MORE_CALLS, "f")}, "2 map (f) is the busiest: give it num_parallel"),
        ({"2 flat_map": work(0.6, NESTED), "2/2 map": work(0.5, MORE_CALLS, "f")}, "2/2 map (f) is the busiest"),
        ({"2 interleave": work(0.6, NESTED), "2/2 map": work(0.1, MORE_CALLS, "f")}, "2 interleave is the busiest: it"),
    ],
)
def test_the_slowest_step_is_named_whether_it_calls_a_function_or_not(times: dict[str, WorkTime], says: str) -> None:
    prefetch = Stage("4 prefetch", "thread", None, 2, 0.7, 0.6, 0, "")
    report = made(context([prefetch], times), 0.6)
    assert f"step {says}" in report.advice
    assert {step.key: step.worked for step in report.steps} == {key: w.seconds for key, w in times.items()}
    text = repr(report)
    assert all(any(line.startswith(key) and "in order" in line for line in text.splitlines()) for key in times)
    assert "the program kept 0.0 of 8 processors busy" in text


@pytest.mark.parametrize(
    ("stage", "processors", "says"),
    [
        ({"waits": True, "tuned": True, "calls": 64}, Processors(0.2, 8), "more than 64 at once may help (num_"),
        ({"waits": True, "calls": 4}, Processors(0.2, 8), "more than 4 at once may help (num_parallel_calls=fl.AUTO"),
        ({"tuned": True, "calls": 8}, Processors(7.8, 8), "all processors are busy"),
        ({"calls": 8}, Processors(2.0, 8), "processes may help"),
        ({"calls": 2}, Processors(7.8, 8), "all processors are busy"),
        ({"calls": 2}, Processors(2.0, 8), "more parallel calls may help"),
    ],
)
def test_advice_for_parallel_calls(stage: dict[str, Any], processors: Processors, says: str) -> None:
    given = {"key": "2 map", "how": "threads", "buffer": None, "worked": 90.0, "waited": 0.9, "held": 0, "why": ""}
    told = _advice([Stage(**(given | stage))], 1.0, 0.9, {}, processors)
    assert told.split("busiest: ")[1].find(says) >= 0


def slow_numbers() -> Any:
    for i in range(30):
        time.sleep(0.01)
        yield i


@pytest.mark.parametrize("calls", [None, 2, fl.AUTOTUNE])
@pytest.mark.parametrize("ahead", [False, True])
def test_a_slow_source_is_named(calls: int | None, ahead: bool) -> None:
    ds = fl.Dataset.from_generator(slow_numbers, output_signature=fl.TensorSpec([], fl.int64))
    ds = ds.map(quickly, num_parallel_calls=calls).batch(2)
    with iter(ds.prefetch(2) if ahead else ds) as it:
        assert len(list(it)) == 15
        report = it.report()
        steps = {step.key: step.worked for step in report.steps}
    assert steps["1 from_generator"] > 0.2 and max(steps, key=steps.__getitem__) == "1 from_generator"
    assert "step 1 from_generator is the busiest: it is the source" in report.advice
    assert report.processors.busy > 0


def test_measuring_steps_changes_nothing() -> None:
    ds = fl.Dataset.range(5000).shuffle(100, seed=1).map(quickly).filter(bool).batch(7).unbatch().prefetch(3)
    with iter(ds) as it:
        got = [int(x) for x in it]
        assert all(i.step == i.usual_step for i in inputs_of(it))
    assert sorted(got) == list(range(1, 5000))


def quickly(x: Any) -> Any:
    return int(x) if x is not None else 0


def inputs_of(it: Any) -> list[Any]:
    found = [it._run.root]
    for pull in found:
        found += pull.below()
    return found


def test_a_prefetch_that_had_a_thread_says_so_at_the_end() -> None:
    with forced("thread"), iter(fl.Dataset.range(20).map(waiting).prefetch(2)) as it:
        assert len(list(it)) == 20
        (stage,) = [s for s in it.report().stages if s.key.endswith("prefetch")]
    assert stage.how == "thread" and stage.why.startswith("empty ") and stage.why.endswith(" times")


def test_a_prefetch_that_needs_no_thread_is_not_told_to_get_one() -> None:
    with iter(fl.Dataset.range(100_000).prefetch(fl.AUTOTUNE)) as it:
        for _ in it:
            pass
        assert "num_parallel_calls" not in it.report().advice


def test_frozen_choices_are_written_whole(tmp_path: Path) -> None:
    path, left = tmp_path / "tuned.json", tmp_path / "tuned.json.0a1b2c3d.part"
    left.write_text("of a process that was killed")
    with iter(fl.Dataset.range(3).map(str, num_parallel_calls=2)) as it:
        it.report().freeze(path)
        assert os.listdir(tmp_path) == ["tuned.json"]
        with pytest.raises(fl.errors.UnimplementedError, match=r"freeze: s3://b/x is not a local path"):
            it.report().freeze("s3://b/x")
        with pytest.raises(fl.errors.NotFoundError, match=r"freeze: .*cannot be written"):
            it.report().freeze(tmp_path / "none" / "x")
