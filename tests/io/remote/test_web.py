"""Files behind web servers that break off, give too little, give something else, or nothing at all."""

from __future__ import annotations

import gzip
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest
from tests.web import Site, serving

import feedline as fl
from feedline.errors import (
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    UnavailableError,
    UnimplementedError,
)
from feedline.io.remote import retry, web

LINES = [b"line %06d" % i for i in range(20_000)]
BODY = b"".join(line + b"\n" for line in LINES)


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    with serving() as site:
        yield site


@pytest.fixture
def site(server: Site, monkeypatch: pytest.MonkeyPatch) -> Site:
    monkeypatch.setattr(retry, "PAUSES_S", (0.01, 0.02, 0.04))
    server.again()
    return server


def read(url: str, **how: Any) -> list[bytes]:
    return list(fl.TextLineDataset(url, **how))


@pytest.mark.parametrize("announced", [True, False])
@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("head", [True, False])
def test_every_line_from_servers_that_know_more_or_less(
    site: Site, announced: bool, ranges: bool, head: bool
) -> None:
    url = site.put("lines", BODY)
    site.announced, site.ranges, site.head = announced, ranges, head
    assert read(url) == LINES
    assert fl.io.read_file(url) == BODY
    assert read(site.put("empty", b"")) == []
    assert fl.io.gfile.exists(url) and not fl.io.gfile.exists(site.url("nope"))
    with pytest.raises(NotFoundError, match="/nope"):
        read(site.url("nope"))


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_connection_is_taken_up_again(site: Site, ranges: bool) -> None:
    url = site.put("lines", BODY)
    site.ranges, site.breaks = ranges, [0.5, 0.25, 0.1]
    assert read(url) == LINES
    assert not site.breaks
    if ranges:  # from where it was
        assert all(a < b for a, b in zip(site.starts(), site.starts()[1:], strict=False))


def test_progress_counts_tries_anew(site: Site) -> None:
    url = site.put("lines", BODY)
    site.breaks = [0.1] * 20
    assert read(url) == LINES and not site.breaks


@pytest.mark.parametrize("ranges", [True, False])
def test_a_connection_that_always_breaks_is_an_error(site: Site, ranges: bool) -> None:
    url = site.put("lines", BODY)
    site.ranges, site.breaks = ranges, [0.0] * 100
    with pytest.raises(UnavailableError, match="/lines"):
        read(url)
    assert len(site.breaks) > 90


@pytest.mark.parametrize("failure", [503, 500, 429])
def test_failures_that_pass(site: Site, failure: int) -> None:
    url = site.put("lines", BODY)
    site.failures = [failure, failure]
    assert read(url) == LINES
    site.failures = [failure] * 100
    with pytest.raises(UnavailableError, match="/lines"):
        read(url)


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("missing", [1, 110])
def test_a_body_that_is_too_short(site: Site, ranges: bool, missing: int) -> None:
    url = site.put("lines", BODY)
    site.ranges, site.short = ranges, missing
    with pytest.raises((DataLossError, UnavailableError), match="/lines"):
        read(url)


def test_a_range_that_is_not_the_one_asked_for(site: Site) -> None:
    url = site.put("lines", BODY)
    site.shift = 10
    with pytest.raises(DataLossError, match=r"/lines: requested bytes 0 to \d+, but the server sent 'bytes 10-"):
        read(url)


@pytest.mark.parametrize("ranges", [True, False])
def test_a_server_that_compresses_though_asked_not_to(site: Site, ranges: bool) -> None:
    url = site.put("lines", BODY)
    site.ranges, site.encoding = ranges, "gzip"
    assert read(url) == LINES
    assert fl.io.read_file(url) == BODY
    if not ranges:
        site.short = 20
        with pytest.raises((DataLossError, UnavailableError), match="/lines"):
            read(url)
    site.again()
    site.encoding = "br"
    with pytest.raises(UnimplementedError, match="/lines: the server sent it compressed"):
        read(url)


