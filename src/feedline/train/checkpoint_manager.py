"""`tf.train.CheckpointManager`: the newest checkpoints of a folder."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from feedline.errors import InvalidArgumentError
from feedline.train.checkpoint import Checkpoint, update_state
from feedline.train.files import on_disk


class CheckpointManager:
    """Keeps the newest `max_to_keep` checkpoints of a folder, or all if it is None.

    >>> import tempfile
    >>> it = iter(fl.Dataset.range(9))
    >>> manager = fl.train.CheckpointManager(fl.train.Checkpoint(iterator=it), tempfile.mkdtemp(), max_to_keep=2)
    >>> manager.latest_checkpoint
    >>> for x in it:
    ...     if x % 3 == 2:
    ...         _ = manager.save()
    >>> [os.path.basename(path) for path in manager.checkpoints]
    ['ckpt-2', 'ckpt-3']
    >>> _ = manager.checkpoint.restore(manager.checkpoints[0])
    >>> next(it)
    np.int64(6)

    `keep_checkpoint_every_n_hours` also keeps one checkpoint of every so many hours. With `step_counter`, a variable,
    its value is the number of a checkpoint; `checkpoint_interval` then lets `save` pass until so many steps are done.
    `init_fn` is called by `restore_or_initialize` if there is no checkpoint.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        directory: str | os.PathLike[str],
        max_to_keep: int | None,
        keep_checkpoint_every_n_hours: float | None = None,
        checkpoint_name: str = "ckpt",
        step_counter: Any = None,
        checkpoint_interval: int | None = None,
        init_fn: Callable[[], object] | None = None,
    ) -> None:
        if max_to_keep is not None and max_to_keep <= 0:
            raise InvalidArgumentError(f"CheckpointManager: max_to_keep must be positive or None, got {max_to_keep}")
        if checkpoint_interval is not None and step_counter is None:
            raise InvalidArgumentError("CheckpointManager: checkpoint_interval requires a step_counter")
        self.checkpoint = checkpoint
        self.directory = on_disk(directory, "CheckpointManager")
        self.checkpoint_interval = checkpoint_interval
        self._keep, self._hours = max_to_keep, keep_checkpoint_every_n_hours
        self._prefix = os.path.join(self.directory, checkpoint_name)
        self._step, self._initialize = step_counter, init_fn
        self._saved_at: int | None = None
        self._kept, self._preserved = _state(self.directory)

    @property
    def checkpoints(self) -> list[str]:
        """The paths of the checkpoints that are kept, oldest first."""
        return [path for path, _ in self._kept]

    @property
    def latest_checkpoint(self) -> str | None:
        """The path of the newest checkpoint, or None."""
        return self._kept[-1][0] if self._kept else None

    def save(self, checkpoint_number: Any = None, check_interval: bool = True, options: object = None) -> str | None:
        """Saves a checkpoint, removes those beyond `max_to_keep`, and returns its path; None if the interval has not
        passed.
        """
        step = None if self._step is None else int(self._step)
        if check_interval and self.checkpoint_interval is not None and self._saved_at is not None:
            assert step is not None
            if step - self._saved_at < self.checkpoint_interval:
                return None
        number = step if checkpoint_number is None else int(checkpoint_number)
        path = self.checkpoint.numbered(self._prefix, self.checkpoint.save_counter + 1 if number is None else number)
        self._saved_at = step
        self._kept = [(p, when) for p, when in self._kept if p != path] + [(path, time.time())]
        drop = len(self._kept) - self._keep if self._keep is not None else 0
        gone, self._kept = self._kept[: max(drop, 0)], self._kept[max(drop, 0) :]
        update_state(self.directory, self._kept, self._preserved)
        for old, when in gone:
            if self._hours is not None and when - self._preserved >= self._hours * 3600:
                self._preserved = when
                continue
            with suppress(FileNotFoundError):
                os.remove(old)
        return path

    def restore_or_initialize(self) -> str | None:
        """Restores the newest checkpoint and returns its path; without one, calls `init_fn` and returns None."""
        path = self.latest_checkpoint
        if path is not None:
            self.checkpoint.restore(path)
            self._saved_at = None if self._step is None else int(self._step)
        elif self._initialize is not None:
            self._initialize()
        return path


def _state(folder: str) -> tuple[list[tuple[str, float]], float]:
    """The checkpoints that the file `checkpoint` of a folder names and that exist, and when one was last preserved."""
    try:
        with open(os.path.join(folder, "checkpoint"), encoding="utf-8") as file:
            text = file.read()
    except FileNotFoundError:
        return [], time.time()
    names = re.findall(r'^all_model_checkpoint_paths: "(.*)"$', text, re.MULTILINE)
    times = [float(t) for t in re.findall(r"^all_model_checkpoint_timestamps: (\S+)$", text, re.MULTILINE)]
    times += [time.time()] * (len(names) - len(times))
    preserved = re.search(r"^last_preserved_timestamp: (\S+)$", text, re.MULTILINE)
    found = [(os.path.join(folder, name), when) for name, when in zip(names, times, strict=False)]
    return [f for f in found if os.path.exists(f[0])], float(preserved[1]) if preserved else time.time()
