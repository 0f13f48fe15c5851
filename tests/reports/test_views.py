"""Views of a report: text, HTML, trace file, scalars; and iteration that is watched."""

from __future__ import annotations

import html.parser
import io
import json
import operator
import re
import struct
import sys
import time
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline as fl
from feedline.data.watching import LiveText, clock, progress_text
from feedline.engine import recorder
from feedline.reports import measured as m
from feedline.reports.measured import LOOP, Buffered, Processors, Report, StepReport, TraceSpan
from feedline.reports.text import duration

EVIL = '<script>alert("x")</script>&'


def waiting(x: Any) -> Any:
    time.sleep(0.004)
    return np.int64(x)


STEPS = (
    StepReport("3 prefetch", "thread", m.PREFETCH, elements=50, waited=0.1, buffer=4, fill=0.25, held=2500, why="why"),
    StepReport("2 map", "threads", m.CALLS, "load", "2 map", 200, 12.0, 0.5, 0.05, 0.02, 8, held=10**6, why="8 calls"),
    StepReport("1 range", elements=200, worked=0.002, lane="3 prefetch"),
)
REPORT = Report(
    2.0, 0.5, 0.1, 50, STEPS, Buffered(1_002_500, 2_000_000, 4_000_000_000), Processors(1.2, 8), 0.3, 50_000_000,
    (TraceSpan(LOOP, "3 prefetch", m.WAIT, 0.1, 0.3), TraceSpan("2 map, worker 1", "2 map", m.WORK, 0.0, 0.2, 3)),
)  # fmt: skip


def test_text_is_a_table_and_a_few_sentences() -> None:
    lines = repr(REPORT).splitlines()
    columns = [[c.strip() for c in re.split(r"  +", line)] for line in lines[:4]]
    assert columns[0] == [
        *("step", "runs", "elements/s", "own time each", "busy", "CPU", "GIL", "waited for", "calls", "buffer", "held"),
    ]
    assert columns[1] == ["3 prefetch", "thread", "25", "0.10 s", "4, 25% full", "2.5 KB", "why"]
    assert columns[2] == [
        *("2 map", "threads", "100", "60 ms", "75%", "5%", "2%", "0.50 s", "8", "1.0 MB", "8 calls"),
    ]
    assert columns[3] == ["1 range", "in order", "100", "10 µs", "0%"]
    assert lines[4:] == [
        "50 elements in 2.00 s, 25 per second",
        "thread 3 prefetch worked 0% of the time",
        "the workers of 2 map worked 75% of the time",
        "1.0 MB buffered, at most 2.0 MB so far; the limit is 4.0 GB (options.autotune.ram_budget)",
        "the program kept 1.2 of 8 processors busy, the GIL was held 30% of the time, "
        "it has used 50.0 MB of memory at most",
        REPORT.advice,
    ]


def test_a_report_of_nothing() -> None:
    assert repr(Report()).startswith("the loop waited 0% of 0.0 ms")
    assert "<!doctype html>" in Report().html() and Report().scalars()["feedline/elements"] == 0
    with iter(fl.Dataset.range(5)) as it:
        assert repr(it.report()) and it.report()._repr_html_()


