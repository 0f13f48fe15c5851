"""`distribute`: the functions below it run on a Ray cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from feedline.errors import InvalidArgumentError, InvalidTypeError
from feedline.ops.filter import Filter
from feedline.ops.map import Map
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.node import Node
from feedline.plan.ray_workers import RayWorkers
from feedline.plan.rewrite import bottom_up, replace_node

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset
    from feedline.plan.annotations import T


def distribute(
    self: Dataset[T], workers: RayWorkers | str = "ray", *, deterministic: bool | None = None
) -> Dataset[T]:
    """Runs all functions below it on a Ray cluster: those of every `map` and `filter` that has no other `workers`.

    >>> ds = fl.Dataset.range(8).map(lambda x: x + 1).map(lambda x: x * 2).batch(4)
    >>> ds = ds.distribute(fl.RayWorkers(count=4))

    Steps that follow each other are sent together: a worker reads the records of a batch, if they are in files, maps
    and stacks them, and the batch comes back without a copy. What has order and state stays here: sources, shuffles,
    seeds, epochs, checkpoints. So the elements, their order and the checkpoints are those of the dataset without it,
    and a checkpoint goes on with or without it.

    With `deterministic=False`, elements come as they are finished.
    """
    if workers != "ray" and not isinstance(workers, RayWorkers):
        raise InvalidTypeError(f'distribute: workers must be "ray" or an fl.RayWorkers, got {workers!r}')
    sent = RayWorkers() if isinstance(workers, str) else workers
    found = 0

    def send(node: Node) -> Node | None:
        nonlocal found
        if not isinstance(node, (Map, Filter)) or node.workers != "thread":
            return None
        found += 1
        changes: dict[str, Any] = {"workers": sent}
        if node.num_parallel_calls is None:
            changes["num_parallel_calls"] = AUTOTUNE
        if node.deterministic is None and deterministic is not None:
            changes["deterministic"] = deterministic
        made: Node = replace_node(node, node.replace(**changes))
        return made

    plan = bottom_up(self._plan, send)
    if not found:
        raise InvalidArgumentError(
            "distribute: there is nothing to send below it; workers run the functions of map and filter"
        )
    return self._derive(plan)
