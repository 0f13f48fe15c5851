"""The viewer through its real command and HTTP."""

from __future__ import annotations

import gzip
import io
import json
import os
import signal
import socket
import struct
import subprocess
import sys
import threading
import wave
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.tools.data import NAMES, ROWS, damage, example, many, run
from tests.tools.terminal import in_terminal
from tests.tools.viewing import Viewer, pictures, viewing

import feedline as fl
from feedline.tools.view import pipeline
from feedline.tools.view.cells import piece
from feedline.tools.view.jobs import Jobs
from feedline.tools.view.pipeline import PipelineView

PIPELINE = """
import feedline as fl
import numpy as np

features = {{"label": fl.io.FixedLenFeature([], fl.int64), "weight": fl.io.FixedLenFeature([], fl.float32)}}


def parse(record):
    return fl.io.parse_single_example(record, features)


def odd(x):
    return x["label"] % 2 == 1


def noisy(x):
    return {{**x, "noise": np.random.random()}}


def fails(x):
    raise ValueError("too <i>heavy</i>")


files = fl.TFRecordDataset([{path!r}])
dataset = files.map(parse).filter(odd).shuffle(50).map(noisy).batch(4).prefetch(1)
broken = files.map(parse).map(fails).batch(2)
sparse = fl.Dataset.from_tensors({{
    "s": fl.SparseTensor([[0, 1], [2, 0]], [5, 7], [3, 2]), "r": fl.ragged.constant([[1, 2], [], [3]])}})
zipped = fl.Dataset.zip((fl.Dataset.range(9), fl.Dataset.range(9).map(lambda x: x * 10)))
"""


def texts(viewer: Viewer, feature: str, **query: object) -> list[str]:
    """A column of the table."""
    rows = viewer.ask("rows", **query)["rows"]
    return [row["cells"].get(feature, {}).get("text") for row in rows]


@pytest.fixture(scope="module")
def pets_viewer(tmp_path_factory: pytest.TempPathFactory) -> Any:
    path = pictures(tmp_path_factory.mktemp("view") / "pets ünï.tfrecord")
    script = path.with_name("train.py")
    script.write_text(PIPELINE.format(path=str(path)))
    with viewing(path, "--dataset", f"{script}:dataset") as viewer:
        viewer.counted()
        yield viewer


def test_every_format(pets: dict[str, Path]) -> None:
    with viewing(*pets.values()) as viewer:
        found = viewer.counted()
        assert [file["format"] for file in found["files"]] == list(NAMES)
        assert [(file["records"], file["error"]) for file in found["files"]] == [(3, "")] * 7
        assert texts(viewer, "name") == [row["name"] for row in ROWS] * 7
        assert texts(viewer, "weight") == ["4.5", "6.25", "3.0"] * 7
        assert viewer.numbers(filter="name ~ BOB") == [1, 4, 7, 10, 13, 16, 19]
        assert viewer.numbers(filter="age = 7") == [2, 5, 8, 11, 14, 17, 20]
        assert viewer.ask("record", number=13)["name"] == str(pets["arrow"])
    with viewing(pets["csv"]) as viewer:
        viewer.counted()
        assert viewer.numbers(sort="weight", descending="true") == [1, 0, 2]
        assert viewer.numbers(sort="name") == [0, 1, 2]


def test_records_and_values(pets_viewer: Viewer) -> None:
    first, *_ = pets_viewer.ask("rows", start=100, count=5)["rows"]
    assert (first["number"], first["cells"]["label"]) == (100, {"kind": "number", "text": "4", "type": "int64"})
    assert first["cells"]["image"]["kind"] == "image"
    assert first["cells"]["tokens"]["text"] == "0"
    assert first["cells"]["signal"]["line"]
    whole = pets_viewer.ask("record", number=3)
    assert whole["cells"]["name"]["text"] == "<b>name</b> 3"
    assert "0.50 s, 8,000 Hz, mono" in whole["cells"]["sound"]["text"]
    piece = pets_viewer.ask("value", number=3, feature="signal")
    assert piece["text"].splitlines()[1].split()[0] == "16"
    assert piece["next"] is None
    last = pets_viewer.ask("rows", start=110, count=200)
    assert [row["number"] for row in last["rows"]] == list(range(110, 120))
    assert pets_viewer.ask("rows", start=10**9)["rows"] == []


