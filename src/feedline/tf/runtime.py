"""The parts of TensorFlow's runtime that input pipelines name: devices, strategies, logging. There is one CPU here."""

from __future__ import annotations

import contextlib
import logging as _logging
import re
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from feedline.errors import NotFoundError
from feedline.io.files import read_file
from feedline.naming import own_functions
from feedline.tf.signatures import documented


class PhysicalDevice(NamedTuple):
    """A device by name and type."""

    name: str
    device_type: str


_CPU = PhysicalDevice("/physical_device:CPU:0", "CPU")


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices: one CPU.

    >>> import feedline.tf as tf
    >>> tf.config.list_physical_devices("GPU")
    []
    """
    return [_CPU] if device_type in (None, "CPU") else []


def ignored(*args: object, **kwargs: object) -> None:
    """A setting of TensorFlow's runtime, which has no meaning here.

    >>> import feedline.tf as tf
    >>> tf.config.set_visible_devices([], "GPU")
    """


class PipelineContext:
    """The place of a worker among all that read one dataset: `tf.distribute.InputContext`.

    >>> import feedline.tf as tf
    >>> context = tf.distribute.InputContext(num_input_pipelines=2, input_pipeline_id=1, num_replicas_in_sync=4)
    >>> context.get_per_replica_batch_size(64), context
    (16, tf.distribute.InputContext(input pipeline id 1, total: 2))
    """

    def __init__(self, num_input_pipelines: int = 1, input_pipeline_id: int = 0, num_replicas_in_sync: int = 1) -> None:
        self.num_input_pipelines = num_input_pipelines
        self.input_pipeline_id = input_pipeline_id
        self.num_replicas_in_sync = num_replicas_in_sync

    def get_per_replica_batch_size(self, global_batch_size: int) -> int:
        """The batch size of one replica."""
        if global_batch_size % self.num_replicas_in_sync:
            raise ValueError(
                f"The `global_batch_size` {global_batch_size} is not divisible by `num_replicas_in_sync` "
                f"{self.num_replicas_in_sync}"
            )
        return global_batch_size // self.num_replicas_in_sync

    def __repr__(self) -> str:
        return (
            f"tf.distribute.InputContext(input pipeline id {self.input_pipeline_id}, total: {self.num_input_pipelines})"
        )


class Strategy:
    """`tf.distribute.Strategy` with one replica: a dataset is distributed as it is.

    >>> import feedline.tf as tf
    >>> strategy = tf.distribute.get_strategy()
    >>> with strategy.scope():
    ...     strategy.num_replicas_in_sync
    1
    """

    num_replicas_in_sync = 1

    @contextlib.contextmanager
    def scope(self) -> Iterator[Strategy]:
        """A scope that does nothing."""
        yield self

    def experimental_distribute_dataset(self, dataset: Any, options: object = None) -> Any:
        """The dataset itself."""
        return dataset

    def distribute_datasets_from_function(
        self, dataset_fn: Callable[[PipelineContext], Any], options: object = None
    ) -> Any:
        """The dataset that the function makes."""
        return dataset_fn(PipelineContext())

    experimental_distribute_datasets_from_function = distribute_datasets_from_function

    def run(self, fn: Callable[..., Any], args: Any = (), kwargs: Any = None, options: object = None) -> Any:
        """The result of the function."""
        return fn(*args, **(kwargs or {}))

    def reduce(self, reduce_op: object, value: Any, axis: int | None = None) -> Any:
        """The value of the one replica; with an axis its sum or mean along it."""
        if axis is None:
            return value
        from feedline.tf.math_ops import reduce_mean, reduce_sum

        return (reduce_mean if "MEAN" in str(reduce_op).upper() else reduce_sum)(value, axis)

    def experimental_local_results(self, value: Any) -> tuple[Any, ...]:
        """The values of all replicas: the one there is."""
        return (value,)


class OneDevice(Strategy):
    """A strategy made with arguments, which have no meaning here.

    >>> import feedline.tf as tf
    >>> strategy = tf.distribute.MirroredStrategy()
    >>> strategy.num_replicas_in_sync
    1
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass


