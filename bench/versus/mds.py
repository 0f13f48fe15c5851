"""Opens data for Streaming: shared memory that an ended process has left would be refused, so it is removed first."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from bench.versus.jobs import Job

META = "torchvision._meta_registrations"


def package() -> Any:
    """Streaming. It imports torchvision for its datasets of pictures, which nothing here uses. The wheels of
    torchvision are built for CUDA: beside a torch for CPUs its operators cannot be loaded, and the module that
    describes them to torch.compile, which nothing here uses either, would fail.
    """
    import torch

    if not torch.version.cuda:
        sys.modules[META] = ModuleType(META)
    import streaming

    return streaming


def open_mds(job: Job, batch: int, shuffle: bool = False, kind: Any = None) -> Any:
    """A `StreamingDataset`, or one of a class derived from it, over the files of a job."""
    dataset = kind or package().StreamingDataset
    from streaming.base.util import clean_stale_shared_memory

    clean_stale_shared_memory()
    return dataset(local=job.folder, shuffle=shuffle, batch_size=batch)