def test_images_and_sounds(pets_viewer: Viewer) -> None:
    small = pets_viewer.get("media", number=0, feature="image", as_="thumbnail")
    assert (small.status, small.headers["content-type"]) == (200, "image/png")
    assert small.headers["x-content-type-options"] == "nosniff"
    assert fl.io.decode_png(small.body).shape == (16, 24, 3)
    sound = pets_viewer.get("media", number=0, feature="sound", as_="sound")
    assert sound.headers["content-type"] == "audio/wav"
    with wave.open(io.BytesIO(sound.body)) as file:
        assert (file.getframerate(), file.getnframes()) == (8000, 4000)
    played = pets_viewer.get("media", number=0, feature="signal", as_="sound", rate=4000)
    with wave.open(io.BytesIO(played.body)) as file:
        assert (file.getframerate(), file.getnframes()) == (4000, 500)
    path = f"/{pets_viewer.token}/media?number=0&feature=sound&as=sound"
    part = pets_viewer.raw(path, Range="bytes=0-3")
    assert (part.status, part.body) == (206, b"RIFF")
    for odd in ("bytes=5-2", "bytes=²-", "bytes=-4", "bytes=99999999-", "bytes=1-2,4-5", "lines=1-2"):
        whole = pets_viewer.raw(path, Range=odd)
        assert (whole.status, whole.body) == (200, sound.body)
    for wrong in ({"feature": "label"}, {"feature": "none"}, {"feature": "image", "number": 10**6}):
        got = pets_viewer.get("media", **{"number": 0, **wrong})
        assert (got.status, got.headers["content-type"]) == (404, "application/json")


