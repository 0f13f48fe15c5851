"""`python -m bench.versus` works from end to end, on tiny data, with feedline and the limits of the machine."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
from bench.versus import formats, jobs, limits, mds, tables
from bench.versus.environments import PEERS, REQUIREMENTS, Interpreters, label, peer_name
from bench.versus.functions import collate, example_class, parse_example, records, shuffled
from bench.versus.jobs import Epochs, measure_elements, measure_pass, measure_rate, row_count
from bench.versus.results import Results, human
from bench.versus.works import WORKS

ROOT = Path(__file__).parents[2]


def versus(*arguments: str) -> str:
    command = [sys.executable, "-m", "bench.versus", *arguments]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_end_to_end(tmp_path: Path) -> None:
    data, out = tmp_path / "data", tmp_path / "out"
    where = ["--data", str(data), "--out", str(out), "--no-install", "--python", f"limit={sys.executable}"]
    small = ["--size", "tiny", "--seconds", "0.05", "--cores", "1", "--peers", "feedline"]
    said = versus("run", "--work", "tabular,checkpoint,growth_data", *small, *where)
    assert "tabular feedline 1" in said
    results = Results.load(out)
    assert {line["error"] for lines in results.lines.values() for line in lines if "error" in line} == set()
    for name in ("feedline", "limit_read"):
        assert results.median(("tabular", name, 1, 0)) is not None
    (checkpoint,) = results.lines["checkpoint", "feedline", 1, 0]
    assert checkpoint["same"] and checkpoint["value"] > 0
    assert results.points("growth_data") == [1, 2]
    assert results.host["cores"] >= 1 and list(results.rounds) == [1]
    shown = (out / "table.md").read_text()
    assert "feedline" in (out / "summary.md").read_text() and "Growth" in shown and "Without a result" not in shown
    converted = tmp_path / "tar"
    converted.mkdir()
    formats.tar(data / "tiny" / "tabular", converted)
    assert len(list(converted.iterdir())) == 2
    first = next(records(str(data / "tiny" / "tabular" / "tfrecord" / "part-00000")))
    columns = next(formats.shard_columns(data / "tiny" / "tabular"))
    row = parse_example(first)
    assert row.keys() == columns.keys()
    assert all((row[name] == columns[name][0]).all() for name in ("f03", "i07", "vec"))
    assert row["s0"] == columns["s0"][0]


def test_what_fails_is_told(tmp_path: Path) -> None:
    where = ["--data", str(tmp_path), "--out", str(tmp_path), "--no-install", "--python", f"dali={sys.executable}"]
    versus("run", "--work", "installed", "--peers", "dali", "--only-peers", "--size", "tiny", "--cores", "1", *where)
    line = json.loads((tmp_path / "results.jsonl").read_text().splitlines()[-1])
    assert "PackageNotFoundError" in line["error"]
    assert "DALI" in (tmp_path / "table.md").read_text()


def test_every_implementation_has_its_function() -> None:
    for work, module in WORKS.values():
        assert work.kind in ("batches", "elements", "pass", "value")
        for name, form in work.reads.items():
            assert peer_name(name) in PEERS and label(name)
            assert form in ("", "tfrecord", "csv", "columns", *formats.FORMATS)
            holder = limits if peer_name(name) == "limit" else module
            assert work.name == "installed" or inspect.isfunction(vars(holder)[name])
    assert {peer.environment for peer in PEERS.values()} - {"feedline"} == REQUIREMENTS.keys() - {"plot"}
    pinned = [package for packages in REQUIREMENTS.values() for package in packages]
    assert pinned and all("==" in package for package in pinned)


def test_peers_import_nothing_of_feedline() -> None:
    for work, module in WORKS.values():
        for name in work.reads:
            function = vars(limits if peer_name(name) == "limit" else module).get(name)
            if function is not None and peer_name(name) != "feedline":
                assert "feedline" not in inspect.getsource(function), (work.name, name)


def test_rates() -> None:
    batches = [(np.zeros((4, 2)), np.zeros(4))] * 10
    assert measure_rate(batches, 0.01).rows % 4 == 0
    with pytest.raises(RuntimeError, match="no batches"):
        measure_rate([], 0.01)
    assert measure_pass(batches).rows == 40
    assert measure_elements(Epochs(lambda: iter(range(50))), 0.01, chunk=20).rows > 0
    assert [row_count(b) for b in ({"x": [1, 2, 3]}, [b"a", b"b"], (np.zeros(5),))] == [3, 2, 5]
    assert sorted(shuffled(iter(range(20)), 5)) == [*range(20)]
    assert collate([{"x": 1}, {"x": 2}])["x"].tolist() == [1, 2]


class Clock:
    """A clock that moves on only as batches come."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(jobs.time, "perf_counter", lambda: self.now)

    def batches(self, took: list[float]) -> Iterator[list[bytes]]:
        for seconds in took:
            self.now += seconds
            yield [b""]


