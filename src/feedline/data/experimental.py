"""`tf.data.experimental`: one line per name; each is documented where it is defined."""

from __future__ import annotations

from feedline.data.functions import (
    Counter,
    at,
    cardinality,
    get_next_as_optional,
    get_single_element,
    get_structure,
    load,
    save,
    transformation,
)
from feedline.data.options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    ServiceOptions,
    ThreadingOptions,
)
from feedline.data.readers import CsvDataset, SqlDataset
from feedline.data.sampling import RandomDataset, choose_from_datasets, sample_from_datasets
from feedline.data.writers import TFRecordWriter
from feedline.ops import bucket_by_sequence_length as _bucket
from feedline.ops import enumerate as _enumerate
from feedline.ops import group_by_window as _group_by_window
from feedline.ops import ignore_errors as _ignore_errors
from feedline.ops import ragged_batch as _ragged_batch
from feedline.ops import rejection_resample as _rejection_resample
from feedline.ops import scan as _scan
from feedline.ops import snapshot as _snapshot
from feedline.ops import sparse_batch as _sparse_batch
from feedline.ops import take_while as _take_while
from feedline.ops import unbatch as _unbatch
from feedline.ops import unique as _unique
from feedline.ops.assert_cardinality import assert_cardinality
from feedline.ops.group_by_reducer import Reducer, group_by_reducer
from feedline.ops.map_and_batch import map_and_batch
from feedline.ops.pad_to_cardinality import pad_to_cardinality
from feedline.ops.parallel_interleave import parallel_interleave
from feedline.ops.parse_example_dataset import parse_example_dataset
from feedline.ops.shard import SHARD_HINT
from feedline.ops.shuffle_and_repeat import shuffle_and_repeat
from feedline.ops.sources.from_list import from_list
from feedline.ops.sources.make_batched_features_dataset import make_batched_features_dataset
from feedline.ops.sources.make_csv_dataset import make_csv_dataset
from feedline.ops.table_from_dataset import (
    DatasetInitializer,
    HasherSpec,
    StaticHashTable,
    index_table_from_dataset,
    table_from_dataset,
)
from feedline.plan.arguments import AUTOTUNE
from feedline.plan.cardinality import INFINITE_CARDINALITY, UNKNOWN_CARDINALITY
from feedline.structure.optional import Optional

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "SHARD_HINT",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DatasetInitializer",
    "DistributeOptions",
    "ExternalStatePolicy",
    "HasherSpec",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "ServiceOptions",
    "SqlDataset",
    "StaticHashTable",
    "TFRecordWriter",
    "ThreadingOptions",
    "assert_cardinality",
    "at",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "dense_to_ragged_batch",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_list",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "index_table_from_dataset",
    "load",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "map_and_batch",
    "pad_to_cardinality",
    "parallel_interleave",
    "parse_example_dataset",
    "rejection_resample",
    "sample_from_datasets",
    "save",
    "scan",
    "shuffle_and_repeat",
    "snapshot",
    "table_from_dataset",
    "take_while",
    "unbatch",
    "unique",
]

bucket_by_sequence_length = transformation(_bucket.bucket_by_sequence_length, "bucket_by_sequence_length")
dense_to_ragged_batch = transformation(_ragged_batch.ragged_batch, "dense_to_ragged_batch")
dense_to_sparse_batch = transformation(_sparse_batch.sparse_batch, "dense_to_sparse_batch")
enumerate_dataset = transformation(_enumerate.enumerate_, "enumerate_dataset")
group_by_window = transformation(_group_by_window.group_by_window, "group_by_window")
ignore_errors = transformation(_ignore_errors.ignore_errors, "ignore_errors")
rejection_resample = transformation(_rejection_resample.rejection_resample, "rejection_resample")
scan = transformation(_scan.scan, "scan")
snapshot = transformation(_snapshot.snapshot, "snapshot")
take_while = transformation(_take_while.take_while, "take_while")
unbatch = transformation(_unbatch.unbatch, "unbatch")
unique = transformation(_unique.unique, "unique")
