"""The public names of `feedline.tf`: which module defines each of them.

A namespace is a module with the names listed for it, found when they are first used. `a:b` is public as `a` and defined
as `b`. A module's path is relative to `feedline.tf`, or absolute if it begins with `feedline.`.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

_ARRAYS = """
    argsort bitcast boolean_mask broadcast_dynamic_shape broadcast_static_shape broadcast_to cast concat constant
    convert_to_tensor dynamic_partition dynamic_stitch ensure_shape expand_dims eye fill gather gather_nd
    get_static_value identity is_tensor linspace meshgrid newaxis one_hot ones ones_like pad parallel_stack range rank
    repeat reshape reverse reverse_sequence roll saturate_cast scatter_nd searchsorted sequence_mask shape shape_n size
    slice sort split squeeze stack stop_gradient:identity strided_slice tensor_scatter_nd_add tensor_scatter_nd_max
    tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tile transpose type_spec_from_value:type_spec
    unique unique_with_counts unstack where zeros zeros_like guarantee_const:identity
"""
_MATH = """
    abs acos acosh add add_n argmax argmin asin asinh atan atan2 atanh complex cos cosh cumsum divide equal exp floor
    greater greater_equal less less_equal logical_and logical_not logical_or maximum minimum multiply negative not_equal
    pow reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum round scalar_mul
    sigmoid sign sin sinh sqrt square subtract tan tanh truediv
"""
_MORE_MATH = """
    accumulate_n angle bincount ceil confusion_matrix conj count_nonzero cumprod divide_no_nan erf expm1 floordiv
    floormod imag in_top_k is_finite is_inf is_nan l2_normalize lgamma log log1p logical_xor mod:floormod
    multiply_no_nan nextafter polyval real reciprocal reduce_euclidean_norm reduce_std reduce_variance rint rsqrt
    segment_max segment_mean segment_min segment_prod segment_sum softmax softplus squared_difference top_k
    unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod unsorted_segment_sum xlogy
    zero_fraction
"""
_DTYPES = """
    DType as_dtype bool complex64 complex128 double float16 float32 float64 half int8 int16 int32 int64 string uint8
    uint16 uint32 uint64
"""
_SPECS = """
    OptionalSpec RaggedTensorSpec SparseTensorSpec TensorShape TensorSpec TypeSpec
"""

_STRINGS = """
    as_string bytes_split format join length lower ngrams reduce_join regex_full_match regex_replace split strip substr
    to_hash_bucket to_hash_bucket_fast to_hash_bucket_strong to_number unicode_decode unicode_decode_with_offsets
    unicode_encode unicode_split unicode_split_with_offsets unicode_transcode unsorted_segment_join upper
"""
_CONTROL = """
    TensorArray case cond control_dependencies custom_gradient device executing_eagerly foldl foldr function group
    init_scope inside_function map_fn name_scope no_op numpy_function print:print_ py_function scan switch_case
    tuple:tuple_ vectorized_map while_loop
"""
_DECODERS = """
    decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png encode_jpeg encode_png
    extract_jpeg_shape is_jpeg
"""
_PARSERS = """
    decode_compressed decode_csv decode_json_example decode_raw deserialize_many_sparse parse_example
    parse_sequence_example parse_single_example parse_single_sequence_example parse_tensor serialize_many_sparse
    serialize_sparse serialize_tensor
"""
_FEATURES = "FixedLenFeature FixedLenSequenceFeature RaggedFeature SparseFeature VarLenFeature"
_IMAGES = """
    ResizeMethod adjust_brightness adjust_contrast adjust_gamma adjust_hue adjust_jpeg_quality adjust_saturation
    central_crop crop_and_resize crop_to_bounding_box draw_bounding_boxes extract_patches flip_left_right flip_up_down
    grayscale_to_rgb hsv_to_rgb image_gradients non_max_suppression pad_to_bounding_box per_image_standardization psnr
    random_brightness random_contrast random_flip_left_right random_flip_up_down random_hue random_jpeg_quality
    random_saturation resize_with_crop_or_pad resize_with_pad rgb_to_grayscale rgb_to_hsv rgb_to_yiq rgb_to_yuv rot90
    sample_distorted_bounding_box stateless_random_brightness stateless_random_contrast
    stateless_random_flip_left_right stateless_random_flip_up_down stateless_random_hue stateless_random_jpeg_quality
    stateless_random_saturation stateless_sample_distorted_bounding_box total_variation transpose yiq_to_rgb yuv_to_rgb
