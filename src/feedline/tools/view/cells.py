"""Values for the page: a short form for a table, a longer one for a single record, and all of it piece by piece.

Numbers are sent as text, so that none of them changes in the browser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from feedline.structure.block import Array
from feedline.structure.nest import flatten
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.tools.head import text_of
from feedline.tools.shared.features import as_json
from feedline.tools.shared.sounds import stored_sound
from feedline.tools.shared.text import plural, printable, shortened, size_of
from feedline.tools.view.media import SOUND_FROM, image_served, outline, signed, stored_image

SHORT, LONG = 160, 4000
"""The most characters of a value in a table, and in a single record."""
LISTED = 12
LINE_FROM = 16
"""Lists of at least so many numbers are drawn."""
NARROW, WIDE = 48, 480
"""The parts of a drawing in a table, and in a single record."""
PER_LINE = 16
_PLAIN_KEY = re.compile(r"\A\['([\w/ -]+)'\]\Z")
"""A path of one key that needs quotes in Python, and none on the page."""
PIECE = 200
"""The lines of a piece."""
TEXT_PIECE = 16_384


def cell(value: Any, long: bool = False) -> dict[str, Any]:
    """A value for the page: its kind, its text, and what is drawn beside it.

    >>> from feedline.tools.view.cells import cell
    >>> cell(np.float32(4.5))
    {'kind': 'number', 'text': '4.5', 'type': 'float32'}
    >>> cell([b"a", b"b"])["text"]
    'a, b'
    """
    if value is None:
        return {"kind": "missing", "text": ""}
    if isinstance(value, (bool, np.bool_)):
        return {"kind": "number", "text": "true" if value else "false", "type": "bool"}
    if isinstance(value, (int, float, np.integer, np.floating)):
        return {"kind": "number", "text": number_text(value), "type": _type_of(value)}
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return _string(value, long)
    if isinstance(value, SparseTensor):
        return _sparse(value, long)
    if isinstance(value, RaggedTensor):
        return _ragged(list(value), f"{value.dtype.name} {_shape(value.shape)}", long)
    if _is_json(value):
        return _object(value, long)
    if isinstance(value, list):
        return _listed(value, long)
    if isinstance(value, np.ndarray):
        return _array(value, long)
    text = shortened(printable(repr(value)), LONG if long else SHORT)
    return {"kind": "other", "text": text, "type": _type_of(value)}


def _type_of(value: Any) -> str:
    if isinstance(value, np.generic):
        return value.dtype.name
    return type(value).__name__


def number_text(value: Any) -> str:
    """A number with the digits that tell it apart from others of its type."""
    return str(value.item() if isinstance(value, np.generic) and value.dtype.kind != "f" else value)


def _string(value: bytes, long: bool) -> dict[str, Any]:
    image = stored_image(value)
    if image is not None:
        size = f"{image.width} x {image.height}" if image.width else ""
        about = ", ".join(filter(None, (f"{image.format} image", size, size_of(len(value)))))
        return {"kind": "image", "text": about, "width": image.width, "height": image.height}
    sound = stored_sound(value)
    if sound is not None:
        made: dict[str, Any] = {"kind": "sound", "line": [], "signed": True}
        if sound.samples is not None and len(sound.samples):
            made["line"] = outline(sound.samples.mean(1), WIDE if long else NARROW)
        return {**made, "text": f"{sound.text}, {size_of(len(value))}"}
    text = text_of(value)
    if text is None:
        about = f"{value[: (512 if long else 24)].hex(' ')}{' …' if len(value) > (512 if long else 24) else ''}"
        return {"kind": "bytes", "text": about, "type": "bytes", "size": size_of(len(value)), "more": len(value) > 512}
    most = LONG if long else SHORT
    shown = readable(text[: most + 1]) if long else printable(" ".join(text[: most + 1].split()))
    more = len(text) > most or len(value) > 4096
    return {"kind": "text", "text": shortened(shown, most), "more": more, "size": size_of(len(value)), "type": "string"}


def _is_json(value: Any) -> bool:
    """Whether a value is an object of JSON, or a list with objects or nulls."""
    inside = value if isinstance(value, list) else ()
    return isinstance(value, dict) or any(item is None or isinstance(item, dict) for item in inside)


def _object(value: Any, long: bool) -> dict[str, Any]:
    text, most = object_text(value, long), LONG if long else SHORT
    shown = readable(text) if long else printable(text)
    kind = f"JSON [{len(value)}]" if isinstance(value, list) else "JSON"
    return {"kind": "list", "text": shortened(shown, most), "more": len(shown) > most, "type": kind}


def object_text(value: Any, long: bool = True) -> str:
    """Objects as JSON."""
    return json.dumps(as_json(value), ensure_ascii=False, indent=2 if long else None, default=str)


def readable(text: str) -> str:
    """Text with its line ends, and other control characters as escapes."""
    return "\n".join(printable(line.replace("\t", "    ")) for line in text.replace("\r\n", "\n").split("\n"))


def _array(value: Array, long: bool) -> dict[str, Any]:
    if value.ndim == 0:
        return cell(value.item() if value.dtype.kind in "OSU" else value[()], long)
    if value.dtype.kind in "OSU":
        return {**_listed(value.ravel().tolist(), long), "type": f"string {_shape(value.shape)}"}
    kind = f"{value.dtype.name} {_shape(value.shape)}"
    drawn = image_served(value, True) if value.ndim > 1 else None
    if drawn is not None:
        return {"kind": "image", "text": kind, "width": 0, "height": 0, "array": True, "type": kind}
    flat = value.ravel()
    some = ", ".join(map(number_text, flat[: (200 if long else LISTED)]))
    made: dict[str, Any] = {
        "kind": "list", "type": kind, "more": flat.size > (200 if long else LISTED),
        "text": f"{some}, …" if flat.size > (200 if long else LISTED) else some or "empty",
    }  # fmt: skip
    if flat.size >= LINE_FROM and value.dtype.kind in "biuf":
        made["line"], made["signed"] = outline(flat, WIDE if long else NARROW), signed(flat)
        made["sound"] = value.ndim == 1 and flat.size >= SOUND_FROM
    return made


def _listed(value: list[Any], long: bool) -> dict[str, Any]:
    if not value:
        return {"kind": "list", "text": "empty", "type": "[0]"}
    if all(isinstance(item, (bool, int, float, np.generic)) for item in value):
        return _array(np.array(value), long)
    if any(isinstance(item, (list, np.ndarray)) for item in value):
        return _ragged(value, f"ragged [{len(value)}, …]", long)
    first = value[0]
    if isinstance(first, bytes) and stored_image(first) is not None:
        count = plural(len(value), "image")
        return {"kind": "images", "text": count, "count": len(value), "type": f"string [{len(value)}]"}
    most = LISTED if not long else 200
    parts = [cell(item)["text"] for item in value[:most]]
    text = shortened(", ".join(parts), LONG if long else SHORT) + (", …" if len(value) > most else "")
    return {"kind": "list", "text": text, "type": f"string [{len(value)}]", "more": len(value) > most}


def _ragged(rows: list[Any], kind: str, long: bool) -> dict[str, Any]:
    """Rows of different lengths: each with its values."""
    most = 40 if long else 3
    shown = [f"[{_row_text(row, 24 if long else 5)}]" for row in rows[:most]]
    text = ("\n" if long else " ").join(shown) + (" …" if len(rows) > most else "")
    lengths = [_length(row) for row in rows[:10_000]]
    about = f"{kind}, rows of {min(lengths)} to {max(lengths)}" if lengths else kind
    return {
        "kind": "ragged", "text": shortened(text, LONG if long else SHORT) or "empty", "type": about,
        "more": len(rows) > most or max(lengths, default=0) > 24,
    }  # fmt: skip


def _length(row: Any) -> int:
    return len(row) if isinstance(row, (list, RaggedTensor)) or (isinstance(row, np.ndarray) and row.ndim) else 1


def _row_text(row: Any, most: int) -> str:
    items = list(islice(iter(row), most + 1)) if _length(row) != 1 or isinstance(row, (list, RaggedTensor)) else [row]
    inner = (list, RaggedTensor)
    parts = [f"[{_row_text(i, most)}]" if isinstance(i, inner) else cell(i)["text"] for i in items[:most]]
    return ", ".join(parts) + (", …" if len(items) > most else "")


def _sparse(value: SparseTensor, long: bool) -> dict[str, Any]:
    most = 200 if long else 4
    parts = [f"{tuple(at) if len(at) > 1 else at[0]}: {cell(v)['text']}" for at, v in islice(_entries(value), most)]
    n = len(value.values)
    text = (", " if not long else "\n").join(parts) + (" …" if n > most else "")
    about = f"sparse {_shape(value.dense_shape.tolist())}, {plural(n, 'value')}"
    return {"kind": "sparse", "text": text or "empty", "type": about, "more": n > most}


def _entries(value: SparseTensor) -> Iterator[tuple[list[int], Any]]:
    for i in range(len(value.values)):
        yield value.indices[i].tolist(), value.values[i]


def _shape(shape: Any) -> str:
    return f"[{', '.join('…' if d is None else str(d) for d in shape)}]"


# All of a value.


def piece(value: Any, start: int) -> dict[str, Any]:
    """A piece of a value as text: from a byte of a string on, or from a line on; and where the next one begins."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return _text_piece(value, start) if text_of(value) is not None else _hex_piece(value, start)
    lines = list(islice(_lines(value), start, start + PIECE + 1))
    return _line_piece(lines[:PIECE], start + PIECE if len(lines) > PIECE else None)


