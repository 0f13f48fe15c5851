"""Plans drawn for notebooks: one box per step, sources on top, as self-contained HTML.

Colours are mixed from the page's text colour and a few middle tones, so that they fit light and dark pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from feedline.plan.explain import (
    UNKNOWN_SPEC,
    call_text,
    count_text,
    functions,
    how_called,
    length_text,
    notes,
    spec_of,
    spec_text,
)
from feedline.plan.node import Node
from feedline.plan.traits.effects import user_code

_STYLE = """
.fl-plan{font:13px/1.45 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;display:inline-block;
 max-width:100%;overflow-x:auto;padding:2px;--line:color-mix(in srgb,currentColor 28%,transparent);
 --fill:color-mix(in srgb,currentColor 4%,transparent);--soft:color-mix(in srgb,currentColor 62%,transparent);
 --code:#d9822b;--source:#3e8ee0;--made:#8f6fe0}
.fl-plan *{box-sizing:border-box}
.fl-head{display:flex;flex-wrap:wrap;gap:4px 10px;align-items:baseline;margin:0 0 12px}
.fl-head b{font-size:14px;font-weight:650}
.fl-soft{color:var(--soft)}
.fl-mono{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:12px}
.fl-node{display:flex;flex-direction:column;align-items:center}
.fl-node>.fl-node,.fl-branch>.fl-node{align-self:stretch}
.fl-inputs{display:flex;align-items:stretch;width:max-content}
.fl-branch{display:flex;flex-direction:column;align-items:center;position:relative}
.fl-inputs>.fl-branch:not(:only-child){padding:0 10px}
.fl-pipe{flex:1 0 16px;width:0;border-left:1.5px solid var(--line)}
.fl-tip{height:14px;width:0;border-left:1.5px solid var(--line);position:relative}
.fl-tip::after{content:"";position:absolute;left:-4.75px;bottom:0;border:4px solid transparent;border-bottom-width:0;
 border-top:6px solid color-mix(in srgb,currentColor 55%,transparent)}
.fl-bar{align-self:stretch;height:0;position:relative}
.fl-bar::after{content:"";position:absolute;border-top:1.5px solid var(--line);left:-10px;right:-10px;top:0}
.fl-branch:first-child>.fl-bar::after{left:50%}
.fl-branch:last-child>.fl-bar::after{right:50%}
.fl-card{border:1px solid var(--line);border-left:3px solid var(--line);border-radius:7px;background:var(--fill);
 padding:6px 14px 7px 9px;min-width:190px;width:100%;max-width:430px;
 display:grid;grid-template-columns:auto 1fr;gap:0 9px}
.fl-card>:first-child{grid-row:span 9;min-width:16px;text-align:right;color:var(--soft);font-size:11px;line-height:19px;
 font-variant-numeric:tabular-nums}
.fl-card b{font-weight:650}
.fl-card .fl-flow,.fl-card .fl-note{color:var(--soft);font-size:12px;overflow-wrap:anywhere}
.fl-source{border-left-color:var(--source)}
.fl-user{border-left-color:var(--code)}
.fl-made{border-left-color:var(--made)}
.fl-user .fl-fn{color:color-mix(in srgb,var(--code) 78%,currentColor)}
.fl-plans{display:flex;flex-wrap:wrap;gap:20px 48px;align-items:flex-start}
.fl-plans>div{max-width:100%;overflow-x:auto}
.fl-plans>div>.fl-node{width:max-content;min-width:100%}
.fl-title{color:var(--soft);font-size:11px;letter-spacing:.05em;text-transform:uppercase;text-align:center;
 margin:0 0 8px}
.fl-foot{margin:12px 0 0;font-size:12px;color:var(--soft);display:flex;flex-wrap:wrap;gap:3px 16px}
.fl-foot i{display:inline-block;width:9px;height:9px;border-radius:2px;margin-right:5px}
"""


def picture(
    written: Node, running: Node | None, applied: Sequence[tuple[str, Sequence[int]]], problem: str = ""
) -> str:
    """The plan as written and, if that differs, as it runs."""
    known = {n.op for n in written.walk()}
    plans = [_titled("as written" if applied else "", _node(written, known))]
    if running is not None and applied:
        plans.append(_titled("as it runs", _node(running, known)))
    legend = _legend(written, running, applied)
    foot = [f'<span><i style="background:var(--{colour})"></i>{text}</span>' for colour, text in legend]
    foot = foot if len(foot) > 1 else []
    if applied:
        foot.append(f"<span>rewritten by {escape(', '.join(rule for rule, _ in applied))}</span>")
    if problem:
        foot.append(f"<span>cannot run: {escape(problem)}</span>")
    spec = spec_of(written)
    what = f'<span class="fl-soft">spec {UNKNOWN_SPEC}</span>'
    if spec is not None:
        what = f'<span class="fl-soft fl-mono">{escape(_cut(spec_text(spec), 200))}</span>'
    return (
        f'<div class="fl-plan"><style>{_STYLE}</style>'
        f'<div class="fl-head"><b>Dataset</b><span>{length_text(written.cardinality())}</span>{what}</div>'
        f'<div class="fl-plans">{"".join(plans)}</div><div class="fl-foot">{"".join(foot)}</div></div>'
    )


def _titled(title: str, drawn: str) -> str:
    return f'<div>{f"""<div class="fl-title">{title}</div>""" if title else ""}{drawn}</div>'


def _node(node: Node, known: set[str]) -> str:
    branches = [_node(n, known) for n in node.inputs]
    above = ""
    if len(branches) == 1:
        above = f'{branches[0]}<div class="fl-tip"></div>'
    elif branches:
        joined = '<div class="fl-pipe"></div><div class="fl-bar"></div>'
        inside = "".join(f'<div class="fl-branch">{b}{joined}</div>' for b in branches)
        above = f'<div class="fl-inputs">{inside}</div><div class="fl-tip"></div>'
    return f'<div class="fl-node">{above}{_card(node, known)}</div>'


def _card(node: Node, known: set[str]) -> str:
    name, _, rest = call_text(node, 80).partition("(")
    lines = [f'<span><b>{escape(name)}</b><span class="fl-mono">({escape(rest)}</span></span>']
    used = functions(node)
    for function in used:
        how = how_called(function)
        at = f'<span class="fl-mono">{escape(function.where)}</span> · ' if function.where else ""
        lines.append(f'<span class="fl-note fl-fn">ƒ&nbsp;{at}{how}</span>')
    lines += [f'<span class="fl-note">{escape(said)}</span>' for said in notes(node)[len(used) :]]
    lines.append(f'<span class="fl-flow">{_flow(node)}</span>')
    colour = _colour(node, known)
    number = "" if colour == "fl-made" and not node.inputs else str(node.position)
    return f'<div class="fl-card {colour}"><span>{number}</span>{"".join(lines)}</div>'


def _flow(node: Node) -> str:
    """The output of a step: the number of elements and their spec."""
    spec, n = spec_of(node), node.cardinality()
    if spec is None:
        return length_text(n)
    return f'<span class="fl-mono">{count_text(n)} &times; {escape(_cut(spec_text(spec), 90))}</span>'


def _colour(node: Node, known: set[str]) -> str:
    if user_code(node):
        return "fl-user"
    if node.op not in known:
        return "fl-made"
    return "" if node.inputs else "fl-source"


def _legend(written: Node, running: Node | None, applied: Sequence[object]) -> list[tuple[str, str]]:
    found = [("source", "source")]
    if any(user_code(n) for n in written.walk()):
        found.append(("code", "runs your code"))
    if running is not None and applied and {n.op for n in running.walk()} - {n.op for n in written.walk()}:
        found.append(("made", "inserted by the optimizer"))
    return found


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
