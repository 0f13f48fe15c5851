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

NAMES: dict[str, dict[str, str]] = {
    "": {
        "array_ops": _ARRAYS,
        "math_ops": _MATH + "clip_by_norm clip_by_value einsum histogram_fixed_width histogram_fixed_width_bins matmul "
        "norm tensordot truncatediv truncatemod",
        "ragged_ops": "RaggedTensor",
        "sparse_ops": "SparseTensor",
        "tensor": "Tensor",
        "variable": "Variable",
        "feedline.structure.spec": _SPECS,
        "feedline.structure.types": _DTYPES,
    },
    "bitwise": {"math_ops": "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift"},
    "dtypes": {
        "array_ops": "cast saturate_cast",
        "math_ops": "complex",
        "feedline.structure.types": _DTYPES,
    },
    "linalg": {
        "array_ops": "band_part diag diag_part eye set_diag:diag tensor_diag:diag tensor_diag_part:diag_part",
        "math_ops": "einsum l2_normalize matmul norm tensordot",
    },
    "math": {"math_ops": _MATH + _MORE_MATH, "array_ops": "argsort"},
    "nn": {"math_ops": "in_top_k l2_normalize moments relu relu6 sigmoid softmax softplus tanh top_k zero_fraction"},
    "ragged": {
        "ragged_ops": """
            boolean_mask constant map_flat_values range row_splits_to_segment_ids segment_ids_to_row_splits stack
        """
    },
    "sparse": {
        "sparse_ops": """
            SparseTensor concat expand_dims fill_empty_rows from_dense mask reduce_sum reorder reset_shape reshape
            retain slice to_dense to_indicator
        """
    },
    "compat.v1": {"math_ops": "to_double to_float to_int32 to_int64"},
    "errors": {"feedline.errors": "*"},
}
"""The names of each namespace, by the module that defines them; `*` are all its public ones."""

MODULES = {"data": "feedline.tf.data"}
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
    return sorted({*table(path), *_inside(path)})


def _inside(path: str) -> set[str]:
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
    elif name in _inside(path):
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
    paths = {p for path in NAMES for p in _parents(path)}
    for path in sorted(paths - {""} - set(MODULES)):
        sys.modules.setdefault(f"feedline.tf.{path}", Namespace(path))


def _parents(path: str) -> list[str]:
    parts = path.split(".")
    return [".".join(parts[: i + 1]) for i in range(len(parts))]
