"""What all records hold: the features, the code that reads them, and statistics of every feature, found step by step in
the background.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from feedline.tools.schema import python_code
from feedline.tools.shared.features import FeatureRows
from feedline.tools.shared.formats import ARRAY_RECORD, TFRECORD, DataFile
from feedline.tools.shared.meter import Meter
from feedline.tools.shared.records import batches
from feedline.tools.shared.summary import Summary, summarised
from feedline.tools.stats import FeatureStatistics
from feedline.tools.view.files import ViewedFiles, error_text
from feedline.tools.view.jobs import Job, JobCancelled

WAIT_S = 0.05
MOST_FEATURES = 2000
"""The most features with statistics: if there are more, their names are data."""


class QuietMeter(Meter):
    """Counts in place of a progress bar, and ends the work when its job is cancelled."""

    def __init__(self, job: Job) -> None:
        super().__init__("", None)
        self._job = job

    def add(self, done: int) -> None:
        """Adds to what is done."""
        self.done += done
        self._job.check()


class Overview:
    """The features of all files, as far as they are known."""

    def __init__(self, files: ViewedFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._summary = Summary()
        self._statistics: dict[str, FeatureStatistics] = {}
        self._records = 0
        """The records that the statistics are of, so far."""
        self._too_many = False
        self.jobs: list[Job] = []

    # The two passes; the first is much faster.

    def find_features(self, job: Job) -> None:
        """Finds the features of all files."""

        def read(source: DataFile, before: int) -> None:
            found = summarised(source, QuietMeter(job))
            with self._lock:
                self._summary.join(found)

        self._read_files(job, read)

    def find_statistics(self, job: Job) -> None:
        """Finds the distribution of every feature."""

        def read(source: DataFile, before: int) -> None:
            for batch in batches(source):
                job.check()
                if batch.rows is not None:
                    self._add(batch.rows)
                    job.done = before + batch.number + batch.rows.n

        self._read_files(job, read)

    def _read_files(self, job: Job, read: Callable[[DataFile, int], None]) -> None:
        """Calls `read` for each file as soon as its records are known, with the number of records before it. A file
        that cannot be read keeps the error; the others are read.
        """
        before = 0
        for file in self._files.files:
            while not file.counted.wait(WAIT_S):
                job.check()
            job.total = self._files.total
            if file.source is not None:
                try:
                    read(file.source, before)
                except JobCancelled:
                    raise
                except Exception as e:
                    file.error = file.error or error_text(e)
            before += file.count
            job.done = before

    def _add(self, rows: FeatureRows) -> None:
        with self._lock:
            self._records += rows.n
            for name, column in rows.columns.items():
                if name not in self._statistics and len(self._statistics) >= MOST_FEATURES:
                    self._too_many = True
                    continue
                self._statistics.setdefault(name, FeatureStatistics()).add(column)

    # What is known.

    def schema(self) -> dict[str, Any]:
        """The features, and the code that reads them."""
        sources = [file.source for file in self._files.files if file.source is not None]
        with self._lock:
            found = self._summary
            kinds = {source.format for source in sources}
            code = ""
            if sources and len(kinds) == 1 and found.records:
                code = python_code(sources, found)
            return {
                "records": found.records,
                "examples": found.examples and kinds <= {TFRECORD, ARRAY_RECORD},
                "bytes": found.size,
                "formats": sorted(kinds),
                "features": [
                    {
                        "name": name,
                        "types": sorted(one.kinds),
                        "shape": one.shape(),
                        "records": one.records,
                        "size": one.size,
                        "values": one.values,
                    }
                    for name, one in sorted(found.features.items())[:MOST_FEATURES]
                ],
                "bad_records": found.bad_records,
                "bad": [bad.as_json() for bad in found.bad[:20]],
                "python": code,
                "job": self.jobs[0].as_json() if self.jobs else None,
            }

    def statistics(self) -> dict[str, Any]:
        """The distribution of every feature so far."""
        with self._lock:
            features = {name: one.as_json() for name, one in sorted(self._statistics.items())}
            records = self._records
        return {
            "records": records,
            "features": features,
            "too_many": self._too_many,
            "job": self.jobs[1].as_json() if len(self.jobs) > 1 else None,
        }

    def names(self) -> list[str]:
        """The features that are known so far."""
        with self._lock:
            return sorted({*self._summary.features, *self._statistics})[:MOST_FEATURES]