class Elements(html.parser.HTMLParser):
    """Checks that elements are closed in order, and collects texts and addresses."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.texts: list[str] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)
        assert not {"src", "href"} & {name for name, _ in attrs}
        if tag not in ("meta", "br", "rect", "path", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in ("rect",):
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def parsed(text: str) -> Elements:
    elements = Elements()
    elements.feed(text)
    assert elements.open == []
    return elements


def test_the_page_is_whole_and_needs_nothing_from_outside(tmp_path: Path) -> None:
    text = REPORT.html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text() == text
    elements = parsed(text)
    assert "3 prefetch" in elements.texts and "2 map (load)" in elements.texts and "svg" in elements.found
    assert not re.search(r"https?:|url\(|@import", text)
    parsed(REPORT._repr_html_())


def test_names_and_values_are_escaped() -> None:
    step = StepReport(f"2 {EVIL}", "threads", m.CALLS, EVIL, LOOP, 10, 0.9, cpu=1.0, why=EVIL, hint=EVIL)
    spans = (TraceSpan(EVIL, EVIL, m.WAIT, 0.0, 0.5), TraceSpan(LOOP, f"2 {EVIL}", m.WORK, 0.5, 0.9))
    text = Report(1.0, 0.95, 0.0, 10, (step,), processors=Processors(1.0, 2), spans=spans).html()
    assert "script" not in parsed(text).found and "<script" not in text and 'alert("x")' not in text


def test_every_step_has_a_colour_of_its_own() -> None:
    steps = tuple(StepReport(f"{n} skip", worked=0.1, elements=1) for n in range(30, 0, -1))
    found = re.findall(r'class="fl-key" style="background:([^"]+)"', Report(1.0, 0.9, 0.0, 1, steps).html())
    assert len(found) == len(set(found)) == 30


def test_a_profile_has_a_timeline(tmp_path: Path) -> None:
    report = fl.Dataset.range(200).map(waiting, num_parallel_calls=3).batch(4).prefetch(2).profile(steps=20)
    assert report.elements == 20 and report.spans
    names = {span.thread for span in report.spans}
    assert LOOP in names and {f"2 map, worker {i}" for i in (1, 2, 3)} <= names
    for name in names:  # workers do one thing at a time
        tasks = [s for s in report.spans if s.thread == name] if "worker" in name else []
        assert all(a.ended <= b.began + 1e-5 for a, b in pairwise(tasks))
    assert any(span.kind == m.WAIT for span in report.spans) and all(s.ended >= s.began >= -1 for s in report.spans)
    assert "Timeline" in report.html()


def test_a_profile_ends_after_its_time() -> None:
    began = time.perf_counter()
    report = fl.Dataset.counter().map(waiting).profile(seconds=0.1)
    assert 2 <= report.elements < 100 and time.perf_counter() - began < 5
    with pytest.raises(fl.errors.InvalidArgumentError, match="profile"):
        fl.Dataset.range(3).profile(steps="many")  # type: ignore[arg-type]
    for never in ({"steps": 0}, {"steps": -1}, {"seconds": 0.0}, {"seconds": float("nan")}):
        with pytest.raises(fl.errors.InvalidArgumentError, match=r"profile: .* must be greater than zero"):
            fl.Dataset.counter().profile(**never)  # type: ignore[arg-type]


def test_a_long_recording_keeps_a_bounded_number_of_probes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "PROBE_EVERY", 1e-4)
    monkeypatch.setattr(recorder, "MOST_PROBES", 8)
    made = recorder.Recorder()
    made.start()
    made.work("2 map", 0.0, 0.1, rows=200)
    time.sleep(0.1)
    assert not made.probes and made.gil is None  # calls that are too short to be seen
    made.work("2 map", 0.0, 0.1, rows=2)
    time.sleep(0.3)
    made.stop()
    assert 0 < len(made.probes) <= 8


def test_a_profile_does_not_change_what_follows() -> None:
    ds = fl.Dataset.range(100).shuffle(10, seed=3).map(waiting)
    first = [int(x) for x in ds.take(3)]
    ds.profile(steps=3)
    assert [int(x) for x in fl.Dataset.range(100).shuffle(10, seed=3).take(3)] == first
    with iter(ds) as it:
        next(it)
        assert it.report().spans == ()


def test_a_trace_file(tmp_path: Path) -> None:
    before = iter(fl.Dataset.range(200).map(waiting).prefetch(2))
    next(before)
    with fl.trace(tmp_path / "run.json"):
        for _ in zip(range(10), before, strict=False):
            pass
        for _ in fl.Dataset.range(20).map(waiting, num_parallel_calls=2).batch(4):
            pass
        with pytest.raises(fl.errors.FailedPreconditionError, match="another trace"), fl.trace(tmp_path / "b.json"):
            pass
        assert before.report().spans
    assert before.report().spans == ()
    before.close()
    trace = json.loads((tmp_path / "run.json").read_text())
    events = [e for e in trace["traceEvents"] if e["ph"] == "X"]
    names = {e["args"]["name"]: e["tid"] for e in trace["traceEvents"] if e["name"] == "thread_name"}
    assert {LOOP, "3 prefetch", "2 map, worker 1", "2 map, worker 2"} <= set(names)
    assert {e["tid"] for e in events} <= set(names.values()) and {e["cat"] for e in events} == {"work", "wait"}
    assert all(e["dur"] >= 0 and e["ts"] > -1e6 and e["pid"] == 1 for e in events)
    assert "waits for 3 prefetch" in {e["name"] for e in events}
    with iter(fl.Dataset.range(3)) as it:
        assert it._context.recorder is None


def test_scalars_and_their_writers(tmp_path: Path) -> None:
    scalars = REPORT.scalars()
    assert scalars["feedline/elements_per_second"] == 25 and scalars["feedline/2 map/calls"] == 8
    assert scalars["feedline/2 map/seconds_per_element"] == pytest.approx(0.06) and "gil" in REPORT.scalars("")
    logged: list[Any] = []

    class Run:
        def log(self, data: dict[str, Any], step: int | None = None) -> None:
            logged.append((data, step))

    REPORT.log(Run(), 7)
    assert logged == [(scalars, 7)]
    with pytest.raises(fl.errors.InvalidTypeError, match=r"add_scalar.*got int"):
        REPORT.log(3)
    with fl.SummaryWriter(tmp_path) as writer:
        REPORT.log(writer, 3)
        writer.flush()
    writer.close()
    with pytest.raises(fl.errors.FailedPreconditionError, match="closed"):
        writer.add_scalar("x", 1.0)
    (file,) = tmp_path.iterdir()
    first, *events = list(fl.TFRecordDataset(file))
    assert b"brain.Event:2" in first and len(events) == len(scalars)
    tag = b"feedline/2 map/calls"
    (event,) = [e for e in events if tag in e]
    assert event[9:11] == b"\x10\x03" and event.endswith(b"\x15" + struct.pack("<f", 8.0))


def test_scalars_are_numbers_of_any_kind(tmp_path: Path) -> None:
    with fl.SummaryWriter(tmp_path) as writer:
        for value in (1e40, np.float64(2), np.array([3]), True, -(10**400)):
            writer.add_scalar("x", value)  # type: ignore[arg-type]
        for wrong in ("x", None, np.zeros(2)):
            with pytest.raises(fl.errors.InvalidTypeError, match="scalar_value must be a number"):
                writer.add_scalar("x", wrong)  # type: ignore[arg-type]
        with pytest.raises(fl.errors.InvalidTypeError, match="tag must be a string"):
            writer.add_scalar(1, 1.0)  # type: ignore[arg-type]
        with pytest.raises(fl.errors.InvalidArgumentError, match=r"tag must be valid Unicode, got 'a.udc80'"):
            writer.add_scalar("a\udc80", 1.0)
    (file,) = tmp_path.iterdir()
    _, *events = list(fl.TFRecordDataset(file))
    assert [struct.unpack("<f", event[-4:])[0] for event in events] == [float("inf"), 2.0, 3.0, 1.0, float("-inf")]


# Watching.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_loops_without_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr", None)
    ds = fl.Dataset.range(3)
    assert list(fl.progress(ds)) == list(ds.monitor()) == [0, 1, 2]


def test_a_monitored_loop_shows_its_report() -> None:
    shown, terminal = io.StringIO(), Terminal()
    ds = fl.Dataset.range(60).map(waiting).batch(2)
    assert len(list(ds.monitor(file=shown))) == 30 and len(ds.monitor()) == 30
    assert shown.getvalue().count("3 map_and_batch") == 1 and "\x1b" not in shown.getvalue()
    loop = iter(ds.monitor(every=0.02, file=terminal))
    for _ in range(20):
        next(loop)
    loop.close()  # type: ignore[attr-defined]
    assert terminal.getvalue().count("3 map_and_batch") > 2 and "\x1b[K" in terminal.getvalue()
    with pytest.raises(fl.errors.InvalidArgumentError, match="every"):
        ds.monitor(every=0)


def test_lines_are_rewritten_in_place() -> None:
    terminal = Terminal()
    text = LiveText(terminal)
    text.show("a\nb")
    text.show("c\nd", last=True)
    assert terminal.getvalue() == "a\x1b[K\nb\x1b[K\n\x1b[J\x1b[2Fc\x1b[K\nd\x1b[K\n\x1b[J"


def test_progress_knows_the_length(capsys: pytest.CaptureFixture[str]) -> None:
    ds = fl.Dataset.range(30).batch(3)
    assert len(list(fl.progress(ds, desc="train"))) == 10 and len(fl.progress(iter(ds))) == 10
    said = capsys.readouterr().err
    assert said.startswith("train: 100% ") and "10/10" in said and said.endswith("/s]\n")
    terminal = Terminal()
    assert len(list(fl.progress(ds.filter(lambda _: True), file=terminal))) == 10
    assert "10 [00:00" in terminal.getvalue()
    with pytest.raises(TypeError, match="give it as total"):
        len(fl.progress(x for x in "ab"))
    assert len(fl.progress((x for x in "ab"), total=2)) == 2
    assert "left" not in progress_text("", 0, 10, 0.0) and clock(3725) == "1:02:05" and clock(59.4) == "00:59"


def test_iterators_know_how_many_elements_are_left() -> None:
    with iter(fl.Dataset.range(10).map(str)) as it:
        assert len(it) == 10 and operator.length_hint(it) == 10 and bool(it)
        next(it)
        assert len(it) == 9 and len(list(it)) == 9 and len(it) == 0 and bool(it)
    with iter(fl.Dataset.range(10).batch(3).prefetch(2)) as it:
        next(it)
        assert len(it) == 3
        state = it.save()
    with iter(fl.Dataset.range(10).filter(bool)) as it:
        with pytest.raises(TypeError, match="not known"):
            len(it)
        assert operator.length_hint(it, 5) == 5 and len(list(it)) == 9
    with iter(fl.Dataset.range(10).batch(3).prefetch(2)) as it:
        it.restore(state)
        assert operator.length_hint(it, -1) == -1 and len(list(it)) == 3
    with iter(fl.Dataset.counter()) as it, pytest.raises(TypeError):
        len(it)


def test_a_length_after_an_error() -> None:
    def fails(x: Any) -> Any:
        if x == 3:
            raise ValueError("three")
        return x

    with iter(fl.Dataset.range(8).map(fails)) as it:
        for _ in range(3):
            next(it)
        with pytest.raises(ValueError, match="three"):
            next(it)
        assert len(it) == 4 and len(list(it)) == 4


def test_tqdm_knows_the_length() -> None:
    from tqdm import tqdm

    tqdm.monitor_interval = 0  # no thread of its own
    ds = fl.Dataset.range(30).batch(3)
    for made in (ds, iter(ds)):
        bar = tqdm(made, file=io.StringIO())
        assert bar.total == 10 and len(list(bar)) == 10


def test_durations() -> None:
    assert [duration(v) for v in (2.5, 0.0123, 4.56e-6, 7e-9)] == ["2.5 s", "12.3 ms", "4.56 µs", "7 ns"]
    assert "ipykernel.zmqshell" not in sys.modules
