"""`tf.compat.v1.train`: feedline's own `train`, and `Saver`, which saves the positions of iterators."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping
from typing import Any

from feedline.compat.v1.graph import GraphKeys, get_default_graph
from feedline.errors import DataLossError, InvalidArgumentError, NotFoundError
from feedline.train import (
    BytesList,
    Checkpoint,
    CheckpointManager,
    Example,
    Feature,
    FeatureList,
    FeatureLists,
    Features,
    FloatList,
    Int64List,
    SequenceExample,
    example,
)
from feedline.train.files import on_disk, write

__all__ = [
    "BytesList",
    "Checkpoint",
    "CheckpointManager",
    "Example",
    "Feature",
    "FeatureList",
    "FeatureLists",
    "Features",
    "FloatList",
    "Int64List",
    "Saver",
    "SequenceExample",
    "example",
]


class Saver:
    """Saves and restores the saveables in `var_list`, a list or a dict by name. The default is the graph's collection
    `GraphKeys.SAVEABLE_OBJECTS`. See `v1.data.experimental.make_saveable_from_iterator`.

    >>> import os, tempfile
    >>> from feedline.compat import v1
    >>> with v1.Graph().as_default(), v1.Session() as session, tempfile.TemporaryDirectory() as folder:
    ...     iterator = v1.data.Dataset.range(9).make_one_shot_iterator()
    ...     saveable = v1.data.experimental.make_saveable_from_iterator(iterator)
    ...     v1.add_to_collection(v1.GraphKeys.SAVEABLE_OBJECTS, saveable)
    ...     path = v1.train.Saver().save(session, os.path.join(folder, "model"), global_step=3)
    ...     os.path.basename(path)
    'model-3'
    """

    def __init__(self, var_list: Any = None, **_: Any) -> None:
        if var_list is None:
            var_list = get_default_graph().get_collection(GraphKeys.SAVEABLE_OBJECTS)
        named = dict(var_list) if isinstance(var_list, Mapping) else {s.name: s for s in var_list}
        if not named:
            raise InvalidArgumentError(
                "Saver: there is nothing to save; pass a list of saveables, or add them to the graph's collection "
                "GraphKeys.SAVEABLE_OBJECTS first"
            )
        self._saveables: dict[str, Any] = named

    def save(self, sess: Any, save_path: str | os.PathLike[str], global_step: Any = None, **_: Any) -> str:
        """Writes the file `save_path`, with `-global_step` appended if given, and returns its name."""
        path = on_disk(save_path, "Saver.save")
        path = path if global_step is None else f"{path}-{int(global_step)}"
        states = {name: base64.b64encode(s.save(sess)).decode() for name, s in self._saveables.items()}
        write(path, json.dumps({"iterators": states}), "Saver.save")
        return path

    def restore(self, sess: object, save_path: str | os.PathLike[str]) -> None:
        """Restores everything saved in the file. Initialize the iterators first."""
        path = on_disk(save_path, "Saver.restore")
        try:
            with open(path, encoding="utf-8") as file:
                states = json.load(file)["iterators"]
        except FileNotFoundError:
            raise NotFoundError(f"restore: there is no file {path!r}") from None
        except (ValueError, KeyError, TypeError):
            raise DataLossError(f"restore: {path!r} was not written by a Saver, or is corrupt") from None
        missing = self._saveables.keys() - states.keys()
        if missing:
            raise NotFoundError(f"restore: {path!r} has no state for {sorted(missing)}; it has {sorted(states)}")
        for name, saveable in self._saveables.items():
            saveable.restore(sess, base64.b64decode(states[name]))
