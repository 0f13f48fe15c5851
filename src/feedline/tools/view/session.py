"""A session of the viewer: files, selections, overview and pipeline, and what the page asks of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from feedline import __version__
from feedline.data.dataset import Dataset
from feedline.errors import InvalidArgumentError, NotFoundError
from feedline.io.files import shown
from feedline.tools.shared.text import size_of
from feedline.tools.view.cells import cell, piece
from feedline.tools.view.files import ViewedFiles, ViewedRow
from feedline.tools.view.jobs import Job, Jobs
from feedline.tools.view.media import RATE, Served, image_served, sound_served
from feedline.tools.view.overview import Overview
from feedline.tools.view.pipeline import PipelineView
from feedline.tools.view.selection import Selections

MOST_ROWS = 200
MOST_NUMBER = 1 << 53
MOST_COLUMNS = 500
MOST_RATE = 192_000

Query = Mapping[str, str]


class ViewSession:
    """What the page of a viewer shows. Each of `answers` and `changes` has the name of a request."""

    def __init__(
        self, names: Sequence[bytes], given: str | None = None, dataset: Dataset[Any] | None = None, script: str = ""
    ) -> None:
        self.jobs = Jobs()
        self.files = ViewedFiles(names, given)
        self.overview = Overview(self.files)
        self.selections = Selections(self.files, self.jobs)
        self.pipeline = None if dataset is None else PipelineView(dataset, script, self.jobs)
        self._follows = self.pipeline is not None and bool(names) and self.pipeline.reads(names)
        self.answers: dict[str, Callable[[Query], dict[str, Any]]] = {
            "session": self.described, "rows": self.page, "record": self.record, "value": self.value,
            "view": self.selection, "schema": lambda _: self.overview.schema(),
            "statistics": lambda _: self.overview.statistics(), "pipeline": self.element,
        }  # fmt: skip
        self.changes: dict[str, Callable[[Query], dict[str, Any]]] = {"view": self.select, "cancel": self.cancel}

    def start(self) -> None:
        """Begins to find out what the files hold."""
        if not self.files.files:
            return
        self.jobs.start("finding the records", self._find, first=False)
        self.overview.jobs = [
            self.jobs.start("finding the features", self.overview.find_features, first=False),
            self.jobs.start("computing the histograms", self._find_statistics, first=False),
        ]

    def _find(self, job: Job) -> None:
        self.files.find_records()

    def _find_statistics(self, job: Job) -> None:
        while not self.overview.jobs or not self.overview.jobs[0].wait(0.05):
            job.check()
        self.overview.find_statistics(job)

    def close(self) -> None:
        """Ends all work."""
        self.files.close()
        self.jobs.close()

    # Answers.

    def described(self, _: Query) -> dict[str, Any]:
        """The files, and how many records are known."""
        listed = []
        for file in self.files.files:
            source = file.source
            listed.append(
                {
                    "name": file.shown,
                    "format": None if source is None else source.format,
                    "compression": "" if source is None else source.compression,
                    "size": None if source is None or source.size is None else size_of(source.size),
                    "records": file.count,
                    "complete": file.counted.is_set(),
                    "error": file.error,
                }
            )
        return {
            "version": __version__,
            "files": listed,
            "total": self.files.total,
            "complete": self.files.complete,
            "features": self.overview.names(),
            "pipeline": None if self.pipeline is None else self.pipeline.name,
            "follows": self._follows,
        }

    def page(self, query: Query) -> dict[str, Any]:
        """Some rows, of all records or of a selection."""
        start = number_in(query, "start", MOST_NUMBER)
        count = number_in(query, "count", MOST_ROWS, 50)
        if query.get("view"):
            chosen = self.selections.get(number_in(query, "view", MOST_NUMBER))
            numbers = chosen.found.page(start, count) if chosen.ready else []
            about: dict[str, Any] = {**chosen.as_json(), "complete": chosen.job is not None and chosen.job.wait(0)}
        else:
            total = self.files.total
            numbers = list(range(min(start, total), min(start + count, total)))
            about = {"total": total, "complete": self.files.complete}
        rows = self.files.rows(numbers)
        names = dict.fromkeys(name for _, row in rows for name in row.values)
        return {
            **about,
            "start": start,
            "columns": list(names)[:MOST_COLUMNS],
            "rows": [
                {"number": n, "file": i, **_row(row, False)} for n, (i, row) in zip(numbers, rows, strict=True)
            ],
        }

    def record(self, query: Query) -> dict[str, Any]:
        """One record with all its values."""
        number, i, row = self._record(query)
        return {"number": number, "file": i, "name": self.files.files[i].shown, **_row(row, True)}

    def _record(self, query: Query) -> tuple[int, int, ViewedRow]:
        number = number_in(query, "number", MOST_NUMBER)
        ((i, row),) = self.files.rows([number], 0)
        return number, i, row

    def _value(self, query: Query) -> Any:
        """A value of a record, or of an element of the pipeline; `item` chooses one of a list."""
        if "step" in query:
            if self.pipeline is None:
                raise NotFoundError("there is no pipeline")
            element = self.pipeline.element(number_in(query, "element", MOST_NUMBER))
            found = element.leaf(number_in(query, "step", MOST_NUMBER), query.get("feature", ""))
        else:
            _, _, row = self._record(query)
            found = row.values.get(query.get("feature", ""))
        if "item" in query and isinstance(found, list):
            at = number_in(query, "item", MOST_NUMBER)
            found = found[at] if at < len(found) else None
        if found is None:
            raise NotFoundError("there is no such value")
        return found

    def value(self, query: Query) -> dict[str, Any]:
        """A piece of a value."""
        return piece(self._value(query), number_in(query, "start", MOST_NUMBER))

    def selection(self, query: Query) -> dict[str, Any]:
        """How far a selection is."""
        return self.selections.get(number_in(query, "view", MOST_NUMBER)).as_json()

    def element(self, query: Query) -> dict[str, Any]:
        """An element of the pipeline after each step."""
        if self.pipeline is None:
            raise NotFoundError("there is no pipeline; give one, as in feedline view train.py:dataset")
        found = self.pipeline.element(number_in(query, "element", MOST_NUMBER), bool(query.get("again")))
        assert found.job is not None
        if not found.job.wait(0):
            return {"element": found.number, "steps": [], "ended": False, "error": "", "job": found.job.as_json()}
        return found.as_json()

    def media(self, query: Query) -> Served:
        """An image or a sound."""
        found = self._value(query)
        if query.get("as") == "sound":
            rate = number_in(query, "rate", MOST_RATE, RATE)
            served = sound_served(found, max(rate, 1000))
        else:
            served = image_served(found, query.get("as") == "thumbnail")
        if served is None:
            raise NotFoundError("this value is neither an image nor a sound")
        return served

    # Changes.

    def select(self, query: Query) -> dict[str, Any]:
        """Starts a selection."""
        descending = query.get("descending") == "true"
        made = self.selections.start(query.get("filter", ""), query.get("sort", ""), descending)
        assert made.job is not None
        made.job.wait(0.1)
        return made.as_json()

    def cancel(self, query: Query) -> dict[str, Any]:
        """Cancels a selection."""
        chosen = self.selections.get(number_in(query, "view", MOST_NUMBER))
        assert chosen.job is not None
        chosen.job.cancel()
        chosen.job.wait(1)
        return chosen.as_json()


def _row(row: ViewedRow, long: bool) -> dict[str, Any]:
    made: dict[str, Any] = {"record": row.number, "cells": {name: cell(v, long) for name, v in row.values.items()}}
    if row.error:
        made["error"] = row.error
    if row.left_out and row.size is not None:
        made["left_out"] = size_of(row.size)
    return made


def number_in(query: Query, name: str, most: int, default: int = 0) -> int:
    """A number of a request.

    >>> from feedline.tools.view.session import number_in
    >>> number_in({"start": "7"}, "start", 10)
    7
    """
    given = query.get(name)
    if given is None:
        return default
    if not given.isascii() or not given.isdigit() or len(given) > 20 or int(given) > most:
        raise InvalidArgumentError(f"{name} must be a number from 0 to {most:,}, got {shown(given.encode()[:40])!r}")
    return int(given)
