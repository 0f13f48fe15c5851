"""Arguments that cannot be used: what each method, reader and experimental function says to values of ten kinds.

Left out is what TensorFlow fails on by accident (an AttributeError, a crash) or takes for something else.
"""

import collections
import os

import numpy as np
from harness import cases

KINDS = "str float none list obj neg dataset fn none_fn fn0".split()


class Plain:
    pass


def value(d, kind):
    return {
        "str": "x", "float": 1.5, "none": None, "list": [1, 2], "obj": Plain(), "neg": -1, "dataset": d.Dataset.range(2),
        "fn": lambda *a: a[0], "none_fn": lambda *a: None, "fn0": lambda: 1,
    }[kind]


def R(d):
    return d.Dataset.range(6)


def V(d):
    return d.Dataset.from_tensor_slices(np.arange(6, dtype=np.int32).reshape(3, 2))


def mcsv(d, tmp, **k):
    p = os.path.join(tmp, "a.csv")
    with open(p, "w") as f:
        f.write("a,b\n1,x\n2,y\n3,z\n")
    return d.experimental.make_csv_dataset(p, **{"batch_size": 2, "num_epochs": 1, "shuffle": False, **k})


CALLS = {
    "range1": lambda d, xp, tmp, v: d.Dataset.range(v),
    "range2": lambda d, xp, tmp, v: d.Dataset.range(0, v),
    "range3": lambda d, xp, tmp, v: d.Dataset.range(0, 5, v),
    "from_tensors": lambda d, xp, tmp, v: d.Dataset.from_tensors(v),
    "from_tensor_slices": lambda d, xp, tmp, v: d.Dataset.from_tensor_slices(v),
    "from_list": lambda d, xp, tmp, v: d.experimental.from_list(v),
    "from_list_of": lambda d, xp, tmp, v: d.experimental.from_list([v, v]),
    "from_list_int_then": lambda d, xp, tmp, v: d.experimental.from_list([np.int64(1), v]),
    "batch": lambda d, xp, tmp, v: R(d).batch(v),
    "batch_calls": lambda d, xp, tmp, v: R(d).batch(2, num_parallel_calls=v),
    "batch_drop": lambda d, xp, tmp, v: R(d).batch(4, drop_remainder=v),
    "batch_det": lambda d, xp, tmp, v: R(d).batch(4, num_parallel_calls=2, deterministic=v),
    "padded": lambda d, xp, tmp, v: V(d).padded_batch(v),
    "padded_shapes": lambda d, xp, tmp, v: V(d).padded_batch(2, padded_shapes=v),
    "padded_values": lambda d, xp, tmp, v: V(d).padded_batch(2, padding_values=v),
    "padded_drop": lambda d, xp, tmp, v: V(d).padded_batch(2, drop_remainder=v),
    "padded_shapes_in": lambda d, xp, tmp, v: V(d).padded_batch(2, padded_shapes=[v]),
    "padded_values_wide": lambda d, xp, tmp, v: V(d).padded_batch(2, padded_shapes=[4], padding_values=v),
    "ragged_batch": lambda d, xp, tmp, v: V(d).ragged_batch(v),
    "ragged_batch_drop": lambda d, xp, tmp, v: V(d).ragged_batch(2, drop_remainder=v),
    "sparse_batch": lambda d, xp, tmp, v: V(d).sparse_batch(v, [3]),
    "sparse_batch_shape": lambda d, xp, tmp, v: V(d).sparse_batch(2, v),
    "bucket_len": lambda d, xp, tmp, v: V(d).bucket_by_sequence_length(v, [1, 3], [2, 2, 2]),
    "bucket_bounds": lambda d, xp, tmp, v: V(d).bucket_by_sequence_length(lambda x: xp.shape(x)[0], v, [2, 2, 2]),
    "bucket_sizes": lambda d, xp, tmp, v: V(d).bucket_by_sequence_length(lambda x: xp.shape(x)[0], [1, 3], v),
    "cache": lambda d, xp, tmp, v: R(d).cache(v),
    "counter": lambda d, xp, tmp, v: d.Dataset.counter(v).take(3),
    "counter_step": lambda d, xp, tmp, v: d.Dataset.counter(0, v).take(3),
    "enumerate": lambda d, xp, tmp, v: R(d).enumerate(v),
    "filter": lambda d, xp, tmp, v: R(d).filter(v),
    "flat_map": lambda d, xp, tmp, v: R(d).flat_map(v),
    "from_generator": lambda d, xp, tmp, v: d.Dataset.from_generator(v, output_types=xp.int64),
    "from_generator_types": lambda d, xp, tmp, v: d.Dataset.from_generator(lambda: range(3), output_types=v),
    "from_generator_sig": lambda d, xp, tmp, v: d.Dataset.from_generator(lambda: range(3), output_signature=v),
    "from_generator_args": lambda d, xp, tmp, v: d.Dataset.from_generator(lambda *a: range(3), output_signature=xp.TensorSpec([], xp.int64), args=v),
    "from_generator_shapes": lambda d, xp, tmp, v: d.Dataset.from_generator(lambda: range(3), output_types=xp.int64, output_shapes=v),
    "gbw_key": lambda d, xp, tmp, v: R(d).group_by_window(v, lambda k, w: w.batch(2), window_size=2),
    "gbw_reduce": lambda d, xp, tmp, v: R(d).group_by_window(lambda x: x % 2, v, window_size=2),
    "gbw_size": lambda d, xp, tmp, v: R(d).group_by_window(lambda x: x % 2, lambda k, w: w.batch(2), window_size=v),
    "gbw_size_func": lambda d, xp, tmp, v: R(d).group_by_window(lambda x: x % 2, lambda k, w: w.batch(2), window_size_func=v),
    "ignore_errors": lambda d, xp, tmp, v: R(d).ignore_errors(v),
    "interleave": lambda d, xp, tmp, v: R(d).interleave(v, cycle_length=2),
    "interleave_par": lambda d, xp, tmp, v: R(d).interleave(v, cycle_length=2, num_parallel_calls=2),
    "interleave_cycle": lambda d, xp, tmp, v: R(d).interleave(lambda x: d.Dataset.range(2), cycle_length=v),
    "interleave_block": lambda d, xp, tmp, v: R(d).interleave(lambda x: d.Dataset.range(2), cycle_length=2, block_length=v),
    "interleave_calls": lambda d, xp, tmp, v: R(d).interleave(lambda x: d.Dataset.range(2), cycle_length=2, num_parallel_calls=v),
    "list_files_shuffle": lambda d, xp, tmp, v: d.Dataset.list_files("/dev/nul*", shuffle=v),
    "list_files_seed": lambda d, xp, tmp, v: d.Dataset.list_files("/dev/nul*", shuffle=True, seed=v),
    "map": lambda d, xp, tmp, v: R(d).map(v),
    "map_par": lambda d, xp, tmp, v: R(d).map(v, num_parallel_calls=2),
    "map_calls": lambda d, xp, tmp, v: R(d).map(lambda x: x, num_parallel_calls=v),
    "map_det": lambda d, xp, tmp, v: R(d).map(lambda x: x, num_parallel_calls=2, deterministic=v),
    "prefetch": lambda d, xp, tmp, v: R(d).prefetch(v),
    "random": lambda d, xp, tmp, v: d.Dataset.random(v).take(0),
    "random_rerandom": lambda d, xp, tmp, v: d.Dataset.random(1, rerandomize_each_iteration=v).take(0),
    "rebatch": lambda d, xp, tmp, v: R(d).batch(3).rebatch(v),
    "rebatch_drop": lambda d, xp, tmp, v: R(d).batch(3).rebatch(4, drop_remainder=v),
    "reduce_init": lambda d, xp, tmp, v: R(d).reduce(v, lambda s, x: s),
    "reduce": lambda d, xp, tmp, v: R(d).reduce(np.int64(0), v),
    "resample_class": lambda d, xp, tmp, v: R(d).rejection_resample(v, [0.5, 0.5]).take(0),
    "resample_target": lambda d, xp, tmp, v: R(d).rejection_resample(lambda x: xp.cast(x % 2, xp.int32), v).take(0),
    "resample_initial": lambda d, xp, tmp, v: R(d).rejection_resample(lambda x: xp.cast(x % 2, xp.int32), [0.5, 0.5], initial_dist=v).take(0),
    "repeat": lambda d, xp, tmp, v: R(d).repeat(v).take(8),
    "sample_from": lambda d, xp, tmp, v: d.Dataset.sample_from_datasets(v).take(0),
    "sample_from_weights": lambda d, xp, tmp, v: d.Dataset.sample_from_datasets([R(d), R(d)], weights=v).take(0),
    "sample_from_seed": lambda d, xp, tmp, v: d.Dataset.sample_from_datasets([R(d), R(d)], seed=v).take(0),
    "sample_from_stop": lambda d, xp, tmp, v: d.Dataset.sample_from_datasets([R(d), R(d)], stop_on_empty_dataset=v).take(0),
    "choose_from": lambda d, xp, tmp, v: d.Dataset.choose_from_datasets(v, R(d).take(1)),
    "choose_from_choice": lambda d, xp, tmp, v: d.Dataset.choose_from_datasets([R(d), R(d)], v),
    "choose_from_stop": lambda d, xp, tmp, v: d.Dataset.choose_from_datasets([R(d), R(d)], R(d).take(2), stop_on_empty_dataset=v),
    "scan_init": lambda d, xp, tmp, v: R(d).scan(v, lambda s, x: (s, x)),
    "scan": lambda d, xp, tmp, v: R(d).scan(np.int64(0), v),
    "shard_n": lambda d, xp, tmp, v: R(d).shard(v, 0),
    "shard_i": lambda d, xp, tmp, v: R(d).shard(3, v),
    "shuffle": lambda d, xp, tmp, v: R(d).shuffle(v).take(0),
    "shuffle_seed": lambda d, xp, tmp, v: R(d).shuffle(2, seed=v).take(0),
    "shuffle_each": lambda d, xp, tmp, v: R(d).shuffle(2, reshuffle_each_iteration=v).take(0),
    "skip": lambda d, xp, tmp, v: R(d).skip(v),
    "take": lambda d, xp, tmp, v: R(d).take(v),
    "snapshot_path": lambda d, xp, tmp, v: R(d).snapshot(v if not isinstance(v, str) else tmp + "/s"),
    "snapshot_compression": lambda d, xp, tmp, v: R(d).snapshot(tmp + "/s", compression=v),
    "snapshot_reader": lambda d, xp, tmp, v: R(d).snapshot(tmp + "/s", reader_func=v),
    "snapshot_shard": lambda d, xp, tmp, v: R(d).snapshot(tmp + "/s", shard_func=v),
    "take_while": lambda d, xp, tmp, v: R(d).take_while(v),
    "unbatch_of": lambda d, xp, tmp, v: d.Dataset.from_tensors(v).unbatch(),
    "window": lambda d, xp, tmp, v: R(d).window(v).map(lambda w: 1),
    "window_shift": lambda d, xp, tmp, v: R(d).window(2, shift=v).map(lambda w: 1),
    "window_stride": lambda d, xp, tmp, v: R(d).window(2, stride=v).map(lambda w: 1),
    "window_drop": lambda d, xp, tmp, v: R(d).window(2, drop_remainder=v).map(lambda w: 1),
    "zip": lambda d, xp, tmp, v: d.Dataset.zip(v),
    "zip_two": lambda d, xp, tmp, v: d.Dataset.zip((R(d), v)),
    "zip_pos": lambda d, xp, tmp, v: d.Dataset.zip(R(d), v),
    "zip_dict": lambda d, xp, tmp, v: d.Dataset.zip({"a": R(d), "b": v}),
    "apply": lambda d, xp, tmp, v: R(d).apply(v),
    "unique_of": lambda d, xp, tmp, v: d.Dataset.from_tensors(v).unique(),
    "save": lambda d, xp, tmp, v: R(d).save(v if not isinstance(v, (str, bytes)) else tmp + "/s"),
    "save_compression": lambda d, xp, tmp, v: R(d).save(tmp + "/s", compression=v),
    "save_shard": lambda d, xp, tmp, v: R(d).save(tmp + "/s", shard_func=v),
    "load": lambda d, xp, tmp, v: d.Dataset.load(v),
    "load_reader": lambda d, xp, tmp, v: (R(d).save(tmp + "/s"), d.Dataset.load(tmp + "/s", reader_func=v))[1],
    "tfrecord": lambda d, xp, tmp, v: d.TFRecordDataset(v),
    "tfrecord_in": lambda d, xp, tmp, v: d.TFRecordDataset([v]),
    "tfrecord_comp": lambda d, xp, tmp, v: d.TFRecordDataset("/dev/null", compression_type=v),
    "tfrecord_buf": lambda d, xp, tmp, v: d.TFRecordDataset("/dev/null", buffer_size=v),
    "tfrecord_reads": lambda d, xp, tmp, v: d.TFRecordDataset("/dev/null", num_parallel_reads=v),
    "tfrecord_ds": lambda d, xp, tmp, v: d.TFRecordDataset(d.Dataset.from_tensors(v)),
    "textline": lambda d, xp, tmp, v: d.TextLineDataset(v),
    "textline_in": lambda d, xp, tmp, v: d.TextLineDataset([v]),
    "textline_comp": lambda d, xp, tmp, v: d.TextLineDataset("/dev/null", compression_type=v),
    "textline_buf": lambda d, xp, tmp, v: d.TextLineDataset("/dev/null", buffer_size=v),
    "textline_reads": lambda d, xp, tmp, v: d.TextLineDataset("/dev/null", num_parallel_reads=v),
    "textline_ds": lambda d, xp, tmp, v: d.TextLineDataset(d.Dataset.from_tensors(v)),
    "fixed": lambda d, xp, tmp, v: d.FixedLengthRecordDataset(v, 2),
    "fixed_bytes": lambda d, xp, tmp, v: d.FixedLengthRecordDataset("/dev/null", v),
    "fixed_header": lambda d, xp, tmp, v: d.FixedLengthRecordDataset("/dev/null", 2, header_bytes=v),
    "fixed_footer": lambda d, xp, tmp, v: d.FixedLengthRecordDataset("/dev/null", 2, footer_bytes=v),
    "fixed_buf": lambda d, xp, tmp, v: d.FixedLengthRecordDataset("/dev/null", 2, buffer_size=v),
    "fixed_comp": lambda d, xp, tmp, v: d.FixedLengthRecordDataset("/dev/null", 2, compression_type=v),
    "fixed_reads": lambda d, xp, tmp, v: d.FixedLengthRecordDataset("/dev/null", 2, num_parallel_reads=v),
    "csv": lambda d, xp, tmp, v: d.experimental.CsvDataset(v, [xp.int64]),
    "csv_defaults": lambda d, xp, tmp, v: d.experimental.CsvDataset("/dev/null", v),
    "csv_defaults_in": lambda d, xp, tmp, v: d.experimental.CsvDataset("/dev/null", [v]),
    "csv_comp": lambda d, xp, tmp, v: d.experimental.CsvDataset("/dev/null", [xp.int64], compression_type=v),
    "csv_buf": lambda d, xp, tmp, v: d.experimental.CsvDataset("/dev/null", [xp.int64], buffer_size=v),
    "csv_header": lambda d, xp, tmp, v: d.experimental.CsvDataset("/dev/null", [xp.int64], header=v),
    "csv_delim": lambda d, xp, tmp, v: d.experimental.CsvDataset("/dev/null", [xp.int64], field_delim=v),
    "csv_quote": lambda d, xp, tmp, v: d.experimental.CsvDataset("/dev/null", [xp.int64], use_quote_delim=v),
    "csv_na": lambda d, xp, tmp, v: d.experimental.CsvDataset("/dev/null", [xp.int64], na_value=v),
    "csv_cols": lambda d, xp, tmp, v: d.experimental.CsvDataset("/dev/null", [xp.int64], select_cols=v),
    "sql_driver": lambda d, xp, tmp, v: d.experimental.SqlDataset(v, tmp + "/a.db", "select 1", (xp.int64,)),
    "sql_source": lambda d, xp, tmp, v: d.experimental.SqlDataset("sqlite", v if not isinstance(v, (str, bytes)) else tmp + "/db", "select 1", (xp.int64,)),
    "sql_query": lambda d, xp, tmp, v: d.experimental.SqlDataset("sqlite", tmp + "/a.db", v, (xp.int64,)),
    "sql_types": lambda d, xp, tmp, v: d.experimental.SqlDataset("sqlite", tmp + "/a.db", "select 1", v),
    "assert_card": lambda d, xp, tmp, v: R(d).apply(d.experimental.assert_cardinality(v)),
    "at": lambda d, xp, tmp, v: d.experimental.at(R(d), v),
    "pad_to": lambda d, xp, tmp, v: d.Dataset.from_tensor_slices({"a": [1, 2]}).apply(d.experimental.pad_to_cardinality(v)),
    "pad_to_mask": lambda d, xp, tmp, v: d.Dataset.from_tensor_slices({"a": [1, 2]}).apply(d.experimental.pad_to_cardinality(3, v)),
    "gbr_key": lambda d, xp, tmp, v: R(d).apply(d.experimental.group_by_reducer(v, d.experimental.Reducer(lambda _: np.int64(0), lambda s, x: s + x, lambda s: s))),
    "gbr_init": lambda d, xp, tmp, v: R(d).apply(d.experimental.group_by_reducer(lambda x: x % 2, d.experimental.Reducer(v, lambda s, x: s, lambda s: s))),
    "gbr_reduce": lambda d, xp, tmp, v: R(d).apply(d.experimental.group_by_reducer(lambda x: x % 2, d.experimental.Reducer(lambda _: np.int64(0), v, lambda s: s))),
    "gbr_final": lambda d, xp, tmp, v: R(d).apply(d.experimental.group_by_reducer(lambda x: x % 2, d.experimental.Reducer(lambda _: np.int64(0), lambda s, x: s + x, v))),
    "pil_fn": lambda d, xp, tmp, v: R(d).apply(d.experimental.parallel_interleave(v, 2)),
    "pil_cycle": lambda d, xp, tmp, v: R(d).apply(d.experimental.parallel_interleave(lambda x: d.Dataset.range(2), v)),
    "pil_block": lambda d, xp, tmp, v: R(d).apply(d.experimental.parallel_interleave(lambda x: d.Dataset.range(2), 2, block_length=v)),
    "mab": lambda d, xp, tmp, v: R(d).apply(d.experimental.map_and_batch(v, 2)),
    "mab_size": lambda d, xp, tmp, v: R(d).apply(d.experimental.map_and_batch(lambda x: x, v)),
    "mab_parb": lambda d, xp, tmp, v: R(d).apply(d.experimental.map_and_batch(lambda x: x, 2, num_parallel_batches=v)),
    "mab_calls": lambda d, xp, tmp, v: R(d).apply(d.experimental.map_and_batch(lambda x: x, 2, num_parallel_calls=v)),
    "sar": lambda d, xp, tmp, v: R(d).apply(d.experimental.shuffle_and_repeat(v)).take(0),
    "sar_count": lambda d, xp, tmp, v: R(d).apply(d.experimental.shuffle_and_repeat(2, v)).take(0),
    "get_single": lambda d, xp, tmp, v: d.experimental.get_single_element(v),
    "get_structure": lambda d, xp, tmp, v: d.experimental.get_structure(v),
    "make_csv_b": lambda d, xp, tmp, v: mcsv(d, tmp, batch_size=v),
    "make_csv_names": lambda d, xp, tmp, v: mcsv(d, tmp, column_names=v),
    "make_csv_defaults": lambda d, xp, tmp, v: mcsv(d, tmp, column_defaults=v),
    "make_csv_label": lambda d, xp, tmp, v: mcsv(d, tmp, label_name=v),
    "make_csv_select": lambda d, xp, tmp, v: mcsv(d, tmp, select_columns=v),
    "make_csv_delim": lambda d, xp, tmp, v: mcsv(d, tmp, field_delim=v),
    "make_csv_quote": lambda d, xp, tmp, v: mcsv(d, tmp, use_quote_delim=v),
    "make_csv_na": lambda d, xp, tmp, v: mcsv(d, tmp, na_value=v),
    "make_csv_header": lambda d, xp, tmp, v: mcsv(d, tmp, header=v),
    "make_csv_epochs": lambda d, xp, tmp, v: mcsv(d, tmp, num_epochs=v).take(3),
    "make_csv_sbuf": lambda d, xp, tmp, v: mcsv(d, tmp, shuffle=True, shuffle_buffer_size=v).take(0),
    "make_csv_prefetch": lambda d, xp, tmp, v: mcsv(d, tmp, prefetch_buffer_size=v),
    "make_csv_reads": lambda d, xp, tmp, v: mcsv(d, tmp, num_parallel_reads=v),
    "make_csv_sloppy": lambda d, xp, tmp, v: mcsv(d, tmp, sloppy=v),
    "make_csv_infer": lambda d, xp, tmp, v: mcsv(d, tmp, num_rows_for_inference=v),
    "make_csv_comp": lambda d, xp, tmp, v: mcsv(d, tmp, compression_type=v),
    "make_csv_ignore": lambda d, xp, tmp, v: mcsv(d, tmp, ignore_errors=v),
    "make_csv_encoding": lambda d, xp, tmp, v: mcsv(d, tmp, encoding=v),
    "dense_to_ragged": lambda d, xp, tmp, v: V(d).apply(d.experimental.dense_to_ragged_batch(v)),
    "dense_to_sparse": lambda d, xp, tmp, v: V(d).apply(d.experimental.dense_to_sparse_batch(2, v)),
    "writer": lambda d, xp, tmp, v: d.experimental.TFRecordWriter(tmp + "/w").write(v),
    "parse_ex": lambda d, xp, tmp, v: d.Dataset.from_tensors([b""]).apply(d.experimental.parse_example_dataset(v)),
}

