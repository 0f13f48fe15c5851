"""The names of `tf.compat.v1.raw_ops` for type checkers; made by tests/typing/tf_stubs.py."""

from feedline.tf.projective_ops import ImageProjectiveTransformV2 as ImageProjectiveTransformV2
from feedline.tf.projective_ops import ImageProjectiveTransformV3 as ImageProjectiveTransformV3

__all__ = [
    "ImageProjectiveTransformV2",
    "ImageProjectiveTransformV3",
]