def _wav(kind: int, bits: int, data: bytes, channels: int = 1) -> bytes:
    """A WAV file of 8000 samples per second."""
    form = struct.pack("<HHIIHH", kind, channels, 8000, 8000 * channels * bits // 8, channels * bits // 8, bits)
    form += b"\0" * 8 + struct.pack("<H", 3) + b"\0" * 14 if kind == 0xFFFE else b""
    parts = struct.pack("<4sI", b"fmt ", len(form)) + form + struct.pack("<4sI", b"data", len(data)) + data
    return struct.pack("<4sI4s", b"RIFF", 4 + len(parts), b"WAVE") + parts


def test_sounds_of_many_kinds_and_large_images(tmp_path: Path) -> None:
    wave_ = np.sin(np.arange(4000) / 5)
    wide = (wave_ * (2**31 - 1)).astype("<i4")
    sounds = [
        _wav(1, 8, (wave_ * 127 + 128).astype("u1").tobytes()),
        _wav(1, 24, wide.view("u1").reshape(-1, 4)[:, 1:].tobytes()),
        _wav(1, 32, wide.tobytes()),
        _wav(3, 32, wave_.astype("<f4").tobytes()),
        _wav(0xFFFE, 32, wave_.astype("<f4").tobytes()),
        _wav(1, 16, np.repeat(wave_ * 32767, 2).astype("<i2").tobytes(), channels=2),
        _wav(1, 16, (wave_ * 32767).astype("<i2").tobytes())[:-4000],
        _wav(7, 8, b"\0" * 4000),
        b"RIFF\0\0\0\0WAVEfmt ",
        b"fLaC" + b"\0" * 99,
    ]
    pixels = np.random.default_rng(0).integers(0, 255, (300, 400, 3), np.uint8)
    large, small = fl.io.encode_png(pixels), fl.io.encode_png(pixels[:9, :9])
    path = tmp_path / "media.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        for sound in sounds:
            writer.write(example(sound=sound, image=large, frames=[small, large], jpeg=fl.io.encode_jpeg(pixels)))
    with viewing(path) as viewer:
        viewer.counted()
        cells = [row["cells"] for row in viewer.ask("rows")["rows"]]
        texts_ = [c["sound"]["text"].split(", ")[1:4] for c in cells]
        assert texts_[:5] == [["0.50 s", "8,000 Hz", "mono"]] * 5
        assert ", stereo," in cells[5]["sound"]["text"]
        assert texts_[6][0] == "0.25 s"
        assert [c["sound"]["line"] != [] for c in cells] == [True] * 7 + [False] * 3
        lines = np.array([c["sound"]["line"] for c in cells[:6]])
        assert np.abs(lines - lines[3]).max() < 0.02
        for feature, type_ in (("image", "image/png"), ("jpeg", "image/jpeg")):
            full = viewer.get("media", number=0, feature=feature, as_="full")
            assert (full.headers["content-type"], fl.io.decode_image(full.body).shape) == (type_, (300, 400, 3))
            shrunk = viewer.get("media", number=0, feature=feature, as_="thumbnail")
            assert fl.io.decode_png(shrunk.body).shape == (120, 160, 3)
        assert cells[0]["frames"] == {"kind": "images", "text": "2 images", "count": 2, "type": "string [2]"}
        frame = viewer.get("media", number=0, feature="frames", item=0, as_="full")
        assert fl.io.decode_png(frame.body).shape == (9, 9, 3)
        assert viewer.get("media", number=0, feature="frames", item=2).status == 404


def test_filters(pets_viewer: Viewer) -> None:
    expect = {
        "label = 3 and weight > 20": [83, 91, 99, 107, 115],
        "label=3 and not weight<=20 and not (name ~ 'name 9' or name ~ \"107\")": [83, 115],
        'name = "name 7"': [7],
        "name = 'name 7' or name='name 5'": [5, 7],
        "has sound and label = 0 and weight < 7": [0, 24],
        "len(tokens) = 5 and label = 4": [4, 44, 84],
        "tokens = 4 and weight < 2": [4],
        "weight >= 29.75": [119],
        "len(name) > 8": [3],
        "weight > 1e9": [],
    }
    assert {text: pets_viewer.numbers(filter=text) for text in expect} == expect


def test_orders(pets_viewer: Viewer) -> None:
    assert pets_viewer.numbers(sort="weight", descending="true")[:3] == [119, 118, 117]
    assert pets_viewer.numbers(sort="label")[:3] == [0, 8, 16]
    assert pets_viewer.numbers(sort="name")[:2] == [3, 0]
    by_length = pets_viewer.numbers(sort="len(tokens)", descending="true", filter="weight < 3")
    assert by_length == [4, 9, 3, 8, 2, 7, 1, 6, 11, 0, 5, 10]
    assert len(pets_viewer.numbers(sort="sound")) == 40


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("label =", "a value is missing after 'label ='"),
        ("label = = 3", "a value is missing after 'label =', not '='"),
        ("= 3", "the name of a feature is missing at the beginning, not '='"),
        ("label", "a comparison, such as = < > or ~, is missing after 'label'"),
        ("(label = 3", "')' is missing after '(label = 3'"),
        ("label = 3 name = 4", "'and' or 'or' is missing after 'label = 3', not 'name'"),
        ("label = 3 and", "the name of a feature is missing after 'label = 3 and'"),
        ("label = %", "the filter cannot be read from '%' on"),
        ("(" * 300 + "a = 1", "more than 50 levels"),
        ("not " * 300 + "a = 1", "more than 50 levels"),
        ("x" * 3000, "the filter has 3,000 characters"),
    ],
)
def test_filters_that_cannot_be_read(given: str, says: str, pets_viewer: Viewer) -> None:
    got = pets_viewer.post("view", filter=given)
    assert got.status == 400
    assert says in got.json["error"]


def test_histograms_and_schema(pets_viewer: Viewer) -> None:
    stats = pets_viewer.until(lambda: pets_viewer.ask("statistics"), lambda s: s["job"]["state"] == "done")
    label = stats["features"]["label"]
    assert (label["records"], label["value"]["min"], label["value"]["max"]) == (120, 0, 7)
    assert sum(label["histogram"]["counts"]) == 120
    assert label["frequent"][0]["count"] == 15
    assert stats["features"]["sound"]["records"] == 40
    assert stats["records"] == 120
    schema = pets_viewer.ask("schema")
    assert schema["records"] == 120
    assert {one["name"]: one["shape"] for one in schema["features"]}["tokens"] == "[1…5]"
    names: dict[str, Any] = {}
    exec(schema["python"], names)
    assert len(list(names["ds"])) == 120


