"""reports/advice.py: each rule on a pipeline whose bottleneck is known by construction, and on the pipeline as advised.

Times of sleeping functions are those of the clock; of computing ones only counters and predictions are compared.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.reports import measured as m
from feedline.reports.advice import Advice, Model
from feedline.reports.measured import LOOP, Buffered, Processors, Report, StepReport


def slow(x: Any) -> Any:
    time.sleep(0.006)
    return np.int64(x)


def quick(x: Any) -> Any:
    time.sleep(0.0003)
    return np.int64(x)


def passes(x: Any) -> bool:
    return bool(quick(x) >= 0)


def python(x: Any) -> Any:
    """Computes for several milliseconds on any processor, so that a probe waits longer than `LONG_WAIT` for the GIL."""
    total = 0
    for i in range(300_000):
        total += i
    return np.int64(total + x)


def slowly() -> Iterator[int]:
    for i in range(40):
        time.sleep(0.006)
        yield i


def measured(ds: fl.Dataset[Any], elements: int = 20, own: float = 0.0) -> Report:
    """The report of a loop whose own work takes `own` seconds for each element."""
    with iter(ds) as it:
        for _, _ in zip(range(elements), it, strict=False):
            if own:
                time.sleep(own)
        return it.report()


def each(report: Report) -> float:
    """The seconds per element that the busiest lane needs."""
    return Model(report).now / report.elements


def generated() -> fl.Dataset[Any]:
    return fl.Dataset.from_generator(slowly, output_signature=fl.TensorSpec([], fl.int64))


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("at", [2, 3, 4])
def test_the_slow_one_of_several_functions_is_named(at: int, ahead: bool) -> None:
    def made(**calls: Any) -> fl.Dataset[Any]:
        ds = fl.Dataset.range(200)
        for step in (2, 3, 4):
            ds = ds.map(slow, **calls) if step == at else ds.filter(passes) if step == 3 else ds.map(quick)
        ds = ds.batch(2)
        return ds.prefetch(fl.AUTOTUNE) if ahead else ds

    before = measured(made())
    found = before.bottleneck
    assert (found.rule, found.step) == ("more_calls", f"{at} map") and "slow" in found.problem
    assert found.change == "give it num_parallel_calls=fl.AUTOTUNE" and found.gain is not None and found.gain > 2
    after = measured(made(num_parallel_calls=fl.AUTOTUNE))
    assert each(before) / each(after) > 1.5


def test_the_slow_function_of_nested_datasets_is_named() -> None:
    ds = fl.Dataset.range(4).flat_map(lambda _: fl.Dataset.range(6).map(slow)).map(quick)
    assert measured(ds).bottleneck.step == "2/2 map"


@pytest.mark.parametrize("ahead", [False, True])
def test_the_slow_function_of_several_inputs_is_named(ahead: bool) -> None:
    calls = {"num_parallel_calls": 2} if ahead else {}
    a, b = fl.Dataset.range(200).map(quick, **calls), fl.Dataset.range(200).map(slow, **calls)
    nested = fl.Dataset.zip(fl.Dataset.range(9).flat_map(lambda _: a), fl.Dataset.range(9).flat_map(lambda _: b))
    for ds, step in (
        (fl.Dataset.zip(a, b), "2b map"),
        (fl.Dataset.zip(b, a), "2 map"),
        (fl.Dataset.sample_from_datasets([a, b], [0.5, 0.5], seed=1), "2b map"),
        (nested, "2b/2 map"),
    ):
        report = measured(ds.batch(2))
        steps = {s.name: s for s in report.steps if s.key.endswith(" map")}
        assert steps["slow"].key == step and steps["slow"].each > 2 * steps["quick"].each, report
        assert Model(report).limiting.name == (step if ahead else LOOP), report
        assert ahead or (report.bottleneck.step == step and f"{step} (slow)" in report.advice), report


def test_nested_functions_with_workers_are_named() -> None:
    """The thread that waits for the workers of nested datasets does not work meanwhile."""
    ds = fl.Dataset.range(9).flat_map(lambda _: fl.Dataset.range(50).map(slow, num_parallel_calls=2))
    report = measured(ds, 40)
    assert Model(report).limiting.name == "2/2 map", report
    assert all(s.worked < 0.3 * report.seconds for s in report.steps if s.how == m.IN_ORDER), report


def test_nested_datasets_that_are_read_one_after_the_other() -> None:
    def made(cycle: int, calls: int | None = None) -> fl.Dataset[Any]:
        return fl.Dataset.range(32).interleave(lambda _: generated(), cycle, num_parallel_calls=calls)

    before = measured(made(4), 40)
    found = before.bottleneck
    assert found.rule == "nested_reads" and found.step.endswith("interleave"), found
    assert 2 < (found.gain or 0) < 5, found  # four at a time, and the rest of the thread's work beside them
    assert found.change == "give it cycle_length=4 and num_parallel_calls=4"
    after = measured(made(4, 4), 40)
    assert after.bottleneck.rule == "more_nested_reads" and before.waited / after.waited > 1.5, after.bottleneck
    assert "cycle_length=16 and num_parallel_calls=16" in after.bottleneck.change
    more = measured(made(16, 16), 160)
    assert more.bottleneck.rule not in ("nested_reads", "more_nested_reads") and each(after) > 1.5 * each(more)
    assert measured(made(1), 10).bottleneck.rule == "more_nested_reads"


def test_a_flat_map_that_waits_is_to_be_an_interleave() -> None:
    found = measured(fl.Dataset.range(200).flat_map(lambda _: generated()), 30).bottleneck
    assert found.rule == "interleaved_reads" and found.step.endswith("flat_map"), found
    assert "interleave with cycle_length=16 and num_parallel_calls=16" in found.change
    assert (found.gain or 0) > 2


def test_a_flat_map_that_computes_does_not_wait() -> None:
    step = StepReport("2 flat_map", m.IN_ORDER, m.NESTED, "f", LOOP, 9, 0.9, cpu=1.0)
    found = Report(1.0, 0.97, 0.0, 9, (step,), processors=Processors(0.5, 4)).bottleneck
    assert (found.rule, found.step, found.change) == ("nothing", "2 flat_map", "")
    assert "run in order, in one thread" in found.problem


@pytest.mark.parametrize(("op", "change"), [("filter", "let it only compute"), ("map", "after batch")])
def test_calls_are_counted_by_what_a_function_gets(op: str, change: str) -> None:
    """A predicate that drops most elements: each one that it passes stands for many short calls."""
    source = StepReport("1 range", does=m.SOURCE, elements=100_000, worked=0.02)
    step = StepReport(f"2 {op}", does=m.CALLS, name="f", elements=20, worked=0.9, cpu=1.0, accepts_calls=True)
    found = Report(1.0, 0.97, 0.0, 20, (step, source), processors=FINE).bottleneck
    assert found.rule == "cheap_calls" and change in found.change and "9 µs per call" in found.problem, found
    slow = replace(source, elements=100)
    found = Report(1.0, 0.97, 0.0, 20, (step, slow), processors=FINE).bottleneck
    assert found.rule == "more_calls" and "9 ms per call" in found.problem, found


@pytest.mark.parametrize("calls", [None, 4])
def test_elements_that_wait_for_a_function_are_not_counted_as_calls(calls: int | None) -> None:
    ds = fl.Dataset.range(10_000).shuffle(10).prefetch(1000).map(slow, num_parallel_calls=calls).batch(2)
    report = measured(ds, 20)
    step = next(s for s in report.steps if s.key.endswith(" map"))
    assert Model(report).call(step) == step.each >= 0.002, report


def test_elements_of_samples_are_not_counted_as_calls() -> None:
    step = StepReport("2 map", does=m.CALLS, name="f", elements=60, worked=0.3, cpu=0.1, accepts_calls=True)
    source = StepReport("1 range", does=m.SOURCE, elements=85, worked=0.001)
    found = Report(0.31, 0.3, 0.0, 60, (step, source), processors=FINE).bottleneck
    assert "5 ms per element" in found.problem and found.rule == "more_calls", found


@pytest.mark.parametrize(("elements", "processes"), [(1000, True), (100, False)])
def test_short_calls_may_hold_the_gil_unseen(elements: int, processes: bool) -> None:
    step = StepReport("2 map", does=m.CALLS, name="f", elements=elements, worked=0.9, cpu=1.0, gil=0.1)
    step = replace(step, accepts_calls=True)
    found = Report(1.0, 0.97, 0.0, elements, (step,), processors=FINE).bottleneck
    assert found.rule == "more_calls" and ("workers" in found.change) is processes, found


def test_processes_that_start_are_named() -> None:
    workers = StepReport("2 map", "processes", m.CALLS, "f", "2 map", 100, 0.2, 0.9, 1.0, None, 2)
    found = Report(1.0, 0.95, 0.8, 100, (workers,), processors=FINE).bottleneck
    assert found.rule == "start" and found.problem.endswith("first element: the workers of step 2 map started")
    one = Report(5.2, 5.1, 5.0, 1, (replace(workers, elements=4),), processors=FINE)
    assert one.bottleneck.rule == "start" and "the workers of step 2 map started" in one.advice
    assert replace(one, steps=(replace(workers, elements=4, worked=4.0),)).bottleneck.rule != "start"


def test_a_function_that_holds_the_gil_is_to_run_in_processes() -> None:
    ds = fl.Dataset.range(100)
    for _ in range(20):
        report = ds.map(python).batch(4).profile(seconds=1.0)
        (step,) = [s for s in report.steps if s.key == "2 map"]
        if step.gil is not None:  # not known where other programs left no processor for the probe
            break
    found = replace(report, processors=Processors(min(1.0, report.processors.busy), 4)).bottleneck
    assert (found.rule, found.step) == ("more_calls", "2 map"), found
    assert 'workers="process"' in found.change and found.gain is not None and found.gain > 1.5
    assert step.gil is not None and step.gil > 0.5


def test_threads_that_wait_for_the_gil_are_to_be_processes() -> None:
    threads = StepReport("2 map", "threads", m.CALLS, "f", "2 map", 100, 4.0, 0.9, 1.0, None, 4, contended=True)
    found = Report(1.0, 0.95, 0.0, 100, (threads,), processors=Processors(1.1, 4)).bottleneck
    assert found.rule == "parallel_calls" and found.change == 'give it workers="process"' and (found.gain or 0) > 2
    in_processes = replace(threads, how="processes", contended=False)
    found = Report(1.0, 0.95, 0.0, 100, (in_processes,), processors=Processors(3.9, 4)).bottleneck
    assert (found.rule, found.change) == ("nothing", "") and "all its 4 processes are busy" in str(found)


@pytest.mark.parametrize("calls", [None, 2, fl.AUTOTUNE])
@pytest.mark.parametrize("ahead", [False, True])
def test_a_slow_source_is_named(calls: int | None, ahead: bool) -> None:
    ds = generated().map(quick, num_parallel_calls=calls).batch(2)
    report = measured(ds.prefetch(2) if ahead else ds, 15)
    found = report.bottleneck
    assert found.step == "1 from_generator" and found.rule in ("nothing", "prefetch_after"), found
    assert found.change == "" or found.gain is not None


def test_a_source_and_a_function_that_wait_in_turn() -> None:
    before = measured(generated().map(python_and_wait), 30)
    found = before.bottleneck
    assert found.rule in ("prefetch_after", "more_calls") and found.gain is not None, found
    after = measured(generated().prefetch(fl.AUTOTUNE).map(python_and_wait), 30)
    assert each(before) > 1.3 * each(after)


def python_and_wait(x: Any) -> Any:
    time.sleep(0.005)
    return np.int64(x)


def test_a_loop_that_is_slower_than_its_input() -> None:
    found = measured(fl.Dataset.range(100).prefetch(2), 10, own=0.02).bottleneck
    assert (found.rule, found.step, found.change) == ("keeps_up", "", "") and "keeps up" in str(found)


def test_a_loop_that_makes_its_elements_itself() -> None:
    ds = generated()
    before = measured(ds, 20, own=0.006)
    found = before.bottleneck
    assert found.change == "add prefetch(fl.AUTOTUNE) at the end" and 1.5 < (found.gain or 0) < 2.5, found
    after = measured(ds.prefetch(fl.AUTOTUNE), 20, own=0.006)
    assert each(before) > 1.4 * each(after)


def test_calls_that_are_too_short_for_workers() -> None:
    calls = [0]

    def halved(x: Any) -> Any:
        calls[0] += 1
        return x // 2

    before = measured(fl.Dataset.range(60_000).map(halved).batch(100), 600)
    found = before.bottleneck
    assert (found.rule, found.step) == ("cheap_calls", "2 map") and "after batch" in found.change, found
    after = measured(fl.Dataset.range(60_000).batch(100).map(halved), 600)
    assert each(before) > 2 * each(after)


def test_a_shuffle_that_fills_its_buffer_first() -> None:
    found = measured(fl.Dataset.range(100).map(slow).shuffle(50), 3).bottleneck
    assert (found.rule, found.step) == ("start", "3 shuffle") and "fills its buffer of" in found.problem, found
    assert found.change


def test_a_budget_that_is_used_up() -> None:
    def large(x: Any) -> Any:
        time.sleep(0.01)
        return np.zeros(500_000, np.uint8)

    options = fl.Options()
    options.autotune.ram_budget = 1_500_000
    ds = fl.Dataset.range(60).map(large, num_parallel_calls=8)
    before = measured(ds.with_options(options), 40)
    found = before.bottleneck
    assert (found.rule, found.step) == ("budget", "2 map") and "ram_budget" in found.change, (found, before)
    after = measured(ds, 40)
    assert after.bottleneck.rule != "budget" and before.waited > 1.5 * after.waited


def test_batches_that_take_the_time() -> None:
    rows = np.zeros((64, 1 << 20), np.uint8)
    ds = fl.Dataset.from_tensor_slices(rows).repeat(3).shuffle(8).batch(16)
    report = measured(ds, 12)
    assert report.bottleneck.step in ("4 batch", "3 shuffle", "2 shuffle_and_repeat", "3 shuffle_and_repeat"), report
    assert "num_parallel_calls" not in report.advice and "workers" not in report.advice


def test_a_slow_file_system(tmp_path: Path) -> None:
    step = StepReport("1 TFRecordDataset", does=m.FILES, elements=100, worked=0.9, cpu=0.1)
    found = Report(1.0, 0.95, 0.0, 100, (step,), processors=Processors(0.1, 4)).bottleneck
    assert found.rule == "several_files" and "interleave" in found.change


FINE = Processors(0.5, 4)


@pytest.mark.parametrize(
    ("step", "processors", "never"),
    [
        (StepReport("2 map", "threads", m.CALLS, "f", "2 map", 9, 4.0, cpu=1.0, calls=4, tuned=True), FINE, "AUTOTUNE"),
        (StepReport("2 map", "processes", m.CALLS, "f", "2 map", 9, 4.0, calls=4), FINE, 'process"'),
        (StepReport("2 map", "alone", m.CALLS, "f", LOOP, 9, 0.9, cpu=1.0, calls=0, tuned=True), FINE, "AUTOTUNE"),
        (StepReport("2 map", "threads", m.NATIVE, "f", "2 map", 9, 2.0, calls=2), FINE, "num_parallel_calls"),
        (StepReport("2 map", m.IN_ORDER, m.CALLS, "f", LOOP, 9, 0.9, cpu=1.0), FINE, "num_parallel_calls"),
        (StepReport("2 scan", m.IN_ORDER, m.CALLS, "f", LOOP, 9, 0.9, cpu=0.0), FINE, "num_parallel_calls"),
        (
            StepReport("2 map", m.IN_ORDER, m.CALLS, "f", LOOP, 9, 0.9, cpu=1.0, accepts_calls=True),
            Processors(3.9, 4),
            "AUTOTUNE",
        ),
        (StepReport("2 prefetch", "alone", m.PREFETCH, buffer=2), FINE, "num_parallel_calls"),
        (StepReport("1 range", does=m.SOURCE, elements=9, worked=0.9), FINE, "num_parallel_calls"),
    ],
)
def test_nothing_is_recommended_that_is_given_already_or_cannot_help(
    step: StepReport, processors: Processors, never: str
) -> None:
    report = Report(1.0, 0.97, 0.0, 9, (step,), Buffered(0, 0, 1000), processors)
    assert never not in report.advice and report.advice.startswith("the loop waited 97% of 1.00 s")


def test_a_bottleneck_that_only_moves_is_not_worth_a_change() -> None:
    """Two lanes that are equally busy: a change of one gains nothing."""
    workers = StepReport("2 map", "processes", m.CALLS, "g", "2 map", 100, 3.8, calls=4)
    serial = StepReport("3 map", m.IN_ORDER, m.CALLS, "f", LOOP, 100, 0.97, cpu=0.1, accepts_calls=True)
    found = Report(1.0, 0.98, 0.0, 100, (serial, workers), processors=Processors(2.0, 8)).bottleneck
    assert (found.rule, found.step, found.change) == ("nothing", "3 map", "")
    assert "2 map is as busy" in str(found)


def test_short_of_everything_is_said_without_advice() -> None:
    found = Report(1.0, 0.5, 0.0, 9, (), processors=FINE).bottleneck
    assert isinstance(found, Advice) and not found.change
    bursts = StepReport("3 prefetch", "thread", m.PREFETCH, waited=0.3, buffer=2, fill=0.8)
    found = Report(1.0, 0.3, 0.0, 9, (bursts,), processors=FINE).bottleneck
    assert found.rule == "bursts" and found.change == "a larger buffer may help"


def test_threads_that_take_turns_are_named_though_none_is_busy_all_the_time() -> None:
    threads = StepReport("2 map", "threads", m.CALLS, "f", "2 map", 100, 2.0, 1.8, 1.0, 0.9, 4)
    report = Report(2.0, 1.9, 0.0, 100, (threads,), processors=Processors(0.5, 4, 9.0), gil=0.95)
    found = report.bottleneck
    assert (found.rule, found.step, found.change) == ("gil", "2 map", 'give it workers="process"')
    assert found.gain is not None and 3 < found.gain < 5 and "4 threads take turns" in found.problem
    assert replace(report, gil=0.3).bottleneck.rule == "bursts"
    unknown = replace(report, gil=None, steps=(replace(threads, gil=None),), processors=Processors(1.0, 4))
    found = unknown.bottleneck
    assert (found.rule, found.step, found.change) == ("gil", "2 map", 'give it workers="process"'), found
    assert found.gain == 4 and "keep one processor busy" in found.problem
    for busy in (Processors(0.3, 4), Processors(2.2, 4), Processors(1.0, 4, 9.0), Processors(0.8, 1)):
        assert replace(unknown, processors=busy).bottleneck.rule != "gil"
    waits = replace(threads, gil=0.1, cpu=0.1)
    assert replace(report, steps=(waits,)).bottleneck.rule == "bursts"


def test_other_programs_that_use_the_processors_are_mentioned() -> None:
    threads = StepReport("2 map", "threads", m.CALLS, "f", "2 map", 100, 8.0, 1.8, 1.0, None, 4, contended=True)
    crowded = Report(2.0, 1.9, 0.0, 100, (threads,), processors=Processors(0.5, 4, 9.0))
    assert "holds the GIL" not in crowded.advice and "beside other programs" in crowded.advice
    assert "the load is 9" in str(crowded)
    idle = replace(threads, worked=2.0)
    found = replace(crowded, steps=(idle,)).bottleneck
    assert found.problem == "no step was busy all the time; there were not enough processors left"
    alone = Report(2.0, 1.9, 0.0, 100, (idle,), processors=Processors(0.5, 4, 1.0))
    assert alone.bottleneck.problem.endswith("a longer run shows more") and "other programs" not in str(alone)
