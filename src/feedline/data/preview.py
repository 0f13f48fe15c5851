"""`Dataset.preview`: the first elements, as text and, in notebooks, as a table with images."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Sequence
from html import escape
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from feedline.engine.run import sample
from feedline.errors import InvalidArgumentError
from feedline.plan.arguments import integer
from feedline.plan.explain import bytes_text, call_text
from feedline.plan.file_access import OpensFiles, OpensFolders, OpensPlans
from feedline.plan.node import Node
from feedline.plan.traits.checkpoint import InMemory
from feedline.plan.traits.effects import side_effect_free
from feedline.plan.traits.specs import sampled
from feedline.structure.block import Array
from feedline.structure.nest import Tree, flatten

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import Integer

FEW = 3
"""The number of elements in the picture of a dataset."""
PATIENCE_S = 0.5
"""Seconds after which the picture shows the elements found so far: a filter may pass none."""
LEAST_SIDE = 8
THUMBNAIL = 96
PER_BATCH = 4
"""The number of images of a batch that are shown."""
LARGEST_FILE = 1 << 18
FILES = {b"\xff\xd8\xff": "jpeg", b"\x89PNG\r\n\x1a\n": "png", b"GIF8": "gif", b"RIFF": "webp"}
TEXT = 60

STYLE = """
.fl-preview{font:12px/1.4 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif;max-width:100%;
 overflow-x:auto;margin:10px 0 0;--line:color-mix(in srgb,currentColor 22%,transparent);
 --soft:color-mix(in srgb,currentColor 62%,transparent)}
