"""The public names of `feedline.tf`: which module defines each of them.

A namespace is a module with the names listed for it, found when they are first used. `a:b` is public as `a` and defined
as `b`. A module's path is relative to `feedline.tf`, or absolute if it begins with `feedline.`.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any

VERSION = "2.21.0"
"""The version of TensorFlow whose names and values these are."""

_ARRAYS = """
    argsort batch_to_space bitcast boolean_mask broadcast_dynamic_shape broadcast_static_shape broadcast_to cast
    concat constant convert_to_tensor dynamic_partition dynamic_stitch ensure_shape expand_dims eye fill gather
    gather_nd get_static_value guarantee_const:identity identity identity_n is_tensor linspace meshgrid newaxis
    one_hot ones ones_like pad parallel_stack range rank repeat reshape reverse reverse_sequence roll saturate_cast
    scatter_nd searchsorted sequence_mask shape shape_n size slice sort space_to_batch:space_to_batch_nd
    space_to_batch_nd split squeeze stack stop_gradient:identity strided_slice tensor_scatter_nd_add
    tensor_scatter_nd_max tensor_scatter_nd_min tensor_scatter_nd_sub tensor_scatter_nd_update tile transpose
    type_spec_from_value:type_spec unique unique_with_counts unravel_index unstack where zeros zeros_like
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
    BytesList Checkpoint CheckpointManager Example Feature FeatureList FeatureLists Features FloatList Int64List
    SequenceExample
"""

_TOP: dict[str, str] = {
    "array_ops": _ARRAYS,
    "control_flow": _CONTROL,
    "debugging_ops": "Assert assert_equal assert_greater assert_less assert_rank",
    "io_ops": "make_ndarray make_tensor_proto",
    "math_ops": _MATH
    + "clip_by_norm clip_by_value einsum histogram_fixed_width histogram_fixed_width_bins matmul norm tensordot "
    "truncatediv truncatemod realdiv",
    "random_ops": "random_index_shuffle",
    "ragged_ops": "RaggedTensor",
    "runtime": "get_logger",
    "v1_graph": "enable_v2_behavior",
    "sparse_ops": "SparseTensor edit_distance",
    "string_ops": "as_string",
    "tensor": "Tensor",
    "variable": "Variable",
    "feedline.structure.spec": _SPECS,
    "feedline.structure.types": _DTYPES,
}

_APPLICATIONS = {
    "caffe": "resnet resnet50 vgg16 vgg19",
    "normalized": "densenet",
    "preprocess_input": "imagenet_utils",
    "scaled": """
        inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 nasnet resnet_v2 xception
    """,
    "unchanged": "convnext efficientnet efficientnet_v2 mobilenet_v3",
}
"""The function that is `preprocess_input` in each module of Keras's models."""