def _line_piece(lines: list[str], following: int | None) -> dict[str, Any]:
    """Lines; their last one ends if others follow, so that pieces can be joined."""
    return {"text": "\n".join(lines) + ("" if following is None else "\n"), "next": following}


def _text_piece(value: bytes, start: int) -> dict[str, Any]:
    end = min(len(value), start + TEXT_PIECE)
    while end < len(value) and value[end] & 0xC0 == 0x80 and end > start:
        end -= 1
    end -= value[end - 1 : end + 1] == b"\r\n"  # which is one line end
    text = readable(value[start:end].decode(errors="replace"))
    return {"text": text, "next": end if end < len(value) else None}


def _hex_piece(value: bytes, start: int) -> dict[str, Any]:
    start -= start % 16
    end = min(len(value), start + 16 * PIECE)
    lines = []
    for at in range(start, end, 16):
        part = value[at : min(at + 16, end)]
        plain = "".join(chr(b) if 32 <= b < 127 else "·" for b in part)
        lines.append(f"{at:08x}  {part.hex(' '):<47}  {plain}")
    return _line_piece(lines, end if end < len(value) else None)


def _lines(value: Any) -> Iterator[str]:
    if _is_json(value):
        yield from readable(object_text(value)).split("\n")
    elif isinstance(value, SparseTensor):
        for at, item in _entries(value):
            yield f"{at}  {cell(item)['text']}"
    elif isinstance(value, RaggedTensor) or (isinstance(value, list) and any(isinstance(i, list) for i in value)):
        for i, row in enumerate(value):
            yield f"{i:>6}  {_row_text(row, 10_000)}"
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield f"{i:>6}  {_row_text(item, 10_000) if isinstance(item, np.ndarray) else cell(item)['text']}"
    elif isinstance(value, np.ndarray) and value.ndim:
        yield from _array_lines(value)
    else:
        yield cell(value, True)["text"]


def _array_lines(value: Array) -> Iterator[str]:
    if value.ndim == 1:
        for at in range(0, len(value), PER_LINE):
            yield f"{at:>8}  {', '.join(cell(v)['text'] for v in value[at : at + PER_LINE])}"
        return
    for place in np.ndindex(value.shape[:-1]):
        yield f"{list(place)}  {', '.join(cell(v)['text'] for v in value[place][:2000])}"


def leaves_of(element: Any) -> dict[str, Any]:
    """The leaves of an element of a dataset, by their path in it.

    >>> from feedline.tools.view.cells import leaves_of
    >>> leaves_of(({"x": 1}, 2))
    {'[0].x': 1, '[1]': 2}
    """
    leaves, tree = flatten(element)
    if tree.is_leaf:
        return {"": leaves[0]}
    paths = (_PLAIN_KEY.sub(r"\1", path.removeprefix("$").lstrip(".")) for path in tree.paths())
    return dict(zip(paths, leaves, strict=True))
