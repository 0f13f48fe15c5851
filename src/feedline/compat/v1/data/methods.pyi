"""The methods of `v1.data.Dataset` for type checkers; made by tests/typing/v1_methods.py."""

from collections.abc import Callable, Sequence
from feedline.compat.v1.data.dataset import Dataset
from feedline.compat.v1.tensor import Tensor
from feedline.data.dataset import Dataset as _Dataset
from feedline.io.tfrecord.reader import Corruption
from feedline.ops.sources.from_source import Source
from feedline.plan.annotations import AnyDType, Filename, Filenames, Integer, K, Leaf, R, S, T, Ts, V
from feedline.plan.ray_workers import RayWorkers, WorkersArgument
from feedline.structure.sparse import SparseTensor
from numpy.typing import NDArray
from typing import Any, Literal, Never, SupportsIndex, TypeVar, overload
import numpy as np

T_co = TypeVar("T_co", covariant=True)

class Methods(_Dataset[T_co]):

    @staticmethod
    def choose_from_datasets(datasets: Sequence[_Dataset[T]], choice_dataset: _Dataset[Any], stop_on_empty_dataset: bool | Tensor=True) -> Dataset[T]:
        ...

    @overload
    @staticmethod
    def counter(start: Integer | Tensor=0, step: Integer | Tensor=1, *, name: str | None=None) -> Dataset[np.int64]:
        ...

    @overload
    @staticmethod
    def counter(start: object=0, step: object=1, dtype: AnyDType | Tensor=..., name: str | None=None) -> Dataset[Any]:
        ...

    @staticmethod
    def from_generator(generator: Callable[..., Any], output_types: Any=None, output_shapes: Any=None, args: Any=None, output_signature: Any=None, name: str | None=None) -> Dataset[Any]:
        ...

    @staticmethod
    def from_source(source: Source | Tensor, name: str | None=None) -> Dataset[Any]:
        ...

    @staticmethod
    def from_tensor_slices(tensors: object, name: str | None=None) -> Dataset[Any]:
        ...

    @staticmethod
    def from_tensors(tensors: object, name: str | None=None) -> Dataset[Any]:
        ...

    @staticmethod
    def list_files(file_pattern: Filenames | Tensor, shuffle: bool | Tensor | None=None, seed: SupportsIndex | Tensor | None=None, name: str | None=None) -> Dataset[bytes]:
        ...

    @staticmethod
    def load(path: Filename | Tensor, element_spec: object=None, compression: str | Tensor | None=None, reader_func: Callable[[Any], Any] | None=None, wait: bool | Tensor=False) -> Dataset[Any]:
        ...

    @staticmethod
    def random(seed: SupportsIndex | Tensor | None=None, rerandomize_each_iteration: bool | Tensor | None=None, name: str | None=None) -> Dataset[np.int64]:
        ...

    @overload
    @staticmethod
    def range(*args: Integer | Tensor, name: str | None=None) -> Dataset[np.int64]:
        ...

    @overload
    @staticmethod
    def range(*args: Integer | Tensor, output_type: AnyDType | Tensor, name: str | None=None) -> Dataset[Any]:
        ...

    @staticmethod
    def sample_from_datasets(datasets: Sequence[_Dataset[T]], weights: object=None, seed: SupportsIndex | Tensor | None=None, stop_on_empty_dataset: bool | Tensor=False, rerandomize_each_iteration: bool | Tensor | None=None) -> Dataset[T]:
        ...

    @overload
    @staticmethod
    def zip(first: _Dataset[T], second: _Dataset[V], /, *, name: str | None=None) -> Dataset[tuple[T, V]]:
        ...

    @overload
    @staticmethod
    def zip(first: _Dataset[T], second: _Dataset[V], third: _Dataset[R], /, *, name: str | None=None) -> Dataset[tuple[T, V, R]]:
        ...

    @overload
    @staticmethod
    def zip(datasets: tuple[_Dataset[T], _Dataset[V]], *, name: str | None=None) -> Dataset[tuple[T, V]]:
        ...

    @overload
    @staticmethod
    def zip(datasets: tuple[_Dataset[T], _Dataset[V], _Dataset[R]], *, name: str | None=None) -> Dataset[tuple[T, V, R]]:
        ...

    @overload
    @staticmethod
    def zip(datasets: dict[K, _Dataset[V]], *, name: str | None=None) -> Dataset[dict[K, V]]:
        ...

    @overload
    @staticmethod
    def zip(*args: Any, datasets: object=None, name: str | None=None) -> Dataset[Any]:
        ...

    @overload
    def batch(self: Dataset[Never], batch_size: Integer | Tensor, drop_remainder: bool | Tensor=False, num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, name: str | None=None) -> Dataset[Any]:
        ...

    @overload
    def batch(self: Dataset[tuple[Any, ...]], batch_size: Integer | Tensor, drop_remainder: bool | Tensor=False, num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, name: str | None=None) -> Dataset[tuple[Any, ...]]:
        ...

    @overload
    def batch(self: Dataset[dict[K, Any]], batch_size: Integer | Tensor, drop_remainder: bool | Tensor=False, num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, name: str | None=None) -> Dataset[dict[K, Any]]:
        ...

    @overload
    def batch(self: Dataset[bytes], batch_size: Integer | Tensor, drop_remainder: bool | Tensor=False, num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, name: str | None=None) -> Dataset[NDArray[np.object_]]:
        ...

    @overload
    def batch(self: Dataset[NDArray[S]], batch_size: Integer | Tensor, drop_remainder: bool | Tensor=False, num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, name: str | None=None) -> Dataset[NDArray[S]]:
        ...

    @overload
    def batch(self: Dataset[S], batch_size: Integer | Tensor, drop_remainder: bool | Tensor=False, num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, name: str | None=None) -> Dataset[NDArray[S]]:
        ...

    @overload
    def batch(self: Dataset[Any], batch_size: Integer | Tensor, drop_remainder: bool | Tensor=False, num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, name: str | None=None) -> Dataset[Any]:
        ...

    def bucket_by_sequence_length(self: Dataset[Any], element_length_func: Callable[..., Any], bucket_boundaries: Sequence[int] | Tensor, bucket_batch_sizes: Sequence[int] | Tensor, padded_shapes: object=None, padding_values: object=None, pad_to_bucket_boundary: bool | Tensor=False, no_padding: bool | Tensor=False, drop_remainder: bool | Tensor=False, name: str | None=None) -> Dataset[Any]:
        ...

    def cache(self: Dataset[T], filename: Filename | Tensor='', name: str | None=None) -> Dataset[T]:
        ...

    def concatenate(self: Dataset[T], dataset: _Dataset[Any], name: str | None=None) -> Dataset[T]:
        ...

    def distribute(self: Dataset[T], workers: RayWorkers | str | Tensor='ray', *, deterministic: bool | Tensor | None=None) -> Dataset[T]:
        ...

    def enumerate(self: Dataset[T], start: Integer | Tensor=0, name: str | None=None) -> Dataset[tuple[np.int64, T]]:
        ...

    def filter(self: Dataset[T], predicate: Callable[..., Any], name: str | None=None, *, num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, workers: WorkersArgument | Tensor=None) -> Dataset[T]:
        ...

    @overload
    def flat_map(self: Dataset[T], map_func: Callable[[T], _Dataset[R]], name: str | None=None) -> Dataset[R]:
        ...

    @overload
    def flat_map(self: Dataset[Any], map_func: Callable[..., _Dataset[R]], name: str | None=None) -> Dataset[R]:
        ...

    def get_single_element(self: Dataset[T], name: str | None=None) -> Any:
        ...

    def global_shuffle(self: Dataset[T], seed: SupportsIndex | Tensor | None=None, reshuffle_each_iteration: bool | Tensor | None=True, name: str | None=None) -> Dataset[T]:
        ...

    def group_by_window(self: Dataset[T], key_func: Callable[..., Any], reduce_func: Callable[[Any, _Dataset[T]], _Dataset[R]], window_size: Integer | Tensor | None=None, window_size_func: Callable[[Any], Any] | None=None, name: str | None=None) -> Dataset[R]:
        ...

    def ignore_errors(self: Dataset[T], log_warning: bool | Tensor=False, name: str | None=None) -> Dataset[T]:
        ...

    @overload
    def interleave(self: Dataset[T], map_func: Callable[[T], _Dataset[R]], cycle_length: Integer | Tensor | None=None, block_length: Integer | Tensor | None=None, num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, name: str | None=None) -> Dataset[R]:
        ...

    @overload
    def interleave(self: Dataset[Any], map_func: Callable[..., _Dataset[R]], cycle_length: Integer | Tensor | None=None, block_length: Integer | Tensor | None=None, num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, name: str | None=None) -> Dataset[R]:
        ...

    @overload
    def map(self: Dataset[T], map_func: Callable[[T], R], num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, synchronous: bool | Tensor | None=None, use_unbounded_threadpool: bool | Tensor=False, name: str | None=None, *, workers: WorkersArgument | Tensor=None) -> Dataset[R]:
        ...

    @overload
    def map(self: Dataset[tuple[*Ts,]], map_func: Callable[[*Ts], R], num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, synchronous: bool | Tensor | None=None, use_unbounded_threadpool: bool | Tensor=False, name: str | None=None, *, workers: WorkersArgument | Tensor=None) -> Dataset[R]:
        ...

    @overload
    def map(self: Dataset[Any], map_func: Callable[..., R], num_parallel_calls: Integer | Tensor | None=None, deterministic: bool | Tensor | None=None, synchronous: bool | Tensor | None=None, use_unbounded_threadpool: bool | Tensor=False, name: str | None=None, *, workers: WorkersArgument | Tensor=None) -> Dataset[R]:
        ...

    def padded_batch(self: Dataset[Any], batch_size: Integer | Tensor, padded_shapes: object=None, padding_values: object=None, drop_remainder: bool | Tensor=False, name: str | None=None) -> Dataset[Any]:
        ...

    def parse(self: Dataset[Any], features: object=None, batch_size: Integer | Tensor | None=None, drop_remainder: bool | Tensor=False, name: str | None=None) -> Dataset[Any]:
        ...

    def prefetch(self: Dataset[T], buffer_size: Integer | Tensor | None, name: str | None=None) -> Dataset[T]:
        ...

    def ragged_batch(self: Dataset[Any], batch_size: Integer | Tensor, drop_remainder: bool | Tensor=False, row_splits_dtype: object=..., name: str | None=None) -> Dataset[Any]:
        ...

    def rebatch(self: Dataset[T], batch_size: object, drop_remainder: bool | Tensor=False, name: str | None=None) -> Dataset[T]:
        ...

    def reduce(self: Dataset[Any], initial_state: object, reduce_func: Callable[..., R], name: str | None=None) -> Any:
        ...

    def rejection_resample(self: Dataset[T], class_func: Callable[..., Any], target_dist: object, initial_dist: object=None, seed: SupportsIndex | Tensor | None=None, name: str | None=None) -> Dataset[tuple[Any, T]]:
        ...

    def repeat(self: Dataset[T], count: Integer | Tensor | None=None, name: str | None=None) -> Dataset[T]:
        ...

    def save(self: Dataset[Any], path: Filename | Tensor, compression: str | Tensor | None=None, shard_func: Callable[..., Any] | None=None, checkpoint_args: object=None) -> Any:
        ...

    def scan(self: Dataset[Any], initial_state: object, scan_func: Callable[..., tuple[Any, R]], name: str | None=None) -> Dataset[R]:
        ...

    def shard(self: Dataset[T], num_shards: Integer | Tensor, index: Integer | Tensor, name: str | None=None) -> Dataset[T]:
        ...

    def shuffle(self: Dataset[T], buffer_size: Integer | Tensor, seed: SupportsIndex | Tensor | None=None, reshuffle_each_iteration: bool | Tensor | None=True, name: str | None=None) -> Dataset[T]:
        ...

    def skip(self: Dataset[T], count: Integer | Tensor, name: str | None=None) -> Dataset[T]:
        ...

    def snapshot(self: Dataset[T], path: Filename | Tensor, compression: str | Tensor | None='AUTO', reader_func: Callable[[Any], Any] | None=None, shard_func: Callable[..., Any] | None=None, name: str | None=None) -> Dataset[T]:
        ...

    def sparse_batch(self: Dataset[Any], batch_size: Integer | Tensor, row_shape: object, name: str | None=None) -> Dataset[SparseTensor]:
        ...

    def take(self: Dataset[T], count: Integer | Tensor, name: str | None=None) -> Dataset[T]:
        ...

    def take_while(self: Dataset[T], predicate: Callable[..., Any], name: str | None=None) -> Dataset[T]:
        ...

    def unbatch(self: Dataset[Any], name: str | None=None) -> Dataset[Any]:
        ...

    def unique(self: Dataset[T], name: str | None=None) -> Dataset[T]:
        ...

    @overload
    def window(self: Dataset[Never], size: Integer | Tensor, shift: Integer | Tensor | None=None, stride: Integer | Tensor=1, drop_remainder: bool | Tensor=False, name: str | None=None) -> Dataset[Any]:
        ...

    @overload
    def window(self: Dataset[tuple[Any, ...]], size: Integer | Tensor, shift: Integer | Tensor | None=None, stride: Integer | Tensor=1, drop_remainder: bool | Tensor=False, name: str | None=None) -> Dataset[tuple[_Dataset[Any], ...]]:
        ...

    @overload
    def window(self: Dataset[dict[K, V]], size: Integer | Tensor, shift: Integer | Tensor | None=None, stride: Integer | Tensor=1, drop_remainder: bool | Tensor=False, name: str | None=None) -> Dataset[dict[K, _Dataset[V]]]:
        ...

    @overload
    def window(self: Dataset[Leaf], size: Integer | Tensor, shift: Integer | Tensor | None=None, stride: Integer | Tensor=1, drop_remainder: bool | Tensor=False, name: str | None=None) -> Dataset[_Dataset[Leaf]]:
        ...

    @overload
    def window(self: Dataset[Any], size: Integer | Tensor, shift: Integer | Tensor | None=None, stride: Integer | Tensor=1, drop_remainder: bool | Tensor=False, name: str | None=None) -> Dataset[Any]:
        ...

    def with_options(self: Dataset[T], options: object, name: str | None=None) -> Dataset[T]:
        ...

    def cardinality(self) -> Any:
        ...

    def apply(self, transformation_func: Callable[[Any], _Dataset[R]]) -> Dataset[R]:
        ...

class FixedLengthRecordDatasetInit(Dataset[bytes]):

    def __init__(self, filenames: Filenames | Tensor, record_bytes: Integer | Tensor, header_bytes: Integer | Tensor | None=None, footer_bytes: Integer | Tensor | None=None, buffer_size: Integer | Tensor | None=None, compression_type: str | Tensor | None=None, num_parallel_reads: Integer | Tensor | None=None, name: str | None=None) -> None:
        ...

class TFRecordDatasetInit(Dataset[bytes]):

    def __init__(self, filenames: Filenames | Tensor, compression_type: str | Tensor | None=None, buffer_size: Integer | Tensor | None=None, num_parallel_reads: Integer | Tensor | None=None, name: str | None=None, *, on_corrupt: Literal['raise', 'skip'] | Callable[[Corruption], object]='raise') -> None:
        ...

class TextLineDatasetInit(Dataset[bytes]):

    def __init__(self, filenames: Filenames | Tensor, compression_type: str | Tensor | None=None, buffer_size: Integer | Tensor | None=None, num_parallel_reads: Integer | Tensor | None=None, name: str | None=None) -> None:
        ...
