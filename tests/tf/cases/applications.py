"""How Keras's pretrained models have their images scaled."""

from tests.tf.evaluate import each

MODULES = """
    convnext densenet efficientnet efficientnet_v2 inception_resnet_v2 inception_v3 mobilenet mobilenet_v2 mobilenet_v3
    nasnet resnet resnet50 resnet_v2 vgg16 vgg19 xception
""".split()
IMAGE = "tf.constant(np.arange(24).reshape(2, 4, 3) * 10, tf.{d})"
CHANNELS_FIRST = "tf.constant(np.arange(24).reshape(3, 2, 4) * 10, tf.{d}), 'channels_first'"
BATCH = "tf.constant(np.arange(36).reshape(2, 3, 2, 3) * 7, tf.{d})"

CASES = [
    *each("tf.keras.applications.{m}.preprocess_input(img(5, 4, 3, 'float32') * 255)", m=MODULES),
    *each("tf.keras.applications.{m}.preprocess_input(img(5, 4))", m=["resnet50", "mobilenet", "densenet", "convnext"]),
    *each(
        "tf.keras.applications.imagenet_utils.preprocess_input({x}, mode={m!r})",
        x=[
            v.format(d=d)
            for v in (IMAGE, CHANNELS_FIRST, BATCH, BATCH + ", 'channels_first'")
            for d in ("float32", "int32")
        ],
        m=["caffe", "tf", "torch"],
    ),
    *each(
        "tf.keras.applications.imagenet_utils.preprocess_input(tf.constant(arr({d!r}, 2, 3)), None, {m!r})",
        d=["float16", "float64", "uint8"],
        m=["caffe", "tf", "torch"],
    ),
    *each(
        "tf.keras.applications.imagenet_utils.preprocess_input(arr({d!r}, {s}, low=0, high=255), {f!r}, {m!r})",
        d=["float16", "float64", "uint8"],
        s=["2, 3, 3", "1, 3, 2, 3"],
        f=[None, "channels_last", "channels_first"],
        m=["caffe", "tf", "torch"],
    ),
    "tf.keras.applications.imagenet_utils.preprocess_input(img(3, 4))",
    "tf.keras.applications.imagenet_utils.preprocess_input(tf.zeros([2, 2, 4]))",
    "tf.keras.applications.imagenet_utils.preprocess_input(tf.zeros([2, 2, 1]))",
    "tf.keras.applications.imagenet_utils.preprocess_input(tf.zeros([2, 2, 1]), mode='torch')",
    "tf.keras.applications.imagenet_utils.preprocess_input(tf.zeros([2, 2, 3]), mode='pytorch')",
    "tf.keras.applications.imagenet_utils.preprocess_input(tf.zeros([2, 2, 3]), 'NHWC')",
    "tf.keras.applications.resnet.preprocess_input(tf.zeros([2, 2, 3]), data_format='channels_first')",
    "tf.keras.applications.vgg16.preprocess_input([[1.0, 2.0, 3.0]])",
]
