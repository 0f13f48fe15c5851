"""The names of `tf.compat.v1.debugging` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.debugging_ops import Assert as Assert
from feedline.tf.debugging_ops import assert_all_finite as assert_all_finite
from feedline.tf.v1_ops import assert_equal as assert_equal
from feedline.tf.v1_ops import assert_greater as assert_greater
from feedline.tf.v1_ops import assert_greater_equal as assert_greater_equal
from feedline.tf.debugging_ops import assert_integer as assert_integer
from feedline.tf.v1_ops import assert_less as assert_less
from feedline.tf.v1_ops import assert_less_equal as assert_less_equal
from feedline.tf.v1_ops import assert_near as assert_near
from feedline.tf.v1_ops import assert_negative as assert_negative
from feedline.tf.v1_ops import assert_non_negative as assert_non_negative
from feedline.tf.v1_ops import assert_non_positive as assert_non_positive
from feedline.tf.v1_ops import assert_none_equal as assert_none_equal
from feedline.tf.v1_ops import assert_positive as assert_positive
from feedline.tf.debugging_ops import assert_proper_iterable as assert_proper_iterable
from feedline.tf.v1_ops import assert_rank as assert_rank
from feedline.tf.v1_ops import assert_rank_at_least as assert_rank_at_least
from feedline.tf.v1_ops import assert_rank_in as assert_rank_in
from feedline.tf.debugging_ops import assert_same_float_dtype as assert_same_float_dtype
from feedline.tf.debugging_ops import assert_scalar as assert_scalar
from feedline.tf.debugging_ops import assert_shapes as assert_shapes
from feedline.tf.debugging_ops import assert_type as assert_type
from feedline.tf.debugging_ops import check_numerics as check_numerics
from feedline.tf.debugging_ops import disable_check_numerics as disable_check_numerics
from feedline.tf.debugging_ops import enable_check_numerics as enable_check_numerics
from feedline.tf.math_ops import is_finite as is_finite
from feedline.tf.math_ops import is_inf as is_inf
from feedline.tf.math_ops import is_nan as is_nan
from feedline.tf.v1_ops import is_non_decreasing as is_non_decreasing
from feedline.tf.debugging_ops import is_numeric_tensor as is_numeric_tensor
from feedline.tf.v1_ops import is_strictly_increasing as is_strictly_increasing
from feedline.tf.runtime import ignored as set_log_device_placement

__all__ = [
    "Assert",
    "assert_all_finite",
    "assert_equal",
    "assert_greater",
    "assert_greater_equal",
    "assert_integer",
    "assert_less",
    "assert_less_equal",
    "assert_near",
    "assert_negative",
    "assert_non_negative",
    "assert_non_positive",
    "assert_none_equal",
    "assert_positive",
    "assert_proper_iterable",
    "assert_rank",
    "assert_rank_at_least",
    "assert_rank_in",
    "assert_same_float_dtype",
    "assert_scalar",
    "assert_shapes",
    "assert_type",
    "check_numerics",
    "disable_check_numerics",
    "enable_check_numerics",
    "is_finite",
    "is_inf",
    "is_nan",
    "is_non_decreasing",
    "is_numeric_tensor",
    "is_strictly_increasing",
    "set_log_device_placement",
]