class ClusterResolver:
    """A cluster that is this process: `tf.distribute.cluster_resolver.TPUClusterResolver`.

    >>> import feedline.tf as tf
    >>> tf.distribute.cluster_resolver.TPUClusterResolver("local").master()
    ''
    """

    def __init__(self, *args: object, **kwargs: object) -> None:
        pass

    @classmethod
    def connect(cls, *args: object, **kwargs: object) -> ClusterResolver:
        """A cluster that is this process."""
        return cls()

    def master(self, *args: object, **kwargs: object) -> str:
        """The address of the cluster: none."""
        return ""


def latest_checkpoint(checkpoint_dir: Any, latest_filename: str | None = None) -> str | None:
    """The path of the newest checkpoint that the file `checkpoint` of a folder names; None if there is none.

    >>> import tempfile, feedline.tf as tf
    >>> tf.train.latest_checkpoint(tempfile.mkdtemp())
    """
    folder = str(path_to_str(checkpoint_dir))
    try:
        text = read_file(f"{folder}/{latest_filename or 'checkpoint'}").decode()
    except NotFoundError:
        return None
    found = re.search(r'^model_checkpoint_path: "(.*)"$', text, re.MULTILINE)
    if found is None:
        return None
    return found[1] if found[1].startswith("/") or "://" in found[1] else f"{folder}/{found[1]}"


