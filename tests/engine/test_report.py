"""engine/report.py: what an iterator tells about itself, and choices that are kept for the next run."""

from __future__ import annotations

import json
import os
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.engine.context import forced
from feedline.reports.measured import IN_ORDER, LOOP, Report, StepReport, read_choices


def waiting(x: Any) -> Any:
    time.sleep(0.004)
    return np.int64(x)


def quick(x: Any) -> Any:
    time.sleep(0.0003)
    return np.int64(x)


def quickly(x: Any) -> Any:
    return int(x) if x is not None else 0


def frozen(path: Path) -> fl.Options:
    options = fl.Options()
    options.autotune.frozen = str(path)
    return options


def test_every_step_is_in_the_report_serial_ones_too() -> None:
    with iter(fl.Dataset.range(400).map(quickly).shuffle(10, seed=1).batch(4)) as it:
        got = len(list(it))
        report = it.report()
    steps = {step.key: step for step in report.steps}
    assert list(steps) == ["4 batch", "3 shuffle", "2 map", "1 range"] and report.elements == got == 100
    assert all(step.how == IN_ORDER and step.worked > 0 and step.lane == LOOP for step in report.steps)
    assert steps["2 map"].elements == 400 and 300 <= steps["1 range"].elements <= 450
    assert 80 <= steps["4 batch"].elements <= 120
    assert steps["2 map"].name == "quickly" and steps["3 shuffle"].most == 9
    assert steps["2 map"].each == steps["2 map"].worked / steps["2 map"].elements
    assert all(0 <= step.cpu <= 1 for step in report.steps if step.cpu is not None)
    assert report.rate == pytest.approx(100 / report.seconds)


def test_steps_of_several_inputs_have_letters() -> None:
    def keys(ds: fl.Dataset[Any]) -> list[str]:
        with iter(ds) as it:
            list(it)
            return [step.key for step in it.report().steps]

    a, b, c = (fl.Dataset.range(4).map(quickly, num_parallel_calls=calls) for calls in (None, 2, None))
    deep = fl.Dataset.zip(fl.Dataset.zip(a, b), c.skip(1))
    expected = ["4 zip", "3 zip", "3c skip", "2 map", "2b map", "2c map", "1 range", "1b range", "1c range"]
    assert [key for key in keys(deep) if not key.endswith(" prefetch")] == expected
    rows = fl.Dataset.from_tensor_slices(np.zeros((4, 2))).shuffle(4).batch(2)
    assert keys(rows) == ["3 batch", "2 pick", "2 shuffle", "1 from_tensor_slices", "1 range"]
    assert keys(fl.Dataset.zip(c, c)) == ["3 zip", "2 map", "1 range"]
    many = fl.Dataset.zip(*(fl.Dataset.range(4).map(lambda x, n=n: x + n) for n in range(40)))
    assert len(keys(many)) == len({*keys(many)}) == 81 and "2z map" in keys(many) and "1z39 range" in keys(many)


def test_times_of_steps_are_no_longer_than_the_time_that_passed() -> None:
    with iter(fl.Dataset.range(200_000).shuffle(1000).repeat(2).batch(32).map(lambda x: x + 1)) as it:
        for _ in it:
            pass
        report = it.report()
    assert sum(step.worked for step in report.steps) <= 1.05 * report.seconds
    assert len(report.steps) == 4 and report.elements == 12_500


@pytest.mark.parametrize("calls", [None, fl.AUTOTUNE])
def test_a_function_that_waits_uses_no_processor(calls: int | None) -> None:
    with iter(fl.Dataset.range(25).map(waiting, num_parallel_calls=calls)) as it:
        list(it)
        (step,) = [s for s in it.report().steps if s.key == "2 map"]
    assert step.waits and step.elements == 25 and step.each >= 0.004


