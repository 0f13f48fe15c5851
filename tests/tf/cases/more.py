"""Special functions, activations, matrices, sets, spectra, sparse tensors, blocks of pixels."""

from tests.tf.evaluate import each

FLOATS = ["float16", "float32", "float64"]
VALUES = "[-30.5, -2.5, -1.0, -0.25, 0.0, 0.1, 0.5, 1.0, 3.75, 40.0]"
CASES = [
    *each(
        f"tf.math.{{f}}(tf.constant({VALUES}, tf.{{d}}))",
        f=["erfc", "digamma", "log_sigmoid", "softsign", "reciprocal_no_nan"],
        d=FLOATS,
    ),
    *each("tf.math.{f}(tf.constant([0.001, 0.25, 0.5, 0.75, 0.999], tf.{d}))", f=["ndtri", "erfinv"], d=FLOATS[1:]),
    *each("tf.math.{f}([0.0, 1.0, 2.0, -1.0])", f=["ndtri", "erfinv"]),
    *each(f"tf.nn.{{f}}(tf.constant({VALUES}, tf.{{d}}))", f=["elu", "selu", "leaky_relu", "silu", "swish"], d=FLOATS),
    *each(f"tf.nn.gelu(tf.constant({VALUES}, tf.{{d}}), approximate={{a}})", d=FLOATS, a=["True", "False"]),
    *each("tf.nn.{f}(arr('int32', 3))", f=["elu", "leaky_relu", "silu"]),
    *each(
        "tf.nn.{f}", f=["leaky_relu([-1.0, 2.0], 0.5)", "silu([-1.0, 2.0], 2.0)", "leaky_relu([-1.0, 2.0], alpha=0.01)"]
    ),
    *each("tf.{n}.log_softmax(arr('{d}', 2, 3){a})", n=["nn", "math"], d=["float32", "float64"], a=["", ", axis=0"]),
    *each("tf.math.{f}(arr('float32', 2, 3), arr('float32', 3))", f=["xdivy", "xlog1py"]),
    *each("tf.math.{f}([0.0, 0.0, 2.0], [0.0, -1.0, 3.0])", f=["xdivy", "xlog1py"]),
    *each("tf.math.lbeta(tf.constant({v}))", v=["[1.0, 2.5]", "[[0.5, 2.0], [3.0, 4.0]]"]),
    *each(
        "tf.math.cumulative_logsumexp(arr('{d}', 2, 4){a})",
        d=["float32", "float64"],
        a=["", ", axis=1", ", axis=-1, reverse=True", ", axis=1, exclusive=True", ", 1, True, True"],
    ),
    *each("tf.math.unsorted_segment_sqrt_n({v}, [0, 0, 2, -1], 3)", v=["[1.0, 2.0, 3.0, 4.0]", "arr('float64', 4, 2)"]),
    *each("tf.math.{f}([2, 0, 1])", f=["invert_permutation", "is_non_decreasing", "is_strictly_increasing"]),
    *each("tf.math.{f}([1.0, 1.0, 2.0])", f=["is_non_decreasing", "is_strictly_increasing"]),
    *each(
        "tf.nn.embedding_lookup(tf.reshape(tf.range(12.0), [6, 2]), {a})",
        a=[
            *("[1, 5]", "3", "[[0, 1], [2, 3]], max_norm=2.0", "[1, 5], max_norm=[1.0, 2.0]", "[6]", "[-1]", "[1.0]"),
            *("tf.ragged.constant([[1], [], [2, 3]])", "tf.zeros([0], tf.int32)"),
        ],
    ),
    *each(
        "tf.nn.embedding_lookup({p}, [0, 3])",
        p=["None", "[]", "[arr('float32', 4, 2)]", "[arr('int32', 2, 3)] * 2", "[[1.0, 2.0], [3.0, 4.0]]"],
    ),
    *each(
        "tf.compat.v1.nn.embedding_lookup([tf.range(3), 10 + tf.range(3)], [0, 1, 5]{a})",
        a=["", ", partition_strategy='div'", ", 'mod'", ", partition_strategy='no'"],
    ),
    *each("tf.nn.l2_loss(arr('{d}', 2, 3))", d=["float32", "float64"]),
    # arrays
    *each("tf.as_string({v})", v=["[1, 2]", "[1.5]", "[True]", "3, width=5, fill='0'", "1.5, precision=2"]),
    "tf.realdiv(arr('float32', 2), arr('float32', 2))",
    "tf.identity_n([1, 2.5, 'a'])",
    *each("tf.unravel_index({v})", v=["[2, 5, 7], [3, 3]", "5, [2, 3]", "[9], [3, 3]"]),
    *each("tf.{f}(arr('int32', 2, 4, 6, 3), [2, 3], [[0, 0], [0, 0]])", f=["space_to_batch", "space_to_batch_nd"]),
    "tf.space_to_batch(arr('int32', 1, 3, 5), [2, 2], [[1, 0], [0, 1]])",
    "tf.space_to_batch(arr('int32', 1, 3, 5), [2, 2], [[0, 0], [0, 0]])",
    "tf.batch_to_space(arr('int32', 6, 2, 2, 3), [2, 3], [[0, 0], [1, 1]])",
    "tf.batch_to_space(arr('int32', 5, 2, 2), [2, 3], [[0, 0], [0, 0]])",
    *each("tf.nn.space_to_depth(arr('{d}', 2, 4, 6, 3), 2)", d=["float32", "uint8"]),
    *each("tf.nn.depth_to_space(arr('{d}', 2, 4, 6, 8), 2)", d=["float32", "uint8"]),
    "tf.nn.space_to_depth(arr('float32', 1, 3, 4, 1), 2)",
    *each(
        "tf.nn.{f}(arr('float32', 2, 5, 7, 3), {k}, {s}, '{p}')",
        f=["avg_pool2d", "max_pool2d"],
        k=["2", "[3, 2]", "[1, 2, 2, 1]"],
        s=["1", "[2, 2]"],
        p=["SAME", "VALID"],
    ),
    # matrices
    *each(
        "tf.linalg.{f}(tf.constant([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]], tf.{d}))",
        f=["inv", "det", "slogdet", "cholesky", "pinv", "trace", "adjoint", "matrix_transpose", "normalize"],
        d=["float32", "float64"],
    ),
    *each("tf.linalg.{f}(arr('float32', 2, 3))", f=["inv", "det", "pinv", "trace", "adjoint", "cholesky"]),
    "tf.linalg.inv([[1.0, 2.0], [2.0, 4.0]])",
    "tf.linalg.solve([[4.0, 1.0], [1.0, 3.0]], [[1.0], [2.0]])",
    "tf.linalg.solve([[4.0, 1.0], [0.0, 3.0]], [[1.0], [2.0]], adjoint=True)",
    *each(
        "tf.linalg.matvec({v})",
        v=["arr('float32', 2, 3), arr('float32', 3)", "arr('int32', 4, 2, 3), arr('int32', 4, 3)"],
    ),
    *each("tf.linalg.cross(arr('{d}', 2, 3), arr('{d}', 2, 3))", d=["float32", "int32"]),
    "tf.linalg.cross([1.0, 2.0], [3.0, 4.0])",
    *each("tf.linalg.set_diag(arr('int32', 3, 4), {v})", v=["[7, 8, 9]", "[7, 8, 9], k=1", "[7, 8], k=-1", "[1, 2]"]),
    "tf.linalg.global_norm([[3.0], [[4.0, 1.0]]])",
    *each("tf.linalg.normalize(arr('float32', 2, 3){a})", a=["", ", axis=1", ", ord=1, axis=0"]),
    # sets and sparse tensors
    *each(
        "tf.sets.{f}({a}, {b})",
        f=["difference", "intersection", "union"],
        a=["[[1, 2, 2], [3, 4, 5]]", "[['a', 'b', 'c'], ['d', 'd', 'e']]"],
        b=["[[2, 9, 9], [5, 6, 3]]", "[['b', 'x', 'x'], ['d', 'y', 'a']]"],
    ),
    "tf.sets.difference([[1, 2]], [[2, 3]], aminusb=False)",
    "tf.sets.size(tf.sparse.from_dense([[1, 1, 2], [0, 0, 3]]))",
    *each("tf.sparse.transpose(tf.sparse.from_dense(arr('int32', 2, 3)){a})", a=["", ", [1, 0]", ", [0, 1]"]),
    *each("tf.sparse.eye({a})", a=["3", "2, 4", "3, dtype=tf.int32"]),
    *each(
        "tf.sparse.{f}(tf.sparse.from_dense([[0, 2, -3], [1, 0, 0]]), tf.sparse.from_dense([[5, 0, 4], [-1, 0, 0]]))",
        f=["maximum", "minimum", "add"],
    ),
    "tf.sparse.add(tf.sparse.from_dense([[0, 2], [1, 0]]), [[1, 1], [1, 1]])",
    "tf.sparse.add([1], [2])",
    *each(
        "tf.sparse.reduce_max(tf.sparse.from_dense([[0, 2, -3], [-1, 0, 0]]){a})",
        a=["", ", 1", ", 0, True", ", axis=-1"],
    ),
    *each("tf.sparse.split(tf.sparse.from_dense(arr('int32', 2, 5)), {a})", a=["2, 1", "3, axis=1", "2, 0"]),
    *each(
        "tf.sparse.sparse_dense_matmul(tf.sparse.from_dense([[0.0, 2.0], [1.0, 0.0]]), arr('float32', 2, 3){a})",
        a=["", ", adjoint_a=True"],
    ),
    "tf.sparse.map_values(tf.add, tf.sparse.from_dense([1, 0, 3]), 5)",
    *each(
        "tf.edit_distance(tf.sparse.from_dense([[1, 2, 3], [4, 0, 0]]), tf.sparse.from_dense([[1, 3, 0], [5, 6, 7]]), {n})",
        n=["True", "False"],
    ),
    "tf.edit_distance(tf.sparse.from_dense([['a', 'b']]), tf.sparse.from_dense([['b', 'a']]))",
    # projective transforms
    *each(
        "tf.raw_ops.ImageProjectiveTransformV3(images=arr('{d}', 2, 5, 6, 2), transforms=tf.constant([{t}]), "
        "output_shape=[4, 7], fill_value=7.0, interpolation='{i}', fill_mode='{m}')",
        d=["uint8", "float32"],
        t=["[0.9, 0.3, -1.5, -0.3, 0.9, 2.25, 0.0, 0.0]", "[1.25, -0.5, 10.0, 0.5, 0.75, -7.5, 0.01, 0.02]"],
        i=["NEAREST", "BILINEAR"],
        m=["CONSTANT", "REFLECT", "WRAP", "NEAREST"],
    ),
    "tf.raw_ops.ImageProjectiveTransformV2(images=arr('float32', 1, 3, 3, 1), transforms=[[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, "
    "0.0, 0.0]], output_shape=[3, 3], interpolation='BILINEAR')",
    "tf.raw_ops.ImageProjectiveTransformV3(images=arr('float32', 3, 3, 1), transforms=[[1.0, 0.0, 1.0, 0.0, 1.0, 0.0, "
    "0.0, 0.0]], output_shape=[3, 3], fill_value=0.0, interpolation='BILINEAR')",
    # pools
    *each(
        "tf.nn.{f}(arr('float32', 2, 5, 4, 3), {k}, {s}, '{p}')",
        f=["avg_pool", "max_pool"],
        k=["2", "[1, 2, 3, 1]"],
        s=["1", "[1, 2, 2, 1]"],
        p=["SAME", "VALID"],
    ),
    *each(
        "tf.compat.v1.nn.{f}(value=arr('float32', 1, 4, 4, 2), ksize=[1, 2, 2, 1], strides=[1, 2, 2, 1], padding='VALID')",
        f=["avg_pool", "max_pool"],
    ),
    # spectra
    *each("tf.signal.{f}(arr('int32', 2, 5){a})", f=["fftshift", "ifftshift"], a=["", ", axes=1", ", axes=[0]"]),
    *each("tf.signal.{f}(arr('float32', 2, 3, 4))", f=["rfft2d", "rfft3d"]),
    *each("tf.signal.{f}(tf.cast(arr('float32', 2, 3, 4), tf.complex64))", f=["fft3d", "ifft3d", "irfft2d", "irfft3d"]),
    "tf.signal.rfft2d(arr('float32', 2, 3, 4), [4, 8])",
    # lengths that are powers of two, in float32: equal to the bit
    *each(
        "tf.bitcast(tf.math.{part}({f}), tf.int32)",
        part=["real", "imag"],
        f=[
            "tf.signal.rfft(arr('float32', 300), [256])",
            "tf.signal.rfft(arr('float32', 3, 300)[:, ::2], [512])",
            "tf.signal.rfft(arr('float32', 2, 128)[::-1])",
            "tf.signal.fft(arr('complex64', 2, 64))",
            "tf.signal.stft(arr('float32', 900), 200, 80, 256, window_fn=None)",
            "tf.signal.stft(arr('float32', 900), 100, 50, window_fn=None)",
        ],
    ),
    *each("tf.signal.idct(arr('float32', 2, 6){a})", a=["", ", norm='ortho'"]),
    *each("tf.signal.{f}(7)", f=["kaiser_window", "vorbis_window"]),
    "tf.signal.kaiser_window(8, beta=3.0)",
    "tf.signal.inverse_stft_window_fn(3)(8, tf.float32)",
    *each("tf.signal.inverse_stft(tf.signal.stft(arr('float32', 40), 8, 4), 8, 4{a})", a=["", ", window_fn=None"]),
]
CLOSE = {
    f"tf.{name}": 1e-5
    for name in [
        *("math.erfc", "math.digamma", "math.ndtri", "math.erfinv", "math.lbeta", "math.cumulative_logsumexp"),
        *("linalg.inv", "linalg.pinv", "linalg.solve", "linalg.det", "linalg.slogdet", "linalg.cholesky"),
        *("linalg.normalize", "linalg.global_norm", "signal.rfft2d", "signal.rfft3d", "signal.fft3d", "signal.ifft3d"),
        *("signal.irfft2d", "signal.irfft3d", "signal.idct", "signal.inverse_stft", "signal.kaiser_window"),
        *(
            "nn.gelu",
            "nn.silu",
            "nn.swish",
            "nn.elu",
            "nn.selu",
            "nn.avg_pool2d",
            "nn.avg_pool",
            "math.log_sigmoid",
            "nn.l2_loss",
        ),
        *("math.log_softmax", "nn.log_softmax", "math.xlog1py", "math.softsign", "signal.vorbis_window"),
        *("math.unsorted_segment_sqrt_n", "signal.inverse_stft_window_fn", "linalg.matvec"),
    ]
}
"""How far results may be from TensorFlow's: these functions sum or approximate in another order."""
