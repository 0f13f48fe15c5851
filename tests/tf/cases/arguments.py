"""Combinations of arguments: keywords, dtypes, odd shapes, ragged and sparse tensors, arrays instead of tensors."""

from tests.tf.evaluate import each

RAGGED = "tf.ragged.constant([[[1, 2], [3]], [], [[4]]])"
FLOATS = "tf.ragged.constant([[1.0, 2.0], [3.0]])"
CASES = [
    # keywords
    *each("tf.math.{f}(input=[1.5, -2.0])", f=["real", "imag", "angle"]),
    *each("tf.nn.{f}(features=[1.5, -2.0])", f=["relu", "relu6", "softplus"]),
    "tf.math.nextafter(x1=1.0, x2=2.0)",
    "tf.signal.rfft(input_tensor=[1.0, 2.0, 3.0])",
    "tf.signal.irfft(input_tensor=[1j, 2.0, 3.0], fft_length=[4])",
    "tf.signal.fft([1j, 2.0], 'name')",
    "tf.nest.is_nested(seq=[1])",
    "tf.debugging.assert_none_equal(1, 2, 3, 'message')",
    "tf.debugging.assert_none_equal(1, 1, message='message')",
    "tf.compat.v1.shape([[1]], 'name', tf.int64)",
    "tf.compat.v1.size([[1]], 'name', tf.int64)",
    "tf.compat.v1.batch_to_space(arr('int32', 4, 2, 2, 1), [[0, 0], [0, 0]], 2)",
    "tf.compat.v1.space_to_batch(arr('int32', 1, 4, 4, 1), paddings=[[0, 0], [0, 0]], block_size=2)",
    "tf.compat.v1.decode_csv(['1,2'], [[0], [0]], ',', True, 'name', '', [1])",
    "tf.compat.v1.assert_rank([1], rank=1, message='m')",
    "tf.compat.v1.assert_rank_in([1], ranks=[0, 2])",
    "tf.compat.v1.gather_nd([1, 2], [[1]], 'name')",
    "tf.compat.v1.nn.space_to_depth(arr('float32', 1, 4, 4, 1), 2, 'name')",
    "tf.compat.v1.nn.depthwise_conv2d_native(arr('float32', 1, 4, 4, 1), arr('float32', 2, 2, 1, 1), [1, 1, 1, 1], 'SAME', 'NHWC')",
    *each("tf.random_index_shuffle({i}, [1, 2, 3], 9, rounds={r})", i=["3", "[0, 9]", "10"], r=["4", "8"]),
    *each("tf.{f}([[1, 2]], None)", f=["shape", "size"]),
    "tf.shape_n([[1, 2]], out_type=None)",
    *each(
        "tf.tensor_scatter_nd_{f}([1, 2, 3], [[0], [5]], [7, 8], bad_indices_policy='{p}')",
        f=["add", "max"],
        p=["", "ERROR", "IGNORE", "no"],
    ),
    "tf.scatter_nd([[0], [5]], [7, 8], [3], bad_indices_policy='IGNORE')",
    # diagonals
    "tf.linalg.diag_part(tf.reshape(tf.range(12), [3, 4]), k=(0, 1))",
    *each(
        "tf.linalg.diag_part(tf.reshape(tf.range(12), [3, 4]), k=(-1, 1), padding_value=9, align='{a}')",
        a=["LEFT_RIGHT", "RIGHT_LEFT", "LEFT_LEFT", "RIGHT_RIGHT", "no"],
    ),
    *each("tf.linalg.diag_part(tf.reshape(tf.range(12), [3, 4]), k={k})", k=["3", "-2", "-3", "4", "(1, 0)"]),
    *each("tf.linalg.diag([1, 2], k={k}{a})", k=["0", "1", "-1"], a=[", num_rows=4", ", num_cols=5", ", num_rows=1"]),
    *each(
        "tf.linalg.diag([[1, 2, 3], [4, 5, 0]], k={k}{a})", k=["(0, 1)", "(-1, 0)", "(0, 2)"], a=["", ", num_rows=3"]
    ),
    *each("tf.linalg.tensor_diag{p}(arr('int32', {s}))", p=["", "_part"], s=["2", "2, 2", "2, 3", "2, 2, 2, 2"]),
    # dtypes and arrays
    *each("tf.constant({v}, tf.{d})", v=["-1", "2**40", "[-1, 300]"], d=["int32", "uint8", "uint32"]),
    *each("tf.constant({v}, tf.uint64)", v=["2**63", "[0, 2**64 - 1]", "[[2**63, 1]]"]),
    "tf.constant([1e10, 1.0], tf.float16)",
    *each("tf.saturate_cast({v}, tf.{d})", v=["tf.constant([0, 65535], tf.uint16)"], d=["float16", "int8"]),
    "tf.saturate_cast(tf.constant([-3.0, 1.5, 300.0], tf.bfloat16), tf.uint8)",
    *each(
        "tf.cast(tf.constant([0.1, 5e9, -3.0, 1e20], tf.{d}), tf.{t})", d=["float32", "float64"], t=["uint32", "uint64"]
    ),
    *each(
        "tf.image.convert_image_dtype(tf.constant([0.1, 0.9, -0.1, 1.5], tf.{d}), tf.{t}{a})",
        d=["float32", "float64"],
        t=["uint8", "uint16", "uint32"],
        a=["", ", saturate=True"],
    ),
    "tf.tensor_scatter_nd_add(arr('float32', 2, 3), [[0], [1]], tf.ones([2, 3], tf.int32))",
    "tf.where(np.array([1, 0]), tf.constant([1, 2]), [3, 4])",
    *each("tf.boolean_mask([1, 2, 3], {m})", m=["tf.constant([1, 0, 2])", "tf.constant([1.0, 0.0, 2.0])", "[1, 0, 2]"]),
    *each("tf.transpose({v}, conjugate=True)", v=["tf.constant([['a']])", "[[True]]", "[[1j, 2.0]]"]),
    "tf.concat(tf.constant([[1, 2], [3, 4]]), 0)",
    *each("tf.{f}([])", f=["reduce_any", "reduce_all", "logical_not"]),
    *each("tf.math.scalar_mul({s}, arr('{d}', 3))", s=["2", "2.5", "tf.constant(2)"], d=["int64", "uint8", "float64"]),
    *each("tf.math.unsorted_segment_mean(arr('{d}', 3), [0, 0, 1], 3)", d=["int8", "uint16", "int32", "uint64"]),
    *each("tf.math.unsorted_segment_{f}(tf.zeros([2, 0]), [0, 1], 3)", f=["sum", "max", "mean"]),
    *each("tf.math.unsorted_segment_{f}(tf.constant([1.0, 2.0], tf.bfloat16), [0, 0], 2)", f=["min", "max"]),
    *each("tf.math.segment_sum([1, 2], {i})", i=["[-1, 0]", "[[0], [0]]", "0", "[0.5, 1.0]"]),
    *each(
        "tf.nn.moments(tf.constant([1, 2, 4], tf.{d}), [0], keepdims={k})",
        d=["int32", "complex64"],
        k=["True", "False"],
    ),
    *each("tf.math.in_top_k({t}, [[0.5, 0.5], [np.nan, 1.0]], 2)", t=["[0, 1]", "[1, 5]", "[-1, 0]"]),
    *each("tf.math.bincount([1, 1, 2], axis={a})", a=["0", "-1"]),
    "tf.math.bincount(tf.constant([1, 200], tf.uint8), minlength=3)",
    "tf.histogram_fixed_width_bins(2.5, [0.0, 5.0], dtype=tf.int64)",
    *each("tf.math.polyval({c}, [1.5])", c=["[1]", "[]", "[2.0, 1.0]", "(1.0,)"]),
    # norms
    *each(
        "tf.norm([[1.0, 2.0], [3.0, 4.0]], {o}, {a})",
        o=["1", "2", "np.inf", "'fro'", "3", "0"],
        a=["None", "[0, 1]", "0"],
    ),
    *each("tf.norm([[1 + 1j, 2.0]], {o}, 1)", o=["1", "'euclidean'", "np.inf"]),
    *each("tf.math.l2_normalize({v})", v=["[1 + 1j, 2.0]", "2.5", "[3.0, 4.0], -1"]),
    *each(
        "tf.clip_by_norm({v})",
        v=["2.5, 1.0", "tf.constant([3.0, 4.0], tf.float64), tf.constant(1.0)", "[3.0, 4.0], 1.0, 5"],
    ),
    # strings
    *each("tf.strings.split([' a  b  ', '   ', 'a ', ''], maxsplit={m})", m=["0", "1", "2"]),
    "tf.strings.split(['a,b,c', ''], ',', maxsplit=0)",
    *each(
        "tf.strings.as_string({v}, fill='{f}')",
        v=["[1, -20]", "[1.5]", "tf.constant([3], tf.uint8)"],
        f=[" ", "0", "x"],
    ),
    *each("tf.strings.as_string(['a', 'bcd'], width=6{a})", a=["", ", precision=1"]),
    *each("tf.strings.format('{{}}', tf.constant([0.1, 1 / 3, 1e10], tf.{d}))", d=["float16", "float32", "float64"]),
    *each("tf.strings.ngrams([['a', 'b'], ['c', 'd']], {w})", w=["[1, 2]", "2, pad_values='x'", "5"]),
    "tf.strings.ngrams(tf.constant([], tf.string), 2, pad_values='x')",
    *each("tf.strings.substr('héllo', 1, {n}, unit='{u}')", n=["-1", "-2"], u=["BYTE", "UTF8_CHAR"]),
    *each("tf.strings.unicode_decode_with_offsets(b'a\\xffb', 'UTF-8', '{e}')", e=["replace", "ignore"]),
    *each("tf.strings.to_number('{v}', tf.{d})", v=["3000000000", "-1"], d=["uint32", "uint64"]),
    *each(
        "tf.strings.unsorted_segment_join([['a', 'b'], ['c', 'd']], {i}, 3, ':')",
        i=["[0, 0]", "[0, 1]", "[[0, 1], [1, 0]]"],
    ),
    "tf.strings.unsorted_segment_join('a', 0, 2)",
    "tf.strings.join(['x', 'y'], None)",
    "tf.strings.reduce_join(tf.ragged.constant([['a', 'c'], ['d']]), keepdims=True)",
    # ragged tensors
    *each(
        f"tf.reduce_{{f}}({RAGGED}, {{a}}, keepdims={{k}})",
        f=["sum", "max", "mean"],
        a=["None", "0", "1", "2", "[0, 1]", "[1, 2]", "[0, 2]"],
        k=["True", "False"],
    ),
    *each(f"tf.reduce_{{f}}({FLOATS}, {{a}}, True)", f=["prod", "min", "mean"], a=["None", "0", "1", "[0, 1]"]),
    *each("tf.reduce_{f}(tf.ragged.constant([[1, 2], [], [0]]), {a})", f=["any", "all"], a=["None", "0", "1"]),
    *each(f"tf.math.reduce_{{f}}({FLOATS}, {{a}})", f=["std", "variance"], a=["None", "1"]),
    *each("tf.ragged.segment_ids_to_row_splits({i}, {n})", i=["[0, 1]", "[0, 0, 2]"], n=["1", "5"]),
    # sparse tensors
    "tf.size(tf.sparse.from_dense([[0, 2, 0], [1, 0, 3]]))",
    "tf.sparse.to_indicator(tf.sparse.from_dense([[0.5, 2.0]]), 3)",
    *each("tf.sparse.retain(tf.sparse.from_dense([1, 2]), {k})", k=["[1, 0]", "tf.constant([True, False])"]),
    *each(
        "tf.sparse.reduce_{f}(tf.sparse.from_dense([[0, 2], [-1, 1], [0, 0]]), {a}, output_is_sparse=True)",
        f=["sum", "max"],
        a=["None", "0", "1", "1, keepdims=True"],
    ),
    # images and sounds
    *each(
        "tf.image.{f}(tf.cast(img(4, 4, 3, 'float32'), tf.{d}){a})",
        f=["per_image_standardization"],
        d=["float16", "float64"],
        a=[""],
    ),
    *each(
        "tf.image.adjust_brightness(tf.cast(img(2, 2, 3, 'float32'), tf.{d}), tf.constant(0.2))",
        d=["float16", "float64"],
    ),
    *each(
        "tf.image.stateless_random_brightness(tf.cast(img(2, 2, 3, 'float32'), tf.{d}), 0.2, [1, 2])",
        d=["float16", "float64"],
    ),
    *each("tf.image.psnr(img(4, 5), img(4, 5)[::-1], {m})", m=["1.0", "255"]),
    *each(
        "tf.random.stateless_truncated_normal([{n}], [1, {s}], dtype=tf.{d})",
        n=["9", "40"],
        s=["1", "2"],
        d=["float64", "float16"],
    ),
    *each("tf.signal.dct([1.0, 2.0, 4.0], {t}{a})", t=["2", "3", "4"], a=["", ", 5", ", 2", ", norm='ortho'"]),
    *each("tf.signal.dct(tf.constant([1.0, 2.0, 4.0]), 1{a})", a=["", ", 5", ", norm='ortho'"]),
    *each("tf.signal.idct(tf.constant([1.0, 2.0, 4.0]), {t}{a})", t=["1", "2", "3", "4"], a=["", ", 5"]),
    *each("tf.signal.{f}(np.arange(4.0))", f=["rfft", "fft", "fft2d"]),
    *each("tf.space_to_batch(arr('int32', 1, 4, 4, 1), {b}, [[0, 0], [0, 0]])", b=["2", "[2, 2]"]),
    "tf.batch_to_space(arr('int32', 4, 2, 2, 1), 2, [[0, 0], [0, 0]])",
]
CLOSE = {
    f"tf.{name}": 1e-5
    for name in [
        *("norm", "clip_by_norm", "image.psnr", "math.l2_normalize", "math.angle", "nn.moments", "nn.softplus"),
        *("image.per_image_standardization", "image.stateless_random_brightness", "random.stateless_truncated_normal"),
        *("signal.dct", "signal.idct", "signal.fft", "signal.fft2d", "signal.rfft", "signal.irfft"),
        *("reduce_mean", "reduce_prod", "math.reduce_std", "math.reduce_variance"),
        "compat.v1.nn.depthwise_conv2d_native",
    ]
}
