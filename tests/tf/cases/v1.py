"""TensorFlow 1's spellings, where arguments or results are others."""

from __future__ import annotations

from tests.tf.evaluate import each

V = "tf.compat.v1."
X = "arr('float32', 2, 3, 4)"
I = "arr('int32', 3, 4)"

CASES = [
    # Reductions
    *each(
        V + "reduce_{f}({x}, {a})",
        f=["sum", "mean", "max", "min", "prod", "logsumexp"],
        x=[X],
        a=["", "1", "axis=[0, 2]", "reduction_indices=1", "keep_dims=True", "1, True", "[1], reduction_indices=[1]"],
    ),
    *each(
        V + "reduce_{f}(arr('bool', 2, 3), {a})", f=["all", "any"], a=["", "1", "reduction_indices=0, keep_dims=True"]
    ),
    *each(V + "math.reduce_{f}({x}, reduction_indices=1)", f=["sum", "max"], x=[X]),
    *each(
        V + "count_nonzero({a})",
        a=[
            *(I, f"{I}, 1", f"{I}, reduction_indices=0", f"input={I}, keep_dims=True", ""),
            *(f"{I}, dtype=tf.int32", f"{I}, input={I}", "['', 'a']"),
        ],
    ),
    *each(
        V + "{f}({x}, {a})",
        f=["argmax", "argmin", "math.argmax"],
        x=[I],
        a=["", "1", "dimension=1", "axis=0, output_type=tf.int32", "1, dimension=1", "axis=9"],
    ),
    *each(V + "arg_{f}({x}, 1)", f=["max", "min"], x=[I]),
    *each(V + "norm({x}{a})", x=[X], a=["", ", axis=1", ", axis=1, keep_dims=True", ", ord=1, axis=-1"]),
    *each(V + "nn.moments({x}, {a})", x=[X], a=["[0]", "[0, 1], keep_dims=True", "1, keepdims=True"]),
    *each(V + "nn.softmax({x}{a})", x=[X], a=["", ", 1", ", dim=0", ", axis=1, dim=1"]),
    # Arithmetic
    *each(
        V + "div({a})",
        a=[
            *("7, 2", "-7, 2", "7., 2.", "[7, -7], [2, -2]", "arr('int64', 3), np.int64(3)", "1, 0", "1., 0."),
            *("tf.constant(7), tf.constant(2.)", "arr('uint8', 3), np.uint8(3)"),
        ],
    ),
    *each(V + "{f}([1., 2.], [0., 4.])", f=["div_no_nan", "realdiv", "truediv", "floordiv", "floor_div", "mod"]),
    *each(
        V + "confusion_matrix([0, 1, 2, 1], [0, 2, 2, 1]{a})",
        a=["", ", 4", ", 4, tf.float32", ", weights=[1, 2, 3, 4]", ", 2"],
    ),
    *each(V + "nn.in_top_k({p}, {t}, {k})", p=["arr('float32', 3, 5)"], t=["[0, 1, 4]"], k=["1", "3"]),
    *each(
        V + "invert_permutation({x})", x=["[2, 0, 1]", "[0]", "[]", "[1, 1]", "[[0, 1]]", "[0, 3]", "np.int64([1, 0])"]
    ),
    *each(
        V + "{f}({x})",
        f=["is_non_decreasing", "is_strictly_increasing", "math.is_non_decreasing"],
        x=["[1, 2, 2]", "[1, 2, 3]", "[3, 1]", "[]", "[[1, 2], [2, 5]]", "[1.5]"],
    ),
    *each(V + "trace({x})", x=["arr('float32', 3, 3)", "arr('int32', 2, 3, 4)", "[1, 2]"]),
    *each(
        V + "cross({a})",
        a=["[1., 2., 3.], [4., 5., 6.]", "arr('int32', 2, 3), arr('int32', 2, 3, high=9)", "[1, 2], [3, 4]"],
    ),
    *each(V + "setdiff1d({a})", a=["[1, 2, 3, 4, 2], [2, 4]", "['a', 'b'], ['b']", "[1], [1], tf.int64", "[[1]], [1]"]),
    *each(V + "to_{f}(arr('int32', 2, 3))", f=["float", "double", "int64", "complex64", "complex128"]),
    *each("tf.{f}", f=["math.atan2(y=1., x=2.)", "atan2(x=[2., -1.], y=1.)", "compat.v1.atan2([1., -1.], x=-2.)"]),
    # Arrays
    *each(
        V + "constant({a})",
        a=[
            *(
                "3",
                "[1, 2], shape=[2, 2]",
                "1., shape=[3]",
                "[1, 2, 3], shape=[2]",
                "[1, 2], shape=[2], verify_shape=True",
            ),
            *("[1, 2], shape=[1, 2], verify_shape=True", "[1, 2], tf.float32", "'a', shape=[2]"),
        ],
    ),
    *each(V + "convert_to_tensor({a})", a=["[1, 2]", "[1, 2], tf.float32", "[1, 2], preferred_dtype=tf.int64"]),
    *each(V + "expand_dims({x}, {a})", x=[I], a=["0", "-1", "dim=1", "axis=1, dim=1", "9"]),
    V + f"expand_dims({I})",
    *each(V + "{f}_like({x}{a})", f=["zeros", "ones"], x=[I], a=["", ", tf.float32", ", optimize=False"]),
    *each(
        V + "pad({x}, [[1, 0], [0, 2]]{a})",
        x=[I],
        a=["", ", 'REFLECT'", ", 'CONSTANT', None, 7", ", constant_values=-1"],
    ),
    *each(V + "transpose({x}{a})", x=[X], a=["", ", [1, 0, 2]", ", [0, 2, 1], 'n'"]),
    *each(V + "{f}({x})", f=["matrix_transpose", "linalg.transpose"], x=[X, I, "[1, 2]"]),
    *each(V + "boolean_mask({x}, [True, False, True], {a})", x=["arr('int32', 3, 3)"], a=["'n'", "axis=1", "'n', 1"]),
    *each(V + "gather({x}, [0, 2]{a})", x=["arr('int32', 3, 3)"], a=["", ", axis=1", ", True, 'n', 1"]),
    *each(
        V + "where({a})",
        a=[
            *("[True, False]", "[[0, 1], [2, 0]]", "[True, False], [1, 2], [3, 4]"),
            *("[True, False], [[1, 2], [3, 4]], [[5, 6], [7, 8]]", "True, [1, 2], [3, 4]", "[True, False], 1, 2"),
            *("[[True], [False]], [[1, 2], [3, 4]], [[5, 6], [7, 8]]", "[True], [1, 2], [3, 4]", "[True], [1]"),
            *("[True, False], ['a', 'b'], ['c', 'd']", "[True, False], [1, 2], [3]", "True, 1, 2", "False, 1., 2."),
        ],
    ),
    *each(
        V + "reverse_sequence({x}, [1, 2], {a})",
        x=["arr('int32', 2, 4)"],
        a=["1", "seq_dim=1", "seq_axis=1, batch_axis=0", "seq_dim=1, batch_dim=0", ""],
    ),
    *each(V + "{f}({x})", f=["diag"], x=["[1, 2, 3]", "arr('float32', 2, 2)"]),
    *each(
        V + "{f}({x})",
        f=["diag_part"],
        x=["arr('int32', 3, 3)", "arr('int32', 2, 2, 2, 2)", "arr('int32', 2, 3)", "[1]"],
    ),
    *each(
        V + "while_loop({a})",
        a=[
            "lambda i: i < 5, lambda i: i + 2, [tf.constant(0)]",
            "lambda i: i < 5, lambda i: i + 2, [tf.constant(0)], return_same_structure=True",
            "lambda i, j: i < 5, lambda i, j: (i + 2, j * 2), [tf.constant(0), tf.constant(1)]",
            "lambda i: i < 50, lambda i: i + 2, [tf.constant(0)], maximum_iterations=3",
        ],
    ),
    *each(V + "map_fn(lambda x: x * 2, {a})", a=["[1, 2]", "[1., 2.], tf.float32", "[1, 2], dtype=tf.int32"]),
    *each(
        V + "cond({a})",
        a=[
            "True, lambda: 1, lambda: 2",
            "tf.constant(False), fn1=lambda: 1, fn2=lambda: 2",
            "True, lambda: [1], lambda: [2]",
        ],
    ),
    *each(V + "{f}([1., 2., 3.], [0], [5.])", f=["tensor_scatter_update"]),
    *each(V + "tensor_scatter_{f}(arr('int32', 4), [[0], [2]], [5, 6])", f=["update", "add", "sub"]),
    *each(V + "lin_space(0., 1., {n})", n=["3", "1"]),
    *each(V + "manip.{f}", f=["roll([1, 2, 3], 1, 0)", "reshape([1, 2], [2, 1])", "tile([1, 2], [2])"]),
    # Strings
    *each(
        V + "{f}([['a', 'b'], ['c', 'd']]{a})",
        f=["reduce_join", "strings.reduce_join"],
        a=["", ", 1", ", reduction_indices=0", ", 0, True", ", 0, separator='-'", ", keep_dims=True", ", axis=[0, 1]"],
    ),
    *each(
        V + "string_to_hash_bucket({a})",
        a=["['a', 'b'], 7", "num_buckets=7, input=['a']", "string_tensor='a', num_buckets=3"],
    ),
    *each(
        V + "string_to_number({a})", a=["['1', '2.5']", "input='3', out_type=tf.int32", "['x']", "['1'], tf.float64"]
    ),
    *each(V + "substr('hello', {a})", a=["1, 3", "1, 3, 'n', 'BYTE'", "-3, 2", "9, 1"]),
    *each(V + "strings.length('é'{a})", a=["", ", 'n', 'UTF8_CHAR'", ", unit='BYTE'"]),
    *each(
        V + "decode_raw({a})", a=["b'abcd', tf.uint8", "bytes=b'abcd', out_type=tf.int16", "b'abcd', tf.int16, False"]
    ),
    *each(
        V + "string_split({a})",
        a=["['a b', 'c']", "['a,b', 'c'], ','", "['a,,b'], ',', False", "['a b'], delimiter=' '", "['ab'], ''"],
    ),
    *each(V + "strings.split({a})", a=["['a b', 'c']", "['a,b'], ',', result_type='RaggedTensor'", "source=['a b']"]),
    # Sparse
    *each(
        V + "sparse_to_dense({a})",
        a=[
            *("[0, 2], [4], [5, 7]", "[[0, 1], [1, 0]], [2, 2], 3", "[1], [3], ['a'], ''", "[0, 2], [4], [5, 7], -1"),
            *(
                "[2, 0], [4], [5, 7]",
                "[2, 0], [4], [5, 7], validate_indices=False",
                "[5], [4], [1]",
                "[0, 0], [4], [1, 2]",
            ),
            *("1, [3], 9", "[[0, 1]], [3], [1]"),
        ],
    ),
    *each(
        V + "{f}",
        f=[
            "sparse_concat(0, [tf.sparse.from_dense([[1, 0]]), tf.sparse.from_dense([[0, 2]])])",
            "sparse.concat(concat_dim=1, axis=None, sp_inputs=[tf.sparse.from_dense([[1, 0]]), tf.sparse.from_dense([[2]])])",
            "sparse_concat(0, [tf.sparse.from_dense([[1, 0]]), tf.sparse.from_dense([[2]])], expand_nonconcat_dim=True)",
            "sparse_reduce_sum(tf.sparse.from_dense([[1, 0], [2, 3]]), 1)",
            "sparse_reduce_sum(tf.sparse.from_dense([[1, 0], [2, 3]]), reduction_axes=0, keep_dims=True)",
            "sparse.reduce_sum(tf.sparse.from_dense([[1, 0], [2, 3]]))",
            "sparse_tensor_to_dense(tf.sparse.from_dense([[1, 0], [2, 3]]), -1)",
            "sparse_to_indicator(tf.sparse.from_dense(np.int64([[1, 0], [2, 3]])), 5)",
            "sparse_fill_empty_rows(tf.sparse.from_dense([[1, 0], [0, 0]]), 9)",
            "sparse_retain(tf.sparse.from_dense([1, 0, 2]), [True, False])",
            "sparse_slice(tf.sparse.from_dense([[1, 0], [2, 3]]), [1, 0], [1, 2])",
            "sparse_reshape(tf.sparse.from_dense([[1, 0], [2, 3]]), [4])",
        ],
    ),
    # Images
    *each(
        V + "image.crop_and_resize(img(6, 8)[None], [[0., 0., .5, 1.]], {a})",
        a=["[0], [3, 4]", "box_ind=[0], crop_size=[2, 2]", "box_indices=[0], crop_size=[2, 2]", "crop_size=[2, 2]"],
    ),
    *each(
        V + "image.resize_image_with_pad(img(6, 8), {a})",
        a=["4, 4", "9, 5, 1", "12, 12, align_corners=True", "3, 10, method=2", "0, 3"],
    ),
    *each(
        V + "image.{f}(img(6, 8)[None], ksizes=[1, 2, 3, 1], strides=[1, 2, 2, 1], rates=[1, 1, 1, 1], padding={p})",
        f=["extract_image_patches"],
        p=["'VALID'", "'SAME'"],
    ),
    V + "image.transpose_image(img(3, 5))",
    *each(
        V + "nn.depthwise_conv2d({x}, arr('float32', 2, 2, 3, 1), [1, 1, 1, 1], 'VALID'{a})",
        x=["arr('float32', 1, 5, 6, 3)"],
        a=["", ", rate=[1, 1]", ", [2, 2]", ", dilations=[1, 1]"],
    ),
    # Random numbers
    *each(V + "random.stateless_multinomial([[1., 2., 3.]], 5, [1, 2]{a})", a=["", ", tf.int32"]),
    *each(
        "tf.shape(" + V + "{f})",
        f=["multinomial([[1., 2.]], 5)", "random_poisson([1., 2.], [3])", "random_uniform([2, 3])"],
    ),
    *each(
        V + "{f}.dtype", f=["multinomial([[1., 2.]], 5, output_dtype=tf.int32)", "random_poisson(1., [3], tf.int32)"]
    ),
    # Assertions
    *each(
        V + "{f}(1, {y}{a})",
        f=["assert_equal", "assert_less", "assert_greater_equal", "debugging.assert_none_equal", "assert_near"],
        y=["1", "2", "0"],
        a=["", ", message='m'"],
    ),
    *each(V + "assert_equal(1, 2, {a})", a=["['data']", "['data'], 3, 'm'"]),
    *each(
        V + "{f}([1, -1])",
        f=["assert_positive", "assert_non_negative", "assert_negative", "debugging.assert_non_positive"],
    ),
    *each(
        V + "{f}",
        f=[
            "assert_rank([1], 1)",
            "assert_rank([1], 2, ['d'])",
            "assert_rank_at_least([1], 1)",
            "assert_rank_in([1], [0, 1])",
        ],
    ),
    *each(V + "verify_tensor_all_finite({a})", a=["[1., 2.], 'm'", "[1., np.inf], 'm'", "x=[1.], message='m'"]),
    V + "check_numerics([1., np.nan], 'm')",
    # Shapes
    *each(
        V + "{f}",
        f=[
            "dimension_value(tf.zeros([2, 3]).shape[1])",
            "dimension_value(tf.compat.v1.Dimension(4))",
            "dimension_at_index(tf.TensorShape([2, None]), 0).value",
            "dimension_at_index(tf.TensorShape([2, None]), 1).value",
            "(tf.compat.v1.Dimension(7) // 2).value",
            "(tf.compat.v1.Dimension(7) + tf.compat.v1.Dimension(None)).value",
            "(3 * tf.compat.v1.Dimension(7) - 1).value",
            "tf.compat.v1.Dimension(7) == 7",
            "tf.compat.v1.Dimension(None) == 7",
            "tf.compat.v1.Dimension(7).is_compatible_with(8)",
            "tf.compat.v1.Dimension(None).merge_with(8).value",
            "tf.compat.v1.Dimension(7).merge_with(8)",
            "tf.compat.v1.Dimension(-1)",
            "int(tf.compat.v1.Dimension(3))",
            "str(tf.compat.v1.Dimension(None))",
            "repr(tf.compat.v1.Dimension(2))",
        ],
    ),
]
CASES = [case.replace("tf.compat.v1.tf.compat.v1.", "tf.compat.v1.") for case in CASES]

CLOSE = {
    "reduce_logsumexp": 1e-6,
    "reduce_mean": 1e-6,
    "reduce_prod": 1e-6,
    "reduce_sum": 1e-6,
    "nn.softmax": 1e-6,
    "nn.moments": 1e-6,
    "norm": 1e-6,
    "depthwise_conv2d": 1e-6,
    "trace": 1e-6,
    "cross": 1e-6,
}

AT_ODDS = {
    "tf.compat.v1.while_loop(lambda i: i < 5, lambda i: i + 2, [tf.constant(0)], return_same_structure=True)": "feedline takes a single value for a list of one",
    **dict.fromkeys(
        each(
            "tf.compat.v1.cond({a})",
            a=[
                "True, lambda: 1, lambda: 2",
                "tf.constant(False), fn1=lambda: 1, fn2=lambda: 2",
                "True, lambda: [1], lambda: [2]",
            ],
        ),
        "outside of datasets TensorFlow returns Python values as they are; feedline does as in a dataset",
    ),
}