def test_the_first_batches_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, took = Clock(monkeypatch), [2.0, *[0.25] * 3, *[0.125] * 50]  # workers start one by one
    rate = measure_rate(clock.batches(took), 2.0)
    assert rate.per_second == 8 and rate.seconds == 2
    rate = measure_rate(clock.batches([2.0, 1.0, 1.0, *[0.125] * 50]), 0.5)
    assert rate.per_second == 8 and rate.rows == 16


def test_batches_that_come_in_bursts(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, burst = Clock(monkeypatch), [4.0, 0.0, 0.0, 0.0]
    rate = measure_rate(clock.batches(burst * 20), 4.0)
    assert rate.rows == 16 and rate.seconds == 16
    assert measure_rate(clock.batches(burst * 20), 2.0).seconds == 12  # no longer than that


def test_streaming_beside_a_torch_for_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    for cuda, replaced in (("12.8", False), (None, True)):
        monkeypatch.delitem(sys.modules, mds.META, raising=False)
        monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(version=SimpleNamespace(cuda=cuda)))  # type: ignore[arg-type]
        monkeypatch.setitem(sys.modules, "streaming", streaming := ModuleType("streaming"))
        assert mds.package() is streaming and (mds.META in sys.modules) == replaced
    monkeypatch.delitem(sys.modules, mds.META)


def test_interpreters() -> None:
    given = Interpreters({"torch": "a", "tf": "b"}, install=False)
    assert [given.find(name) for name in ("torch", "wds", "tf", "feedline")] == ["a", "a", "b", sys.executable]


def test_the_message_is_that_of_tensorflow() -> None:
    example = example_class()()
    example.features.feature["x"].float_list.value.append(1.5)
    assert example.SerializeToString() == b"\n\x0f\n\r\n\x01x\x12\x08\x12\x06\n\x04\x00\x00\xc0?"


def results_of(folder: Path, **values: float) -> Results:
    lines: list[dict[str, object]] = [{"host": {"processor": "cpu", "cores": 2, "memory_gb": 8, "system": "Linux"}}]
    lines[0]["size"] = "tiny"
    lines[0]["host"] |= {"date": "2026-01-01", "commit": "abc"}  # type: ignore[operator]
    for name, value in values.items():
        line = {"work": "raw", "implementation": name, "cores": 2, "point": 0, "size": "tiny", "machine": "cpu"}
        lines += [{**line, "value": value}, {**line, "value": 3 * value}, {**line, "value": 2 * value}]
    (folder / "results.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return Results.load(folder)


def test_the_best_of_each_row_is_bold(tmp_path: Path) -> None:
    results = results_of(tmp_path, feedline=1000.0, tf=2000.0, limit_read=9000.0)
    assert results.median(("raw", "tf", 2, 0)) == 4000
    assert "| 2 k | **tf.data 4 k** | 0.5 x | 18 k |" in tables.summary(results)
    assert "| **4 k** |" in tables.everything(results)
    results = results_of(tmp_path, feedline=3000.0, tf=2000.0)
    assert "| **6 k** | tf.data 4 k | 1.5 x |" in tables.summary(results)


def test_pages(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"a\n{tables.BEGIN}old\n{tables.END}b\n")
    tables.replace(page, "new")
    assert page.read_text() == f"a\n{tables.BEGIN}\nnew\n\n{tables.END}b\n"
    for shown in (ROOT / "README.md", ROOT / "docs" / "versus.md"):
        assert tables.BEGIN in shown.read_text() and tables.END in shown.read_text()
    page.write_text("nothing")
    with pytest.raises(SystemExit, match="has no line"):
        tables.replace(page, "new")


def test_numbers() -> None:
    assert [human(v) for v in (None, 12.34, 4567.0, 1.5e6, 2e9)] == ["", "12.3", "4.57 k", "1.5 M", "2 G"]
