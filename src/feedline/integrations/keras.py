"""`to_keras`: a dataset for `fit`, `evaluate` and `predict` of a Keras model."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from feedline.errors import InvalidArgumentError, UnimplementedError
from feedline.integrations.batches import Batches
from feedline.integrations.dtypes import check, is_string, needed, refused
from feedline.integrations.jax import JaxBatches
from feedline.integrations.shards import ReaderIndex
from feedline.integrations.torch import TorchBatches
from feedline.integrations.uneven_shards import OnUneven
from feedline.plan.cardinality import INFINITE
from feedline.plan.dataset_base import DatasetBase
from feedline.plan.traits.specs import spec_known
from feedline.structure.nest import flatten
from feedline.structure.spec import TensorSpec

OP = "to_keras"
OLDEST = (3, 7)
"""The first Keras version that accepts external data adapters."""


class KerasBatches(Batches):
    """The result of `to_keras`. Keras asks it for batches in the form of its backend, and for their number.

    >>> from feedline.integrations.keras import KerasBatches
    >>> KerasBatches(fl.Dataset.range(5).batch(2)).num_batches
    3
    """

    op: ClassVar[str] = OP
    batch_size: ClassVar[int | None] = None
    has_partial_batch: ClassVar[bool] = False
    partial_batch_size: ClassVar[int | None] = None

    def __init__(self, dataset: Any, on_uneven: OnUneven | None = None) -> None:
        super().__init__(dataset, on_uneven)
        self._look: RestartableIterator | None = None

    @property
    def num_batches(self) -> int | None:
        """The number of batches, for the progress bar; None if unknown."""
        part, _ = self._part(self.reader())
        n = int(part.cardinality())
        return n if n >= 0 else None

    def reader(self) -> ReaderIndex:
        """The process's index, if the backend runs in several processes."""
        keras = sys.modules.get("keras")
        backend = None if keras is None else keras.backend.backend()
        if backend == "jax":
            return JaxBatches.here(needed("jax", "jax", OP))
        return TorchBatches.here(needed("torch", "torch", OP)) if backend == "torch" else ReaderIndex()

    process = reader

    def alone(self) -> bool:
        """True: each process builds its dataset independently."""
        return True

    def iterator(self, part: Any) -> Any:
        """The batches as arrays."""
        return iter(part)

    def get_numpy_iterator(self) -> Iterator[Any]:
        """The batches as arrays."""
        return map(as_arrays, self._batches())

    get_jax_iterator = get_numpy_iterator

    def get_torch_dataloader(self) -> Iterator[Any]:
        """The batches as tensors on Keras' device."""
        to_tensor = needed("keras", "keras", OP).ops.convert_to_tensor

        def tensors(batch: Any) -> Any:
            leaves, tree = flatten(as_arrays(batch))
            # PyTorch shares the memory, and has no notion of read-only memory.
            own = [v if v is None or v.flags.writeable else v.copy() for v in leaves]
            return tree.unflatten([v if v is None else to_tensor(v) for v in own])

        return map(tensors, self._batches())

    def get_tf_dataset(self) -> Any:
        """Raises: this backend is not supported."""
        raise UnimplementedError(
            f"{OP}: Keras' TensorFlow backend is not supported; set KERAS_BACKEND=torch or KERAS_BACKEND=jax, "
            "or pass the elements to tf.data.Dataset.from_generator"
        )

    def on_epoch_begin(self) -> None:
        """Nothing to do: an epoch is an iteration."""

    def on_epoch_end(self) -> None:
        """Nothing to do: an epoch is an iteration."""

    def raise_empty(self) -> None:
        """Raises a clear error for an iteration without batches, for which Keras would report something else."""
        raise InvalidArgumentError(
            f"{OP}: the dataset has no batches; a filter may have removed all elements, or "
            "drop_remainder=True the only batch"
        )

    def _batches(self) -> RestartableIterator:
        self._check_call()
        # Before training, Keras takes one batch to see its shape, and then starts over; at the end of an epoch it makes
        # an iterator that it does not use. For that a shuffle must not fill its buffer and move on to its next order.
        if self._look is None:
            self._look = RestartableIterator(self)
            return self._look
        look, self._look = self._look, RestartableIterator(())
        return look.again() if look.begun_only and self.num_batches != 1 else RestartableIterator(self)

    def _check_call(self) -> None:
        """Checks what Keras' own adapters check in arguments that it does not pass to external ones."""
        frame: Any = sys._getframe(1)
        while frame is not None:
            seen = frame.f_locals
            caller = seen.get("self")
            endless = self.dataset.cardinality() == INFINITE and getattr(caller, "data_adapter", None) is self
            if endless and getattr(caller, "steps_per_epoch", 0) is None:
                raise InvalidArgumentError(
                    f"{OP}: the dataset is infinite; pass steps_per_epoch= to fit, steps= to evaluate and predict, "
                    "validation_steps= for validation data, or end the dataset with take(n)"
                )
            if frame.f_code.co_name in ("fit", "evaluate") and seen.get("x") is self:
                self._check_arguments(seen)
            frame = frame.f_back

    def _check_arguments(self, given: Mapping[str, Any]) -> None:
        if given.get("class_weight") is not None:
            raise InvalidArgumentError(
                f"{OP}: class_weight is not applied to a dataset; give the weights as the third component of its "
                "elements, for instance with map(lambda x, y: (x, y, weights[y]))"
            )
        for name, place in (("y", "second"), ("sample_weight", "third")):
            if given.get(name) is not None:
                raise InvalidArgumentError(
                    f"{OP}: {name} is not used with a dataset; make it the {place} component of its elements, for "
                    "instance with zip"
                )


