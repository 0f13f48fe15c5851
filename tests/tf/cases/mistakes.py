"""Wrong arguments: attributes, ranks, shapes and dtypes of which TensorFlow says so while it traces a function."""

from tests.tf.evaluate import each

A = "arr('int32', 3, 4)"
TEXTS = "tf.constant(['abc'])"
IMAGE = "tf.constant(img(5, 6))"
CSV = "tf.io.decode_csv(tf.constant('1,2,3'), "
_BINARY = (
    "add subtract multiply truediv divide pow maximum minimum equal less math.floordiv math.squared_difference realdiv"
)
CASES = [
    # ranks and shapes
    *each(f"tf.roll({A}, {{a}})", a=["1, 0", "[1, 2], 0", "[1], [0, 1]", "[[1]], [0]", "1, [[0]]", "1.5, 0"]),
    "tf.roll(tf.constant(3), 1, 0)",
    *each(
        f"tf.reverse_sequence({A}, {{a}})",
        a=["[2, 1], seq_axis=1", "[2, 1, 1], seq_axis=2", "[2, 1, 1], seq_axis=1, batch_axis=2"]
        + ["[[2, 1, 1]], seq_axis=1", "[2.0, 1.0, 1.0], seq_axis=1", "[2, 1, 1]"],
    ),
    "tf.strings.join([tf.constant(['a', 'b']), tf.constant(['a', 'b', 'c'])])",
    "tf.strings.unsorted_segment_join(tf.constant(['a', 'b']), [0, 1, 2], 2)",
    # numbers of things
    *each(
        "tf.strings.format(template='{t}', inputs={i})",
        t=["x", "{{}}", "{{}} {{}}"],
        i=["tf.constant(1)", "(tf.constant(1), tf.constant(2))"],
    ),
    *each(f"tf.strings.{{f}}({TEXTS}, {{n}})", f=["to_hash_bucket", "to_hash_bucket_fast"], n=["0", "-3"]),
    f"tf.strings.to_hash_bucket_strong({TEXTS}, 0, [1, 2])",
    *each("tf.strings.ngrams(tf.constant(['a', 'b']), {a})", a=["0", "2, padding_width=-1"]),
    "tf.one_hot(tf.constant([0, 1]), -1)",
    # names
    *each(f"tf.strings.substr({TEXTS}, 0, 1, unit='{{u}}')", u=["BYTE", "BYTES", "utf8_char"]),
    f"tf.strings.length({TEXTS}, unit='x')",
    *each(f"tf.strings.unicode_transcode({TEXTS}, 'UTF-8', '{{a}}')", a=["latin", "utf-8", "UTF-8', errors='no"]),
    *each(f"tf.strings.unicode_{{f}}({TEXTS}, 'UTF-8', errors='no')", f=["decode", "split"]),
    *each("tf.strings.unicode_encode(tf.constant([65]), {a})", a=["'bad'", "'UTF-8', errors='no'"]),
    *each(f"tf.image.resize({IMAGE}, [2, 2], method={{m}})", m=["'bad'", "17"]),
    f"tf.image.resize_with_pad({IMAGE}, 2, 2, method='bad')",
    "tf.meshgrid(tf.constant([1]), tf.constant([2]), indexing='zz')",
    f"tf.image.extract_patches({IMAGE}[None], [1, 2, 2, 1], [1, 1, 1, 1], [1, 1, 1, 1], 'BAD')",
    f"tf.io.encode_jpeg({IMAGE}, format='bad')",
    # ranges of random numbers
    f"tf.image.random_brightness({IMAGE}, -1)",
    *each(f"tf.image.random_{{f}}({IMAGE}, 2, 1)", f=["contrast", "saturation"]),
    *each(f"tf.image.random_hue({IMAGE}, {{d}})", d=["0.7", "-0.7"]),
    f"tf.image.stateless_random_contrast({IMAGE}, 2, 1, (1, 2))",
    # columns and dtypes
    *each(f"{CSV}[[0], [0]], select_cols={{s}})", s=["[2, 1]", "[1, 1]", "[-1, 1]", "[0]", "[0, 2]"]),
    *each(f"{CSV}{{d}})", d=["[[0, 1], [0], [0]]", "[[[0]], [0], [0]]", "[]"]),
    "tf.io.decode_csv(tf.constant([1]), [[0]])",
    "tf.io.decode_raw(tf.constant(b'abcd'), tf.string)",
    "tf.io.decode_raw(tf.constant([1]), tf.uint8)",
    *each("tf.io.decode_png(tf.constant(b'abcd'), {a})", a=["dtype=tf.float32", "channels=7"]),
    *each("tf.reshape(tf.constant(np.zeros([{s}])), {to})", s=["0, 3", "2, 3"], to=["[-1, 0]", "[0, -1]", "[-2, 3]"]),
    # the first argument decides on the dtype: always in functions that are traced, and of some functions elsewhere
    *each(
        "[tf.{f}({n}, tf.constant({x}))][0]",
        f=_BINARY.split(),
        n=["2", "[2.5]"],
        x=["[1.5]", "[1]", "[1.5], tf.float64", "[1], tf.int64"],
    ),
    *each("[tf.{f}(tf.constant({x}), 2)][0]", f=_BINARY.split(), x=["[1.5]", "[1.5], tf.float64"]),
    *each("[tf.{f}(np.float64(2), tf.constant([1.5]))][0]", f=["add", "multiply", "less"]),
    *each("[{e}][0]", e=["2 * tf.constant([1.5])", "2 - tf.constant([1.5])", "2 / tf.constant([1])"]),
    *each("[tf.where([True], {a})][0]", a=["2, tf.constant([1.5])", "tf.constant([1.5]), 2"]),
    *each("tf.{f}({a})", f=["searchsorted", "meshgrid", "complex"], a=["tf.constant([1.5], tf.float64), [1]"]),
    "[tf.searchsorted([1], tf.constant([1.5]))][0]",
    "tf.add_n([tf.constant([1.5], tf.float64), [1.0]])",
    "[tf.linspace(0, tf.constant(3.5), 3)][0]",
    # dtypes
    *each("tf.realdiv(tf.constant({x}), tf.constant({x}))", x=["[1.5]", "[1j]", "[1]", "[1], tf.uint8"]),
    *each("tf.{f}(tf.constant({x}))", f=["argmax", "argmin", "sort", "argsort"], x=["[1j, 2j]", "['b', 'a']"]),
    *each("tf.{f}(tf.constant([True, False]))", f=["argmax", "sort", "argsort"]),
    *each("tf.math.top_k(tf.constant({x}), 1)", x=["[1j, 2j]", "['b', 'a']", "[1, 2]"]),
    *each(
        "tf.strings.as_string(tf.constant(1), {a})", a=["scientific=True", "shortest=True", "precision=2", "width=3"]
    ),
    *each(
        "tf.image.adjust_{f}(tf.constant(img(5, 6, 3, 'float16')), 0.1)",
        f=["hue", "saturation", "contrast", "brightness"],
    ),
    # ragged tensors
    *each("tf.squeeze(tf.ragged.constant({x}){a})", x=["[[1, 2], [3]]", "[[1, 2]]"], a=["", ", 0", ", 1", ", [0]"]),
    *each("tf.squeeze(tf.ragged.constant([[[1, 2]], [[3]]]), {a})", a=["0", "1", "[1]", "-2", "3"]),
    *each("tf.squeeze(tf.ragged.constant([[[1, 2]]]), {a})", a=["0", "1", "[0, 1]"]),
    *each("tf.squeeze(tf.ragged.constant([[[1], [2]], [[3]]], ragged_rank=1), {a})", a=["2", "-1", "1", "[0, 2]"]),
]
AT_ODDS = dict.fromkeys(
    each("[tf.realdiv(2, tf.constant({x}))][0]", x=["[1]", "[1], tf.int64"])
    + each("tf.realdiv(tf.constant({x}), tf.constant({x}))", x=["[1]", "[1], tf.uint8"])
    + each("tf.image.adjust_{f}(tf.constant(img(5, 6, 3, 'float16')), 0.1)", f=["hue", "saturation", "contrast"]),
    "TensorFlow lacks the kernel (NotFoundError); feedline rejects the dtype",
)
