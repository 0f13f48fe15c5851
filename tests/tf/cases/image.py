"""Images, random numbers, audio and signals."""

from tests.tf.evaluate import each

D = ["uint8", "float32"]
B = "np.stack([img(6, 9), img(6, 9)[::-1]])"

CASES = [
    *each(
        "tf.image.{f}(img(7, 9, 3, {d!r}))",
        f=["flip_left_right", "flip_up_down", "transpose", "rot90", "rgb_to_grayscale", "per_image_standardization"],
        d=D,
    ),
    *each(
        "tf.image.{f}({v})",
        f=[
            "flip_left_right",
            "flip_up_down",
            "transpose",
            "rot90",
            "rgb_to_grayscale",
            "per_image_standardization",
            "grayscale_to_rgb",
        ],
        v=[B, "img(5, 4, 1)", "arr('int32', 4, 5)", "np.zeros((2, 3, 3), 'float64')"],
    ),
    *each("tf.image.rot90(img(3, 4), {k})", k=["0", "2", "3", "-1", "5"]),
    *each(
        "tf.image.crop_to_bounding_box({v}, {a})",
        v=["img(7, 9)", B],
        a=["1, 2, 3, 4", "0, 0, 6, 9", "5, 5, 5, 5", "-1, 0, 2, 2", "0, 0, 0, 1", "0, 0, 7, 9"],
    ),
    *each(
        "tf.image.pad_to_bounding_box({v}, {a})",
        v=["img(3, 4)", "img(3, 4, 1, 'float32')"],
        a=["1, 2, 6, 9", "0, 0, 3, 4", "0, 0, 2, 2", "-1, 0, 6, 6", "4, 4, 6, 6"],
    ),
    *each(
        "tf.image.resize_with_crop_or_pad(img(7, 9), {a})", a=["5, 5", "9, 11", "5, 12", "8, 8", "7, 9", "0, 3", "4, 4"]
    ),
    *each("tf.image.central_crop(img(7, 9), {a})", a=["0.5", "1.0", "0.3", "0", "1.5", "0.875"]),
    *each("tf.image.resize_with_pad(img(7, 9), {a})", a=["5, 5", "12, 9", "7, 20", "0, 1"]),
    *each("tf.image.adjust_brightness(img(5, 6, 3, {d!r}), {a})", d=D, a=["0.1", "-0.3", "1.0"]),
    *each("tf.image.adjust_contrast(img(5, 6, 3, {d!r}), {a})", d=D, a=["0.5", "2.0", "1.0"]),
    *each("tf.image.adjust_hue(img(5, 6, 3, {d!r}), {a})", d=D, a=["0.1", "-0.3", "0.9", "-1.0", "1.5"]),
    *each("tf.image.adjust_saturation(img(5, 6, 3, {d!r}), {a})", d=D, a=["0.5", "2.0", "0.0", "1.0"]),
    *each("tf.image.adjust_gamma(img(5, 6, 3, {d!r}), {a})", d=D, a=["0.5", "2.0, 1.5", "-1"]),
    *each(
        "tf.image.{f}(img(5, 6, 3, 'float32'))",
        f=["rgb_to_hsv", "hsv_to_rgb", "rgb_to_yuv", "yuv_to_rgb", "rgb_to_yiq", "yiq_to_rgb"],
    ),
    "tf.image.rgb_to_hsv(img(3, 3))",
    "tf.image.rgb_to_hsv(np.zeros((2, 2, 2), 'float32'))",
    "tf.image.adjust_hue(np.zeros((2, 2, 1), 'float32'), 0.1)",
    *each(
        "tf.image.convert_image_dtype({v}, {d!r}{s})",
        v=["img(3, 4)", "img(3, 4, 3, 'float32')", "np.array([[[-0.5], [1.5]]], 'float32')", "arr('int16', 2, 2, 1)"],
        d=["uint8", "float32", "int16", "uint16", "float16"],
        s=["", ", saturate=True"],
    ),
    *each(
        "tf.image.resize(img(7, 9, 3, {d!r}), {s}, {m!r})",
        d=D,
        s=["[4, 5]", "[14, 20]", "[7, 9]"],
        m=["bilinear", "nearest", "bicubic", "area", "lanczos3", "gaussian"],
    ),
    "tf.image.resize(img(7, 9), [4, 4], preserve_aspect_ratio=True)",
    "tf.image.resize(img(7, 9), [4, 4], antialias=True)",
    "tf.image.resize(img(7, 9), [4], antialias=True)",
    "tf.image.resize([1, 2], [3, 3])",
    "tf.image.resize(img(7, 9), (4, 5), method='zz')",
    *each(
        "tf.compat.v1.image.resize(img(7, 9), {s}, {m}, align_corners={a})",
        s=["[4, 5]", "[14, 20]"],
        m=["0", "1", "2", "3"],
        a=["True", "False"],
    ),
    *each(
        "tf.compat.v1.image.resize_{m}(img(7, 9, 3, 'float32')[None], {s}, align_corners={a})",
        m=["bilinear", "bicubic", "area"],
        s=["[4, 5]", "[14, 20]", "[1, 9]", "[7, 1]", "[1, 1]", "[2, 30]"],
        a=["True", "False"],
    ),
    *each("tf.compat.v1.image.resize_{m}({v}, [4, 5])", m=["bilinear", "bicubic", "nearest_neighbor", "area"], v=[B]),
    *each(
        "tf.image.crop_and_resize({v}, [[0., 0., 1., 1.], [.2, .1, .7, .9], [-.2, 0., 1.3, .5], [.8, .8, .1, .1]], [0, 0, 0, 0], {s}{m})",
        v=["img(7, 9, 3, 'float32')[None]", "img(7, 9)[None]"],
        s=["[3, 4]", "[1, 1]", "[9, 9]"],
        m=["", ", method='nearest'", ", extrapolation_value=7."],
    ),
    "tf.image.crop_and_resize(img(3, 3)[None], [[0., 0., 1., 1.]], [5], [2, 2])",
    *each(
        "tf.image.extract_patches(np.arange(32, dtype='float32').reshape(1, 4, 4, 2), {a})",
        a=[
            "[1, 2, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], 'VALID'",
            "[1, 3, 3, 1], [1, 1, 1, 1], [1, 1, 1, 1], 'SAME'",
            "[1, 2, 2, 1], [1, 1, 1, 1], [1, 2, 2, 1], 'VALID'",
            "[1, 3, 2, 1], [1, 2, 2, 1], [1, 1, 1, 1], 'SAME'",
        ],
    ),
    *each(
        "tf.image.{f}",
        f=[
            "image_gradients(arr('float32', 1, 3, 4, 1))",
            "total_variation(arr('float32', 3, 4, 1))",
            "psnr(img(4, 4), img(4, 4)[::-1], 255)",
            "non_max_suppression([[0., 0., 1., 1.], [0., 0., 1., .9], [2., 2., 3., 3.]], [.5, .9, .3], 3)",
            "non_max_suppression([[0., 0., 1., 1.], [0., 0., 1., .3]], [.5, .9], 2, iou_threshold=.2)",
            "draw_bounding_boxes(np.zeros((1, 6, 6, 3), 'float32'), [[[0., 0., 1., 1.], [.2, .2, .6, .6]]], [[1., 0., 0.], [0., 1., 0.]])",
        ],
    ),
    *each(
        "tf.nn.depthwise_conv2d(img(6, 7, 3, 'float32')[None], arr('float32', 3, 3, 3, 1), {a})",
        a=[
            "[1, 1, 1, 1], 'SAME'",
            "[1, 1, 1, 1], 'VALID'",
            "[1, 2, 2, 1], 'SAME'",
            "[1, 1, 1, 1], 'VALID', dilations=[2, 2]",
            "[1, 1, 1, 1], 'ZZ'",
        ],
    ),
    "tf.nn.depthwise_conv2d(img(6, 7, 3, 'float32')[None], arr('float32', 3, 3, 2, 1), [1, 1, 1, 1], 'SAME')",
    # stateless random numbers
    *each(
        "tf.random.stateless_uniform({s}, [{a}, {b}])",
        s=["[]", "[5]", "[3, 4]", "[0]", "[9]"],
        a=["1", "-7", "2 ** 40"],
        b=["2", "0"],
    ),
    *each(
        "tf.random.stateless_uniform([7], [3, 4], {m})",
        m=[
            "-2., 3.",
            "0, 10, tf.int32",
            "-5, 5, tf.int64",
            "dtype=tf.float64",
            "dtype=tf.float16",
            "None, None, tf.int32",
            "None, None, tf.int64",
            "5, 5, tf.int32",
            "maxval=[1., 2., 3., 4., 5., 6., 7.]",
            "0, 1000, tf.int64",
        ],
    ),
    "tf.random.stateless_uniform([3], [1])",
    "tf.random.stateless_uniform([3], [1.5, 2])",
    *each(
        "tf.random.stateless_{f}normal({s}, [1, 2]{k})",
        f=["", "truncated_"],
        s=["[]", "[7]", "[20]"],
        k=["", ", 2., 3.", ", dtype=tf.float64"],
    ),
    *each(
        "tf.random.stateless_categorical([[0., 1., 2.], [3., 0., 0.]], {n}, seed=[{s}, 3])",
        n=["1", "5", "8"],
        s=["1", "5"],
    ),
    *each(
        "tf.random.experimental.stateless_fold_in({a})",
        a=["[1, 2], 3", "tf.constant([1, 2], tf.int64), tf.constant(5, tf.int64)", "[1, 2], tf.constant(7)"],
    ),
    *each(
        "tf.random.experimental.stateless_split({a})", a=["[1, 2]", "[1, 2], num=3", "tf.constant([4, 5], tf.int64), 2"]
    ),
    *each("tf.random.experimental.index_shuffle({i}, [5, 9], 10)", i=["0", "3", "10"]),
    *each(
        "tf.image.stateless_random_flip_{f}(img(3, 4), seed=[{s}, 2])", f=["left_right", "up_down"], s=["1", "2", "3"]
    ),
    *each("tf.image.stateless_random_flip_left_right({b}, seed=[{s}, 2])", b=[B], s=["1", "2"]),
    *each("tf.image.stateless_random_brightness(img(4, 5), {a}, seed=[1, {s}])", a=["0.2", "-1"], s=["1", "2"]),
    *each(
        "tf.image.stateless_random_{f}(img(4, 5), 0.5, 1.5, seed=[1, {s}])", f=["contrast", "saturation"], s=["1", "2"]
    ),
    *each("tf.image.stateless_random_hue(img(4, 5), {a}, seed=[1, {s}])", a=["0.2", "0.7"], s=["1", "2"]),
    *each("tf.image.stateless_random_crop(img(6, 7), [3, 4, 3], seed=[{s}, 2])", s=["1", "2", "3"]),
    "tf.image.stateless_random_crop(img(6, 7), [8, 4, 3], seed=[1, 2])",
    *each(
        "tf.image.stateless_sample_distorted_bounding_box([{h}, 60, 3], {b}, seed=[{s}, 7], min_object_covered={m}{k})",
        h=["50", "100"],
        b=["tf.zeros([1, 0, 4])", "[[[.1, .2, .6, .7]]]", "[[[0., 0., 1., 1.], [.5, .5, .9, .9]]]"],
        s=["1", "2", "3", "4"],
        m=["0.1", "0.9"],
        k=[
            ", use_image_if_no_bounding_boxes=True",
            ", aspect_ratio_range=[.5, 2.], area_range=[.08, 1.], max_attempts=10, use_image_if_no_bounding_boxes=True",
        ],
    ),
    "tf.image.stateless_sample_distorted_bounding_box([50, 60, 3], tf.zeros([1, 0, 4]), seed=[1, 7])",
    # shapes and dtypes of stateful ones
    *each(
        "tf.random.{f}.dtype",
        f=[
            "uniform([2])",
            "uniform([2], maxval=3, dtype=tf.int32)",
            "normal([2], dtype=tf.float64)",
            "truncated_normal([2])",
            "gamma([2], [.5, 1.])",
            "poisson([2], [.5])",
            "shuffle([1, 2])",
            "categorical([[0., 1.]], 3)",
            "categorical([[0., 1.]], 3, dtype=tf.int32)",
        ],
    ),
    *each(
        "tf.random.{f}.shape",
        f=[
            "uniform([2, 3])",
            "normal([])",
            "gamma([2], [.5, 1.])",
            "poisson([2], [.5])",
            "shuffle([[1, 2]])",
            "categorical([[0., 1.]], 3)",
        ],
    ),
    "tf.random.uniform([2], dtype=tf.int32)",
    "tf.random.uniform([2], 5, 5, tf.int32)",
    "tf.random.shuffle(5)",
    "tf.random.categorical([0., 1.], 3)",
    "tf.image.random_crop(img(3, 3), [4, 4, 3])",
    "tf.image.random_contrast(img(3, 3), 2., 1.)",
    # signals
    *each("tf.signal.{f}_window({n}{k})", f=["hann", "hamming"], n=["1", "4", "5", "8"], k=["", ", periodic=False"]),
    *each(
        "tf.signal.frame({a})",
        a=[
            "np.arange(9.), 4, 2",
            "np.arange(9.), 4, 3, pad_end=True",
            "np.arange(9.), 10, 3",
            "arr('float32', 3, 6), 2, 2, axis=0",
        ],
    ),
    *each(
        "tf.signal.stft(arr('float32', 40), {a})",
        a=["8, 4", "10, 5", "8, 8, fft_length=16", "8, 4, pad_end=True", "8, 4, window_fn=None"],
    ),
    *each("tf.signal.{f}(arr('complex64', 8))", f=["fft", "ifft", "irfft"]),
    "tf.signal.rfft(arr('float32', 8))",
    "tf.signal.rfft(arr('float32', 8), [4])",
    "tf.signal.fft2d(arr('complex64', 4, 4))",
    "tf.signal.overlap_and_add(arr('float32', 3, 4), 2)",
    "tf.signal.linear_to_mel_weight_matrix(10, 33, 8000)",
    "tf.signal.dct(arr('float32', 2, 6))",
    "tf.signal.dct(arr('float32', 2, 6), norm='ortho')",
    "tf.signal.mfccs_from_log_mel_spectrograms(arr('float32', 3, 10))",
    # audio and files
    "tf.audio.encode_wav([[0.], [.5], [-1.], [2.]], 8000)",
    "tf.audio.decode_wav(tf.audio.encode_wav(arr('float32', 9, 2, low=-1, high=1), 16000))",
    "tf.audio.decode_wav(tf.audio.encode_wav(arr('float32', 9, 1, low=-1, high=1), 16000), desired_channels=1, desired_samples=12)",
    "tf.audio.decode_wav(tf.audio.encode_wav(arr('float32', 9, 1, low=-1, high=1), 16000), desired_samples=4)",
    "tf.audio.decode_wav('abc')",
    "tf.io.decode_csv('1,2.5,a', [0, 0., ''])",
    "tf.io.decode_csv(['1,2', '3,4'], [0, 0])",
    "tf.io.decode_csv('1', [0, 0])",
    "tf.io.decode_raw(b'\\x01\\x00\\x02\\x00', tf.int16)",
    "tf.io.decode_raw([b'ab', b'cd'], tf.uint8)",
    "tf.io.parse_tensor(tf.io.serialize_tensor([[1, 2]]), tf.int32)",
    "tf.io.encode_base64('abc')",
    "tf.io.decode_base64('YWJj')",
    "tf.io.decode_png(tf.io.encode_png(img(3, 4)))",
    "tf.io.read_file('no such file')",
]
CASES += each(
    "tf.random.experimental.stateless_shuffle({a})",
    a=[
        "tf.range(5), seed=[1, 2]",
        "arr('int32', 7, 2), seed=[3, 4]",
        "[], seed=[1, 2]",
        "['a', 'b', 'c'], seed=[5, 6]",
    ],
)
CLOSE = {
    **dict.fromkeys(
        (
            "adjust_contrast",
            "stateless_random_contrast",
            "per_image_standardization",
            "adjust_gamma",
            "rgb_to_hsv",
            "hsv_to_rgb",
            "rgb_to_yuv",
            "yuv_to_rgb",
            "rgb_to_yiq",
            "yiq_to_rgb",
            "rgb_to_grayscale",
            "resize_with_pad",
        ),
        1e-6,
    ),
    **dict.fromkeys(
        (
            "stft",
            "fft",
            "ifft",
            "rfft",
            "irfft",
            "fft2d",
            "mfccs_from_log_mel_spectrograms",
            "dct",
            "linear_to_mel_weight_matrix",
            "hann_window",
            "hamming_window",
            "total_variation",
            "depthwise_conv2d",
            "psnr",
            "crop_and_resize",
            "adjust_saturation",
            "adjust_hue",
        ),
        1e-5,
    ),
    **dict.fromkeys(("stateless_normal", "stateless_truncated_normal"), 2e-6),
}

AT_ODDS = {
    **dict.fromkeys(
        each(
            "tf.image.grayscale_to_rgb({v})",
            v=[B, "img(5, 4, 1)", "arr('int32', 4, 5)", "np.zeros((2, 3, 3), 'float64')"],
        )
        + ["tf.image.image_gradients(arr('float32', 1, 3, 4, 1))", "tf.image.total_variation(arr('float32', 3, 4, 1))"],
        "TensorFlow fails on arrays; feedline takes them",
    ),
    "tf.image.rgb_to_hsv(img(3, 3))": "TensorFlow converts an array of bytes; feedline takes floats only, as TensorFlow does for tensors",
    "tf.image.rgb_to_hsv(np.zeros((2, 2, 2), 'float32'))": "a FailedPreconditionError in TensorFlow",
    **dict.fromkeys(
        each("tf.random.stateless_truncated_normal({s}, [1, 2], dtype=tf.float64)", s=["[7]", "[20]"]),
        "float64 numbers are drawn in another order",
    ),
}