"""
_RANDOM = """
    Generator:RandomGenerator categorical gamma get_global_generator normal poisson set_seed shuffle
    stateless_categorical stateless_normal stateless_truncated_normal stateless_uniform truncated_normal uniform
    split:stateless_split fold_in:stateless_fold_in
"""
_ASSERTS = """
    Assert assert_equal assert_greater assert_greater_equal assert_integer assert_less assert_less_equal assert_near
    assert_negative assert_non_negative assert_non_positive assert_none_equal assert_positive assert_proper_iterable
    assert_rank assert_rank_at_least assert_rank_in assert_same_float_dtype assert_scalar assert_shapes assert_type
"""
_TABLES = """
    KeyValueTensorInitializer StaticHashTable:TensorHashTable StaticVocabularyTable TextFileIndex TextFileInitializer
"""
_DEVICES = """
    experimental_connect_to_cluster:ignored experimental_connect_to_host:ignored
    get_visible_devices:list_physical_devices list_logical_devices:list_physical_devices list_physical_devices
    set_logical_device_configuration:ignored set_soft_device_placement:ignored set_visible_devices:ignored
"""
_TRAIN = """
    BytesList Checkpoint Example Feature FeatureList FeatureLists Features FloatList Int64List SequenceExample
"""

_TOP: dict[str, str] = {
    "array_ops": _ARRAYS,
    "control_flow": _CONTROL,
    "debugging_ops": "Assert assert_equal assert_greater assert_less assert_rank",
    "io_ops": "make_ndarray make_tensor_proto",
    "math_ops": _MATH
    + "clip_by_norm clip_by_value einsum histogram_fixed_width histogram_fixed_width_bins matmul norm tensordot "
    "truncatediv truncatemod",
    "ragged_ops": "RaggedTensor",
    "runtime": "get_logger",
    "sparse_ops": "SparseTensor",
    "tensor": "Tensor",
    "variable": "Variable",
    "feedline.structure.spec": _SPECS,
    "feedline.structure.types": _DTYPES,
}

NAMES: dict[str, dict[str, str]] = {
    "": _TOP,
    "audio": {"io_ops": "decode_wav encode_wav"},
    "autograph.experimental": {"control_flow": "do_not_convert set_loop_options"},
    "bitwise": {"math_ops": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"},
    "compat": {"runtime": "as_bytes as_str:as_text as_str_any as_text path_to_str"},
    "config": {"control_flow": "functions_run_eagerly run_functions_eagerly", "runtime": _DEVICES},
    "config.experimental": {
        "runtime": _DEVICES
        + " enable_op_determinism:ignored set_memory_growth:ignored set_virtual_device_configuration:ignored"
    },
    "config.optimizer": {"runtime": "set_experimental_options:ignored set_jit:ignored"},
    "config.threading": {
        "runtime": "set_inter_op_parallelism_threads:ignored set_intra_op_parallelism_threads:ignored"
    },
    "debugging": {
        "debugging_ops": _ASSERTS
        + "assert_all_finite check_numerics disable_check_numerics enable_check_numerics is_numeric_tensor",
        "runtime": "set_log_device_placement:ignored",
    },
    "distribute": {
        "runtime": """
            InputContext:PipelineContext MirroredStrategy:OneDevice MultiWorkerMirroredStrategy:OneDevice
            OneDeviceStrategy:OneDevice Strategy TPUStrategy:OneDevice get_strategy has_strategy
        """
    },
    "distribute.cluster_resolver": {"runtime": "TPUClusterResolver:ClusterResolver"},
    "dtypes": {
        "array_ops": "cast saturate_cast",
        "math_ops": "complex",
        "feedline.structure.types": _DTYPES,
    },
    "errors": {"feedline.errors": "*"},
    "image": {
        "image_ops": _IMAGES,
        "io_ops": _DECODERS + "convert_image_dtype resize",
        "random_ops": "random_crop stateless_random_crop",
    },
    "io": {
        "io_ops": _DECODERS + _PARSERS + "decode_base64 encode_base64 matching_files read_file write_file",
        "feedline.io": _FEATURES + " TFRecordOptions TFRecordWriter gfile",
    },
    "keras.preprocessing": {
        "keras_ops": """
            image_dataset_from_directory text_dataset_from_directory timeseries_dataset_from_array
        """
    },
    "keras.preprocessing.sequence": {"keras_ops": "pad_sequences"},
    "keras.utils": {
        "keras_ops": """
            audio_dataset_from_directory image_dataset_from_directory pad_sequences text_dataset_from_directory
            timeseries_dataset_from_array
        """
    },
    "linalg": {
        "array_ops": "band_part diag diag_part eye tensor_diag:diag tensor_diag_part:diag_part",
        "math_ops": "einsum l2_normalize matmul norm tensordot",
    },
    "lookup": {"lookup_ops": _TABLES},
    "lookup.experimental": {"lookup_ops": "DenseHashTable MutableHashTable"},
    "math": {"math_ops": _MATH + _MORE_MATH, "array_ops": "argsort"},
    "nest": {"nest_ops": "assert_same_structure flatten is_nested map_structure pack_sequence_as"},
    "nn": {
        "nn_ops": "depthwise_conv2d",
        "math_ops": "in_top_k l2_normalize moments relu relu6 sigmoid softmax softplus tanh top_k zero_fraction",
    },
    "ragged": {
        "ragged_ops": """
            boolean_mask constant map_flat_values range row_splits_to_segment_ids segment_ids_to_row_splits stack
        """
    },
    "random": {"random_ops": _RANDOM},
    "random.experimental": {
        "random_ops": """
            Generator:RandomGenerator get_global_generator index_shuffle stateless_fold_in stateless_shuffle
            stateless_split
        """
    },
    "signal": {
        "signal_ops": """
            dct fft fft2d frame hamming_window hann_window ifft ifft2d irfft linear_to_mel_weight_matrix
            mfccs_from_log_mel_spectrograms overlap_and_add rfft stft
        """
    },
    "sparse": {
        "sparse_ops": """
            SparseTensor concat expand_dims fill_empty_rows from_dense mask reduce_sum reorder reset_shape reshape
            retain slice to_dense to_indicator
        """
    },
    "strings": {"string_ops": _STRINGS},
    "tpu.experimental": {"runtime": "initialize_tpu_system:ignored shutdown_tpu_system:ignored"},
    "train": {"feedline.train": _TRAIN, "runtime": "latest_checkpoint"},
}
"""The names of each namespace, by the module that defines them; `*` are all its public ones."""

_V1 = {
    "array_ops": "batch_gather matrix_band_part:band_part matrix_diag:diag matrix_diag_part:diag_part",
    "control_flow": """
        cond:cond_v1 disable_eager_execution:no_op disable_v2_behavior:no_op enable_eager_execution:no_op
        enable_v2_behavior:no_op py_func:numpy_function wrap_function:function variable_scope:name_scope
        tables_initializer:no_op global_variables_initializer:no_op local_variables_initializer:no_op
    """,
    "debugging_ops": _ASSERTS,
    "io_ops": "decode_base64 decode_csv decode_raw encode_base64 matching_files parse_example parse_single_example "
    "parse_single_sequence_example parse_tensor read_file serialize_tensor write_file",
    "math_ops": _MATH
    + """
        bincount ceil confusion_matrix conj count_nonzero cumprod div:truediv erf expm1 floor_div:floordiv
        floordiv floormod imag is_finite is_inf is_nan lgamma log log1p logical_xor mod:floormod real reciprocal rint
        rsqrt segment_max segment_mean segment_min segment_prod segment_sum squared_difference to_double to_float
        to_int32 to_int64 unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_sum
    """,
    "random_ops": """
        multinomial:categorical random_crop random_gamma:gamma random_normal:normal random_poisson:poisson
        random_shuffle:shuffle random_uniform:uniform set_random_seed:set_seed truncated_normal
    """,
    "sparse_ops": "sparse_reorder:reorder sparse_reshape:reshape sparse_tensor_to_dense:to_dense",
    "string_ops": """
        as_string reduce_join regex_replace string_join:join string_split string_strip:strip
        string_to_hash_bucket:to_hash_bucket string_to_hash_bucket_fast:to_hash_bucket_fast string_to_number:to_number
        substr
    """,
    "runtime": "enable_resource_variables:ignored",
    "feedline.io": _FEATURES,
}
NAMES["compat.v1"] = {module: f"{_TOP.get(module, '')} {_V1.get(module, '')}" for module in {**_TOP, **_V1}}
for _path in sorted(NAMES):
    if _path and not _path.startswith("compat"):
        NAMES[f"compat.v1.{_path}"] = NAMES[_path]
NAMES["compat.v1.gfile"] = {
    "feedline.io.gfile": """
        Copy:copy DeleteRecursively:rmtree Exists:exists FastGFile:GFile GFile Glob:glob IsDirectory:isdir
        ListDirectory:listdir MakeDirs:makedirs MkDir:mkdir Open:GFile Remove:remove Rename:rename Stat:stat Walk:walk
    """
}
NAMES["compat.v1.logging"] = {
    "runtime": """
        DEBUG ERROR FATAL INFO WARN debug error fatal get_verbosity info log_every_n log_first_n set_verbosity warn
        warning
    """
}
NAMES["compat.v1.python_io"] = {"feedline.io": "TFRecordOptions TFRecordWriter"}
NAMES["compat.v1.image"] = {
    **NAMES["image"],
    "image_ops": _IMAGES
    + """
        resize:resize_images resize_area resize_bicubic resize_bilinear resize_images
        resize_image_with_crop_or_pad:resize_with_crop_or_pad resize_nearest_neighbor
    """,
    "io_ops": _DECODERS + "convert_image_dtype",
}
NAMES["compat.v1.strings"] = {"string_ops": _STRINGS.replace(" split ", " split:split_v1 ")}

MODULES = {"compat.v1.data": "feedline.tf.data", "compat.v2": "feedline.tf", "data": "feedline.tf.data"}
"""Namespaces that are modules of their own."""


class Namespace(ModuleType):
    """A module whose names are found in the table when they are first used."""

    def __init__(self, path: str) -> None:
        super().__init__(f"feedline.tf.{path}", f"`tf.{path}`, on NumPy.")
        self.__path__: list[str] = []
        self._path = path
        self._table = table(path)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return looked_up(self._path, name, self.__dict__, self._table)

    def __dir__(self) -> list[str]:
        return public(self._path)


def table(path: str) -> dict[str, tuple[str, str]]:
    """The module and name of each public name of a namespace."""
    found: dict[str, tuple[str, str]] = {}
    for module, names in NAMES.get(path, {}).items():
        where = module if module.startswith("feedline.") else f"feedline.tf.{module}"
        for entry in importlib.import_module(where).__all__ if names == "*" else names.split():
            shown, _, defined = entry.partition(":")
            found[shown] = where, defined or shown
    return found


def public(path: str) -> list[str]:
    """The public names of a namespace."""
    return sorted({*table(path), *inside(path)})


def inside(path: str) -> set[str]:
    """The namespaces directly inside a namespace."""
    begin = f"{path}." if path else ""
    paths = {*NAMES, *MODULES} - {""}
    return {p[len(begin) :].split(".")[0] for p in paths if p.startswith(begin)}


def looked_up(path: str, name: str, keep: dict[str, Any], names: dict[str, tuple[str, str]]) -> Any:
    """The object that a name of a namespace stands for, kept in the namespace's `keep`."""
    full = f"{path}.{name}" if path else name
    if name in names:
        where, defined = names[name]
        found = vars(importlib.import_module(where)).get(defined)
        if found is None and defined != "newaxis":
            found = getattr(importlib.import_module(where), defined)
    elif full in MODULES:
        found = importlib.import_module(MODULES[full])
    elif name in inside(path):
        found = sys.modules[f"feedline.tf.{full}"]
    elif full == "bfloat16" or full == "dtypes.bfloat16":
        from feedline.structure.types import as_dtype

        return as_dtype("bfloat16")
    else:
        from feedline.tf.missing import explained

        raise AttributeError(explained(full))
    keep[name] = found
    return found


def register() -> None:
    """Makes every namespace importable: `import feedline.tf.strings`, `from feedline.tf.io import gfile`."""
    paths = {p for path in NAMES for p in parents(path)}
    for path in sorted(paths - {""} - set(MODULES)):
        sys.modules.setdefault(f"feedline.tf.{path}", Namespace(path))
    sys.modules["feedline.tf.compat.v2"] = sys.modules["feedline.tf"]


def parents(path: str) -> list[str]:
    """A namespace and those it is in."""
    parts = path.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]