@pytest.mark.parametrize(
    ("ranges", "how"), [(True, "tag"), (True, "time"), (False, "tag"), (False, "time"), (False, "bytes")]
)
def test_another_file_after_a_break_is_an_error(site: Site, ranges: bool, how: str) -> None:
    url = site.put("lines", BODY)
    site.ranges, site.breaks = ranges, [0.5]
    if how != "tag":
        site.tag = ""
    if how == "time":
        site.headers = {"Last-Modified": "Mon, 02 Jan 2023 10:00:00 GMT"}

    def replace() -> None:
        site.put("lines", BODY.replace(b"line", b"LINE"))
        if how == "tag":
            site.tag = '"two"'
        elif how == "time":
            site.headers = {"Last-Modified": "Mon, 02 Jan 2023 11:00:00 GMT"}

    site.after_break = replace
    with pytest.raises(FailedPreconditionError, match=r"/lines was changed while it was read"):
        read(url)


def test_a_stalled_server_is_an_error_after_a_while(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    url = site.put("lines", BODY)
    monkeypatch.setattr(web, "STALL_S", 0.3)
    monkeypatch.setattr(web, "PATIENCE_S", 0.5)
    site.stalls = 1
    assert read(url) == LINES
    for ranges in (True, False):
        site.ranges, site.stalls = ranges, 100
        began = time.monotonic()
        with pytest.raises(UnavailableError, match=r"/lines: .*[Tt]imeout"):
            read(url)
        assert time.monotonic() - began < 15
    site.stalled.set()


def test_nobody_answers(site: Site) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/lines"
        for call in (read, fl.io.read_file, fl.io.gfile.exists, fl.io.matching_files):
            with pytest.raises(UnavailableError, match="/lines"):
                call(url)  # type: ignore[operator]


@pytest.mark.parametrize("pack", [lambda data: data, gzip.compress])
def test_a_restore_reads_from_where_it_was(site: Site, pack: Any) -> None:
    body = BODY * 10
    kind = "" if pack(b"x") == b"x" else "GZIP"
    ds = fl.TextLineDataset(site.put("lines", pack(body)), kind).skip(195_000)
    with iter(ds) as it:
        next(it)
        state = it.save()
        rest = list(it)
    site.requests.clear()
    with iter(ds) as it:
        it.restore(state)
        assert list(it) == rest
    if not kind:
        assert min(site.starts()) > len(body) // 2


def change_nothing(site: Site) -> None:
    pass


def change_tag(site: Site) -> None:
    site.tag = '"two"'


def change_size(site: Site) -> None:
    site.files["/lines"] += b"more\n"


def change_first(site: Site) -> None:
    site.files["/lines"] = b"LINE" + site.files["/lines"][4:]


def change_last(site: Site) -> None:
    site.files["/lines"] = site.files["/lines"][:-4] + b"xxx\n"


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("tag", ['"one"', 'W/"one"', ""])
@pytest.mark.parametrize("change", [change_nothing, change_tag, change_size, change_first, change_last])
def test_what_a_restore_notices(site: Site, ranges: bool, tag: str, change: Any) -> None:
    site.ranges, site.tag = ranges, tag
    ds = fl.TextLineDataset(site.put("lines", BODY))
    with iter(ds) as it:
        next(it)
        state = it.save()
    change(site)
    seen = {change_size}
    if tag:
        seen.add(change_tag)
    if tag != '"one"':  # such a tag tells all, and the bytes are not looked at
        seen |= {change_first, change_last} if ranges else {change_first}
    with iter(ds) as it:
        if change not in seen:
            it.restore(state)
            assert next(it) == LINES[1]
        else:
            with pytest.raises(FailedPreconditionError, match="/lines has changed since the state was saved"):
                it.restore(state)


def test_writing_is_refused(site: Site) -> None:
    url = site.url("new")
    for write in (
        lambda: fl.io.write_file(url, b""),
        lambda: fl.io.TFRecordWriter(url),
        lambda: fl.io.write_examples(url, {"x": [1]}),
        lambda: fl.Dataset.range(2).save(url),
        lambda: list(fl.Dataset.range(2).cache(url)),
        lambda: fl.experimental.TFRecordWriter(url).write(fl.Dataset.from_tensor_slices(["x"])),
    ):
        with pytest.raises(UnimplementedError, match="/new"):
            write()
    assert not [m for m, _ in site.requests if m not in ("GET", "HEAD")]
