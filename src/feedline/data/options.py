"""Options of a dataset: `fl.Options` and the groups inside it, with tf.data's names, types and defaults.

An option that was never set reads as None: feedline chooses. Options have no behaviour; the engine and the optimizer
read them.
"""

from __future__ import annotations

import enum
import logging
from collections.abc import Callable
from numbers import Real
from operator import attrgetter
from typing import Any, Generic, NoReturn, Self, TypeVar, cast, overload

from feedline.engine.context import Settings, cores
from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.reports.measured import read_choices

T = TypeVar("T")

_log = logging.getLogger("feedline")


class AutotuneAlgorithm(enum.Enum):
    """How AUTOTUNE searches for better settings.

    >>> fl.experimental.AutotuneAlgorithm.HILL_CLIMB.value
    1
    """

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided when several workers read it.

    OFF: not divided. AUTO: by files, or by elements if there are none. FILE: each worker reads its own files. DATA:
    each worker reads everything and keeps its own elements. HINT: at the place of `shard(SHARD_HINT, ...)`.

    >>> fl.experimental.AutoShardPolicy.FILE.value
    1
    """

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """What to do when a checkpoint cannot hold state that a user's function keeps: warn, ignore it, or fail.

    >>> fl.experimental.ExternalStatePolicy.FAIL.value
    2
    """

    WARN = 0
    IGNORE = 1
    FAIL = 2


class _Field(Generic[T]):
    """One option: checks the type when it is set, and gives the default until then."""

    def __init__(self, kind: type[Any], doc: str, default: Callable[[], T]) -> None:
        self.kind = kind
        self.default = default
        self.name = ""
        self.__doc__ = doc

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self.name = name

    @overload
    def __get__(self, options: None, owner: type[Any]) -> Self: ...
    @overload
    def __get__(self, options: _OptionsBase, owner: type[Any]) -> T: ...
    def __get__(self, options: _OptionsBase | None, owner: type[Any]) -> Self | T:
        if options is None:
            return self
        if self.name in options._options:
            known: T = options._options[self.name]
            return known
        value = self.default()
        if isinstance(value, _OptionsBase):
            # Stored, so that `options.threading.private_threadpool_size = 4` has an effect.
            value._set_mutable(options._mutable)
            options._options[self.name] = value
        return value

    def __set__(self, options: _OptionsBase, value: T) -> None:
        if not isinstance(value, self.kind):
            raise InvalidTypeError(
                f"{type(options).__name__}.{self.name} must be of type {self.kind.__name__}, got {value!r} of type "
                f"{type(value).__name__}"
            )
        options._options[self.name] = value


class _Renamed(Generic[T]):
    """An older name of an option."""

    def __init__(self, field: _Field[T], warn: bool) -> None:
        self._field = field
        self._warn = warn
        self._name = ""
        self.__doc__ = "Deprecated name of another option."

    def __set_name__(self, owner: type[Any], name: str) -> None:
        self._name = name
        self.__doc__ = f"Deprecated: use `{self._field.name}`."

    def _log_deprecation(self) -> None:
        if self._warn:
            _log.warning("options.%s is deprecated, use options.%s", self._name, self._field.name)

    def __get__(self, options: _OptionsBase | None, owner: type[Any]) -> Any:
        if options is None:
            return self
        self._log_deprecation()
        return self._field.__get__(options, owner)

    def __set__(self, options: _OptionsBase, value: T) -> None:
        self._log_deprecation()
        self._field.__set__(options, value)


def _option(kind: type[T], doc: str) -> _Field[T | None]:
    return _Field(kind, doc, lambda: None)


def _group(kind: type[T], doc: str) -> _Field[T]:
    return _Field(kind, doc, kind)


class _OptionsBase:
    """A set of options, compared and copied by value; its repr shows what is set."""

    _options: dict[str, Any]
    _mutable: bool

    def __init__(self) -> None:
        object.__setattr__(self, "_options", {})
        object.__setattr__(self, "_mutable", True)

    @classmethod
    def _fields(cls) -> dict[str, _Field[Any]]:
        return {name: field for name, field in vars(cls).items() if isinstance(field, _Field)}

    def __setattr__(self, name: str, value: object) -> None:
        if not self._mutable:
            raise InvalidArgumentError(
                f"cannot set {name}: the options of a dataset are read-only; create new fl.Options() and pass them to "
                "dataset.with_options"
            )
        if not isinstance(getattr(type(self), name, None), (_Field, _Renamed)):
            known = ", ".join(self._fields())
            raise AttributeError(f"{type(self).__name__} has no option {name}; it has {known}", name=name, obj=self)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"an option cannot be deleted: {name}", name=name, obj=self)

    def _set_mutable(self, mutable: bool) -> None:
        object.__setattr__(self, "_mutable", mutable)
        for value in self._options.values():
            if isinstance(value, _OptionsBase):
                value._set_mutable(mutable)

    def _set_values(self) -> dict[str, Any]:
        """The options that differ from their defaults, in the order of the class."""
        return {
            name: self._options[name]
            for name, field in self._fields().items()
            if name in self._options and self._options[name] != field.default()
        }

    def _merged(self, other: Self) -> Self:
        if not isinstance(other, type(self)):
            raise InvalidTypeError(f"{type(self).__name__} cannot be merged with a {type(other).__name__}")
        result = self.__copy__()
        result._set_mutable(True)
        mine = result._set_values()
        for name, value in other._set_values().items():
            before = mine.get(name)
            if isinstance(value, _OptionsBase):
                value = value.__copy__() if before is None else before._merged(value)
            elif isinstance(value, list):
                value = [*(before or ()), *value]
            elif before is not None and before != value:
                _log.warning("the option %s is changed from %r to %r", name, before, value)
            setattr(result, name, value)
        result._set_mutable(True)
        return result

    def __copy__(self) -> Self:
        new = type(self)()
        for name, value in self._options.items():
            if isinstance(value, _OptionsBase):
                value = value.__copy__()
            new._options[name] = list(value) if isinstance(value, list) else value
        new._set_mutable(self._mutable)
        return new

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self.__copy__()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self._set_values() == other._set_values()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={_text(v)}' for k, v in self._set_values().items())})"


def _text(value: object) -> str:
    return f"{type(value).__name__}.{value.name}" if isinstance(value, enum.Enum) else repr(value)


class AutotuneOptions(_OptionsBase):
    """How AUTOTUNE chooses values: `options.autotune`.

    >>> options = fl.Options()
    >>> options.autotune.cpu_budget = 4
    >>> options
    Options(autotune=AutotuneOptions(cpu_budget=4))
    """

    enabled = _option(bool, "Whether AUTOTUNE values are tuned while the dataset runs; None means True.")
    cpu_budget = _option(int, "The number of cores that tuning may plan for; None means all.")
    ram_budget = _option(
        int,
        "The most bytes of elements held in buffers and parallel calls, tuned or not; None means a quarter of the "
        "memory. Each step may hold one element more."
    )
    autotune_algorithm = _option(
        AutotuneAlgorithm, "The search algorithm of tuning. No effect: feedline always uses hill climbing."
    )
    initial_parallelism = _option(int, "The number of parallel calls before tuning starts.")
    min_parallelism = _option(int, "The fewest parallel calls that tuning may choose, if it chooses any.")
    allow_processes = _option(
        bool, "Whether a function that holds the GIL may be moved to worker processes; None means False."
    )
    frozen = _option(
        str, "A file with the tuned values of an earlier run, see `Iterator.report`; they are not tuned again."
    )


class DistributeOptions(_OptionsBase):
    """How a dataset is divided among workers: `options.experimental_distribute`.

    >>> options = fl.Options()
    >>> options.experimental_distribute.auto_shard_policy = fl.experimental.AutoShardPolicy.DATA
    >>> options
    Options(experimental_distribute=DistributeOptions(auto_shard_policy=AutoShardPolicy.DATA))
    """

    auto_shard_policy = _Field[AutoShardPolicy](
        AutoShardPolicy, "How the dataset is divided when several workers read it.", lambda: AutoShardPolicy.AUTO
    )
    num_devices = _option(int, "The number of devices that the dataset feeds. No effect: only stored.")


class OptimizationOptions(_OptionsBase):
    """Which rewrites the optimizer applies to the plan: `options.experimental_optimization`.

    >>> options = fl.Options()
    >>> options.experimental_optimization.apply_default_optimizations = False
    >>> options.experimental_optimization.map_fusion = True
    >>> options
    Options(experimental_optimization=OptimizationOptions(apply_default_optimizations=False, map_fusion=True))
    """

    apply_default_optimizations = _option(
        bool, "Whether the rewrites that are on by default are applied; None means True."
    )
    filter_fusion = _option(bool, "Whether consecutive filters run as one.")
    filter_parallelization = _option(bool, "Whether filters may run in several threads.")
    inject_prefetch = _option(bool, "Whether a prefetch is added at the end of the plan.")
    seq_interleave_prefetch = _option(
        bool, "Whether a parallel interleave only prefetches its inputs. No effect: it would not be faster."
    )
    map_and_batch_fusion = _option(bool, "Whether a map followed by a batch runs as one.")
    map_and_filter_fusion = _option(bool, "Whether a map followed by a filter runs as one.")
    map_fusion = _option(bool, "Whether consecutive maps run as one.")
    map_parallelization = _option(bool, "Whether maps may run in several threads.")
    noop_elimination = _option(bool, "Whether steps without effect, such as skip(0), are removed.")
    parallel_batch = _option(bool, "Whether batches may be assembled in several threads.")
    shuffle_and_repeat_fusion = _option(bool, "Whether a shuffle followed by a repeat runs as one.")


class ServiceOptions(_OptionsBase):
    """Options for reading from other machines: `options.experimental_service`.

    >>> options = fl.Options()
    >>> options.experimental_service.pinned = True
    >>> options
    Options(experimental_service=ServiceOptions(pinned=True))
    """

    pinned = _option(bool, "Whether elements are placed in pinned memory. No effect: only stored.")


class ThreadingOptions(_OptionsBase):
    """How many threads a dataset uses: `options.threading`.

    >>> options = fl.Options()
    >>> options.threading.private_threadpool_size = 8
    >>> options
    Options(threading=ThreadingOptions(private_threadpool_size=8))
    """

    max_intra_op_parallelism = _option(
        int,
        "The most threads that one call of a kernel may use (parsing Examples uses several); 0 means the kernel's "
        "default. NumPy's own threads are set with OMP_NUM_THREADS.",
    )
    private_threadpool_size = _option(
        int, "The most threads for the calls of one step; 0 means one per core, None means num_parallel_calls."
    )
    call_timeout = _option(
        cast("type[float]", Real),
        "Seconds after which a call of a `map` or `filter` function fails; None means never."
    )


class Options(_OptionsBase):
    """How a dataset is run. Apart from `deterministic`, options do not affect its elements.

    Set the options that should differ from the defaults and pass them to `Dataset.with_options`.

    >>> options = fl.Options()
    >>> options.deterministic = False
    >>> options.threading.private_threadpool_size = 4
    >>> options
    Options(deterministic=False, threading=ThreadingOptions(private_threadpool_size=4))
    """

    autotune = _group(AutotuneOptions, "How AUTOTUNE chooses values, see `AutotuneOptions`.")
    deterministic = _option(bool, "Whether parallel steps preserve the order of elements; None means True.")
    experimental_deterministic = _Renamed(deterministic, warn=False)
    experimental_distribute = _group(
        DistributeOptions, "How the dataset is divided among workers, see `DistributeOptions`."
    )
    experimental_external_state_policy = _option(
        ExternalStatePolicy,
        "What to do when a checkpoint cannot hold the state of a user function. No effect: feedline cannot tell which "
        "functions have state.",
    )
    experimental_optimization = _group(OptimizationOptions, "Which rewrites are applied, see `OptimizationOptions`.")
    full_tracebacks = _option(
        bool,
        "Whether errors of your functions show the frames of the engine between the loop and the function; None means "
        "False.",
    )
    experimental_slack = _option(
        bool,
        "Whether the thread of the last prefetch pauses once its buffer has been full: for a fifth of the time that "
        "elements have to spare, at most 0.1 s.",
    )
    experimental_symbolic_checkpoint = _option(
        bool,
        "Whether checkpoints save positions in the sources instead of buffers. No effect: feedline decides by itself.",
    )
    experimental_service = _group(ServiceOptions, "How elements are read from other machines, see `ServiceOptions`.")
    experimental_warm_start = _option(
        bool,
        "Whether background work starts when the iterator is created instead of with its first element.",
    )
    dataset_name = _option(str, "A name for the dataset's threads, shown by profilers and in stack dumps.")
    framework_type = _Field[list[str] | None](
        list, "Names of the frameworks that created the dataset; only stored.", lambda: None
    )
    threading = _group(ThreadingOptions, "How many threads the dataset uses, see `ThreadingOptions`.")
    experimental_threading = _Renamed(threading, warn=True)

    def merge(self, options: Options) -> Options:
        """New options with those set in either; if both set an option, `options` wins.

        >>> a, b = fl.Options(), fl.Options()
        >>> a.deterministic = False
        >>> b.threading.private_threadpool_size = 4
        >>> a.merge(b)
        Options(deterministic=False, threading=ThreadingOptions(private_threadpool_size=4))
        """
        return self._merged(options)

    def frozen(self) -> Options:
        """A read-only copy, as `Dataset.options` returns it.

        >>> fl.Options().frozen().deterministic = False
        Traceback (most recent call last):
        feedline.errors.InvalidArgumentError: cannot set deterministic: the options of a dataset are read-only; ...
        """
        copy = self.__copy__()
        copy._set_mutable(False)
        return copy


def engine_settings(options: Options | None) -> Settings:
    """The engine's settings for these options. Logs a warning for options without effect."""
    if options is None:
        return Settings()
    tune, threads = options.autotune, options.threading
    for name, field in WITHOUT_EFFECT.items():
        group = attrgetter(name.rpartition(".")[0])(options) if "." in name else options
        if field.name in group._set_values():
            _log.warning("options.%s has no effect: see fl.%s.%s", name, type(group).__name__, field.name)
    size = threads.private_threadpool_size
    return Settings(
        threads=None if size is None else _budget(size, "threading.private_threadpool_size") or cores(),
        ordered=options.deterministic is not False,
        tuned=tune.enabled is not False,
        cores=_budget(tune.cpu_budget, "autotune.cpu_budget"),
        memory=_budget(tune.ram_budget, "autotune.ram_budget") or None,
        initial_calls=_budget(tune.initial_parallelism, "autotune.initial_parallelism") or None,
        fewest_calls=_budget(tune.min_parallelism, "autotune.min_parallelism") or None,
        timeout=_seconds(threads.call_timeout, "threading.call_timeout"),
        processes=bool(tune.allow_processes),
        warm=bool(options.experimental_warm_start),
        slack=bool(options.experimental_slack),
        name=options.dataset_name or "",
        kernel_threads=_budget(threads.max_intra_op_parallelism, "threading.max_intra_op_parallelism") or None,
        chosen=None if tune.frozen is None else read_choices(tune.frozen),
        full_tracebacks=bool(options.full_tracebacks),
    )


WITHOUT_EFFECT: dict[str, _Field[Any]] = {
    "autotune.autotune_algorithm": AutotuneOptions.autotune_algorithm,
    "experimental_external_state_policy": Options.experimental_external_state_policy,
    "experimental_optimization.seq_interleave_prefetch": OptimizationOptions.seq_interleave_prefetch,
    "experimental_symbolic_checkpoint": Options.experimental_symbolic_checkpoint,
    "experimental_distribute.num_devices": DistributeOptions.num_devices,
    "experimental_service.pinned": ServiceOptions.pinned,
}
"""Options of tf.data that have no effect here; their docstrings say why."""


def _budget(value: int | None, name: str) -> int:
    if value is not None and value < 0:
        raise InvalidArgumentError(f"options.{name} must not be negative, got {value}; use 0 or None for the default")
    return value or 0


def _seconds(value: float | None, name: str) -> float | None:
    if value is not None and not float(value) > 0:
        raise InvalidArgumentError(f"options.{name} must be greater than 0 seconds, got {value}; use None for no limit")
    return None if value is None else float(value)
