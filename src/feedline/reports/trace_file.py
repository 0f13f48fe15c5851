"""Timelines as Chrome trace events, which Perfetto (ui.perfetto.dev) and chrome://tracing show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from feedline.reports.measured import LOOP, TraceSpan


def trace_events(spans: Sequence[TraceSpan], lost: int = 0) -> str:
    """The text of a trace file."""
    threads = {name: i for i, name in enumerate(dict.fromkeys([LOOP, *(span.thread for span in spans)]), 1)}
    events: list[dict[str, Any]] = [
        {"ph": "M", "name": "process_name", "pid": 1, "tid": 0, "args": {"name": "feedline"}},
    ]
    for name, number in threads.items():
        events.append({"ph": "M", "name": "thread_name", "pid": 1, "tid": number, "args": {"name": name}})
        events.append({"ph": "M", "name": "thread_sort_index", "pid": 1, "tid": number, "args": {"sort_index": number}})
    for span in spans:
        events.append(
            {
                "ph": "X",
                "name": span.key if span.kind == "work" else f"waits for {span.key}",
                "cat": span.kind,
                "ts": round(span.began * 1e6, 3),
                "dur": round((span.ended - span.began) * 1e6, 3),
                "pid": 1,
                "tid": threads[span.thread],
                "args": {"elements": span.rows} if span.rows else {},
            }
        )
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ms", "otherData": {"spans left out": lost}})
