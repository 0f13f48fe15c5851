"""Writes docs/names.md: every name of tf.data in TensorFlow 2.21, and its status in feedline.

    python docs/make/names.py

The list of names is tests/data/tensorflow_api.json; docs/differences.md has the reasons for missing names.
"""

from __future__ import annotations

import sys
from collections import Counter
from fnmatch import fnmatchcase
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from tests import test_api as api  # noqa: E402

PAGE = ROOT / "docs" / "names.md"

HEAD = """# All names of tf.data

What feedline has for each public name of TensorFlow 2.21 that has to do with `tf.data`.

- **same**: the same name, arguments and defaults. Arguments that feedline adds are keyword-only and listed.
- **own signature**: available, with other arguments.
- **not here**: not available; the reason is also in [Differences](differences.md).

"""


def page() -> str:
    """The whole page."""
    parts, count = [], Counter[str]()
    for module, names in api.LISTED.items():
        rows = []
        for name, shown in names.items():
            status, told = _status(module, name, shown)
            count[status] += 1
            rows.append(f"| `{module}.{name}` | {status} | {told} |")
        head = f"## `{module}`" + ("" if module.endswith("service") else f" → `{_here(module)}`")
        table = "\n".join(["| Name | Status | Here |", "|---|---|---|", *rows])
        parts.append(f'{head}\n\n<div class="stacked" markdown>\n\n{table}\n\n</div>')
    total = f"{count.total()} names: {', '.join(f'{n} {status}' for status, n in count.most_common())}."
    return HEAD + total + "\n\n" + "\n\n".join(parts) + "\n"


def _here(module: str) -> str:
    return api.MODULES[module].replace("feedline", "fl", 1).replace("fl.data.", "fl.", 1)


def _status(module: str, name: str, shown: str) -> tuple[str, str]:
    full = f"{module}.{name}"
    found = api.find(module, name)
    if found is None:
        return "not here", next(why for pattern, why in api.absent().items() if fnmatchcase(full, pattern))
    here = f"`{_here(module)}.{name}`"
    other = [why for pattern, why in api.OTHER_SIGNATURES.items() if fnmatchcase(full, pattern)]
    if other and shown.startswith("("):
        return "own signature", f"{here}: {other[0]}"
    added = _added(found, shown)
    return "same", f"{here}, also {added}" if added else here


def _added(found: object, shown: str) -> str:
    """Keyword-only arguments that TensorFlow does not have."""
    if not shown.startswith("(") or api.ENUMS.match(shown):
        return ""
    try:
        parameters = api.inspect.signature(getattr(found, "__func__", found)).parameters.values()
    except (TypeError, ValueError):
        return ""
    theirs = {item.strip().partition("=")[0] for item in shown[1:-1].split(",")}
    return ", ".join(f"`{p.name}`" for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in theirs)


if __name__ == "__main__":
    PAGE.write_text(page())
