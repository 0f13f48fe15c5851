"""Ragged tensors, shapes and dtypes: broadcasting, methods, and functions of rows."""

from tests.tf.evaluate import each

_ROWS = "tf.ragged.constant([[1], [2, 3, 4], [], [5, 6]])"
_DEEP = "tf.ragged.constant([[[1, 2], [3]], [[4, 5, 6]], []])"
_PAIRS = "tf.ragged.constant([[[1, 2], [3, 4], [5, 6]], [[7, 8]]], ragged_rank=1)"
CASES = [
    *each(
        "{r} + tf.constant({x})",
        r=[_PAIRS],
        x=[
            "10",
            "[1, 2]",
            "[[10]]",
            "[[10, 20]]",
            "[[[10]], [[20]]]",
            "[[[1, 2]], [[3, 4]]]",
            "[[[1], [2]]]",
            "[[1], [2]]",
        ],
    ),
    *each("{r} * tf.constant({x})", r=[_ROWS], x=["[[2]]", "[[1], [2], [3], [4]]", "[[1, 2]]", "[1]", "[1, 2]"]),
    *each("tf.constant({x}) - tf.ragged.constant([[1, 2], [3, 4]])", x=["[[1, 2], [3, 4]]", "[10, 20]", "[[1, 2, 3]]"]),
    *each("{r} + tf.constant({x})", r=[_DEEP], x=["[[[100]]]", "[[[1]], [[2]], [[3]]]", "[[1]]", "[5]"]),
    *each("tf.reverse({r}, {a})", r=[_ROWS], a=["[0]", "[1]", "[0, 1]", "[-1]", "[]", "[2]"]),
    *each("tf.reverse({r}, {a})", r=[_DEEP], a=["[0]", "[1]", "[2]", "[0, 2]", "[1, 2]", "[0, 1, 2]"]),
    *each("tf.map_fn({f}, {r})", f=["lambda row: row * 2", "tf.math.square"], r=[_ROWS, _DEEP, _PAIRS]),
    f"tf.map_fn(tf.reduce_sum, {_ROWS}, fn_output_signature=tf.int32)",
    f"tf.map_fn(lambda row: row[:1], {_ROWS})",
    # gather
    *each(
        "tf.gather({r}, {i})",
        r=[_DEEP, "tf.constant([[[1], [2]], [[3], [4]], [[5], [6]]])"],
        i=[
            *("tf.ragged.constant([[0, 2], [], [1]])", "tf.ragged.constant([[[0], [1, 2]], [[]]])"),
            *("tf.ragged.constant([[0], [], []]), batch_dims=1", "tf.ragged.constant([[3]])"),
        ],
    ),
    *each(
        "tf.gather({r}, {i})",
        r=[_DEEP],
        i=["1", "[2, 0]", "[[0], [1]]", "tf.zeros([0], tf.int32)", "tf.zeros([3, 0], tf.int32)", "[3]", "[-1]"],
    ),
    *each(
        "tf.gather(tf.ragged.constant([[[1, 2], [3]], [[4, 5, 6]], [[7]]]), {i})",
        i=[
            *("0, axis=1", "[0, 0], axis=1", "[[0], [0]], axis=-1", "[0, 0, 0], batch_dims=1", "[0, 0], axis=3"),
            *("[[1, 0], [0, 0], [0, 0]], batch_dims=1", "[[0], [0], [0]], axis=2, batch_dims=1", "[0, 0], batch_dims=1"),
            *("tf.ragged.constant([[1, 0], [], [0]]), batch_dims=1", "tf.ragged.constant([[0], [0], []]), axis=1"),
            *("tf.ragged.constant([[0], [0, 2], [0]]), axis=2, batch_dims=1", "[0], batch_dims=2", "[[0]], axis=0"),
            "tf.ragged.constant([[[0, 1], []], [[2]], [[0]]]), batch_dims=2",
        ],
    ),
    # shapes
    *each(
        "tf.TensorShape({s}).{m}({n})",
        s=["[1, None]", "None", "[2, 3, 4]"],
        m=["assert_has_rank", "with_rank_at_least", "with_rank_at_most", "with_rank"],
        n=["1", "2", "3"],
    ),
    *each(
        "tf.TensorShape({s}).{m}({o})",
        s=["[1, None]", "None", "[2, 3]"],
        m=["assert_same_rank", "assert_is_compatible_with"],
        o=["[1, 2]", "[2, 3]", "[1]", "None"],
    ),
    *each("tf.TensorShape({s}).assert_is_fully_defined()", s=["[1, None]", "None", "[2, 3]", "[]"]),
    *each(
        "tf.TensorShape({s}).is_subtype_of(tf.TensorShape({o}))",
        s=["[1, None]", "None", "[2, 3]"],
        o=["[1, 2]", "[2, None]", "[None]", "None"],
    ),
    *each(
        "tf.TensorSpec({s}).is_subtype_of(tf.TensorSpec({o}))",
        s=["[1, None]", "[2, 3]"],
        o=["[1, 2]", "[2, None]", "None"],
    ),
    # dtypes
    *each(
        "tf.{d}.{a}",
        d=["uint8", "int16", "int64", "float16", "float32", "bool", "complex64", "string", "bfloat16"],
        a=["limits", "base_dtype.name", "real_dtype.name", "is_quantized"],
    ),
    *each("tf.float32.is_compatible_with({d})", d=["tf.float32", "tf.float64", "'float32'", "np.float32"]),
]