def test_what_the_model_gets(pets_viewer: Viewer) -> None:
    found = pets_viewer.ask("pipeline", element=2)
    steps = {step["call"].partition("(")[0]: step for step in found["steps"]}
    assert list(steps) == ["TFRecordDataset", "map", "filter", "shuffle", "batch", "prefetch"]
    source, parsed, kept, _, noisy, batch, _ = found["steps"]
    assert source["note"] == "a serialized Example, shown with its features"
    assert {leaf["path"]: leaf["kind"] for leaf in source["leaves"]}["image"] == "image"
    assert {leaf["path"]: leaf["text"] for leaf in parsed["leaves"]} == {"label": "2", "weight": "0.5"}
    assert {leaf["path"]: leaf["text"] for leaf in kept["leaves"]}["label"] == "3"
    assert kept["note"] == "drops 1 element before this one"
    assert found["steps"][3]["note"] == "left out here, so that the element stays in sight"
    noise = {leaf["path"]: leaf["text"] for leaf in noisy["leaves"]}["noise"]
    batched = {leaf["path"]: leaf["text"] for leaf in batch["leaves"]}
    assert batched["label"] == "3, 5, 7, 1"
    assert batched["noise"].split(", ")[0] == noise
    assert batch["note"] == "made of 4 elements"
    assert pets_viewer.ask("pipeline", element=2) == found
    value = pets_viewer.ask("value", element=2, step=5, feature="label")
    assert value["text"].split() == ["0", "3,", "5,", "7,", "1"]
    assert pets_viewer.ask("pipeline", element=1000)["ended"]


def test_pipelines_alone(tmp_path: Path) -> None:
    path = pictures(tmp_path / "a.tfrecord", 10)
    script = tmp_path / "train.py"
    script.write_text(PIPELINE.format(path=str(path)))
    with viewing(f"{script}:broken") as viewer:
        found = viewer.ask("pipeline", element=1)
        assert [bool(step["leaves"]) for step in found["steps"]] == [True, True, False, False]
        assert "too <i>heavy</i>" in found["steps"][2]["error"]
        assert viewer.ask("session")["files"] == []
    with viewing(f"{script}:sparse") as viewer:
        (step,) = viewer.ask("pipeline")["steps"]
        kinds = {leaf["path"]: (leaf["kind"], leaf["text"]) for leaf in step["leaves"]}
        assert kinds == {"s": ("sparse", "(0, 1): 5\n(2, 0): 7"), "r": ("ragged", "[1, 2]\n[]\n[3]")}
    with viewing(f"{script}:zipped") as viewer:
        *_, last = viewer.ask("pipeline", element=4)["steps"]
        assert [leaf["text"] for leaf in last["leaves"]] == ["4", "40"]


def test_a_filter_that_passes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "LONGEST_S", 0.2)
    jobs = Jobs()
    found = PipelineView(fl.Dataset.range(10**12).filter(lambda x: x < 0), "none", jobs).element(0)
    assert found.job is not None and found.job.wait(10)
    *_, last = found.as_json()["steps"]
    assert "no element came within 0 seconds: does a filter pass any?" in last["error"] and not found.ended
    jobs.close()


def test_elements_that_are_no_longer_looked_at_are_not_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "PATIENCE_S", 0.0)
    numbers: list[int] = []
    first, release = threading.Event(), threading.Event()

    def slow(x: np.int64) -> np.int64:
        numbers.append(int(x))
        first.set()
        release.wait(10)
        return x

    jobs = Jobs()
    view = PipelineView(fl.Dataset.range(100).map(slow), "slow", jobs)
    view.element(0)
    assert first.wait(10)
    for number in range(1, 8):
        view.element(number)
    release.set()
    for number in range(4, 8):
        job = view.element(number).job
        assert job is not None and job.wait(10)
    jobs.close()
    assert set(numbers) == {0, 4, 5, 6, 7}


# Security.


def test_without_the_token_nothing_is_served(pets_viewer: Viewer) -> None:
    token = pets_viewer.token
    assert len(token) >= 32
    for path in ("/", "/api/session", f"/{token[:-1]}/", f"/{token}x/", "/x/api/rows", f"/?token={token}", "//", ""):
        got = pets_viewer.raw(path or "/")
        assert got.status == 403, path
        assert b"lacks the token" in got.body
    got = pets_viewer.raw("/api/view", "POST", b'{"filter": "label = 3"}')
    assert got.status == 403


def test_other_hosts_and_origins_get_no_answer(pets_viewer: Viewer) -> None:
    path, port = f"/{pets_viewer.token}/api/session", pets_viewer.port
    others = ("evil.example", f"evil.example:{port}", "127.0.0.1:1", f"127.0.0.1.evil.example:{port}")
    for host in (*others, f"10.0.0.1:{port}"):
        got = pets_viewer.raw(path, Host=host)
        assert (got.status, b"records" in got.body) == (421, False), host
    for host in (f"localhost:{port}", f"127.0.0.1:{port}"):
        assert pets_viewer.raw(path, Host=host).status == 200
    assert pets_viewer.raw(path, Origin="http://evil.example").status == 403
    assert pets_viewer.raw(path, Origin=f"http://127.0.0.1:{port}").status == 200