def test_stages_from_the_consumer_down_nested_ones_too() -> None:
    ds = fl.Dataset.range(4).interleave(lambda x: fl.Dataset.range(30).map(waiting, num_parallel_calls=2), 2)
    with forced("thread"), iter(ds.map(waiting, num_parallel_calls=3).prefetch(2)) as it:
        for _ in range(3):
            next(it)
        stages = it.report().stages
    assert [s.key for s in stages] == ["4 prefetch", "3 map", "2 prefetch", "2 interleave", "2/2 map"]
    assert [s.how for s in stages] == ["thread", "threads", "thread", IN_ORDER, "threads"]
    assert all(s.why for s in stages)


def test_who_works_and_who_waits() -> None:
    with forced("thread"), iter(fl.Dataset.range(30).map(waiting, num_parallel_calls=2)) as it:
        list(it)
        report = it.report()
    (stage,) = report.stages
    assert stage.worked >= 0.1 and stage.calls == 2 and stage.held == 0 and stage.waited > 0
    assert [lane.name for lane in report.lanes] == [LOOP, "2 map"]
    assert report.lanes[1].busy == pytest.approx(stage.worked / 2)


def test_how_full_a_buffer_was() -> None:
    with forced("thread"), iter(fl.Dataset.range(20).map(quickly).prefetch(2)) as it:
        for _ in it:
            time.sleep(0.005)
        (stage,) = [s for s in it.report().stages if s.key == "3 prefetch"]
    assert stage.fill is not None and stage.fill > 0.5
    with forced("thread"), iter(fl.Dataset.range(20).map(waiting).prefetch(2)) as it:
        list(it)
        (stage,) = [s for s in it.report().stages if s.key == "3 prefetch"]
    assert stage.fill is not None and stage.fill < 0.5


def test_work_of_a_prefetch_thread_is_not_that_of_the_loop() -> None:
    with forced("thread"), iter(fl.Dataset.range(20).map(waiting).batch(2).prefetch(2)) as it:
        for _ in it:
            pass
        report = it.report()
    assert {s.key: s.lane for s in report.steps} == {
        "4 prefetch": LOOP,
        "3 map_and_batch": "4 prefetch",
        "2 map": "2 map",
        "1 range": "4 prefetch",
    }


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


def test_a_report_after_the_end_and_after_closing() -> None:
    it = iter(fl.Dataset.range(30).map(waiting, num_parallel_calls=2).prefetch(2))
    list(it)
    before = it.report()
    it.close()
    assert [s.key for s in it.report().steps] == [s.key for s in before.steps]


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
    Report(steps=(StepReport("2 map", "threads", calls=4),)).freeze(path)
    before = path.read_text()
    bad = Report(steps=(StepReport("2 map", "threads", calls=object()),))  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        bad.freeze(path)
    assert path.read_text() == before and [p.name for p in tmp_path.iterdir()] == ["choices.json"]


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", '{"version": 9, "stages": {}}', '{"version": 1, "stages": 3}',
     *(f'{{"version": 1, "stages": {{"2 map": {odd}}}}}' for odd in ("5", '{"calls": "5"}', '{"calls": -1}'))],
)  # fmt: skip
def test_other_files_are_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "choices.json"
    path.write_text(text)
    with pytest.raises(fl.errors.InvalidArgumentError, match=r"choices\.json was not written by Report\.freeze"):
        iter(fl.Dataset.range(3).with_options(frozen(path)))


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(fl.errors.NotFoundError, match=r"options\.autotune\.frozen.*nowhere\.json"):
        iter(fl.Dataset.range(3).with_options(frozen(tmp_path / "nowhere.json")))


def test_measuring_steps_changes_nothing() -> None:
    ds = fl.Dataset.range(5000).shuffle(100, seed=1).map(quickly).filter(bool).batch(7).unbatch().prefetch(3)
    with iter(ds) as it:
        got = [int(x) for x in it]
        assert all(i.step == i.usual_step for i in inputs_of(it))
    assert sorted(got) == list(range(1, 5000))


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