LEFT_OUT = {
    "from_list_int_then": "str float none list neg dataset",
    "bucket_bounds": "dataset",
    "counter": "list",
    "counter_step": "list",
    "flat_map": "fn",
    "from_generator_args": "dataset",
    "ignore_errors": "none",
    "interleave": "fn",
    "interleave_par": "fn",
    "rebatch": "neg",
    "reduce_init": "dataset",
    "resample_class": "none_fn fn0",
    "resample_target": "str float neg",
    "resample_initial": "str float neg",
    "sample_from": "str list dataset",
    "sample_from_weights": "dataset",
    "sample_from_stop": "none",
    "choose_from": "str list dataset",
    "choose_from_stop": "none",
    "scan_init": "dataset",
    "snapshot_compression": "str",
    "save_compression": "str",
    "tfrecord_comp": "str",
    "tfrecord_buf": "neg",
    "csv_defaults": "str dataset",
    "pil_fn": "fn"
}


def outcome(d, xp, tmp, call, kind):
    def run():
        made = CALLS[call](d, xp, tmp, value(d, kind))
        if hasattr(made, "element_spec") and hasattr(made, "take"):
            list(made.take(1))
        return "taken"

    return xp.attempt(run)


@cases("arguments/refused", sorted(CALLS))
def _(d, xp, io, tmp, call):
    return [outcome(d, xp, tmp, call, kind) for kind in KINDS if kind not in LEFT_OUT.get(call, "").split()]