@pytest.mark.parametrize(
    "path",
    ["../etc/passwd", "..%2f..%2fetc%2fpasswd", "/etc/passwd", "page/page.css", "page.css", "api/../media", "api/close",
     "api/__init__", "%00", "pets%20%C3%BCn%C3%AF.tfrecord", "file:///etc/passwd", "api/", "api"],
)  # fmt: skip
def test_only_records_are_served(path: str, pets_viewer: Viewer) -> None:
    got = pets_viewer.raw(f"/{pets_viewer.token}/{path}")
    assert (got.status, got.json) == (404, {"error": "there is no such page"})


def test_the_page_loads_nothing_else(pets_viewer: Viewer) -> None:
    got = pets_viewer.get("")
    rules = got.headers["content-security-policy"]
    assert "default-src 'none'" in rules
    assert "unsafe" not in rules
    assert got.headers["referrer-policy"] == "no-referrer"
    page = got.body.decode()
    assert "http://" not in page.replace("http://www.w3.org/2000/svg", "")
    assert "https://" not in page
    assert "innerHTML" not in page
    assert "{{" not in page
    assert got.headers["content-security-policy"] != pets_viewer.get("").headers["content-security-policy"]


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("api/view", b"[]", 400),
        ("api/view", b"{", 400),
        ("api/view", b'{"filter": 3}', 400),
        ("api/view", b"[" * 60_000, 400),
        ("api/view", b"{}", 400),
        ("api/cancel", b'{"view": "99"}', 400),
        ("api/none", b"{}", 404),
        ("api/view", b" " * (1 << 17), 404),
    ],
)
def test_bad_requests(path: str, body: bytes, status: int, pets_viewer: Viewer) -> None:
    got = pets_viewer.raw(f"/{pets_viewer.token}/{path}", "POST", body)
    assert got.status == status
    assert got.json["error"]


@pytest.mark.parametrize("query", ["start=-1", "start=x", "start=1e3", "count=100000", "view=77", "start=%F0%9F%98%80"])
def test_bad_numbers(query: str, pets_viewer: Viewer) -> None:
    got = pets_viewer.raw(f"/{pets_viewer.token}/api/rows?{query}")
    assert got.status == 400
    assert got.json["error"]


@pytest.mark.parametrize("length", ["", "-1", "1e3", "\u00b2", "9" * 5000])
def test_connections_end_after_bodies_that_are_not_read(length: str, pets_viewer: Viewer) -> None:
    for path in ("/api/view", ""):
        got = pets_viewer.raw(f"/{pets_viewer.token}{path}", "POST", Content_Length=length)
        assert got.status == (404 if path else 308)
        assert got.headers["connection"] == "close"
    kept = pets_viewer.raw(f"/{pets_viewer.token}/api/view", "POST", b"[]")
    assert kept.status == 400 and "connection" not in kept.headers


def test_connections_that_say_nothing_do_no_harm(pets_viewer: Viewer) -> None:
    silent = [socket.create_connection((pets_viewer.host, pets_viewer.port)) for _ in range(10)]
    try:
        silent[0].sendall(b"GARBAGE\r\n\r\n")
        silent[1].sendall(b"GET /" + b"a" * 100_000)
        assert pets_viewer.ask("rows")["total"] == 120
    finally:
        for one in silent:
            one.close()


# Bad files.


