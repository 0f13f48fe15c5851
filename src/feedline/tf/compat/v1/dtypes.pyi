"""The names of `tf.compat.v1.dtypes` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.structure.types import DType as DType
from feedline.structure.types import as_dtype as as_dtype
from feedline.tf.string_ops import as_string as as_string
from feedline.structure.types import bool as bool
from feedline.tf.array_ops import cast as cast
from feedline.tf.math_ops import complex as complex
from feedline.structure.types import complex128 as complex128
from feedline.structure.types import complex64 as complex64
from feedline.structure.types import double as double
from feedline.structure.types import float16 as float16
from feedline.structure.types import float32 as float32
from feedline.structure.types import float64 as float64
from feedline.structure.types import half as half
from feedline.structure.types import int16 as int16
from feedline.structure.types import int32 as int32
from feedline.structure.types import int64 as int64
from feedline.structure.types import int8 as int8
from feedline.tf.array_ops import saturate_cast as saturate_cast
from feedline.structure.types import string as string
from feedline.structure.types import uint16 as uint16
from feedline.structure.types import uint32 as uint32
from feedline.structure.types import uint64 as uint64
from feedline.structure.types import uint8 as uint8

__all__ = [
    "DType",
    "as_dtype",
    "as_string",
    "bool",
    "cast",
    "complex",
    "complex128",
    "complex64",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int16",
    "int32",
    "int64",
    "int8",
    "saturate_cast",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]