SOURCES = {
    "int": lambda d, xp: d.Dataset.from_tensor_slices([1, 2]),
    "string": lambda d, xp: d.Dataset.from_tensor_slices(["a", "b"]),
    "vector": lambda d, xp: d.Dataset.from_tensor_slices([[1, 2], [3, 4]]),
    "pair": lambda d, xp: d.Dataset.from_tensor_slices(([1, 2], [3, 4])),
    "dict": lambda d, xp: d.Dataset.from_tensor_slices({"a": [1, 2], "b": [3, 4]}),
    "point": lambda d, xp: d.Dataset.from_tensor_slices(Point([1, 2], [3, 4])),
    "place": lambda d, xp: d.Dataset.from_tensor_slices(Place([1, 2], [3, 4])),
    "sparse": lambda d, xp: d.Dataset.from_tensors(xp.sparse([[0]], [1], [3])).repeat(2),
    "ragged": lambda d, xp: d.Dataset.from_tensors(xp.ragged([[1], [2, 3]])).repeat(2),
    "dataset": lambda d, xp: d.Dataset.range(4).window(2),
    "none": lambda d, xp: d.Dataset.from_tensor_slices(([1, 2], None)),
}
Point = collections.namedtuple("Point", "a b")
Place = collections.namedtuple("Place", "a b")

