"""Importing feedline imports nothing that not everyone needs, and leaves the process as it is."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("array_record", "asyncio", "fsspec", "ml_dtypes", "pyarrow", "s3fs", "tarfile")


def test_nothing_heavy_is_imported() -> None:
    code = f"import sys, feedline; print(*(m for m in {HEAVY!r} if m in sys.modules))"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert said.stdout.split() == []


PROCESS = """
import atexit, os, signal, sys, threading, warnings
import numpy as np

hooks = []

def noted(module, name):
    call = getattr(module, name)
    def register(*args, **kwargs):
        file = sys._getframe(1).f_code.co_filename
        if os.sep + "feedline" + os.sep in file:
            hooks.append(name + " " + "/".join(file.split(os.sep)[-2:]))
        return call(*args, **kwargs)
    setattr(module, name, register)

def state():
    handlers = [signal.getsignal(s) for s in signal.valid_signals()]
    more = dict(os.environ), list(warnings.filters), sys.getrecursionlimit(), sys.excepthook, sys.getswitchinterval()
    return handlers, threading.enumerate(), more

def kept():
    # whether memory of this size comes from the heap, which glibc keeps, or from the system
    place = np.empty(8 << 20, np.uint8).__array_interface__["data"][0]
    with open("/proc/self/maps") as maps:
        heap = next((line for line in maps if line.rstrip().endswith("[heap]")), "0-0 ")
    first, last = (int(end, 16) for end in heap.split()[0].split("-"))
    return first <= place < last

noted(os, "register_at_fork")
noted(atexit, "register")
before = state()
import feedline as fl
assert state() == before
print(*sorted(hooks), sep="\\n")
if "CS_GNU_LIBC_VERSION" in getattr(os, "confstr_names", ()):
    assert not kept()
    next(iter(fl.Dataset.range(3)))
    assert kept()
    assert state() == before
"""

HOOKS = [  # they act on feedline's own threads and locks only; a program's own hooks run before its exit hook
    "register engine/context.py",
    "register_at_fork engine/context.py",
    "register_at_fork feedline/sharing.py",
    "register_at_fork io/read_ahead.py",
    "register_at_fork kernels/interrupts.py",
]


def test_the_process_is_left_as_it_is() -> None:
    said = subprocess.run([sys.executable, "-c", PROCESS], capture_output=True, text=True, timeout=60)
    assert said.returncode == 0, said.stderr
    assert said.stdout.splitlines() == HOOKS