.fl-preview table{border-collapse:collapse}
.fl-preview table th{text-align:left;font-weight:600;color:var(--soft);padding:2px 14px 3px 0;white-space:nowrap}
.fl-preview table td{text-align:left;vertical-align:top;padding:4px 14px 4px 0;border-top:1px solid var(--line);
 font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.fl-preview td:first-child{color:var(--soft)}
.fl-preview img{image-rendering:pixelated;display:inline-block;margin-right:4px;max-width:96px;max-height:96px;
 min-width:28px;vertical-align:top}
.fl-preview small{display:block;color:var(--soft);font-size:11px}
"""


class Preview:
    """The first elements of a dataset, as `Dataset.preview` returns them. Prints as text, and is drawn in notebooks."""

    def __init__(self, elements: Sequence[Any]) -> None:
        self.elements = list(elements)

    def __len__(self) -> int:
        return len(self.elements)

    def __repr__(self) -> str:
        lines = []
        for i, element in enumerate(self.elements):
            leaves, tree = flatten(element)
            named = [f"{name}{_text(leaf)}" for name, leaf in zip(_names(tree), leaves, strict=True)]
            lines.append(f"{i}  {', '.join(named)}")
        return "\n".join(lines) or "no elements"

    def _repr_html_(self) -> str:
        if not self.elements:
            return "<div>no elements</div>"
        rows = []
        head: list[str] = []
        for i, element in enumerate(self.elements):
            leaves, tree = flatten(element)
            head = head or [name.removesuffix(": ") for name in _names(tree)]
            rows.append(f"<tr><td>{i}</td>{''.join(f'<td>{_drawn(leaf)}</td>' for leaf in leaves)}</tr>")
        named = "".join(f"<th>{escape(name)}</th>" for name in head)
        table = f"<table><tr><th></th>{named}</tr>{''.join(rows)}</table>"
        return f'<div class="fl-preview"><style>{STYLE}</style>{table}</div>'


def preview(self: Dataset[Any], count: Integer = 5) -> Preview:
    """The first elements, for a look at them: text, and a table with images in notebooks.

    >>> fl.Dataset.from_tensor_slices({"x": [[1.0, 2.0], [3.0, 4.0]], "name": ["a", "b"]}).preview()
    0  x: float32[2] [1. 2.], name: b'a'
    1  x: float32[2] [3. 4.], name: b'b'

    The dataset is run up to there in this thread, functions included. Shuffles are left out, so no seed is used up.
    """
    wanted = integer(count, "count", "preview")
    if wanted < 0:
        raise InvalidArgumentError(f"preview: count must be 0 or more, got {wanted}")
    return Preview(first_elements(self._plan, wanted))


def first_elements(plan: Node, count: int, seconds: float = inf) -> list[Any]:
    """The first elements of a plan without its shuffles, as many as are made within so many seconds."""
    return [block.rows()[0] for block in sample(sampled(plan), count, seconds=seconds)]


def picture_of_elements(plan: Node) -> str:
    """The first elements for the picture of a plan: if making them runs no function that may have effects, reads local
    files only, and raises nothing; else an empty string.
    """
    if not side_effect_free(plan) or not all(map(_at_hand, plan.walk())):
        return ""
    try:
        found = first_elements(plan, FEW, PATIENCE_S)
    except Exception:
        return ""
    return Preview(found)._repr_html_() if found else ""


def _at_hand(node: Node) -> bool:
    """Whether a step reads nothing, or local files whose names are in memory."""
    if isinstance(node, (OpensFolders, OpensPlans)) or "://" in call_text(node):
        return False
    if not isinstance(node, OpensFiles):
        return True
    names = node.inputs[0] if node.inputs else None
    return isinstance(names, InMemory) and not any(b"://" in bytes(name) for name in names.block.rows())


def _names(tree: Tree) -> list[str]:
    return [""] if tree.is_leaf else [f"{path.removeprefix('$').lstrip('.')}: " for path in tree.paths()]


def _text(leaf: Any) -> str:
    if isinstance(leaf, bytes):
        return repr(leaf) if len(leaf) <= TEXT else f"{leaf[:TEXT]!r}… ({bytes_text(len(leaf))})"
    if isinstance(leaf, np.ndarray) and leaf.ndim:
        return f"{_shape(leaf)} {_values(leaf)}"
    return _cut(str(leaf), False)


def _values(leaf: Array) -> str:
    """The first values of an array."""
    return _cut(" ".join(str(leaf.ravel()[:8]).split()), leaf.size > 8)


def _cut(text: str, more: bool) -> str:
    text = text if len(text) <= TEXT else f"{text[: TEXT - 1]}…"
    return f"{text[:-1]} …]" if more and text.endswith("]") else text


def _drawn(leaf: Any) -> str:
    """A leaf as HTML: images as images, anything else as text."""
    if isinstance(leaf, bytes):
        kind = next((kind for begin, kind in FILES.items() if leaf.startswith(begin)), None)
        if kind is not None and len(leaf) <= LARGEST_FILE:
            return f"{_image(kind, leaf)}<small>{kind}, {bytes_text(len(leaf))}</small>"
    elif isinstance(leaf, np.ndarray):
        images = images_in(leaf)
        if images:
            return f"{''.join(_image('png', png(image)) for image in images)}<small>{_shape(leaf)}</small>"
        if leaf.ndim:
            return f"{escape(_values(leaf))}<small>{escape(_shape(leaf))}</small>"
    return escape(_text(leaf))


def _shape(leaf: Array) -> str:
    return f"{'string' if leaf.dtype == object else leaf.dtype.name}{list(leaf.shape)}"


def _image(kind: str, data: bytes) -> str:
    return f'<img alt="" src="data:image/{kind};base64,{base64.b64encode(data).decode()}">'


def images_in(leaf: Array) -> list[Array]:
    """The images in an array: one, or the first ones of a batch; none if it looks like something else."""
    shape = leaf.shape
    channels = len(shape) in (3, 4) and shape[-1] in (1, 3, 4)
    grey = leaf.dtype == np.uint8 and len(shape) in (2, 3) and not channels
    if not (channels or grey) or leaf.dtype not in (np.uint8, np.float32, np.float64) or not leaf.size:
        return []
    single = leaf[None] if len(shape) == (3 if channels else 2) else leaf
    if min(single.shape[1:3]) < LEAST_SIDE:
        return []
    made = []
    for image in single[:PER_BATCH]:
        step = max(1, -(-max(image.shape[:2]) // THUMBNAIL))
        small = image[::step, ::step]
        if small.dtype != np.uint8:
            small = _as_bytes(small)
        made.append(small if small.ndim == 3 else small[..., None])
    return made


def _as_bytes(pixels: Array) -> Array:
    """Floats as uint8: from 0 to 1, from 0 to 255, or between the least and the greatest finite one."""
    finite = pixels[np.isfinite(pixels)].astype(np.float64)
    low, top = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)
    base, scale = (0.0, 255.0 if top <= 1 else 1.0) if low >= 0 and top <= 255 else (low, 255 / max(top - low, 1e-9))
    with np.errstate(all="ignore"):  # infinities, and numbers near the largest
        return np.nan_to_num((pixels - base) * scale).clip(0, 255).astype(np.uint8)


def png(image: Array) -> bytes:
    """A PNG file of an image, uint8[height, width, channels]."""
    height, width, channels = image.shape
    rows = np.ascontiguousarray(image).reshape(height, width * channels)
    raw = np.concatenate([np.zeros((height, 1), np.uint8), rows], 1).tobytes()
    kind = {1: 0, 3: 2, 4: 6}[channels]
    head = struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0)
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(raw, 6)), (b"IEND", b"")]
    body = (struct.pack(">I", len(d)) + n + d + struct.pack(">I", zlib.crc32(n + d)) for n, d in parts)
    return b"\x89PNG\r\n\x1a\n" + b"".join(body)