def checkpoints_iterator(
    checkpoint_dir: Any,
    min_interval_secs: float = 0,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Iterator[str]:
    """Yields the path of the newest checkpoint in a folder, whenever there is a new one, at most every
    `min_interval_secs` seconds. It ends after `timeout` seconds without one, if `timeout_fn` is None or returns True.

    >>> import tempfile, feedline.tf as tf
    >>> list(tf.train.checkpoints_iterator(tempfile.mkdtemp(), timeout=0))
    []
    """
    before: str | None = None
    while True:
        found = _next_checkpoint(checkpoint_dir, before, timeout)
        if found is None:
            if timeout_fn is None or timeout_fn():
                return
            continue
        began, before = time.monotonic(), found
        yield found
        time.sleep(max(0.0, began + min_interval_secs - time.monotonic()))


def _next_checkpoint(folder: Any, before: str | None, timeout: float | None) -> str | None:
    """The newest checkpoint once it is another than `before`; None if there is none within `timeout` seconds."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        found = latest_checkpoint(folder)
        if found is not None and found != before:
            return found
        if end is not None and time.monotonic() + 1 > end:
            return None
        time.sleep(1)


class ModeKeys:
    """The modes of an input function: `TRAIN`, `EVAL` and `PREDICT`.

    >>> import feedline.tf as tf
    >>> tf.estimator.ModeKeys.EVAL
    'eval'
    """

    TRAIN = "train"
    EVAL = "eval"
    PREDICT = "infer"


_strategy = Strategy()


def get_strategy() -> Strategy:
    """The strategy of one replica.

    >>> import feedline.tf as tf
    >>> tf.distribute.get_strategy().num_replicas_in_sync
    1
    """
    return _strategy


def has_strategy() -> bool:
    """Always False.

    >>> import feedline.tf as tf
    >>> tf.distribute.has_strategy()
    False
    """
    return False


def get_logger() -> _logging.Logger:
    """The logger named "tensorflow".

    >>> import feedline.tf as tf
    >>> tf.get_logger().name
    'tensorflow'
    """
    return _logging.getLogger("tensorflow")


_OF_CALLER: dict[str, Any] = {"stacklevel": 2}
"""A message's line is that of the caller."""


def _logged(name: str, level: int) -> Callable[..., None]:
    def logged(msg: object, *args: object, **kwargs: Any) -> None:
        get_logger().log(level, msg, *args, **_OF_CALLER | kwargs)

    text = f"Logs a message with the level {_logging.getLevelName(level)}."
    return documented(logged, text, f'>>> tf.compat.v1.logging.{name}("step %d", 3)')


debug, info = _logged("debug", _logging.DEBUG), _logged("info", _logging.INFO)
warning, warn = _logged("warning", _logging.WARNING), _logged("warn", _logging.WARNING)
error, fatal = _logged("error", _logging.ERROR), _logged("fatal", _logging.CRITICAL)
DEBUG, INFO, WARN, ERROR, FATAL = _logging.DEBUG, _logging.INFO, _logging.WARNING, _logging.ERROR, _logging.CRITICAL


def log(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    """Logs a message with a level.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.logging.log(tf.compat.v1.logging.DEBUG, "step %d", 3)
    """
    get_logger().log(level, msg, *args, **_OF_CALLER | kwargs)


def log_if(level: int, msg: object, condition: object, *args: object) -> None:
    """Logs a message if a condition holds.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.logging.log_if(tf.compat.v1.logging.INFO, "step %d", False, 3)
    """
    if condition:
        get_logger().log(level, msg, *args, **_OF_CALLER)


def vlog(level: int, msg: object, *args: object, **kwargs: Any) -> None:
    """Logs a message with a level.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.logging.vlog(tf.compat.v1.logging.DEBUG, "step %d", 3)
    """
    get_logger().log(level, msg, *args, **_OF_CALLER | kwargs)


def flush() -> None:
    """Does nothing: messages are not buffered.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.logging.flush()
    """


def set_verbosity(v: int) -> None:
    """Sets the level of the logger.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)
    """
    get_logger().setLevel(v)


def get_verbosity() -> int:
    """The level of the logger.

    >>> import feedline.tf as tf
    >>> tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.WARN)
    >>> tf.compat.v1.logging.get_verbosity() == tf.compat.v1.logging.WARN
    True
    """
    return get_logger().getEffectiveLevel()


def log_every_n(level: int, msg: str, n: int, *args: object) -> None:
    """Logs every n-th call with the same message.

    >>> import feedline.tf as tf
    >>> for step in range(4):
    ...     tf.compat.v1.logging.log_every_n(tf.compat.v1.logging.DEBUG, "step %d", 2, step)
    """
    with _lock:
        count = _counts[msg] = _counts.get(msg, -1) + 1
    if count % n == 0:
        get_logger().log(level, msg, *args, **_OF_CALLER)


def log_first_n(level: int, msg: str, n: int, *args: object) -> None:
    """Logs the first n calls with the same message.

    >>> import feedline.tf as tf
    >>> for step in range(4):
    ...     tf.compat.v1.logging.log_first_n(tf.compat.v1.logging.DEBUG, "step %d", 2, step)
    """
    with _lock:
        count = _counts[msg] = _counts.get(msg, -1) + 1
    if count < n:
        get_logger().log(level, msg, *args, **_OF_CALLER)


_counts: dict[str, int] = {}
_lock = threading.Lock()


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """A string as `str`.

    >>> import feedline.tf as tf
    >>> tf.compat.as_text(b"a")
    'a'
    """
    return bytes_or_text.decode(encoding) if isinstance(bytes_or_text, bytes) else _checked(bytes_or_text)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """A string as `bytes`.

    >>> import feedline.tf as tf
    >>> tf.compat.as_bytes("a")
    b'a'
    """
    return bytes_or_text if isinstance(bytes_or_text, bytes) else _checked(bytes_or_text).encode(encoding)


def _checked(text: Any) -> str:
    if not isinstance(text, str):
        raise TypeError(f"Expected binary or unicode string, got {text!r}")
    return text


def as_str_any(value: Any, encoding: str = "utf-8") -> str:
    """Anything as `str`.

    >>> import feedline.tf as tf
    >>> tf.compat.as_str_any(b"text"), tf.compat.as_str_any(3)
    ('text', '3')
    """
    return as_text(value, encoding) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path as `str`.

    >>> import feedline.tf as tf
    >>> from pathlib import Path
    >>> tf.compat.path_to_str(Path("data"))
    'data'
    """
    return path.__fspath__() if hasattr(path, "__fspath__") else path


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Always True: nothing written here is read by an older TensorFlow.

    >>> import feedline.tf as tf
    >>> tf.compat.forward_compatible(2026, 1, 1)
    True
    """
    return True


own_functions(globals())