NAMES: dict[str, dict[str, str]] = {
    "": _TOP,
    "audio": {"io_ops": "decode_wav encode_wav"},
    "autograph.experimental": {"control_flow": "do_not_convert set_loop_options"},
    "bitwise": {"math_ops": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"},
    "contrib": {},
    "compat": {"runtime": "as_bytes as_str:as_text as_str_any as_text forward_compatible path_to_str"},
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
    "estimator": {"runtime": "ModeKeys"},
    "image": {
        "image_ops": _IMAGES,
        "io_ops": _DECODERS + "convert_image_dtype resize",
        "random_ops": "random_crop stateless_random_crop",
    },
    "io": {
        "io_ops": _DECODERS + _PARSERS + "decode_base64 encode_base64 matching_files read_file write_file",
        "feedline.io": _FEATURES + " TFRecordOptions TFRecordWriter gfile",
    },
    **{
        f"keras.applications.{module}": {"keras_applications": f"preprocess_input:{function}"}
        for function, modules in _APPLICATIONS.items()
        for module in modules.split()
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
        "array_ops": "band_part diag diag_part eye",
        "linalg_ops": """
            adjoint cholesky cross det global_norm inv matrix_transpose matvec normalize pinv set_diag slogdet solve
            trace
        """,
        "math_ops": "einsum l2_normalize matmul norm tensordot",
        "v1_ops": "tensor_diag:diag tensor_diag_part:diag_part",
    },
    "lookup": {"lookup_ops": _TABLES},
    "lookup.experimental": {"lookup_ops": "DenseHashTable MutableHashTable"},
    "math": {
        "math_ops": _MATH + _MORE_MATH,
        "array_ops": "argsort",
        "special_ops": """
            cumulative_logsumexp digamma erfc erfinv lbeta log_sigmoid log_softmax ndtri reciprocal_no_nan softsign
            unsorted_segment_sqrt_n xdivy xlog1py
        """,
        "v1_ops": "invert_permutation is_non_decreasing is_strictly_increasing",
    },
    "nest": {"nest_ops": "assert_same_structure flatten is_nested map_structure pack_sequence_as"},
    "nn": {
        "nn_ops": """
            avg_pool avg_pool2d depth_to_space depthwise_conv2d embedding_lookup max_pool max_pool2d space_to_depth
        """,
        "special_ops": "elu gelu l2_loss leaky_relu log_softmax selu silu softsign swish:silu",
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
    "raw_ops": {"projective_ops": "ImageProjectiveTransformV2 ImageProjectiveTransformV3"},
    "sets": {"sets_ops": "difference intersection size union"},
    "signal": {
        "signal_ops": """
            dct fft fft2d fft3d fftshift frame hamming_window hann_window idct ifft ifft2d ifft3d ifftshift inverse_stft
            inverse_stft_window_fn irfft irfft2d irfft3d kaiser_window linear_to_mel_weight_matrix
            mfccs_from_log_mel_spectrograms overlap_and_add rfft rfft2d rfft3d stft vorbis_window
        """
    },
    "sparse": {
        "sparse_ops": """
            SparseTensor add concat expand_dims eye fill_empty_rows from_dense map_values mask maximum minimum
            reduce_max reduce_sum reorder reset_shape reshape retain slice sparse_dense_matmul split to_dense
            to_indicator transpose
        """
    },
    "strings": {"string_ops": _STRINGS},
    "summary": {
        "summary_ops": """
            SummaryWriter:FileWriter create_file_writer create_noop_writer flush histogram image record_if scalar
            should_record_summaries text
        """
    },
    "summary.experimental": {"summary_ops": "get_step set_step"},
    "tpu.experimental": {"runtime": "initialize_tpu_system:ignored shutdown_tpu_system:ignored"},
    "train": {"feedline.train": _TRAIN, "runtime": "checkpoints_iterator latest_checkpoint"},
    "types.experimental": {"tensor": "TensorLike"},
    "version": {"names": "VERSION"},
}
"""The names of each namespace, by the module that defines them; `*` are all its public ones."""

_V1_ASSERTS = """
    assert_equal assert_greater assert_greater_equal assert_less assert_less_equal assert_near assert_negative
    assert_non_negative assert_non_positive assert_none_equal assert_positive assert_rank assert_rank_at_least
    assert_rank_in
"""
_V1_REDUCTIONS = """
    argmax argmin confusion_matrix count_nonzero reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean
    reduce_min reduce_prod reduce_sum
"""
_V1 = {
    "array_ops": """
        batch_gather get_static_value lin_space:linspace matrix_band_part:band_part matrix_diag:diag
        matrix_diag_part:diag_part reverse_v2:reverse tensor_scatter_add:tensor_scatter_nd_add
        tensor_scatter_sub:tensor_scatter_nd_sub tensor_scatter_update:tensor_scatter_nd_update where_v2:where
    """,
    "control_flow": """
        cond:cond_v1 disable_control_flow_v2:no_op disable_resource_variables:no_op disable_tensor_equality:no_op
        disable_v2_tensorshape:no_op enable_control_flow_v2:no_op enable_tensor_equality:no_op
        enable_v2_tensorshape:no_op op_scope:name_scope
    """,
    "debugging_ops": _ASSERTS + "check_numerics is_numeric_tensor",
    "io_ops": _PARSERS + "decode_base64 encode_base64 matching_files read_file write_file",
    "math_ops": _MATH
    + """
        accumulate_n angle bincount ceil conj cumprod div_no_nan:divide_no_nan erf expm1 floor_div:floordiv
        floordiv floormod imag is_finite is_inf is_nan lgamma log log1p logical_xor mod:floormod real realdiv
        reciprocal rint rsqrt segment_max segment_mean segment_min segment_prod segment_sum squared_difference to_double
        to_float to_int32 to_int64 unsorted_segment_max unsorted_segment_mean unsorted_segment_min unsorted_segment_prod
        unsorted_segment_sum
    """,
    "random_ops": """
        random_crop random_gamma:gamma random_normal:normal random_shuffle:shuffle random_uniform:uniform
        truncated_normal
    """,
    "names": "VERSION",
    "runtime": "enable_resource_variables:ignored",
    "signal_ops": "fft fft2d ifft ifft2d",
    "sparse_ops": """
        sparse_fill_empty_rows:fill_empty_rows sparse_mask:mask sparse_reorder:reorder sparse_reset_shape:reset_shape
        sparse_reshape:reshape sparse_retain:retain sparse_slice:slice sparse_tensor_to_dense:to_dense
        sparse_to_indicator:to_indicator
    """,
    "string_ops": """
        as_string regex_replace string_join:join string_split string_strip:strip
        string_to_hash_bucket_fast:to_hash_bucket_fast string_to_hash_bucket_strong:to_hash_bucket_strong
    """,
    "v1_ops": _V1_REDUCTIONS
    + _V1_ASSERTS
    + """
        batch_to_space space_to_batch
        ConfigProto:RuntimeMessage Dimension GPUOptions:RuntimeMessage GraphOptions:RuntimeMessage
        OptimizerOptions:RuntimeMessage Print RunMetadata:RuntimeMessage RunOptions:RuntimeMessage SparseTensorValue
        arg_max arg_min boolean_mask convert_to_tensor cross decode_raw diag diag_part dimension_at_index
        dimension_value div expand_dims extract_image_patches gather get_seed invert_permutation is_non_decreasing
        is_strictly_increasing map_fn matrix_transpose multinomial norm ones_like pad random_poisson reduce_join
        reverse_sequence setdiff1d sparse_concat sparse_reduce_sum sparse_to_dense string_to_hash_bucket
        string_to_number substr to_bfloat16 to_complex128 to_complex64 trace transpose variable_scope
        verify_tensor_all_finite where while_loop wrap_function zeros_like
    """,
    "v1_graph": """
        constant disable_eager_execution disable_v2_behavior enable_eager_execution enable_v2_behavior executing_eagerly
        executing_eagerly_outside_functions:executing_eagerly global_variables_initializer group
        local_variables_initializer no_op numpy_function placeholder placeholder_with_default py_func:numpy_function
        set_random_seed tables_initializer
    """,
    "feedline.compat.v1.graph": """
        Graph GraphKeys add_to_collection get_collection get_default_graph reset_default_graph
    """,
    "feedline.compat.v1.session": "InteractiveSession Session get_default_session",
    "feedline.compat.v1.tensor": "Operation",
    "feedline.errors": "OpError",
    "feedline.io": _FEATURES,
}
NAMES["compat"]["v1_ops"] = "dimension_at_index dimension_value"
NAMES["compat.v1"] = {module: f"{_TOP.get(module, '')} {_V1.get(module, '')}" for module in {**_TOP, **_V1}}
for _path in sorted(NAMES):
    if _path and not _path.startswith(("compat", "summary")):
        NAMES[f"compat.v1.{_path}"] = dict(NAMES[_path])
NAMES["compat.v1.app"] = {"v1_flags": "run"}
NAMES["compat.v1.compat"] = NAMES["compat"]
NAMES["compat.v1.debugging"] |= {
    "math_ops": "is_finite is_inf is_nan",
    "v1_ops": _V1_ASSERTS + "is_non_decreasing is_strictly_increasing",
}
NAMES["compat.v1.dtypes"]["string_ops"] = "as_string"
NAMES["compat.v1.gfile"] = {
    "feedline.io.gfile": "FastGFile:GFile GFile Open:GFile",
    "v1_ops": "Copy DeleteRecursively Exists Glob IsDirectory ListDirectory MakeDirs MkDir Remove Rename Stat Walk",
}
NAMES["compat.v1.io"] |= {
    "v1_ops": "TFRecordCompressionType decode_raw tf_record_iterator",
}
NAMES["compat.v1.linalg"]["v1_ops"] += " cross matrix_transpose norm trace transpose:matrix_transpose"
NAMES["compat.v1.logging"] = {
    "runtime": """
        DEBUG ERROR FATAL INFO WARN debug error fatal flush get_verbosity info log log_every_n log_first_n log_if
        set_verbosity vlog warn warning
    """
}
NAMES["compat.v1.manip"] = {"array_ops": "gather_nd reshape reverse roll scatter_nd tile"}
NAMES["compat.v1.math"]["v1_ops"] = _V1_REDUCTIONS + (
    "in_top_k invert_permutation is_non_decreasing is_strictly_increasing softmax"
)
NAMES["compat.v1.nn"]["v1_ops"] = """
    avg_pool depthwise_conv2d depthwise_conv2d_native embedding_lookup in_top_k max_pool moments softmax
"""
NAMES["compat.v1.python_io"] = {
    "feedline.io": "TFRecordOptions TFRecordWriter",
    "v1_ops": "TFRecordCompressionType tf_record_iterator",
}
NAMES["compat.v1.ragged"]["v1_ops"] = "RaggedTensorValue"
NAMES["compat.v1.random"] |= {
    "v1_graph": "set_random_seed",
    "v1_ops": "get_seed multinomial poisson:random_poisson stateless_multinomial",
}
NAMES["compat.v1.sparse"]["v1_ops"] = "concat:sparse_concat reduce_sum:sparse_reduce_sum"
NAMES["compat.v1.train"]["feedline.compat.v1.train"] = "Saver"
NAMES["compat.v1.spectral"] = {"signal_ops": "dct fft fft2d ifft ifft2d irfft rfft"}
NAMES["compat.v1.image"] |= {
    "image_ops": _IMAGES
    + """
        resize:resize_images resize_area resize_bicubic resize_bilinear resize_image_with_pad resize_images
        resize_image_with_crop_or_pad:resize_with_crop_or_pad resize_nearest_neighbor transpose_image:transpose
    """,
    "io_ops": _DECODERS + "convert_image_dtype",
    "v1_ops": "crop_and_resize draw_bounding_boxes extract_image_patches sample_distorted_bounding_box",
}
NAMES["compat.v1.strings"] = {
    "string_ops": _STRINGS.replace(" split ", " split:split_v1 "),
    "v1_ops": """
        length:string_length reduce_join substr to_hash_bucket:string_to_hash_bucket to_number:string_to_number
    """,
}

RECORDED = {
    *("array_ops", "debugging_ops", "image_ops", "io_ops", "math_ops", "nn_ops", "ragged_ops", "random_ops"),
    *("signal_ops", "sparse_ops", "string_ops", "control_flow", "v1_ops", "linalg_ops", "sets_ops", "special_ops"),
    "projective_ops",
}
"""The modules whose functions are recorded while a function is traced."""
PLAIN = {
    *("is_tensor", "get_static_value", "broadcast_static_shape", "type_spec", "set_seed", "get_global_generator"),
    *("function", "executing_eagerly", "inside_function", "group", "no_op", "do_not_convert", "set_loop_options"),
    *("custom_gradient", "run_functions_eagerly", "functions_run_eagerly", "make_ndarray", "make_tensor_proto"),
    *("control_dependencies", "device", "init_scope", "name_scope", "assert_proper_iterable", "variable_scope"),
    *("Copy", "DeleteRecursively", "Exists", "Glob", "IsDirectory", "ListDirectory", "MakeDirs", "MkDir", "Remove"),
    *("Rename", "Stat", "Walk", "dimension_value", "dimension_at_index", "get_seed", "wrap_function"),
    *("tf_record_iterator", "is_numeric_tensor"),
}
"""Functions of these modules that are not recorded."""

PARAMETERS = {
    "array_ops.shape": "input name out_type",
    "array_ops.size": "input name out_type",
    "array_ops.gather_nd": "params indices name batch_dims bad_indices_policy",
    "debugging_ops.assert_scalar": "tensor name message",
    "control_flow.tuple_": "tensors name control_inputs",
    "io_ops.decode_csv": "records record_defaults field_delim use_quote_delim name na_value select_cols",
    "io_ops.parse_example": "serialized features name example_names",
    "io_ops.parse_single_example": "serialized features name example_names",
    "io_ops.serialize_many_sparse": "sp_input name out_type",
    "io_ops.serialize_sparse": "sp_input name out_type",
    "nn_ops.avg_pool2d": "value:input ksize strides padding data_format name",
    "nn_ops.depth_to_space": "input block_size name data_format",
    "nn_ops.space_to_depth": "input block_size name data_format",
    "v1_ops.assert_rank": "x rank:y data summarize message name",
    "v1_ops.assert_rank_at_least": "x rank:y data summarize message name",
    "v1_ops.assert_rank_in": "x ranks:y data summarize message name",
}
"""The parameters of functions in `tf.compat.v1` where they have other names, or come in another order."""

MODULES = {
    "compat.v1.app.flags": "feedline.tf.v1_flags",
    "compat.v1.contrib.data": "feedline.tf.contrib_data",
    "compat.v1.data": "feedline.tf.v1_data",
    "compat.v1.flags": "feedline.tf.v1_flags",
    "compat.v2": "feedline.tf",
    "contrib.data": "feedline.tf.contrib_data",
    "data": "feedline.tf.data",
}
"""Namespaces that are modules of their own."""


class Namespace(ModuleType):
    """A module whose names are found in the table when they are first used."""

    def __init__(self, path: str) -> None:
        super().__init__(f"feedline.tf.{path}", f"`tf.{path}`, on NumPy.")
        self.__path__: list[str] = []
        self._path = path
        self._table = table(path)
        self.__version__ = VERSION

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return looked_up(self._path, name, self.__dict__, self._table)

    def __dir__(self) -> list[str]:
        return public(self._path)

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        """By its name, like any module, since functions that are sent to other processes refer to it."""
        return importlib.import_module, (self.__name__,)


class MissingNames:
    """An importer that is asked last and finds nothing: `from feedline.tf.keras import layers` says what to write
    instead, as `tf.keras.layers` does.
    """

    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> None:
        """Raises `ModuleNotFoundError` for what a namespace of `feedline.tf` lacks."""
        space = fullname.rpartition(".")[0]
        if space == "feedline.tf" or isinstance(sys.modules.get(space), Namespace):
            from feedline.tf.notes import explained

            raise ModuleNotFoundError(explained(fullname.removeprefix("feedline.tf.")))


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
        if isinstance(found, FunctionType) and where.rpartition(".")[2] in RECORDED and defined not in PLAIN:
            from feedline.tf.tracing.symbolic import recorded

            found = recorded(f"{where.rpartition('.')[2]}.{defined}", found)
        respelling = PARAMETERS.get(f"{where.rpartition('.')[2]}.{defined}")
        if respelling and found is not None and path.startswith("compat.v1"):
            from feedline.tf.parameters import respelled

            found = respelled(found, respelling)
        if path.startswith("compat.v1"):
            from feedline.tf.v1_graph import for_graphs

            found = for_graphs(where, defined, found)
    elif full in MODULES:
        found = importlib.import_module(MODULES[full])
    elif name in inside(path):
        found = sys.modules[f"feedline.tf.{full}"]
    elif full.removeprefix("compat.v1.") in ("bfloat16", "dtypes.bfloat16"):
        from feedline.structure.types import as_dtype

        return as_dtype("bfloat16")
    else:
        from feedline.tf.notes import explained

        raise AttributeError(explained(full))
    keep[name] = found
    return found


def register() -> None:
    """Makes every namespace importable: `import feedline.tf.strings`, `from feedline.tf.io import gfile`."""
    paths = {p for path in NAMES for p in parents(path)}
    for path in sorted(paths - {""} - set(MODULES)):
        sys.modules.setdefault(f"feedline.tf.{path}", Namespace(path))
    sys.modules["feedline.tf.compat.v2"] = sys.modules["feedline.tf"]
    sys.meta_path.append(MissingNames())


def parents(path: str) -> list[str]:
    """A namespace and those it is in."""
    parts = path.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]
