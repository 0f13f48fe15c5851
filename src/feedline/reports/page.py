"""A report as HTML: a fragment for notebooks, and a page of its own; neither needs anything from outside.

Colours are mixed from the page's text colour and a few middle tones, so that they fit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from feedline.reports.measured import LOOP, WAIT, Report, StepReport, TraceSpan, last_first
from feedline.reports.text import HEAD, RIGHT, cells, duration, sentences, time_text

MOST_DRAWN = 1200
"""The spans of a timeline, at most."""
TICKS = 5
COLOURS = ("#3e8ee0", "#d9822b", "#3fa76a", "#8f6fe0", "#d4537e", "#b59a2a", "#27a3a8", "#a06a4b")

STYLE = """
.fl-report{font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;max-width:100%;padding:2px;
 --line:color-mix(in srgb,currentColor 22%,transparent);--fill:color-mix(in srgb,currentColor 5%,transparent);
 --soft:color-mix(in srgb,currentColor 62%,transparent);--own:color-mix(in srgb,currentColor 34%,transparent);
 --track:color-mix(in srgb,currentColor 7%,transparent);--warn:#d9822b;--good:#3fa76a}
.fl-report *{box-sizing:border-box}
.fl-report h3{font-size:11px;letter-spacing:.05em;text-transform:uppercase;color:var(--soft);font-weight:600;
 margin:18px 0 6px}
.fl-report .fl-top{display:flex;flex-wrap:wrap;gap:2px 12px;align-items:baseline}
.fl-report .fl-top b{font-size:15px}
.fl-report .fl-soft{color:var(--soft)}
.fl-report .fl-advice{margin:10px 0 0;padding:8px 12px;border-left:3px solid var(--warn);background:var(--fill);
 border-radius:4px;max-width:760px;overflow-wrap:anywhere}
.fl-report .fl-advice.fl-ok{border-color:var(--good)}
.fl-report .fl-advice b{font-weight:650}
.fl-report .fl-scroll{overflow-x:auto;max-width:100%}
.fl-report table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:12.5px}
.fl-report .fl-scroll th{text-align:left;font-weight:600;color:var(--soft);font-size:11px;padding:3px 12px 3px 0;
 border-bottom:1px solid var(--line);white-space:nowrap}
.fl-report .fl-scroll td{text-align:left;padding:4px 12px 4px 0;border-bottom:1px solid var(--line);white-space:nowrap}
.fl-report .fl-scroll td.fl-note{white-space:normal;min-width:250px;max-width:340px}
.fl-report .fl-scroll .fl-right{text-align:right}
.fl-report tr.fl-limits td:first-child{font-weight:650}
.fl-report .fl-key{display:inline-block;width:9px;height:9px;border-radius:2px;margin-right:6px}
.fl-report .fl-bar{display:inline-block;width:64px;height:8px;background:var(--track);border-radius:2px;
 margin-right:7px;overflow:hidden;vertical-align:baseline}
.fl-report .fl-bar i{display:block;height:100%}
.fl-report .fl-share{display:inline-block;min-width:34px}
.fl-report .fl-lane{display:grid;grid-template-columns:minmax(90px,150px) 1fr;gap:0 10px;align-items:center;
 margin:3px 0}
