"""One module per workload, with one function per implementation; each imports only its own library.

A function takes a `Job` and returns an iterable of batches, which is iterated again if it ends. What a library cannot
do is not here. Snippets follow the documentation of the library; workers are as many as cores.
"""

from __future__ import annotations

from types import ModuleType

from bench.versus.jobs import Work
from bench.versus.works import (
    checkpoint,
    csv,
    decode_raw,
    element,
    growth,
    gzip,
    installed,
    jpeg,
    memory,
    python,
    raw,
    tabular,
)

MODULES: list[ModuleType] = [
    *(tabular, raw, decode_raw, memory, jpeg, python, csv, gzip, element, checkpoint, installed, growth),
]
WORKS: dict[str, tuple[Work, ModuleType]] = {work.name: (work, module) for module in MODULES for work in module.WORKS}
