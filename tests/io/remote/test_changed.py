"""Files elsewhere that change: while they are read, and between a checkpoint and its restore."""

from __future__ import annotations

from typing import Any

import pytest
from tests.io.test_unchanged import KINDS
from tests.s3 import Server, put

import feedline as fl
from feedline.errors import FailedPreconditionError


@pytest.mark.parametrize("url", ["memory://replaced/file", "s3://bucket/file"])
def test_a_file_elsewhere_that_is_another_when_it_is_restored(url: str, s3: Server, memory: Any) -> None:
    for kind, (make, read) in KINDS.items():
        if kind == "array_record":
            continue  # read by number, on this machine alone
        for tag, count in (("old", 300), ("new", 200)):
            put(url, make("old", 200))
            ds = read(url)
            with iter(ds) as it:
                next(it)
                state = it.save()
                rest = list(it)
            with iter(ds) as it:
                it.restore(state)
                assert list(it) == rest, kind
            put(url, make(tag, count))
            with iter(ds) as it, pytest.raises(FailedPreconditionError, match=f"{url} has changed since the state"):
                it.restore(state)


@pytest.mark.parametrize("url", ["memory://replaced/large", "s3://bucket/large"])
def test_a_file_elsewhere_that_is_replaced_while_it_is_read(url: str, s3: Server, memory: Any) -> None:
    body = b"".join(b"%09d\n" % i for i in range(600_000))
    put(url, body)
    with iter(fl.TextLineDataset(url)) as it:
        next(it)
        put(url, body.replace(b"0", b"x"))
        with pytest.raises(FailedPreconditionError, match=f"{url} was changed while it was read"):
            for _ in it:
                pass
