"""Splits: the language of `split="train[:10%]"`, and the parts of files that it selects."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from collections.abc import Sequence as SequenceType
from dataclasses import dataclass, replace
from math import trunc
from typing import Any, ClassVar, NamedTuple

from feedline.errors import InvalidArgumentError, InvalidTypeError, UnimplementedError
from feedline.plan import arguments

_PART = re.compile(r"(?P<name>[\w-]+)(\[(?P<slice>[\w%:.-]+)\])?")
_BOUND = re.compile(r"((?P<value>-?[\d_.]+)(?P<unit>%|shard)?)?")
_FORM = "such as 'train', 'train[:10%]', 'train[100:]', 'train[2shard:]' or 'train+test'"
UNITS = ("%", "abs", "shard")
ROUNDINGS = ("closest", "pct1_dropremainder")


@dataclass(frozen=True)
class FileInstruction:
    """Which examples of a file to read: `take` of them, after the first `skip`.

    >>> part = fl.tfds.core.FileInstruction("mnist-test.tfrecord-00000-of-00001", 10, 5, 100)
    >>> part.takes_all
    False
    """

    filename: str
    skip: int
    take: int
    examples_in_shard: int

    @property
    def takes_all(self) -> bool:
        """Whether the file is read to its end."""
        return self.skip + self.take == self.examples_in_shard


class ExampleSpan(NamedTuple):
    """The examples of a split from `start` to `stop`."""

    name: str
    start: int
    stop: int


class AbstractSplit:
    """What `split` may be: see `ReadInstruction` and `even_splits`. Splits are joined with `+`."""

    def spans(self, splits: Mapping[str, SplitInfo]) -> list[ExampleSpan]:
        """The examples selected among these splits."""
        raise TypeError(f"{type(self).__name__} must define spans")

    def __add__(self, other: object) -> AbstractSplit:
        return JoinedSplits((self, split_of(other)))

    def __radd__(self, other: object) -> AbstractSplit:
        return JoinedSplits((split_of(other), self))


@dataclass(frozen=True, repr=False)
class JoinedSplits(AbstractSplit):
    """Several splits, one after the other."""

    parts: tuple[AbstractSplit, ...]

    def spans(self, splits: Mapping[str, SplitInfo]) -> list[ExampleSpan]:
        """Those of all parts."""
        return [span for part in self.parts for span in part.spans(splits)]

    def __repr__(self) -> str:
        return "+".join(repr(part) for part in self.parts)


@dataclass(frozen=True)
class AllSplits(AbstractSplit):
    """All splits of a dataset, in the order of its description."""

    def spans(self, splits: Mapping[str, SplitInfo]) -> list[ExampleSpan]:
        """All examples."""
        return [ExampleSpan(name, 0, info.num_examples) for name, info in splits.items()]


@dataclass(frozen=True, repr=False)
class ReadInstruction(AbstractSplit):
    """A part of a split: from `from_` to `to`, in examples ("abs"), percent ("%") or files ("shard").

    >>> fl.tfds.core.ReadInstruction("train", to=10, unit="%")
    ReadInstruction('train[:10%]', rounding='closest')

    Negative bounds count from the end. Percentages are rounded to the closest example, or, with `rounding`
    "pct1_dropremainder", to multiples of one percent, all of which have the same number of examples.
    """

    split_name: str
    from_: float | None = None
    to: float | None = None
    unit: str = "abs"
    rounding: str = "closest"

    def __post_init__(self) -> None:
        if self.unit not in UNITS:
            raise InvalidArgumentError(f"tfds: the unit of a split must be one of {UNITS}, got {self.unit!r}")
        if self.rounding not in ROUNDINGS:
            raise InvalidArgumentError(f"tfds: rounding must be one of {ROUNDINGS}, got {self.rounding!r}")
        if self.unit == "%" and max(abs(self.from_ or 0), abs(self.to or 0)) > 100:
            raise InvalidArgumentError(f"tfds: percentages must be between -100 and 100, got {self!r}")

    def spans(self, splits: Mapping[str, SplitInfo]) -> list[ExampleSpan]:
        """The examples of the split between the bounds."""
        info = splits.get(self.split_name)
        if info is None:
            raise InvalidArgumentError(f"tfds: there is no split {self.split_name!r}; the splits are {list(splits)}")
        count = info.num_examples
        start = 0 if self.from_ is None else self._position(self.from_, info, first=True)
        stop = count if self.to is None else self._position(self.to, info, first=False)
        if max(abs(start), abs(stop)) > count:
            raise InvalidArgumentError(f"tfds: {self!r} exceeds the {count} examples of the split")
        return [ExampleSpan(self.split_name, start + count * (start < 0), stop + count * (stop < 0))]

    def _position(self, bound: float, info: SplitInfo, first: bool) -> int:
        if self.unit == "abs":
            return int(bound)
        if self.unit == "shard":
            wrapped = int(bound) + len(info.shard_lengths) * (not first and bound <= 0)
            return sum(info.shard_lengths[:wrapped])
        if self.rounding == "closest":
            return round(bound * info.num_examples / 100.0)
        if info.num_examples < 100:
            raise InvalidArgumentError(
                f"tfds: rounding 'pct1_dropremainder' needs a split of at least 100 examples, {self.split_name!r} has "
                f"{info.num_examples}"
            )
        return int(bound * trunc(info.num_examples / 100.0))

    def __repr__(self) -> str:
        unit = "" if self.unit == "abs" else self.unit
        low, high = ("" if n is None else f"{n:g}{unit}" for n in (self.from_, self.to))
        part = f"[{low}:{high}]" if low or high else ""
        rounding = f", rounding={self.rounding!r}" if self.unit == "%" else ""
        return f"ReadInstruction('{self.split_name}{part}'{rounding})"


@dataclass(frozen=True)
class EvenSplit(AbstractSplit):
    """Part `index` of `count` parts of equal size."""

    split: AbstractSplit
    index: int
    count: int
    drop_remainder: bool

    def spans(self, splits: Mapping[str, SplitInfo]) -> list[ExampleSpan]:
        """The part of each span; the first parts have one example more, unless the remainder is dropped."""
        found = []
        for name, start, stop in self.split.spans(splits):
            each, over = divmod(max(0, stop - start), self.count)
            over = 0 if self.drop_remainder else over
            low, high = (start + each * i + min(i, over) for i in (self.index, self.index + 1))
            found.append(ExampleSpan(name, low, high))
        return found


def even_splits(split: Any, n: int, *, drop_remainder: bool = False) -> list[AbstractSplit]:
    """`n` parts of a split that do not overlap, of the same size, or differing by one example unless `drop_remainder`.

    >>> first, second = fl.tfds.even_splits("train[:50%]", 2)
    >>> second
    EvenSplit(split=ReadInstruction('train[:50%]', rounding='closest'), index=1, count=2, drop_remainder=False)

    They are passed as `split`, and can be joined with `+`.
    """
    count = arguments.positive(n, "n", "tfds.even_splits")
    whole = split_of(split)
    return [EvenSplit(whole, i, count, bool(drop_remainder)) for i in range(count)]


def split_for_jax_process(
    split: Any, *, process_index: int | None = None, process_count: int | None = None, drop_remainder: bool = False
) -> AbstractSplit:
    """The part of a split that this JAX process reads: `even_splits` for all processes.

    >>> fl.tfds.split_for_jax_process("train", process_index=0, process_count=4, drop_remainder=True)
    EvenSplit(split=ReadInstruction('train'), index=0, count=4, drop_remainder=True)
    """
    if process_index is None or process_count is None:
        import jax

        process_index = jax.process_index() if process_index is None else process_index
        process_count = jax.process_count() if process_count is None else process_count
    parts = even_splits(split, process_count, drop_remainder=drop_remainder)
    return parts[process_index]


def split_of(value: object) -> AbstractSplit:
    """A split from what users write."""
    if isinstance(value, AbstractSplit):
        return value
    if not isinstance(value, str):
        raise InvalidTypeError(f"tfds: a split must be a string {_FORM}, got {value!r} of type {type(value).__name__}")
    parts = [_part(text, value) for text in re.split(r"\s*\+\s*", value)]
    return parts[0] if len(parts) == 1 else JoinedSplits(tuple(parts))


def _part(text: str, whole: str) -> AbstractSplit:
    found = _PART.fullmatch(text)
    wrong = InvalidArgumentError(f"tfds: {whole!r} is not a split; write one {_FORM}")
    if found is None:
        raise wrong
    name, part = found["name"], found["slice"]
    if name == "all":
        if part is not None:
            raise UnimplementedError(f"tfds: 'all' cannot be sliced, got {whole!r}; join slices of its splits with +")
        return AllSplits()
    if part is None:
        return ReadInstruction(name)
    bounds = [_BOUND.fullmatch(bound) for bound in part.split(":")]
    if len(bounds) > 2 or not any(b and b[0] for b in bounds):
        raise wrong
    low, high = bounds[0], bounds[-1]
    if low is None or high is None:
        raise wrong
    unit = low["unit"] or high["unit"] or "abs"
    if len(bounds) == 1 and unit != "shard":
        raise InvalidArgumentError(f"tfds: {whole!r} needs a colon, as in {name}[{low[0]}:]; only shards have numbers")
    try:
        number = float if unit == "%" else int
        start, stop = (None if b["value"] is None else number(b["value"]) for b in (low, high))
    except ValueError:
        raise wrong from None
    if len(bounds) == 1 and start is not None:
        stop = start + 1
    return ReadInstruction(name, start, stop, unit)


class SplitInfo(NamedTuple):
    """A split, or a part of one: its files, and which of their examples belong to it.

    >>> info = fl.tfds.core.SplitInfo("train", [fl.tfds.core.FileInstruction("a", 0, 2, 2)])
    >>> info.num_examples, info.num_shards
    (2, 1)
    """

    name: str
    file_instructions: list[FileInstruction]
    num_bytes: int = 0
    empty_shards: tuple[int, ...] = ()

    @property
    def shard_lengths(self) -> list[int]:
        """The number of examples in each file."""
        lengths = [file.take for file in self.file_instructions]
        for index in self.empty_shards:
            lengths.insert(index, 0)
        return lengths

    @property
    def num_examples(self) -> int:
        """The number of examples."""
        return sum(file.take for file in self.file_instructions)

    @property
    def num_shards(self) -> int:
        """The number of files."""
        return len(self.file_instructions) + len(self.empty_shards)

    @property
    def filepaths(self) -> list[str]:
        """The files."""
        return sorted(file.filename for file in self.file_instructions)

    @property
    def filenames(self) -> list[str]:
        """The names of the files in their folder."""
        return [path.rpartition("/")[2] for path in self.filepaths]

    def __repr__(self) -> str:
        return f"<SplitInfo num_examples={self.num_examples}, num_shards={self.num_shards}>"

    def part(self, start: int, stop: int) -> list[FileInstruction]:
        """The files that hold the examples from `start` to `stop`."""
        found, before = [], 0
        for file in self.file_instructions:
            skip, end = max(0, start - before), min(file.take, stop - before)
            if skip < end:
                found.append(replace(file, skip=file.skip + skip, take=end - skip))
            before += file.take
        return found


class SplitDict(Mapping[str, SplitInfo]):
    """The splits of a dataset by name; parts of them by the language of `split`.

    >>> files = [fl.tfds.core.FileInstruction("a", 0, 60, 60), fl.tfds.core.FileInstruction("b", 0, 40, 40)]
    >>> splits = fl.tfds.core.SplitDict([fl.tfds.core.SplitInfo("train", files)])
    >>> splits["train[:10%]"].num_examples, splits["train[50:]"].file_instructions[0].skip
    (10, 50)
    """

    Info: ClassVar[type[SplitInfo]] = SplitInfo

    def __init__(self, infos: SequenceType[SplitInfo]) -> None:
        self._infos = {info.name: info for info in infos}

    def __getitem__(self, key: Any) -> SplitInfo:
        if isinstance(key, str) and key in self._infos:
            return self._infos[key]
        spans = split_of(key).spans(self._infos)
        files = [file for name, start, stop in spans for file in self._infos[name].part(start, stop)]
        return SplitInfo(str(key), files)

    def __contains__(self, key: object) -> bool:
        return key in self._infos

    def __iter__(self) -> Iterator[str]:
        return iter(self._infos)

    def __len__(self) -> int:
        return len(self._infos)

    def __repr__(self) -> str:
        return repr(self._infos)

    @property
    def total_num_examples(self) -> int:
        """The number of examples in all splits."""
        return sum(info.num_examples for info in self._infos.values())


class Split(str):
    """The usual names of splits.

    >>> fl.tfds.Split.TRAIN
    'train'
    """

    TRAIN: ClassVar[str] = "train"
    VALIDATION: ClassVar[str] = "validation"
    TEST: ClassVar[str] = "test"
    ALL: ClassVar[str] = "all"
