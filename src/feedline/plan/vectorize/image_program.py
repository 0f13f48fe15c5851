"""`ImageProgram`: image files and the steps of a program for them, run by a kernel in several threads."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple, NoReturn

import numpy as np

from feedline import kernels
from feedline.kernels.threads import team
from feedline.plan.vectorize.rows import Unsupported, Unsure
from feedline.structure.block import Array, Bytes, Column, slice_column
from feedline.structure.spec import TypeSpec

Allocate = Callable[[tuple[int, ...], "np.dtype[Any]"], Array]
"""An allocator of columns, called like `np.empty`."""

UINT8, FLOAT32 = np.dtype(np.uint8), np.dtype(np.float32)
FARTHEST = 1e30
"""Numbers up to this size cannot overflow in the next step."""
LARGEST = 1 << 28
"""The most bytes of one result."""
AT_ONCE = 1 << 26
"""The most bytes of the results of one run, apart from a single one."""

_ADD, _SUBTRACT, _MULTIPLY, _DIVIDE, _SUBTRACT_FROM, _DIVIDE_INTO, _TO_BYTES = range(7)
_CODES = {np.add: (_ADD, _ADD), np.subtract: (_SUBTRACT, _SUBTRACT_FROM), np.multiply: (_MULTIPLY, _MULTIPLY)}
_CODES[np.divide] = _DIVIDE, _DIVIDE_INTO
_SIGNS = {_ADD: "+ {}", _SUBTRACT: "- {}", _MULTIPLY: "* {}", _DIVIDE: "/ {}"}
_SIGNS |= {_SUBTRACT_FROM: "{} - x", _DIVIDE_INTO: "{} / x"}
_STEPS: tuple[Callable[[float, float], float], ...] = (
    lambda x, y: x + y,
    lambda x, y: x - y,
    lambda x, y: x * y,
    lambda x, y: x / y,
    lambda x, y: y - x,
    lambda x, y: y / x,
)


class DecodeJpeg(NamedTuple):
    """Decodes a JPEG file."""

    channels: int
    ratio: int
    fancy_upscaling: bool
    fast: bool

    def __str__(self) -> str:
        return "decode_jpeg"


class Crop(NamedTuple):
    """Takes some rows and columns, also in reverse."""

    rows: slice
    columns: slice

    def __str__(self) -> str:
        return f"[{_slice_text(self.rows)}, {_slice_text(self.columns)}]"


class Resize(NamedTuple):
    """Scales by bilinear interpolation."""

    height: int
    width: int

    def __str__(self) -> str:
        return f"resize [{self.height}, {self.width}]"


class Compute(NamedTuple):
    """Single-precision arithmetic with a number, or with one for each channel."""

    code: int
    operand: tuple[float, ...]

    def __str__(self) -> str:
        numbers = [f"{x:.6g}" for x in self.operand]
        return _SIGNS[self.code].format(numbers[0] if len(numbers) == 1 else f"[{', '.join(numbers)}]")


class Cast(NamedTuple):
    """Casts to uint8 or float32."""

    dtype: np.dtype[Any]

    def __str__(self) -> str:
        return str(self.dtype)


Step = DecodeJpeg | Crop | Resize | Compute | Cast


class ImageProgram(np.lib.mixins.NDArrayOperatorsMixin):
    """One image per row, uint8 or float32 [height, width, channels], which is made when the program has ended.

    Operators and methods that have a kernel add a step to the program; everything else raises `Unsupported`, with the
    reason.

    files   the files as a column, or their spec
    steps   the program: first a decoder; after a `Resize` all results have the same size
    bounds  between which all values are, at most
    """

    __slots__ = ("bounds", "dtype", "files", "steps")
    ndim = 3

    def __init__(
        self,
        files: Column | TypeSpec | None,
        steps: tuple[Step, ...],
        dtype: np.dtype[Any] = UINT8,
        bounds: tuple[float, float] = (0.0, 255.0),
    ) -> None:
        self.files, self.steps, self.dtype, self.bounds = files, steps, dtype, bounds

    def __str__(self) -> str:
        return " → ".join(map(str, self.steps))

    @property
    def rows(self) -> int:
        """The number of rows."""
        files: Column = self.files
        return len(files)

    @property
    def size_known(self) -> bool:
        """Whether all results have the same height and width."""
        return any(isinstance(step, Resize) for step in self.steps)

    @property
    def size(self) -> tuple[int, int]:
        """The height and the width of all results, if they are known."""
        at, scaled = self._scaling()
        rows, columns = range(scaled.height), range(scaled.width)
        for step in self.steps[at:]:
            if isinstance(step, Crop):
                rows, columns = rows[step.rows], columns[step.columns]
        return len(rows), len(columns)

    def _scaling(self) -> tuple[int, Resize]:
        return next((i, step) for i, step in enumerate(self.steps) if isinstance(step, Resize))

    # Steps.

    def _then(self, step: Step, dtype: np.dtype[Any], bounds: tuple[float, float] | None = None) -> ImageProgram:
        return ImageProgram(self.files, (*self.steps, step), dtype, bounds or self.bounds)

    def resized(self, height: int, width: int) -> ImageProgram:
        """The images, scaled to a height and a width."""
        if self.size_known:
            raise Unsupported("images are scaled natively only once")
        if height < 1 or width < 1 or height * width * 12 > LARGEST:
            raise Unsupported(f"the size {[height, width]} is not a size of images")
        return self._then(Resize(height, width), FLOAT32)

    def astype(self, dtype: Any, copy: bool = True) -> ImageProgram:
        """The images, cast to uint8 or float32."""
        to = np.dtype(dtype)
        if to not in (UINT8, FLOAT32):
            raise Unsupported(f"images are cast natively to uint8 and float32, not to {to}")
        if to == self.dtype:
            return self
        low, high = self.bounds
        return self._then(Cast(to), to, (max(low, 0.0), min(high, 255.0)) if to == UINT8 else None)

    def copy(self) -> ImageProgram:
        """The images themselves: nothing writes to them."""
        return self

    def __getitem__(self, index: object) -> ImageProgram:
        given = list(index) if type(index) is tuple else [index]
        if Ellipsis in given:
            at = given.index(Ellipsis)
            given = [*given[:at], *[slice(None)] * (4 - len(given)), *given[at + 1 :]]
        slices = [part for part in given if type(part) is slice and _is_plain(part)]
        if len(slices) > 3 or len(slices) < len(given):
            raise Unsupported("images are indexed natively only by slices of constant bounds")
        slices += [slice(None)] * (3 - len(slices))
        if slices[2] != slice(None):
            raise Unsupported("channels are not picked natively")
        made = self._then(Crop(slices[0], slices[1]), self.dtype)
        if made.size_known and 0 in made.size:
            raise Unsupported("images without pixels are not made natively")
        return made

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> ImageProgram:
        if method != "__call__" or options or ufunc not in _CODES or len(inputs) != 2:
            raise Unsupported(f"np.{ufunc.__name__} has no kernel for images")
        if self.dtype != FLOAT32:
            raise Unsupported("arithmetic with images is native only in float32; cast them with astype(np.float32)")
        swapped = inputs[0] is not self
        operand = _operand(inputs[0 if swapped else 1])
        code = _CODES[ufunc][swapped]
        return self._then(Compute(code, operand), FLOAT32, _bounds(code, self.bounds, operand))

    def __getattr__(self, name: str) -> NoReturn:
        raise Unsupported(f"{name} of images is not known natively")

    def _refuse(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise Unsupported("an image is not known before the program has run")

    __array__ = __array_function__ = __bool__ = __float__ = __int__ = __index__ = __len__ = __iter__ = _refuse
    __contains__ = __hash__ = __repr__ = __format__ = _refuse

    # The run.

    def run(self, rows: int, allocate: Allocate) -> tuple[int, Array]:
        """Runs the program for the first `rows` rows, or as many as take `AT_ONCE` bytes. Returns the number of rows
        before the first that the kernel refuses, and their column, which may have more rows.
        """
        if np.geterr()["under"] != "ignore":
            raise Unsure  # NumPy reports numbers that are too small
        decode, (at, scaled) = self.steps[0], self._scaling()
        assert isinstance(decode, DecodeJpeg)
        shape = *self.size, self._channels(decode)
        rows = min(rows, max(1, AT_ONCE // (math.prod(shape) * self.dtype.itemsize)))
        out = allocate((rows, *shape), self.dtype)
        windows, parts = _windows(self.steps[:at]), _windows(self.steps[at:])
        before, after = _arithmetic(self.steps[:at]), _arithmetic(self.steps[at:])
        size = scaled.height, scaled.width
        done = kernels.decode_images(self._files(rows), decode, windows, before, after, out, team(), size, parts)
        return done, out

    def _files(self, rows: int) -> Any:
        column: Column = self.files
        column = column if rows == len(column) else slice_column(column, 0, rows)
        if isinstance(column, Bytes) and column.size is None:
            return column.data, np.ascontiguousarray(column.offsets), column.gap
        if isinstance(column, np.ndarray) and column.ndim == 1 and column.dtype == object:
            return column.tolist()
        raise Unsure

    def _channels(self, decode: DecodeJpeg) -> int:
        """The number of channels: as asked for, or as the arithmetic needs, or as the first file has."""
        counts = [len(step.operand) for step in self.steps if isinstance(step, Compute) and len(step.operand) > 1]
        if decode.channels or counts:
            return decode.channels or counts[0]
        files: Column = self.files
        first = files.slice(0, 1).objects()[0] if isinstance(files, Bytes) else files[0]
        return kernels.jpeg_channels(first, decode) or 3


def _windows(steps: tuple[Step, ...]) -> list[tuple[slice, slice]]:
    """The rows and columns that are taken one after the other. Arithmetic is the same for each pixel, so it does not
    matter which of the two comes first.
    """
    return [(step.rows, step.columns) for step in steps if isinstance(step, Crop)]


def _arithmetic(steps: tuple[Step, ...]) -> list[tuple[int, Array]]:
    """The steps of arithmetic as the kernel takes them. It computes in float32, so a cast to that does nothing."""
    made: list[tuple[int, Array]] = []
    for step in steps:
        if isinstance(step, Compute):
            made.append((step.code, np.array(step.operand, FLOAT32)))
        elif isinstance(step, Cast) and step.dtype == UINT8:
            made.append((_TO_BYTES, np.empty(0, FLOAT32)))
    return made


def _operand(value: object) -> tuple[float, ...]:
    """The numbers that an image is computed with: one, or one for each channel."""
    if type(value) in (int, float) or isinstance(value, np.float32):
        numbers = np.array([value], np.float64)
    elif isinstance(value, np.ndarray) and value.dtype == FLOAT32 and 1 <= value.size == (value.shape or (1,))[-1]:
        if value.ndim > 3:
            raise Unsupported("native arithmetic on images takes only arrays of up to 3 dimensions")
        numbers = value.reshape(-1).astype(np.float64)
    else:
        raise Unsupported("native arithmetic on images takes only numbers and float32 arrays of channels")
    rounded = numbers.astype(FLOAT32)
    if not np.isfinite(rounded).all():
        raise Unsupported("a number is infinite or not a number")
    return tuple(rounded.tolist())


def _bounds(code: int, bounds: tuple[float, float], operand: tuple[float, ...]) -> tuple[float, float]:
    """Between which all results of a step are. Raises `Unsupported` if one might be infinite, which NumPy reports."""
    if (code == _DIVIDE and 0 in operand) or (code == _DIVIDE_INTO and bounds[0] <= 0 <= bounds[1]):
        raise Unsupported("images may be divided by zero")
    found = [_STEPS[code](x, y) for x in bounds for y in operand]
    far = max(map(abs, found))
    if not far < FARTHEST:
        raise Unsupported("values of images may become infinite")
    rounding = far * 1e-6
    return min(found) - rounding, max(found) + rounding


def _is_plain(part: slice) -> bool:
    bounds = (part.start, part.stop, part.step)
    return part.step != 0 and all(b is None or (type(b) is int and abs(b) < 1 << 31) for b in bounds)


def _slice_text(part: slice) -> str:
    text = ":".join("" if b is None else str(b) for b in (part.start, part.stop))
    return text if part.step in (None, 1) else f"{text}:{part.step}"