.fl-report .fl-lane>span{font-size:12px;text-align:right;overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
.fl-report .fl-lane svg{display:block;width:100%;height:20px;background:var(--track);border-radius:2px}
.fl-report .fl-axis{position:relative;height:16px;font-size:10.5px;color:var(--soft)}
.fl-report .fl-axis i{position:absolute;transform:translateX(-50%);font-style:normal;white-space:nowrap}
.fl-report .fl-axis i:first-child{transform:none}.fl-report .fl-axis i:last-child{transform:translateX(-100%)}
.fl-report .fl-foot{display:flex;flex-wrap:wrap;gap:3px 16px;font-size:12px;color:var(--soft);margin:8px 0 0}
.fl-report .fl-said{margin:10px 0 0;font-size:12px;color:var(--soft)}
@media (max-width:560px){.fl-report .fl-lane{grid-template-columns:1fr}.fl-report .fl-lane>span{text-align:left}
 .fl-report .fl-axis{display:block}.fl-report .fl-blank{display:none}}
"""

PAGE = """
:root{color-scheme:light dark}
body{margin:0 auto;padding:20px 18px 40px;max-width:1120px;background:#fff;color:#1d2127}
h1{font:650 20px/1.3 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;margin:0 0 10px}
@media (prefers-color-scheme:dark){body{background:#16181c;color:#dfe3e8}}
"""


def colour_of(number: int) -> str:
    """The colour of a step; after the last one they begin again, closer to the colour of the text."""
    again, at = divmod(number, len(COLOURS))
    return f"color-mix(in srgb,{COLOURS[at]} {round(100 * 0.55**again)}%,currentColor)" if again else COLOURS[at]


def page(report: Report) -> str:
    """A page of its own."""
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1"><title>feedline report</title>'
        f"<style>{PAGE}</style></head><body><h1>Where the time goes</h1>{fragment(report)}</body></html>"
    )


def fragment(report: Report) -> str:
    """A part of a page."""
    colours = {step.key: colour_of(i) for i, step in enumerate(reversed(report.steps))}
    rate = f"{report.rate:,.0f}" if report.rate >= 10 else f"{report.rate:.2g}"
    parts = [
        f'<div class="fl-top"><b>{rate} elements/s</b><span class="fl-soft">{report.elements:,} elements in '
        f"{time_text(report.seconds)}; the loop waited {report.share_waited:.0%} of the time</span></div>",
        _advice(report),
        "<h3>Steps</h3>" + _table(report, colours) if report.steps else "",
        _timeline(report, colours) if report.spans else "",
        f'<div class="fl-said">{"<br>".join(map(escape, sentences(report)[1:]))}</div>',
    ]
    return f'<div class="fl-report"><style>{STYLE}</style>{"".join(parts)}</div>'


def _advice(report: Report) -> str:
    found = report.bottleneck
    good = " fl-ok" if found.rule == "keeps_up" else ""
    text = escape(found.problem or found.summary)
    if found.change:
        gain = f" Expect about {found.gain:.1f} times the rate." if found.gain else ""
        text += f"<br><b>{escape(found.change[0].upper() + found.change[1:])}.</b>{gain}"
    return f'<div class="fl-advice{good}">{text[0].upper()}{text[1:]}</div>'


def _table(report: Report, colours: dict[str, str]) -> str:
    rows = [cells(report, step) for step in report.steps]
    used = [i for i in range(len(HEAD)) if any(row[i] for row in rows)]
    head = "".join(f'<th class="fl-right">{HEAD[i]}</th>' if i in RIGHT else f"<th>{HEAD[i]}</th>" for i in used)
    body = "".join(_row(report, step, row, used, colours) for step, row in zip(report.steps, rows, strict=True))
    return f'<div class="fl-scroll"><table><tr>{head}</tr>{body}</table></div>'


def _row(report: Report, step: StepReport, row: list[str], used: Sequence[int], colours: dict[str, str]) -> str:
    shown = []
    for i in used:
        text = escape(row[i])
        if i == 0:
            text = f'<span class="fl-key" style="background:{colours[step.key]}"></span>{escape(step.title)}'
        elif HEAD[i] == "busy" and row[i]:
            share = min(1.0, step.worked / max(1, step.calls or 1) / report.seconds) if report.seconds > 0 else 0.0
            bar = f'<i style="width:{share:.0%};background:{colours[step.key]}"></i>'
            text = f'<span class="fl-bar">{bar}</span><span class="fl-share">{text}</span>'
        elif i == len(HEAD) - 1:
            text = f'<span class="fl-soft">{escape(step.why)}</span>'
        kind = "fl-right" if i in RIGHT else "fl-note" if i == len(HEAD) - 1 else ""
        shown.append(f'<td class="{kind}">{text}</td>' if kind else f"<td>{text}</td>")
    limits = ' class="fl-limits"' if step.key == report.bottleneck.step else ""
    return f"<tr{limits}>{''.join(shown)}</tr>"


def _timeline(report: Report, colours: dict[str, str]) -> str:
    """The last part of the timeline: a track for each thread and worker."""
    spans = [span for span in report.spans if span.began < report.seconds]
    shown = spans[-MOST_DRAWN:]
    start = 0.0 if len(shown) == len(spans) else shown[0].began
    end = min(report.seconds, max((span.ended for span in shown), default=0.0))
    tracks: dict[str, list[TraceSpan]] = {LOOP: []}
    for span in shown:
        tracks.setdefault(span.thread, []).append(span)
    ordered = sorted(tracks.items(), key=_track_order)
    lanes = "".join(_track(name, found, start, end, colours) for name, found in ordered)
    wide = end - start
    ticks = [start + wide * i / TICKS for i in range(TICKS + 1)]
    labels = [duration(t) if t else "0" for t in ticks]
    axis = "".join(f'<i style="left:{100 * i / TICKS:.1f}%">{label}</i>' for i, label in enumerate(labels))
    used = {span.key for span in shown}
    hatched = "repeating-linear-gradient(45deg,currentColor 0 1px,transparent 1px 4px)"
    legend = [
        _key("var(--own)", "your code"),
        *reversed([_key(colour, key) for key, colour in colours.items() if key in used]),
        _key(hatched, "waits for the step of that colour"),
    ]
    part = "" if start == 0.0 else f": the last {time_text(wide)}"
    return (
        f'<h3>Timeline{part}</h3>{lanes}<div class="fl-lane"><span class="fl-blank"></span>'
        f'<div class="fl-axis">{axis}</div></div><div class="fl-foot">{"".join(legend)}</div>'
    )


def _key(colour: str, text: str) -> str:
    return f'<span><i class="fl-key" style="background:{colour}"></i>{escape(text)}</span>'


def _track_order(track: tuple[str, list[TraceSpan]]) -> tuple[bool, list[tuple[int, str]], str]:
    """The loop first, then from the last step down."""
    name = track[0]
    return name != LOOP, last_first(name), f"{len(name):04d}{name}"


def _track(name: str, spans: Sequence[TraceSpan], start: float, end: float, colours: dict[str, str]) -> str:
    """The spans of a thread: those that began inside others are drawn over them."""
    scale = 1000 / max(end - start, 1e-9)
    drawn = ['<rect width="1000" height="20" fill="var(--own)"/>'] if name == LOOP else []
    for span in spans:
        left, right = max(0.0, (span.began - start) * scale), min(1000.0, (span.ended - start) * scale)
        wide = max(0.4, right - left)
        colour = colours.get(span.key, "color-mix(in srgb,Canvas 86%,currentColor)")
        verb = "waits for " if span.kind == WAIT else ""
        many = f", {span.rows:,} elements" if span.rows > 1 else ""
        title = f"<title>{escape(verb + span.key)}: {duration(span.ended - span.began)}{many}</title>"
        place = f'x="{left:.2f}" width="{wide:.2f}" height="20"'
        if span.kind == WAIT:
            drawn.append(f'<rect {place} fill="Canvas"/>')
            drawn.append(f'<rect {place} fill="{colour}" fill-opacity=".28">{title}</rect>')
            dashes = 'stroke-width="3" stroke-dasharray="3 4"'
            drawn.append(f'<path d="M{left:.2f} 10h{wide:.2f}" stroke="{colour}" {dashes}/>')
        else:
            drawn.append(f'<rect {place} fill="{colour}">{title}</rect>')
    svg = f'<svg viewBox="0 0 1000 20" preserveAspectRatio="none" role="img">{"".join(drawn)}</svg>'
    return f'<div class="fl-lane"><span title="{escape(name)}">{escape(name)}</span>{svg}</div>'
