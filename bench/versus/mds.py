"""Opens data for Streaming: shared memory that an ended process has left would be refused, so it is removed first."""

from __future__ import annotations

from typing import Any

from bench.versus.jobs import Job


def open_mds(job: Job, batch: int, shuffle: bool = False, kind: Any = None) -> Any:
    """A `StreamingDataset`, or one of a class derived from it, over the files of a job."""
    from streaming import StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    return (kind or StreamingDataset)(local=job.folder, shuffle=shuffle, batch_size=batch)