def test_one_bad_file_among_many(tmp_path: Path) -> None:
    first, second = many(tmp_path, 2, 30)
    (tmp_path / "junk.tfrecord").write_bytes(os.urandom(1000))
    (tmp_path / "empty.tfrecord").write_bytes(b"")
    (tmp_path / "notes").write_bytes(b"\x01\x02 what is this")
    damage(first, first.stat().st_size // 2, tmp_path / "damaged.tfrecord")
    names = [tmp_path / "junk.tfrecord", first, tmp_path / "empty.tfrecord", tmp_path / "missing.tfrecord",
             tmp_path / "notes", tmp_path / "damaged.tfrecord", second]  # fmt: skip
    with viewing(*names) as viewer:
        found = viewer.counted()
        junk, good, empty, missing, notes, damaged, last = found["files"]
        assert "is corrupt" in junk["error"]
        assert "No such file" in missing["error"] or "not found" in missing["error"].lower()
        assert "neither its content" in notes["error"]
        assert [one["error"] for one in (good, empty, damaged, last)] == [""] * 4
        assert [one["records"] for one in found["files"]] == [0, 30, 0, 0, 0, 30, 30]
        rows = viewer.ask("rows", count=200)["rows"]
        bad = [row for row in rows if "error" in row]
        assert len(rows) == 90
        assert len(bad) == 1
        assert "checksum" in bad[0]["error"]
        assert 30 <= bad[0]["number"] < 60
        assert "checksum" in viewer.ask("record", number=bad[0]["number"])["error"]
        assert viewer.numbers(filter="id = 29") == ([29] if bad[0]["record"] == 29 else [29, 59])
        assert viewer.until(lambda: viewer.ask("statistics"), lambda s: s["job"]["state"] == "done")["features"]["id"]


@pytest.mark.usefixtures("_interruptible")
def test_it_ends_while_a_library_is_imported(tmp_path: Path) -> None:
    """Threads that import pyarrow, or are inside it, do not survive the end of the interpreter."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table({"x": [1, 2]}), tmp_path / "a.parquet")
    command = [sys.executable, "-m", "feedline", "view", tmp_path / "a.parquet", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as started:
        assert started.stdout is not None and b"url" in started.stdout.readline()
        started.send_signal(signal.SIGINT)
        _, said = started.communicate(timeout=60)
    assert (started.returncode, said) == (0, b"")


def test_no_file_at_all(tmp_path: Path) -> None:
    said = run("view", tmp_path / "a", tmp_path / "b", "--no-browser")
    assert said.returncode == 1
    assert said.stderr.decode().endswith("/a: no such file; the others do not exist either\n")


def test_the_address_without_its_last_slash(pets_viewer: Viewer) -> None:
    got = pets_viewer.raw(f"/{pets_viewer.token}")
    assert (got.status, got.headers["location"]) == (308, f"/{pets_viewer.token}/")


def test_junk_under_every_name(pets: dict[str, Path], tmp_path: Path) -> None:
    names = []
    for kind, path in pets.items():
        whole = path.read_bytes()
        for what, data in (("empty", b""), ("junk", b"\x00\x01junk\xff" * 99), ("cut", whole[: len(whole) * 2 // 3])):
            names.append(tmp_path / f"{what}.{kind}")
            names[-1].write_bytes(data)
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "folder.csv" / "a.csv").write_text("x\n1\n")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    with viewing(*names, tmp_path / "folder.csv", tmp_path / "loop") as viewer:
        found = viewer.counted()
        assert len(found["files"]) == len(names) + 2
        assert found["files"][-2]["records"] == 1
        assert found["files"][-1]["error"]
        rows = viewer.ask("rows", count=200)["rows"]
        assert len(rows) == found["total"] > 5
        assert viewer.numbers(filter="name ~ Ada")
        stats = viewer.until(lambda: viewer.ask("statistics"), lambda s: s["job"]["state"] != "running")
        assert stats["job"]["state"] == "done"
        assert viewer.ask("schema")["job"]["state"] == "done"


def test_nothing_to_show(tmp_path: Path) -> None:
    (tmp_path / "empty.tfrecord").write_bytes(b"")
    with viewing(tmp_path / "empty.tfrecord") as viewer:
        assert viewer.counted()["total"] == 0
        assert viewer.ask("rows")["rows"] == []
        assert viewer.numbers(filter="a = 1") == []
        assert viewer.get("api/record", number=0).status == 404


def test_large_records_are_shown_when_they_are_opened(tmp_path: Path) -> None:
    path = tmp_path / "large.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        for size in (10, 80 << 20, 20):
            writer.write(example(data=b"\xff" * size, id=size))
    with viewing(path) as viewer:
        viewer.counted()
        rows = viewer.ask("rows")["rows"]
        assert [row.get("left_out") for row in rows] == [None, "83.9 MB", None]
        cell = viewer.ask("record", number=1)["cells"]["data"]
        assert (cell["kind"], cell["size"]) == ("bytes", "83.9 MB")
        piece = viewer.ask("value", number=1, feature="data", start=16_000)
        assert piece["text"].startswith("00003e80  ff ff")


@pytest.mark.parametrize(
    "value", ["é" * 9000 + "\r\nend", "x" * 16_383 + "\r\n" + "y" * 20_000, b"\xff" * 9000, range(9000)]
)
def test_the_pieces_of_a_long_value_are_all_of_it(value: Any) -> None:
    value = value.encode() if isinstance(value, str) else np.array(value) if isinstance(value, range) else value
    text, start, pieces = "", 0, 0
    while start is not None:
        found = piece(value, start)
        text, start, pieces = text + found["text"], found["next"], pieces + 1
    assert pieces > 1
    if isinstance(value, np.ndarray):
        assert text.splitlines()[-1].split(", ")[-1] == "8999" and len(text.splitlines()) == -(-9000 // 16)
    elif value[0] == 0xFF:
        assert text.count(" ff") == 9000 and len(text.splitlines()) == -(-9000 // 16)
    else:
        assert text == value.decode().replace("\r\n", "\n")


def test_files_of_other_kinds_are_read_from_marks(tmp_path: Path) -> None:
    (plain,) = many(tmp_path, 1, 5000)
    packed = tmp_path / "packed.tfrecord.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes(), 1))
    lines = tmp_path / "lines.jsonl"
    lines.write_text("".join(json.dumps({"id": i, "deep": {"x": [i, 2]}}) + "\n" * (1 + (i == 7)) for i in range(5000)))
    with viewing(packed, lines) as viewer:
        assert viewer.counted()["total"] == 10_001
        assert texts(viewer, "id", start=4321, count=2) == ["4321", "4322"]
        assert texts(viewer, "id", start=17, count=2) == ["17", "18"]
        row, blank = viewer.ask("rows", start=5007, count=2)["rows"]
        assert (row["cells"]["deep.x"]["text"], blank["error"]) == ("7, 2", "an empty line")
        assert viewer.numbers(filter="id = 4999") == [4999, 10_000]
        assert viewer.numbers(sort="id", descending="true")[:3] == [4999, 10_000, 4998]


def test_ragged_features_of_sequence_examples(tmp_path: Path) -> None:
    made = fl.train.SequenceExample()
    made.context.feature["id"].int64_list.value.append(7)
    for step in ([1, 2], [], [3]):
        made.feature_lists.feature_list["steps"].feature.add().int64_list.value.extend(step)
    path = tmp_path / "steps.tfrecord"
    with fl.io.TFRecordWriter(str(path)) as writer:
        writer.write(made.SerializeToString())
    with viewing(path) as viewer:
        viewer.counted()
        cells = viewer.ask("record", number=0)["cells"]
        assert (cells["id"]["text"], cells["steps"]["kind"]) == ("7", "ragged")
        assert cells["steps"]["text"] == "[1, 2]\n[]\n[3]"


def test_nulls_of_tables(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.table({"x": [1, None, 3], "words": [["a"], [], ["b", "c"]], "deep": [[[1], [2, 3]], [], [[4]]]})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=2)
    with pa.OSFile(str(tmp_path / "b.arrows"), "wb") as file, pa.ipc.new_stream(file, table.schema) as out:
        out.write_table(table)
    with viewing(tmp_path / "a.parquet", tmp_path / "b.arrows", "--format", "parquet") as viewer:
        assert "parquet" in viewer.counted()["files"][1]["error"].lower()
    with viewing(tmp_path / "a.parquet", tmp_path / "b.arrows") as viewer:
        assert viewer.counted()["total"] == 6
        assert texts(viewer, "x") == ["1", None, "3", "1", None, "3"]
        assert texts(viewer, "words")[:3] == ["a", "empty", "b, c"]
        assert viewer.ask("record", number=3)["cells"]["deep"]["text"] == "[1]\n[2, 3]"
        assert viewer.numbers(filter="has x and words = c") == [2, 5]


def test_columns_that_arrays_cannot_hold(tmp_path: Path) -> None:
    import decimal

    import pyarrow as pa
    import pyarrow.parquet as pq

    image = fl.io.encode_png(np.zeros((2, 3, 3), np.uint8))
    table = pa.table({
        "id": [1, 2],
        "price": [decimal.Decimal("4.50"), None],
        "image": [{"bytes": image, "path": None}] * 2,
        "seen": [[{"day": "<b>Monday</b>"}], []],
        "huge": [1e300, -1e300],
    })  # fmt: skip
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1)
    with pa.OSFile(str(tmp_path / "b.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as out:
        out.write_table(table)
    with viewing(tmp_path / "a.parquet", tmp_path / "b.arrow") as viewer:
        assert viewer.counted()["total"] == 4
        assert texts(viewer, "price") == ["4.50", None, "4.50", None]
        for number in (0, 3):
            cells = viewer.ask("record", number=number)["cells"]
            assert (cells["image.bytes"]["kind"], cells["id"]["text"]) == ("image", "1" if number == 0 else "2")
        assert json.loads(viewer.ask("record", number=2)["cells"]["seen"]["text"]) == [{"day": "<b>Monday</b>"}]
        stats = viewer.until(lambda: viewer.ask("statistics"), lambda s: s["job"]["state"] != "running")
        assert stats["features"]["huge"]["records"] == 4
        assert viewer.numbers(filter="price = 4.5") == [0, 2]
        assert [file["error"] for file in viewer.ask("session")["files"]] == ["", ""]


def test_a_search_can_be_cancelled(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 200_000)
    with viewing(*[path] * 20) as viewer:
        viewer.counted()
        started = viewer.post("view", sort="word", filter='word ~ "word 3"').json
        assert started["job"]["state"] == "running"
        assert viewer.ask("rows", start=3_999_990)["rows"][-1]["number"] == 3_999_999
        ended = viewer.post("cancel", view=str(started["view"])).json
        assert ended["job"]["state"] == "cancelled"
        assert ended["job"]["done"] < 4_000_000
        assert viewer.ask("rows", view=started["view"])["rows"] == []
        assert viewer.selected(filter='word = "word 3"')["total"] == 20 * (200_000 // 7)


def test_only_the_latest_selections_are_kept(pets_viewer: Viewer) -> None:
    first = pets_viewer.selected(filter="label = 3")
    assert first["total"] == 15
    for _ in range(4):
        pets_viewer.selected(filter="label = 1")
    assert "replaced" in pets_viewer.get("api/rows", view=first["view"]).json["error"]


# The command.


def test_ports(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 10)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = run("view", path, "--port", port, "--no-browser")
        assert said.returncode == 1
        assert f"port {port} of 127.0.0.1 is in use" in said.stderr.decode()
        assert said.stderr.decode().count("\n") == 1
    with viewing(path) as one, viewing(path) as other:
        assert one.port != other.port
        assert other.raw(f"/{one.token}/").status == 403


def test_hosts(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 10)
    said = run("view", path, "--host", "203.0.113.7", "--no-browser")
    assert (said.returncode, b"cannot listen at 203.0.113.7" in said.stderr) == (1, True)
    with viewing(path, "--host", "0.0.0.0") as viewer:
        address = f"/{viewer.token}/api/session"
        assert viewer.raw(address, Host=f"192.168.7.8:{viewer.port}").status == 200
        assert viewer.raw(address, Host=f"evil.example:{viewer.port}").status == 421


@pytest.mark.usefixtures("_interruptible")
def test_in_a_terminal(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 10)
    status, shown = in_terminal("view", path, "--host", "0.0.0.0", "--no-browser", interrupt_after="Ctrl-C ends it")
    assert status == 0
    assert "showing 1 file at http://127.0.0.1:" in shown
    assert "whoever has this address" in shown
    assert shown.rstrip().endswith("ended")


def test_standard_input_and_termination(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 10)
    with path.open("rb") as file:
        running = subprocess.Popen(
            [sys.executable, "-m", "feedline", "view", "-", "--json"], stdin=file, stdout=subprocess.PIPE, text=True
        )
        assert running.stdout is not None
        viewer = Viewer(json.loads(running.stdout.readline())["url"])
        found = viewer.counted()
        assert (found["total"], found["files"][0]["name"]) == (10, "-")
        running.terminate()
        assert running.wait(20) == 143
        running.stdout.close()


def test_wrong_arguments(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    assert run("view").returncode == 2
    assert run("view", f"{tmp_path}/a.py:x", "--dataset", f"{tmp_path}/a.py:x").returncode == 2
    assert b"must be an fl.Dataset" in run("view", f"{tmp_path}/a.py:x").stderr
    assert b"no file matches" in run("view", f"{tmp_path}/*.tfrecord").stderr


def test_many_requests_at_a_time(pets_viewer: Viewer) -> None:
    found: list[int] = []

    def ask(start: int) -> None:
        rows = pets_viewer.ask("rows", start=start, count=10)["rows"]
        found.extend(int(row["cells"]["weight"]["text"] != str(row["number"] / 4)) for row in rows)

    starts = np.random.default_rng(0).permutation(40).tolist()
    threads = [threading.Thread(target=ask, args=(start,)) for start in starts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(found), sum(found)) == (400, 0)
