"""`Dataset`: the index of all operators. The signature and documentation of each are in its own file under `ops`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from feedline.data import preview as _preview
from feedline.data import profiling as _profiling
from feedline.data import watching as _watching
from feedline.data.iterator import Iterator, NumpyIterator, check_numpy
from feedline.data.options import Options, engine_settings
from feedline.engine.context import ExecutionContext, Settings
from feedline.engine.run import Run
from feedline.errors import OpError
from feedline.naming import own_methods
from feedline.ops import apply as _apply
from feedline.ops import at as _at
from feedline.ops import batch as _batch
from feedline.ops import bucket_by_sequence_length as _bucket_by_sequence_length
from feedline.ops import cache as _cache
from feedline.ops import choose_from_datasets as _choose_from_datasets
from feedline.ops import concatenate as _concatenate
from feedline.ops import distribute as _distribute
from feedline.ops import enumerate as _enumerate
from feedline.ops import filter as _filter
from feedline.ops import flat_map as _flat_map
from feedline.ops import get_single_element as _get_single_element
from feedline.ops import global_shuffle as _global_shuffle
from feedline.ops import group_by_window as _group_by_window
from feedline.ops import ignore_errors as _ignore_errors
from feedline.ops import interleave as _interleave
from feedline.ops import map as _map
from feedline.ops import padded_batch as _padded_batch
from feedline.ops import parse as _parse
from feedline.ops import prefetch as _prefetch
from feedline.ops import ragged_batch as _ragged_batch
from feedline.ops import rebatch as _rebatch
from feedline.ops import reduce as _reduce
from feedline.ops import rejection_resample as _rejection_resample
from feedline.ops import repeat as _repeat
from feedline.ops import sample_from_datasets as _sample_from_datasets
from feedline.ops import save as _save
from feedline.ops import scan as _scan
from feedline.ops import shard as _shard
from feedline.ops import shuffle as _shuffle
from feedline.ops import shuffle_and_repeat as _shuffle_and_repeat
from feedline.ops import skip as _skip
from feedline.ops import snapshot as _snapshot
from feedline.ops import sparse_batch as _sparse_batch
from feedline.ops import take as _take
from feedline.ops import take_while as _take_while
from feedline.ops import unbatch as _unbatch
from feedline.ops import unique as _unique
from feedline.ops import window as _window
from feedline.ops import with_options as _with_options
from feedline.ops import zip as _zip
from feedline.ops.sources import counter as _counter
from feedline.ops.sources import from_generator as _from_generator
from feedline.ops.sources import from_source as _from_source
from feedline.ops.sources import from_tensor_slices as _from_tensor_slices
from feedline.ops.sources import from_tensors as _from_tensors
from feedline.ops.sources import list_files as _list_files
from feedline.ops.sources import load as _load
from feedline.ops.sources import random as _random
from feedline.ops.sources import range as _range
from feedline.optimize import Applied, Optimizer
from feedline.plan import depth
from feedline.plan.cardinality import INFINITE, UNKNOWN, as_int64
from feedline.plan.counted import length
from feedline.plan.dataset_base import DatasetBase, register_dataset
from feedline.plan.explain import Explanation, explain, summary
from feedline.plan.fingerprint import fingerprint
from feedline.plan.node import Node
from feedline.plan.picture import picture
from feedline.plan.traits.random_access import why_not_indexable
from feedline.plan.traits.specs import spec_known
from feedline.sharing import cached_property

if TYPE_CHECKING:
    from feedline.integrations import jax as _jax
    from feedline.integrations import keras as _keras
    from feedline.integrations import ray_data as _ray_data
    from feedline.integrations import tables as _tables
    from feedline.integrations import torch as _torch

T_co = TypeVar("T_co", covariant=True)
C = TypeVar("C")

if TYPE_CHECKING:

    class static(Generic[C]):
        """`staticmethod` for functions that are overloaded or generic."""

        def __init__(self, function: C) -> None: ...
        def __get__(self, instance: object, owner: object) -> C: ...
else:
    static = staticmethod


OF_TENSORFLOW_1 = {
    "make_initializable_iterator": "v1.data.make_initializable_iterator(ds); new code iterates: for element in ds",
    "make_one_shot_iterator": "v1.data.make_one_shot_iterator(ds); new code iterates: for element in ds",
    "output_classes": "v1.data.get_output_classes(ds), and ds.element_spec is the whole spec",
    "output_shapes": "v1.data.get_output_shapes(ds), and ds.element_spec is the whole spec",
    "output_types": "v1.data.get_output_types(ds), and ds.element_spec is the whole spec",
}
"""Attributes that datasets have in TensorFlow 1 only, and what they are in `compat.v1`."""


class Dataset(DatasetBase[T_co]):
    """A pipeline: a source of elements and the transformations applied to them. Nothing runs until it is iterated.

    >>> ds = fl.Dataset.range(10).filter(lambda x: x % 2 == 0).map(lambda x: x * x).batch(3)
    >>> list(ds)
    [array([ 0,  4, 16]), array([36, 64])]

    A dataset is immutable: every method returns a new one. It can be iterated any number of times.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise TypeError(
            "Dataset cannot be created directly; use a source, for instance Dataset.range(3) or Dataset.from_tensors(x)"
        )

    # Sources
    choose_from_datasets = static(_choose_from_datasets.choose_from_datasets)
    counter = static(_counter.counter)
    from_generator = static(_from_generator.from_generator)
    from_source = static(_from_source.from_source)
    from_tensor_slices = static(_from_tensor_slices.from_tensor_slices)
    from_tensors = static(_from_tensors.from_tensors)
    list_files = static(_list_files.list_files)
    load = static(_load.load)
    random = static(_random.random)
    range = static(_range.range_)
    sample_from_datasets = static(_sample_from_datasets.sample_from_datasets)
    zip = static(_zip.zip_)

    # Transformations
    apply = _apply.apply
    batch = _batch.batch
    bucket_by_sequence_length = _bucket_by_sequence_length.bucket_by_sequence_length
    cache = _cache.cache
    concatenate = _concatenate.concatenate
    distribute = _distribute.distribute
    enumerate = _enumerate.enumerate_
    filter = _filter.filter_
    flat_map = _flat_map.flat_map
    get_single_element = _get_single_element.get_single_element
    global_shuffle = _global_shuffle.global_shuffle
    group_by_window = _group_by_window.group_by_window
    ignore_errors = _ignore_errors.ignore_errors
    interleave = _interleave.interleave
    map = _map.map_
    padded_batch = _padded_batch.padded_batch
    parse = _parse.parse
    prefetch = _prefetch.prefetch
    ragged_batch = _ragged_batch.ragged_batch
    rebatch = _rebatch.rebatch
    reduce = _reduce.reduce
    rejection_resample = _rejection_resample.rejection_resample
    repeat = _repeat.repeat
    save = _save.save
    scan = _scan.scan
    shard = _shard.shard
    shuffle = _shuffle.shuffle
    skip = _skip.skip
    snapshot = _snapshot.snapshot
    sparse_batch = _sparse_batch.sparse_batch
    take = _take.take
    take_while = _take_while.take_while
    unbatch = _unbatch.unbatch
    unique = _unique.unique
    window = _window.window
    with_options = _with_options.with_options

    if TYPE_CHECKING:  # Conversions for other libraries; `feedline.integrations`, a higher layer, adds them
        to_arrow = _tables.to_arrow
        to_jax = _jax.to_jax
        to_keras = _keras.to_keras
        to_pandas = _tables.to_pandas
        to_ray_dataset = _ray_data.to_ray_dataset
        to_torch = _torch.to_torch

    # Inspection and iteration
    at = _at.at
    monitor = _watching.monitor
    preview = _preview.preview
    profile = _profiling.profile

    def cardinality(self) -> np.int64:
        """The number of elements, `INFINITE_CARDINALITY`, or `UNKNOWN_CARDINALITY`.

        >>> fl.Dataset.range(7).batch(2).cardinality()
        np.int64(4)
        """
        return as_int64(self._plan.cardinality())

    def __len__(self) -> int:
        try:
            n = length(self._plan)
        except OpError as e:  # list() asks for the length, too, and continues without one after a TypeError
            raise TypeError(f"the dataset's length cannot be determined: {e}") from e
        if n == INFINITE:
            raise TypeError("the dataset is infinite and has no length; use take(n) to make it finite")
        if n == UNKNOWN:
            why = next((f": {why_not_indexable(p)}" for p in self._plan.walk() if why_not_indexable(p)), "")
            raise TypeError(f"the dataset's length is unknown{why}; count it, or use experimental.assert_cardinality")
        return n

    def __bool__(self) -> bool:
        return True

    if not TYPE_CHECKING:

        def __getitem__(self, index):
            raise TypeError(f"'Dataset' object is not subscriptable; {_at.instead_of(index)}")

        def __getattr__(self, name):
            if name in OF_TENSORFLOW_1:
                raise AttributeError(
                    f"'Dataset' object has no attribute {name!r}; it is TensorFlow 1's: {OF_TENSORFLOW_1[name]} "
                    "(from feedline.compat import v1)",
                    name=name,
                    obj=self,
                )
            return object.__getattribute__(self, name)  # raises, or raises again what a property has raised

    def __iter__(self) -> Iterator[T_co]:
        return Iterator(self._run(), lambda: self.element_spec)

    def as_numpy_iterator(self) -> NumpyIterator[T_co]:
        """An iterator over the elements as NumPy types: a ragged tensor becomes an array of rows, a sparse tensor a
        dense array.

        >>> next(fl.Dataset.range(2).as_numpy_iterator())
        np.int64(0)
        >>> next(fl.Dataset.from_tensors(fl.ragged.constant([[1, 2], [3]])).as_numpy_iterator())
        array([array([1, 2], dtype=int32), array([3], dtype=int32)], dtype=object)
        """
        if spec_known(self._plan):
            check_numpy(self.element_spec)
        return NumpyIterator(self._run(), lambda: self.element_spec)

    def options(self) -> Options:
        """The options that `with_options` has set anywhere in the pipeline; those never set read as None.

        >>> fl.Dataset.range(3).options().deterministic is None
        True
        """
        merged: Options | None = _with_options.merged_options(self._plan)
        return (merged or Options()).frozen()

    def explain(self) -> Explanation:
        """Describes the plan: its steps with their functions, specs and sizes, as written and as it runs.

        >>> fl.Dataset.range(10).shuffle(4, seed=1).repeat(2).explain()
        as written                                    elements  spec
          3   repeat(2)                                     20  int64
          2   shuffle(4, seed=1)                            10  int64
                holds up to 4 elements, 32 B
          1   range(10)                                     10  int64
        <BLANKLINE>
        as it runs                                    elements  spec
          3   shuffle_and_repeat(4, seed=1, count=2)        20  int64
                holds up to 4 elements, 32 B
          1   range(10)                                     10  int64
        <BLANKLINE>
        rewritten by
              shuffle_and_repeat_fusion  step 3
        <BLANKLINE>
        no user code: elements are computed in large blocks

        None of your functions is run. A spec that only running one would show is known once the dataset is used.
        """
        rewritten = self._rewritten()
        said = explain(self._plan, *rewritten)
        said.html = picture(self._plan, *rewritten)
        return said

    def fingerprint(self) -> np.uint64:
        """A hash that is equal for datasets with the same steps, arguments, data and functions.

        >>> ds = fl.Dataset.range(10).map(lambda x: x + 1)
        >>> ds.fingerprint() == fl.Dataset.range(10).map(lambda y: y + 1).fingerprint()
        np.True_
        >>> ds.fingerprint() == fl.Dataset.range(10).map(lambda x: x + 2).fingerprint()
        np.False_

        Functions are compared by their code and the values they use, arrays by their content. Without functions, the
        number is the same in every process.
        """
        return fingerprint(self._plan)

    def __repr__(self) -> str:
        return f"<fl.Dataset {summary(self._plan)}>"

    def _repr_html_(self) -> str:
        """The plan, drawn for notebooks; with its first elements, if no function that may have effects makes them."""
        return picture(self._plan, *self._rewritten()) + _preview.picture_of_elements(self._plan)

    def _rewritten(self) -> tuple[Node | None, list[Applied], str]:
        """The plan that runs and the rules applied to it; or None and the reason why there is no such plan."""
        try:
            return *Optimizer(_with_options.merged_options(self._plan)).applied(self._plan), ""
        except OpError as e:
            return None, [], str(e)

    @cached_property
    def _prepared(self) -> tuple[Node, Optimizer, Settings]:
        """The plan that runs, the optimizer that made it from the plan as written, and the engine's settings."""
        options = _with_options.merged_options(self._plan)
        prepare = Optimizer(options)
        plan = prepare.whole(_shuffle_and_repeat.seeded_apart(self._plan))
        return plan, prepare, engine_settings(options)

    def _run(self) -> Run:
        plan, prepare, settings = self._prepared
        return Run(prepare.indexed(plan), prepare, context=ExecutionContext(settings))

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in self.__dict__.items() if k != "_prepared"}


def _make(plan: Node) -> Dataset[Any]:
    depth.allow(plan)
    made = object.__new__(Dataset)
    made._plan = plan
    return made


own_methods(Dataset, list(vars(Dataset).items()))
Dataset._made = staticmethod(_make)
register_dataset(_make)