class RestartableIterator:
    """An iterator that is made when its first element is requested, and can be restarted as long as it has returned no
    more than that one.
    """

    def __init__(self, elements: Any) -> None:
        self._elements = elements
        self._source: Any = None
        self._first: list[Any] = []
        self._given = 0

    def __iter__(self) -> RestartableIterator:
        return self

    def __next__(self) -> Any:
        if self._given < len(self._first):
            element = self._first[self._given]
        else:
            if self._source is None:
                self._source = iter(self._elements)
            self._first = []
            try:
                element = next(self._source)
            except StopIteration:
                if not self._given and isinstance(self._elements, KerasBatches):
                    self._elements.raise_empty()
                raise
            self._first = [] if self._given else [element]
        self._given += 1
        return element

    @property
    def begun_only(self) -> bool:
        """Whether only the first element was taken."""
        return self._given == 1 and len(self._first) == 1

    def again(self) -> RestartableIterator:
        """The same elements from the first on; this iterator must not be used any more."""
        made = RestartableIterator(self._elements)
        made._source, made._first = self._source, self._first
        return made


def as_arrays(batch: Any) -> Any:
    """A batch with its leaves checked."""
    leaves, tree = flatten(batch)
    for path, leaf in zip(tree.paths(), leaves, strict=True):
        if leaf is not None and (not isinstance(leaf, (np.ndarray, np.generic)) or is_string(leaf)):
            raise refused(OP, path, leaf)
        if leaf is not None and not leaf.ndim:
            raise scalar(path)
    return batch


def _batched(path: str, spec: TensorSpec) -> None:
    if spec.shape.rank == 0:
        raise scalar(path)


def scalar(path: str) -> InvalidArgumentError:
    """The error for elements that are not batches."""
    return InvalidArgumentError(
        f"{OP}: the leaf {path} is a scalar, but Keras takes batches; add batch(n) at the end of the dataset"
    )


@functools.cache
def data_adapter() -> type[KerasBatches]:
    """`KerasBatches` as a subclass of Keras' data adapter, defined once Keras is imported."""
    keras = needed("keras", "keras", OP)
    if tuple(map(int, keras.__version__.split(".")[:2])) < OLDEST:
        found = keras.__version__
        raise ImportError(f"{OP} needs Keras 3.7 or later, this is {found}: pip install -U 'feedline[keras]'")
    try:
        from keras.src.trainers.data_adapters.data_adapter import DataAdapter  # there is no public name for it
    except ImportError:
        raise ImportError(
            f"{OP} does not know how Keras {keras.__version__} takes data; install an earlier one, or train on "
            "torch.utils.data.DataLoader(ds.to_torch(), batch_size=None), which every version takes"
        ) from None

    return type("KerasBatches", (KerasBatches, DataAdapter), {"__module__": __name__, "__doc__": KerasBatches.__doc__})


def formatted(self: DatasetBase[Any], spec: str) -> str:
    """`format(dataset)`. Keras formats data of classes that it does not know for an error, which this one replaces."""
    caller = sys._getframe(1)
    if caller.f_code.co_name == "get_data_adapter" and caller.f_globals.get("__name__", "").startswith("keras."):
        raise InvalidArgumentError(
            "to_keras() is missing: write model.fit(ds.to_keras(), validation_data=test.to_keras()), and so for "
            f"evaluate and predict; Keras does not take {self!r} by itself"
        )
    return format(str(self), spec)


def to_keras(self: DatasetBase[Any], on_uneven: OnUneven | None = None) -> KerasBatches:
    """The dataset for `fit`, `evaluate` and `predict` of a Keras 3 model, with the PyTorch and JAX backends.

    >>> import os
    >>> os.environ["KERAS_BACKEND"] = "jax"
    >>> ds = fl.Dataset.from_tensor_slices((np.ones((8, 2), np.float32), np.ones((8, 1), np.float32))).batch(4)
    >>> ds.to_keras().num_batches
    2

    Elements are batches: `x`, `(x, y)` or `(x, y, sample_weight)`, where each may be a structure.
    `model.fit(train.to_keras(), validation_data=test.to_keras(), epochs=3)` shows the number of batches if it is known.
    If it is not, as after a `filter`, Keras warns at the end of the first epoch that the data ran out;
    `fl.experimental.assert_cardinality(n)` declares the number. An infinite dataset needs `steps_per_epoch`.

    If the backend runs in several processes, each reads its shard of the dataset, and `on_uneven` decides what happens
    if their numbers of batches differ: "pad", "drop", "error" or "allow", as in `to_torch`. The default is "drop" if
    the numbers are known, since all processes take part in each step.

    `fit(ds)` alone does not work: Keras accepts data of a few known classes only, and the error says what to write.
    """
    kind = data_adapter()
    if spec_known(self._plan):
        check(OP, self.element_spec, _batched)
    return kind(self, on_uneven)
