"""Prints golden records in readable form: show.py 'windows/.*' [golden.jsonl]"""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).parent / "golden.jsonl"


def text(node: dict[str, Any]) -> str:
    """One encoded value on one line."""
    kind, v = node.get("t"), node.get("v")
    if kind == "arr":
        values = [base64.b64decode(x) for x in node["v"]] if node["dtype"] == "string" else v
        return f"{node['dtype']}{node['shape']}{values}"
    if kind == "dataset":
        end = ":".join(filter(None, (node["end"], node.get("error"))))
        return f"DS<{' | '.join(map(text, node['elements']))}> {end}"
    if kind in ("tuple", "list"):
        return f"{kind[0]}({', '.join(map(text, node['v']))})"
    if kind == "namedtuple":
        fields = zip(node["fields"], map(text, node["v"]), strict=True)
        return f"{node['name']}({', '.join(f'{k}={x}' for k, x in fields)})"
    if kind == "dict":
        return f"{{{', '.join(f'{k}: {text(x)}' for k, x in node['v'].items())}}}"
    if kind == "ragged":
        return f"ragged({node['splits']} {node['splits_dtype']} {text(node['flat'])})"
    if kind == "sparse":
        return f"sparse({node['indices']} {text(node['values'])} {node['dense_shape']})"
    if kind == "raised":
        return f"!{node['cls']}"
    if kind == "none":
        return "None"
    return repr(v) if kind == "py" else json.dumps({k: x for k, x in node.items() if k != "t"})


def main(pattern: str, path: Path = GOLDEN) -> None:
    """Prints the records whose case matches."""
    for record in map(json.loads, path.read_text().splitlines()):
        if re.search(pattern, record.get("case", "\n")):
            got = text(record["ok"]) if "ok" in record else f"!{record['error']} {record.get('msg', '')}"
            print(record["case"], "=>", got, f"card={record['cardinality']}" if "cardinality" in record else "")


if __name__ == "__main__":
    main(sys.argv[1], *map(Path, sys.argv[2:3]))
