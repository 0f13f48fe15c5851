"""One measurement in a fresh process: `python -m bench.versus.job JOB RESULT`, in the implementation's environment."""

from __future__ import annotations

import json
import logging
import os
import platform
import resource
import sys
import traceback
import warnings
from dataclasses import asdict
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bench.versus.environments import PEERS, peer_name
from bench.versus.jobs import Job, Rate, measure_elements, measure_pass, measure_rate

STARTED = "FEEDLINE_VERSUS_STARTED"
"""The environment variable with the time at which the process was started."""


def bind(cores: int) -> None:
    """Binds this process, and what it starts, to that many of the processors that it may use."""
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])


def run(job: Job) -> dict[str, Any]:
    """The result of a job as a dict."""
    from bench.versus import limits
    from bench.versus.works import WORKS, installed

    work, module = WORKS[job.work]
    if job.work == "installed":
        return installed.measure(job)
    holder = limits if peer_name(job.implementation) == "limit" else module
    made = vars(holder)[job.implementation](job)
    if isinstance(made, dict):
        return made
    if isinstance(made, Rate):
        rate = made
    elif work.kind == "elements":
        rate = measure_elements(made, job.seconds)
    elif work.kind == "pass":
        rate = measure_pass(made)
    else:
        rate = measure_rate(made, job.seconds)
    first = rate.first - float(os.environ.get(STARTED, rate.first))
    return {"value": rate.per_second, "first_s": first, "rows": rate.rows, "seconds": rate.seconds}


def versions(implementation: str) -> dict[str, str]:
    """The versions of the library and of Python."""
    name = PEERS[peer_name(implementation)].distribution
    found = {"python": platform.python_version()}
    for package in (name, "numpy") if name else ("numpy",):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def main(job_text: str, result: str) -> None:
    """Runs the job, writes the result, and leaves without waiting for threads and workers."""
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    job = Job.from_json(job_text)
    bind(job.cores)
    try:
        found = run(job)
    except BaseException as e:
        traceback.print_exc()
        found = {"error": f"{type(e).__name__}: {e}".strip()[:300]}
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    line = {**asdict(job), **found, "own_peak_mb": round(peak), "versions": versions(job.implementation)}
    Path(result).write_text(json.dumps(line, default=float))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main(*sys.argv[1:])
