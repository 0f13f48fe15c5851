"""Odd arguments: halves, overflow, empty results, images of the wanted size, ragged and sparse tensors in functions of arrays."""

from tests.tf.evaluate import each

HALF = "tf.cast(arr('float32', 3, 3), tf.bfloat16)"
RAGGED = "tf.ragged.constant([[1, 2], [], [3]])"
SPARSE = "tf.SparseTensor([[0, 0], [0, 0]], [1, 2], [2, 3])"
CASES = [
    *each("tf.reshape(tf.zeros([0, 3]), {s})", s=["[0, -1]", "[-1, 3]", "[-1, 0]", "[3, -1]"]),
    *each(
        "tf.range({r}, dtype=tf.{d})",
        r=["0.0, 100.0, 0.1", "1.0, -30.0, -0.3", "0, 5, 1 / 3"],
        d=["float32", "float64", "float16", "bfloat16"],
    ),
    # bfloat16
    *each(f"tf.matmul({HALF}, {HALF}{{a}})", a=["", ", transpose_a=True", ", adjoint_b=True"]),
    *each(f"tf.einsum('{{e}}', {HALF}, {HALF})", e=["ij,jk->ik", "ij,kj->ik"]),
    *each(f"tf.tensordot({HALF}, {HALF}, {{a}})", a=["1", "[[0], [1]]"]),
    *each(
        "tf.truncatediv(tf.constant([7.5, -7.5, 1.0], tf.{d}), tf.constant([2.0, 2.0, 0.0], tf.{d}))", d=["bfloat16"]
    ),
    # integers
    *each(
        "tf.math.reduce_euclidean_norm(tf.constant([200, 100, 3], tf.{d}){a})",
        d=["uint8", "int16", "int32", "int64"],
        a=["", ", []"],
    ),
    *each("tf.math.reduce_{f}(tf.constant([1 + 2j, 3j], tf.{d}))", f=["euclidean_norm", "std"], d=["complex64"]),
    *each("tf.reduce_mean(tf.zeros([0, 2], tf.complex64){a})", a=["", ", 0", ", 1"]),
    *each("tf.zeros([0, 3], tf.int32) {o} tf.zeros([3], tf.int32)", o=["//", "%"]),
    *each("tf.{f}(tf.zeros([0], tf.int32), 0)", f=["truncatediv", "truncatemod"]),
    *each("tf.linalg.diag(tf.constant([True, False]){a})", a=["", ", k=1", ", padding_value=1"]),
    # floats out of the range of small integers, in vectors and behind them
    *each(
        "tf.cast(arr('{s}', 7, 10, low={w}, high={w} * -1), tf.{d})",
        s=["float16", "float32", "float64", "complex64"],
        d=["uint8", "int8", "uint16", "int16", "uint32"],
        w=["-400", "-6e4"],
    ),
    *each("tf.cast(arr('float32', 7, 10, low=-9e9, high=9e9), tf.{d})", d=["uint8", "int16", "uint32", "int32"]),
    *each("tf.cast(tf.constant([300.0] * 70, tf.bfloat16), tf.{d})", d=["uint8", "int8"]),
    *each("tf.saturate_cast(tf.constant([np.nan, 300.0, -1.0] * 20), tf.{d})", d=["uint8", "int8"]),
    *each("tf.cast(tf.image.resize(img(6, 7), [11, 15], '{m}'), tf.uint8)", m=["bicubic", "lanczos5", "mitchellcubic"]),
    *each("tf.image.convert_image_dtype(arr('float32', 4, 5, 3), tf.{d})", d=["uint8", "int16", "uint16"]),
    # lists of lists: the whole list is one tensor along the first axis
    *each(
        "tf.stack({v}{a})",
        v=[
            *("[[1, 0], [-0.5, 1]]", "[[1, 0], [tf.constant(-0.5), 1]]", "[1, tf.constant(0.5)]", "[[1, 2], [3]]"),
            *("[[1.0, tf.constant(0.5)], [2, 3]]", "[np.int64(1), 2]", "[[1, 2], tf.zeros([2])]", "[[], []]"),
            *("['a', tf.constant('b')]", "[True, tf.constant(False)]", "[[1], [None]]", "[tf.constant(1), 2.5]"),
        ],
        a=["", ", 0"],
    ),
    *each("tf.stack([]{a})", a=["", ", 0"]),
    # rows without values
    *each(
        "tf.reduce_{f}(tf.RaggedTensor.from_row_lengths(tf.constant({v}, tf.{d}), [1, 0, 1]), 1)",
        f=["max", "min"],
        v=["[-np.inf, np.inf]", "[1.0, 2.0]"],
        d=["float16", "float32", "float64", "bfloat16"],
    ),
    *each(
        "tf.reduce_{f}(tf.ragged.constant([[[1.0], []], [], [[3.0]]]), {a})",
        f=["max", "min"],
        a=["2", "1", "0", "[1, 2]"],
    ),
    # strings
    *each("tf.strings.split({s}, maxsplit=1{a})", s=["'a'", "['a b c', 'd', '']"], a=["", ", sep=''", ", sep=','"]),
    *each("tf.strings.join({s})", s=["[]", "[[]]"]),
    *each("tf.compat.v1.string_split({s})", s=["'a b'", "[['a b']]", "tf.ragged.constant([['a b'], []])"]),
    *each(
        "tf.compat.v1.strings.split({s}{a})",
        s=["'a b'", "['a b', '']", "tf.ragged.constant([['a b'], []])"],
        a=["", ", result_type='RaggedTensor'", ", result_type='no'"],
    ),
    *each(
        "tf.strings.format('<{{}}>', {x})",
        x=[
            "tf.constant(['a\\x00b', 'q\"u\\\\o\\n\\'\\t\\x7f', 'é'])",
            "tf.constant(b'\\xff\\xfe')",
            "tf.constant([b'\\x80abc'])",
        ],
    ),
    *each(
        "tf.strings.regex_full_match(tf.constant([b'\\x80abc', b'\\xff\\xfe', b'a\\xe2\\x82', 'é', 'a\\nb', '']), '{p}')",
        p=[".*", "a.*", "[^x]*", "(?s).*", ".", "\\\\W+", "[^a]+", "[^\\\\W]*"],
    ),
    *each(
        "tf.strings.regex_replace(tf.constant([b'\\x80abc', b'\\xff\\xfe', b'a\\xe2\\x82', 'é']), '{p}', '-')",
        p=[".*", ".+", "[^a]"],
    ),
    *each("tf.strings.unsorted_segment_join(['a', 'b', 'c'], {i}, 3)", i=["[0, 5, 1]", "[0, -1, 1]"]),
    # the smallest integer has no absolute value
    *each(
        "tf.{f}(tf.constant([-2 ** 63, 2 ** 63 - 1, -7], tf.int64), tf.constant([3, 2, {y}], tf.int64))",
        f=["truncatediv", "truncatemod", "math.floordiv", "math.floormod"],
        y=["-2", "2"],
    ),
    "tf.truncatediv(tf.constant([-128, 127, -7], tf.int8), tf.constant([3, 2, 2], tf.int8))",
    # dtypes that a kernel does not take
    *each(
        "tf.{f}(tf.constant([[1, 2], [3, 5]]))",
        f=["nn.softmax", "nn.log_softmax", "math.cumulative_logsumexp", "linalg.det", "linalg.inv", "linalg.cholesky"],
    ),
    *each("tf.linalg.{f}(tf.constant([['a']]))", f=["det", "inv", "slogdet"]),
    *each("tf.debugging.{f}(tf.constant([1, 2]), 'm')", f=["check_numerics", "assert_all_finite"]),
    *each("tf.io.encode_{f}(tf.constant(arr('float32', 2, 2, 3)))", f=["png", "jpeg"]),
    "tf.shape(tf.io.encode_png(tf.constant(arr('uint8', 2, 3, 2, 2, 3))))",
    # shapes that do not fit
    *each("tf.broadcast_to(arr('int32', 2, 3), {s})", s=["[1]", "[2, 3]", "[2, 1]", "[4, 2, 3]", "[2, 4]"]),
    *each("tf.unstack(arr('int32', 2, 3), {a})", a=["num=7", "2, 1", "3, 1"]),
    *each("tf.{f}(arr('float32', 2, 3), {a})", f=["sort", "argsort"], a=["2", "-3", "0"]),
    "tf.bitcast(arr('int32', 2, 3), tf.complex128)",
    *each("tf.compat.v1.setdiff1d(arr('int32', 5), [{y}])", y=["1", "1, 2"]),
    # images
    *each(
        "tf.compat.v1.image.{f}(tf.constant(img(5, 7)), {s}{a})",
        f=["resize", "resize_images"],
        s=["[5, 7]", "(5, 9)"],
        a=["", ", 1", ", preserve_aspect_ratio=True"],
    ),
    "tf.compat.v1.image.resize_bilinear(tf.constant(img(5, 7))[tf.newaxis], [5, 7])",
    "tf.compat.v1.image.resize(img(4, 4), (5, 7), method=1, align_corners=True)",
    *each(
        "tf.image.draw_bounding_boxes(tf.zeros([1, 6, 6, {c}]), [[[0.0, 0.0, 1.0, 1.0]] * {n}], None)",
        c=["1", "3", "4"],
        n=["1", "2", "5", "10", "11"],
    ),
    *each(
        "tf.image.draw_bounding_boxes({x}, [[[0.0, 0.0, 0.5, 1.0]]], [[1.0, 2.0, 3.0]])",
        x=[
            "np.zeros((1, 3, 3, 3), np.uint8)",
            "tf.zeros([1, 3, 3, 3], tf.uint8)",
            "tf.zeros([1, 3, 3, 3], tf.float16)",
        ],
    ),
    # ragged and sparse
    *each(f"tf.math.reduce_{{f}}({RAGGED}, {{a}})", f=["variance", "std"], a=["None", "0", "1"]),
    *each(f"tf.sparse.reduce_sum({SPARSE}{{a}})", a=["", ", 1", ", 0, True"]),
    *each("tf.{f}(tf.sparse.from_dense([1, 0]))", f=["reduce_sum", "reduce_any", "reverse", "cumsum"]),
    *each("tf.strings.{f}(tf.sparse.from_dense(['a']))", f=["split", "bytes_split", "reduce_join"]),
]
CLOSE = {"tf.einsum": 1e-2, "tf.tensordot": 1e-2, "tf.matmul": 1e-2, "tf.math.reduce_std": 1e-6}
AT_ODDS = {
    "tf.strings.join([[]])": "feedline takes an empty list for strings",
}