ONE = {
    "padded_batch": lambda d, xp, ds, tmp: ds.padded_batch(2), "padded_shape_float": lambda d, xp, ds, tmp: ds.padded_batch(2, padded_shapes=[1.5]), "padded_shape_string": lambda d, xp, ds, tmp: ds.padded_batch(2, padded_shapes=["a"]), "padded_shapes_pair": lambda d, xp, ds, tmp: ds.padded_batch(2, padded_shapes=([], [])), "padding_pair": lambda d, xp, ds, tmp: ds.padded_batch(2, padding_values=(1, 2)), "padding_string": lambda d, xp, ds, tmp: ds.padded_batch(2, padding_values="x"),
    "unique": lambda d, xp, ds, tmp: ds.unique(), "numpy": lambda d, xp, ds, tmp: list(ds.as_numpy_iterator()) and 1, "pad_to": lambda d, xp, ds, tmp: ds.apply(d.experimental.pad_to_cardinality(3)), "sparse_batch": lambda d, xp, ds, tmp: ds.sparse_batch(2, [4]),
    "scan": lambda d, xp, ds, tmp: ds.scan(np.int64(0), lambda s, *a: (a[0], a[0])), "scan_single": lambda d, xp, ds, tmp: ds.scan(np.int64(0), lambda s, *a: 1), "reduce": lambda d, xp, ds, tmp: ds.reduce(np.int64(0), lambda s, *a: a[0]), "reduce_none": lambda d, xp, ds, tmp: ds.reduce(np.int64(0), lambda s, *a: None),
    "window_of": lambda d, xp, ds, tmp: ds.group_by_window(lambda *a: np.int64(0), lambda k, w: k, window_size=2), "choose": lambda d, xp, ds, tmp: d.Dataset.choose_from_datasets([R(d), R(d), R(d)], ds), "tfrecord": lambda d, xp, ds, tmp: d.TFRecordDataset(ds), "text_line": lambda d, xp, ds, tmp: d.TextLineDataset(ds), "fixed": lambda d, xp, ds, tmp: d.FixedLengthRecordDataset(ds, 2), "map_two": lambda d, xp, ds, tmp: ds.map(lambda x, y: x), "filter_two": lambda d, xp, ds, tmp: ds.filter(lambda x, y: True),
}


@cases("arguments/elements", [(op, via) for op in sorted(ONE) for via in ("plain", "mapped")])
def _(d, xp, io, tmp, op, via):
    def run(source):
        ds = SOURCES[source](d, xp)
        if via == "mapped" and source != "dataset":
            ds = ds.map(lambda *a: a[0] if len(a) == 1 else a)
        made = ONE[op](d, xp, ds, tmp)
        if hasattr(made, "element_spec") and hasattr(made, "take"):
            list(made)
        return "taken"

    return [xp.attempt(run, s) for s in SOURCES]


@cases("arguments/two", [(op, s) for op in ("concatenate", "choose", "sample") for s in SOURCES])
def _(d, xp, io, tmp, op, one):
    def run(two):
        a, b = SOURCES[one](d, xp), SOURCES[two](d, xp)
        if op == "concatenate":
            made = a.concatenate(b)
        elif op == "choose":
            made = d.Dataset.choose_from_datasets([a, b], d.Dataset.from_tensor_slices(np.array([0, 1], np.int64)))
        else:
            made = d.Dataset.sample_from_datasets([a, b], seed=1)
        for _ in made:
            pass
        return "taken"

    return [xp.attempt(run, s) for s in SOURCES]
