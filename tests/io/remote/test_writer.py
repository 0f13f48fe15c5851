"""Writing files at URLs, which appear as a whole or not at all."""

from __future__ import annotations

import gc
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.s3 import Server

import feedline as fl
from feedline.errors import (
    FailedPreconditionError,
    NotFoundError,
    PermissionDeniedError,
    UnavailableError,
)
from feedline.io import remote
from feedline.io.remote import RemoteWriter


def test_an_object_appears_when_it_is_complete(s3: Server, memory: Any) -> None:
    for url in ("memory://new/file", "s3://bucket/new"):
        writer = fl.io.TFRecordWriter(url)
        writer.write(b"one")
        writer.flush()
        assert not remote.exists(url.encode())
        writer.close()
        writer.close()
        assert list(fl.TFRecordDataset(url)) == [b"one"]
        with pytest.raises(ZeroDivisionError), fl.io.TFRecordWriter(url) as writer:
            writer.write(b"two")
            raise ZeroDivisionError
        assert list(fl.TFRecordDataset(url)) == [b"one"]
        with pytest.raises(FailedPreconditionError):
            writer.write(b"three")


def test_a_writer_that_is_not_closed_says_so(memory: Any) -> None:
    writer = fl.io.TFRecordWriter("memory://forgotten")
    writer.write(b"one")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        del writer
        gc.collect()
    assert [str(w.message) for w in said] == ["memory://forgotten was not closed, so nothing was written to it"]
    assert not remote.exists(b"memory://forgotten")


def test_an_upload_that_fails_leaves_nothing(s3: Server) -> None:
    writer = fl.io.TFRecordWriter("s3://bucket/never")
    writer.write(b"one")
    s3.fail = lambda environ: 500 if environ["REQUEST_METHOD"] == "PUT" else 0
    with pytest.raises(UnavailableError, match="s3://bucket/never"):
        writer.close()
    s3.again()
    assert not remote.exists(b"s3://bucket/never")
    writer.close()


def test_an_upload_is_tried_again(s3: Server) -> None:
    failed: list[int] = []

    def fail(environ: dict[str, Any]) -> int:
        if environ["REQUEST_METHOD"] == "PUT" and not failed:
            failed.append(1)
            return 503
        return 0

    s3.fail = fail
    with RemoteWriter(b"s3://bucket/again") as writer:
        writer.write(b"data")
    assert failed and fl.io.read_file("s3://bucket/again") == b"data"


def test_datasets_written_to_urls(s3: Server) -> None:
    fl.experimental.TFRecordWriter("s3://bucket/words").write(fl.Dataset.from_tensor_slices(["a", "b"]))
    assert list(fl.TFRecordDataset("s3://bucket/words")) == [b"a", b"b"]
    bad = fl.Dataset.from_tensor_slices(["a", "b"]).map(lambda x: {b"a": b"ok"}[x])
    with pytest.raises(KeyError):
        fl.experimental.TFRecordWriter("s3://bucket/words").write(bad)
    assert list(fl.TFRecordDataset("s3://bucket/words")) == [b"a", b"b"]


@pytest.mark.parametrize("folder", ["memory://examples", "s3://bucket/examples", "file://{here}/examples"])
def test_examples_written_to_urls(folder: str, s3: Server, memory: Any, tmp_path: Path) -> None:
    folder = folder.format(here=tmp_path)
    before = list(Path.cwd().iterdir())
    files = fl.io.write_examples(f"{folder}/train@2.tfrecord", {"x": np.arange(50)}, compression="GZIP")
    features = {"x": fl.io.FixedLenFeature([], fl.int64)}
    ds = fl.TFRecordDataset(files, "GZIP").map(lambda record: fl.io.parse_single_example(record, features)["x"])
    assert files == [f"{folder}/train-0000{i}-of-00002.tfrecord" for i in range(2)]
    assert [int(x) for x in ds] == list(range(50))
    assert list(Path.cwd().iterdir()) == before
    with pytest.raises(ZeroDivisionError):
        fl.io.write_examples(f"{folder}/other@2", fl.Dataset.range(3).map(lambda x: {"x": 1 // int(x)}))
    assert fl.io.matching_files(f"{folder}/other*").tolist() == []


def test_examples_that_cannot_all_be_sent_are_not_there(s3: Server) -> None:
    last = "/bucket/half/x-00002-of-00003.tfrecord"
    s3.fail = lambda environ: 403 if (environ["REQUEST_METHOD"], environ["PATH_INFO"]) == ("PUT", last) else 0
    with pytest.raises(PermissionDeniedError, match="x-00002-of-00003"):
        fl.io.write_examples("s3://bucket/half/x@3", {"x": np.arange(50)})
    s3.again()
    assert not remote.children(b"s3://bucket/half")


@pytest.mark.parametrize("url", ["memory://saved", "s3://bucket/saved"])
def test_save_and_load(url: str, s3: Server, memory: Any) -> None:
    ds = fl.Dataset.range(30).map(lambda x: {"x": x, "text": str(x)})
    for _ in range(2):  # the second replaces the first
        ds.save(url, shard_func=lambda element: np.int64(element["x"] % 3))
    assert len(remote.children(url.encode())) == 2
    loaded = fl.Dataset.load(url)
    assert sorted(int(e["x"]) for e in loaded) == list(range(30))
    assert [int(e["x"]) for e in loaded.global_shuffle(seed=1)] == [
        int(e["x"]) for e in fl.Dataset.load(url).global_shuffle(seed=1)
    ]
    with pytest.raises(ZeroDivisionError):
        fl.Dataset.range(3).map(lambda x: 1 // int(x)).save(url)
    assert len(list(fl.Dataset.load(url))) == 30
    with pytest.raises(NotFoundError, match="nothing"):
        fl.Dataset.load(f"{url}/nothing")


def test_a_save_that_cannot_be_sent_leaves_nothing(s3: Server) -> None:
    s3.fail = lambda environ: 500 if environ["PATH_INFO"].endswith("manifest") else 0  # there is none, and cannot be
    with pytest.raises(UnavailableError):
        fl.Dataset.range(3).save("s3://bucket/unsent")
    s3.again()
    put_of_manifest = ("PUT", "/bucket/unsent/manifest")
    s3.fail = lambda environ: 500 if (environ["REQUEST_METHOD"], environ["PATH_INFO"]) == put_of_manifest else 0
    with pytest.raises(UnavailableError):
        fl.Dataset.range(3).save("s3://bucket/unsent")
    s3.again()
    assert not remote.children(b"s3://bucket/unsent")


def test_cache_and_snapshot(s3: Server, memory: Any) -> None:
    for folder in ("memory://kept", "s3://bucket/kept"):
        calls: list[int] = []

        def slow(x: Any, calls: list[int] = calls) -> Any:
            calls.append(int(x))
            return x * x

        cached = fl.Dataset.range(4).map(slow).cache(f"{folder}/cache")
        snapped = fl.Dataset.range(4).map(slow).snapshot(f"{folder}/snapshot")
        for ds in (cached, snapped):
            calls.clear()
            assert [int(x) for x in ds] == [int(x) for x in ds] == [0, 1, 4, 9]
            assert calls == [0, 1, 2, 3]
