"""`pad_sequences`: lists of different lengths as one array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from feedline.errors import InvalidArgumentError

Array = np.ndarray[Any, Any]
SIDES = ("pre", "post")


def pad_sequences(
    sequences: Sequence[Any],
    maxlen: int | None = None,
    dtype: Any = "int32",
    padding: str = "pre",
    truncating: str = "pre",
    value: Any = 0.0,
) -> Array:
    """Sequences of different lengths as one array: padded with `value`, and cut to `maxlen`.

    >>> fl.keras.utils.pad_sequences([[1], [2, 3], [4, 5, 6]])
    array([[0, 0, 1],
           [0, 2, 3],
           [4, 5, 6]], dtype=int32)
    >>> fl.keras.utils.pad_sequences([[1], [4, 5, 6]], maxlen=2, padding="post", truncating="post", value=-1)
    array([[ 1, -1],
           [ 4,  5]], dtype=int32)

    `padding` and `truncating` say where: "pre" before the sequence, "post" after it.
    """
    op = "pad_sequences"
    for name, side in (("padding", padding), ("truncating", truncating)):
        if side not in SIDES:
            raise InvalidArgumentError(f"{op}: {name} must be one of {SIDES}, got {side!r}")
    try:
        lengths = [len(sequence) for sequence in sequences]
    except TypeError:
        raise InvalidArgumentError(f"{op}: sequences must be a list of lists or arrays") from None
    kind = np.dtype(dtype)
    if isinstance(value, str) and kind.kind not in "OUS":
        raise InvalidArgumentError(f"{op}: the value {value!r} is a string; pass dtype=object")
    longest = max(lengths, default=0) if maxlen is None else maxlen
    shape = next((np.asarray(s).shape[1:] for s, n in zip(sequences, lengths, strict=True) if n), ())
    made = np.full((len(lengths), longest, *shape), value, kind)
    for i, sequence in enumerate(sequences):
        if not lengths[i] or not longest:
            continue
        part = np.asarray(sequence[-longest:] if truncating == "pre" else sequence[:longest], kind)
        if part.shape[1:] != shape:
            raise InvalidArgumentError(
                f"{op}: the items of sequence {i} have the shape {part.shape[1:]}, those before {shape}"
            )
        made[i, slice(-len(part), None) if padding == "pre" else slice(len(part))] = part
    return made
