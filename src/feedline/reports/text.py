"""A report as text: a table of its steps, and a few sentences."""

from __future__ import annotations

from feedline.reports.measured import CALLS, IN_ORDER, LOOP, Lane, Report, StepReport, WorkerReport

HEAD = (
    *("step", "runs", "elements/s", "own time each", "busy", "CPU", "GIL", "waited for", "calls", "buffer", "held", ""),
)
RIGHT = {2, 3, 4, 5, 6, 7, 8, 10}


def text(report: Report) -> str:
    """The report as a table of steps, followed by what is known of the whole."""
    rows = [cells(report, step) for step in report.steps]
    lines = table([list(HEAD), *rows]) if rows else []
    return "\n".join([*lines, *sentences(report), report.advice])


def sentences(report: Report) -> list[str]:
    """What is known of the whole: threads, buffers, processors, memory."""
    lines = []
    if report.elements:
        lines.append(f"{report.elements:,} elements in {time_text(report.seconds)}, {count(report.rate)} per second")
    order = {step.key: i for i, step in enumerate(report.steps)}
    lanes = sorted((lane for lane in report.lanes if lane.name != LOOP), key=lambda lane: order.get(lane.name, 0))
    lines += [lane_text(lane, report) for lane in lanes]
    lines += [worker_text(step, worker, report) for step in report.steps for worker in step.workers]
    if report.stages:
        held, most, limit, _ = report.buffered
        lines.append(
            f"{size(held)} buffered, at most {size(most)} so far; the limit is {size(limit)} "
            "(options.autotune.ram_budget)"
        )
    if report.processors.total:
        lines.append(", ".join([str(report.processors), *_rest(report)]))
    return lines


def _rest(report: Report) -> list[str]:
    gil = [] if report.gil is None else [f"the GIL was held {report.gil:.0%} of the time"]
    return gil + ([f"it has used {size(report.memory)} of memory at most"] if report.memory else [])


def lane_text(lane: Lane, report: Report) -> str:
    """How busy a thread, or the workers of a step, have been."""
    who = f"the workers of {lane.name}" if lane.width > 1 or lane.steps[0].key == lane.name else f"thread {lane.name}"
    return f"{who} worked {percent(lane.busy, report.seconds)} of the time"


def worker_text(step: StepReport, worker: WorkerReport, report: Report) -> str:
    """What one worker on a cluster has done."""
    where = f" on {worker.host}, process {worker.pid}" if worker.host else ", not ready yet"
    again = f", {worker.again:,} of them also by another worker" if worker.again else ""
    busy = percent(worker.busy, report.seconds)
    done = f"{worker.tasks:,} tasks{again}, {worker.rows:,} elements"
    return f"worker {worker.number} of {step.key}{where}: {done}, busy {busy}"


def cells(report: Report, step: StepReport) -> list[str]:
    """The figures of a step, for the columns of `HEAD`."""
    works = step.worked > 0
    why = step.why or (f"calls {step.name}" if step.does == CALLS and step.name else step.name)
    full = "" if step.fill is None else f", {step.fill:.0%} full"
    return [
        step.key,
        step.how,
        count(step.elements / report.seconds) if step.elements and report.seconds > 0 else "",
        duration(step.each) if works and step.elements else "",
        percent(step.worked / max(1, step.calls or 1), report.seconds) if works else "",
        "" if step.cpu is None else f"{step.cpu:.0%}",
        "" if step.gil is None else f"{step.gil:.0%}",
        "" if step.how == IN_ORDER else time_text(step.waited),
        "" if step.calls is None else str(step.calls),
        "" if step.buffer is None else f"{step.buffer}{full}",
        size(step.held) if step.held or step.how != IN_ORDER else "",
        why,
    ]


def table(rows: list[list[str]]) -> list[str]:
    """Rows of cells as lines, without columns that are empty."""
    used = [i for i in range(len(rows[0])) if any(row[i] for row in rows[1:])]
    widths = {i: max(len(row[i]) for row in rows) for i in used}
    aligned = [[r[i].rjust(widths[i]) if i in RIGHT else r[i].ljust(widths[i]) for i in used] for r in rows]
    return ["  ".join(line).rstrip() for line in aligned]


def percent(part: float, whole: float) -> str:
    """A share as text."""
    return f"{min(1.0, part / whole):.0%}" if whole > 0 else ""


def count(n: float) -> str:
    """A rate as text."""
    return f"{n:,.0f}" if n >= 10 else f"{n:.2g}"


def time_text(seconds: float) -> str:
    """A long duration as text."""
    return f"{seconds:.2f} s" if seconds >= 0.1 else f"{seconds * 1e3:.1f} ms"


def duration(value: float) -> str:
    """A duration as text, with three digits."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= scale:
            return f"{value / scale:.3g} {unit}"
    return f"{value * 1e9:.3g} ns"


def size(n: int) -> str:
    """A number of bytes as text."""
    amount = float(n)
    for unit in ("B", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
