"""Notes on TensorFlow's names: what to write for those that are missing, which of them belong to the model, and how
those that are here differ.

A note for a name applies to all names inside it: the note for `tf.linalg` to `tf.linalg.qr`, unless that has its own.
Errors for missing names and `feedline.tf.check` use them.
"""

from __future__ import annotations

from difflib import get_close_matches
from typing import Literal, NamedTuple

from feedline.data.dataset import OF_TENSORFLOW_1
from feedline.tf.names import public

_NUMPY = "compute it with NumPy: x.numpy() and tf.convert_to_tensor are free of copies"
_LINALG = "np.linalg has it: tensors are NumPy memory, so np.linalg.{name}(x) takes them"
_SPECIAL = "scipy.special has it, and takes tensors"
_FFT = "np.fft.{name}(x) takes tensors"
_MODELS = "models are the training framework's: Keras on torch or JAX, torch.nn, flax"
_LAYERS = "this is model code: write it in the training framework, or with NumPy"
_QUEUES = "queues ended with TensorFlow 1; tf.data.Dataset replaces them"
_VARIABLES = "variables and their initialization are the training framework's"
_OPTIMIZERS = "optimizers and schedules are the training framework's: keras.optimizers, torch.optim, optax"
_QUANTIZED = "quantized dtypes are TensorFlow's own; store integers and a scale"
_SPARSE = "use tf.sparse.to_dense(x) and NumPy, or scipy.sparse on x.indices and x.values"
_OTHER_PACKAGE = "it runs on TensorFlow only"

MISSING: dict[str, str] = {
    "Graph": "graphs are those of TensorFlow 1: use tf.compat.v1.Graph, with the functions of tf.compat.v1",
    "compat.v1.FIFOQueue": _QUEUES,
    "compat.v1.FixedLengthRecordReader": "use tf.data.FixedLengthRecordDataset",
    "compat.v1.PaddingFIFOQueue": _QUEUES,
    "compat.v1.RandomShuffleQueue": _QUEUES,
    "compat.v1.TFRecordReader": "use tf.data.TFRecordDataset",
    "compat.v1.TextLineReader": "use tf.data.TextLineDataset",
    "compat.v1.WholeFileReader": "use tf.io.read_file in a map",
    "compat.v1.SummaryMetadata": "tf.summary writes summaries without it; the package tensorboard has the message",
    "compat.v1.cholesky": _LINALG,
    "compat.v1.colocate_with": "there is one device: leave it out",
    "compat.v1.io.QueueBase": _QUEUES,
    "compat.v1.io.match_filenames_once": "use tf.io.matching_files",
    "compat.v1.matrix_determinant": "np.linalg.det(x) takes tensors",
    "compat.v1.matrix_inverse": "np.linalg.inv(x) takes tensors",
    "compat.v1.matrix_solve": "np.linalg.solve(a, b) takes tensors",
    "compat.v1.sparse_placeholder": "feed indices, values and shape as three placeholders",
    "compat.v1.train.batch": _QUEUES + ": ds.batch(n)",
    "compat.v1.train.input_producer": _QUEUES,
    "compat.v1.train.match_filenames_once": "use tf.io.matching_files",
    "compat.v1.train.range_input_producer": "use tf.data.Dataset.range(n).shuffle(n).repeat()",
    "compat.v1.train.shuffle_batch": _QUEUES + ": ds.shuffle(capacity).batch(n)",
    "compat.v1.train.slice_input_producer": "use tf.data.Dataset.from_tensor_slices(tensors).shuffle(n).repeat()",
    "compat.v1.train.start_queue_runners": _QUEUES + ", and needs no start",
    "compat.v1.train.string_input_producer": "use tf.data.Dataset.from_tensor_slices(names).shuffle(n).repeat()",
    "data": 'the page "All names of tf.data" lists what is here',
    "data.experimental.copy_to_device": "ds.to_torch(device) and ds.to_jax() put batches on a device",
    "data.experimental.distributed_save": "it saves through tf.data's service; use ds.save",
    "data.experimental.enable_debug_mode": "functions are plain Python here already: leave it out",
    "data.experimental.from_variant": "a dataset is a Python object, and can be pickled",
    "data.experimental.get_model_proto": "ds.explain() and iterator.report() say how a pipeline runs",
    "data.experimental.make_saveable_from_iterator": "tf.compat.v1.data.experimental has it; other iterators "
    "have save(), and tf.train.Checkpoint(iterator=iterator) takes them",
    "data.experimental.prefetch_to_device": "ds.to_torch(device) and ds.to_jax() prefetch batches to a device",
    "data.experimental.service": "the service distributes TensorFlow graphs; shard the dataset: ds.shard(n, i)",
    "data.experimental.to_variant": "a dataset is a Python object, and can be pickled",
    "distribute": "one process is one replica: shard the dataset with ds.shard(n, i), or ds.to_torch() and ds.to_jax()",
    "experimental": "it has no part in input pipelines",
    "experimental.ExtensionType": "use a NamedTuple, a dataclass or a dict as an element",
    "experimental.Optional": "use iterator.get_next_as_optional()",
    "experimental.RowPartition": "use tf.RaggedTensor.from_row_splits and the like",
    "experimental.dtensor": "arrays on several devices are the training framework's",
    "experimental.numpy": "use NumPy: tensors are NumPy memory, and np functions take them",
    "extract_volume_patches": "np.lib.stride_tricks.sliding_window_view(x, window) takes tensors",
    "fingerprint": "use tf.strings.to_hash_bucket_fast, or hashlib in tf.py_function",
    "image.combined_non_max_suppression": "use tf.image.non_max_suppression per class",
    "image.decode_jxl": "decode it with pillow-jxl in tf.py_function",
    "image.decode_webp": "tf.io.decode_image reads WebP files",
    "image.extract_glimpse": "use tf.image.crop_to_bounding_box or tf.image.crop_and_resize",
    "image.non_max_suppression_overlaps": "use tf.image.non_max_suppression",
    "image.non_max_suppression_padded": "use tf.image.non_max_suppression, and tf.pad",
    "image.non_max_suppression_with_scores": "use tf.image.non_max_suppression, and tf.gather of the scores",
    "image.sobel_edges": "use tf.nn.depthwise_conv2d with the two Sobel filters",
    "image.ssim": "skimage.metrics.structural_similarity takes arrays",
    "image.ssim_multiscale": "skimage.metrics.structural_similarity takes arrays",
    "io.decode_jxl": "decode it with pillow-jxl in tf.py_function",
    "io.decode_proto": "use the protobuf library in tf.py_function, or tf.train.Example",
    "io.decode_webp": "tf.io.decode_image reads WebP files",
    "io.encode_proto": "use the protobuf library in tf.py_function, or tf.train.Example",
    "io.match_filenames_once": "use tf.io.matching_files",
    "io.write_graph": "there is no graph",
    "linalg": _LINALG,
    "linalg.expm": "scipy.linalg.expm takes tensors",
    "linalg.logdet": "np.linalg.slogdet(x)[1] takes tensors",
    "linalg.lu": "scipy.linalg.lu takes tensors",
    "linalg.triangular_solve": "scipy.linalg.solve_triangular takes tensors",
    "load_op_library": "TensorFlow's compiled ops need TensorFlow",
    "math.bessel_i0": _SPECIAL,
    "math.betainc": _SPECIAL,
    "math.igamma": "scipy.special.gammainc takes tensors",
    "math.igammac": "scipy.special.gammaincc takes tensors",
    "math.polygamma": _SPECIAL,
    "math.special": _SPECIAL,
    "math.zeta": _SPECIAL,
    "nn.conv1d": "np.convolve, or the training framework's convolution; here there is tf.nn.depthwise_conv2d",
    "nn.conv2d": "this is model code; for filters there are tf.nn.depthwise_conv2d and scipy.ndimage.convolve",
    "nn.dilation2d": "scipy.ndimage.grey_dilation takes tensors",
    "nn.dropout": "use tf.where(tf.random.uniform(tf.shape(x)) < rate, 0.0, x / (1 - rate))",
    "nn.erosion2d": "scipy.ndimage.grey_erosion takes tensors",
    "python": "TensorFlow's private modules are not here; use the public name",
    "qint16": _QUANTIZED,
    "qint32": _QUANTIZED,
    "qint8": _QUANTIZED,
    "quantization": _QUANTIZED,
    "queue": _QUEUES,
    "quint16": _QUANTIZED,
    "quint8": _QUANTIZED,
    "ragged.cross": "use tf.strings.join of the pairs",
    "random.stateless_binomial": "use np.random.default_rng(seed).binomial in tf.numpy_function",
    "random.stateless_gamma": "use np.random.default_rng(seed).gamma in tf.numpy_function",
    "random.stateless_poisson": "use np.random.default_rng(seed).poisson in tf.numpy_function",
    "raw_ops": "use the public function of the op; of raw_ops, ImageProjectiveTransformV2 and V3 are here",
    "required_space_to_batch_paddings": "tf.pad, tf.reshape and tf.transpose do it",
    "resource": "there are no resource tensors",
    "signal.mdct": "scipy.fft.dct(frames, type=4) takes tensors",
    "sparse": _SPARSE,
    "strings.unicode_script": "use unicodedata in tf.py_function",
    "test": "use pytest or unittest; np.testing.assert_allclose takes tensors",
    "timestamp": "use time.time()",
    "train.ClusterSpec": "one process is one worker; see ds.shard",
    "train.Coordinator": "use threading",
    "types": "it is for annotations; write what the values are",
    "variant": "there are no variant tensors",
}
"""What to write instead of a name that is missing."""

MODEL: dict[str, str] = {
    "GradientTape": "gradients are the training framework's: torch.autograd, jax.grad",
    "Module": "models are the training framework's; see Keras on torch or JAX",
    "autodiff": "gradients are the training framework's: torch.autograd, jax.grad",
    "clip_by_global_norm": "gradients are the training framework's: keras.optimizers has global_clipnorm",
    "compat.v1.all_variables": _VARIABLES,
    "compat.v1.assign": _VARIABLES,
    "compat.v1.assign_add": _VARIABLES,
    "compat.v1.distributions": "distributions are those of scipy.stats, torch.distributions or distrax",
    "compat.v1.get_variable": _VARIABLES,
    "compat.v1.global_variables": _VARIABLES,
    "compat.v1.layers": _MODELS,
    "compat.v1.losses": _MODELS,
    "compat.v1.metrics": _MODELS,
    "compat.v1.train": _OPTIMIZERS,
    "compat.v1.trainable_variables": _VARIABLES,
    "constant_initializer": _MODELS,
    "contrib": "tf.contrib ended with TensorFlow 1; tf.contrib.data is here",
    "estimator": "estimators ended with TensorFlow 2.15; a Keras model takes the dataset",
    "feature_column": "use keras.utils.FeatureSpace, or compute the features in a map",
    "gradients": "gradients are the training framework's: torch.autograd, jax.grad",
    "hessians": "gradients are the training framework's: torch.func.hessian, jax.hessian",
    "initializers": _MODELS,
    "keras": "import keras with the torch or JAX backend; its layers do not run inside feedline.tf",
    "keras.datasets": "import keras: keras.datasets returns NumPy arrays",
    "keras.preprocessing": "import keras: keras.preprocessing works on NumPy arrays",
    "keras.utils": "import keras: keras.utils.{name} is the same on the torch and JAX backends",
    "lite": "models are the training framework's",
    "losses": _MODELS,
    "metrics": _MODELS,
    "nn": _LAYERS,
    "ones_initializer": _MODELS,
    "optimizers": _OPTIMIZERS,
    "profiler": "profile the training framework; iterator.report() has the times of the input pipeline",
    "random_normal_initializer": _MODELS,
    "random_uniform_initializer": _MODELS,
    "recompute_grad": "gradients are the training framework's",
    "saved_model": "models are the training framework's",
    "summary": "tf.summary has scalar, image, text and histogram; torch.utils.tensorboard has more",
    "train.ExponentialMovingAverage": "keras.optimizers has use_ema",
    "train.list_variables": "a checkpoint of TensorFlow can be read by TensorFlow only",
    "train.load_checkpoint": "a checkpoint of TensorFlow can be read by TensorFlow only",
    "train.load_variable": "a checkpoint of TensorFlow can be read by TensorFlow only",
    "xla": "compilation is the training framework's: jax.jit, torch.compile",
    "zeros_initializer": _MODELS,
}
"""Names of the model and its training, which an input pipeline does not need, and where they are."""

_STATEFUL = "the same distribution; numbers repeat with tf.random.set_seed, but are not those of TensorFlow"
_NO_EFFECT = "accepted, without effect: there is one CPU"
_ABSL = "needs the package absl-py: pip install absl-py"
_ONE_REPLICA = "one process is one replica; datasets are distributed as they are"

DIFFERS: dict[str, str] = {
    "Variable": "holds a value; there are no gradients",
    "autograph": "without effect: functions are Python",
    "compat.v1.ConfigProto": "may be filled in, without effect",
    "compat.v1.Print": "prints the values when it is called",
    "compat.v1.Session": "runs input pipelines only",
    "compat.v1.app": _ABSL,
    "compat.v1.disable_resource_variables": "accepted, without effect",
    "compat.v1.enable_resource_variables": "accepted, without effect",
    "compat.v1.flags": _ABSL,
    "compat.v1.global_variables_initializer": "does nothing: there are no variables",
    "compat.v1.local_variables_initializer": "does nothing: there are no variables",
    "compat.v1.multinomial": _STATEFUL,
    "compat.v1.random_crop": _STATEFUL,
    "compat.v1.random_gamma": _STATEFUL,
    "compat.v1.random_normal": _STATEFUL,
    "compat.v1.random_poisson": _STATEFUL,
    "compat.v1.random_shuffle": _STATEFUL,
    "compat.v1.random_uniform": _STATEFUL,
    "compat.v1.tables_initializer": "runs initializers of iterators; tables are ready",
    "compat.v1.train.Saver": "saves positions of iterators: there are no variables",
    "compat.v1.truncated_normal": _STATEFUL,
    "config": _NO_EFFECT,
    "config.list_logical_devices": "lists one CPU",
    "config.list_physical_devices": "lists one CPU",
    "control_dependencies": "without effect: code runs in its order",
    "custom_gradient": "the function itself: there are no gradients",
    "data.Dataset.save": "writes feedline's format",
    "data.Dataset.snapshot": "writes feedline's format",
    "device": _NO_EFFECT,
    "distribute": _ONE_REPLICA,
    "distribute.InputContext": "",
    "function": "without effect: the function is called as it is",
    "image.random_brightness": _STATEFUL,
    "image.random_contrast": _STATEFUL,
    "image.random_crop": _STATEFUL,
    "image.random_flip_left_right": _STATEFUL,
    "image.random_flip_up_down": _STATEFUL,
    "image.random_hue": _STATEFUL,
    "image.random_jpeg_quality": _STATEFUL,
    "image.random_saturation": _STATEFUL,
    "image.sample_distorted_bounding_box": _STATEFUL,
    "name_scope": "without effect",
    "random.categorical": _STATEFUL,
    "random.gamma": _STATEFUL,
    "random.normal": _STATEFUL,
    "random.poisson": _STATEFUL,
    "random.shuffle": _STATEFUL,
    "random.truncated_normal": _STATEFUL,
    "random.uniform": _STATEFUL,
    "stop_gradient": "the tensor itself: there are no gradients",
    "tpu": _NO_EFFECT,
    "train.Checkpoint": "saves iterators, variables and random generators: models are saved by the training framework",
}
"""How a name that is here differs from TensorFlow's; "" for a name that does not differ, though its namespace does."""

ATTRIBUTES = OF_TENSORFLOW_1
"""Attributes that datasets have in TensorFlow 1 only, and what they are in `tf.compat.v1`."""

PACKAGES: dict[str, str] = {
    "official": f"{_OTHER_PACKAGE}: the Model Garden's models",
    "tensorflow_addons": f"{_OTHER_PACKAGE}: keras_cv and albumentations have most of its image functions",
    "tensorflow_hub": f"{_OTHER_PACKAGE}: load the model with the training framework",
    "tensorflow_io": f"{_OTHER_PACKAGE}: read the format with its own package, in fl.Dataset.from_source",
    "tensorflow_probability": "tensorflow_probability.substrates has NumPy and JAX",
    "tensorflow_text": f"{_OTHER_PACKAGE}: tokenize with the package tokenizers, in tf.py_function",
    "tensorflow_transform": _OTHER_PACKAGE,
    "tf_slim": f"{_OTHER_PACKAGE}: it is model code",
}
"""Packages that need TensorFlow, by the name they are imported by."""


class Note(NamedTuple):
    """What a name of TensorFlow is here."""

    kind: Literal["missing", "model", "differs"]
    text: str


def of_missing(name: str) -> Note:
    """The note for a name that `feedline.tf` lacks.

    >>> from feedline.tf.notes import of_missing
    >>> of_missing("linalg.qr").text
    'np.linalg has it: tensors are NumPy memory, so np.linalg.qr(x) takes them'
    >>> of_missing("GradientTape").kind
    'model'
    >>> of_missing("random.unifrom").text
    'did you mean tf.random.uniform?'
    """
    for spelled in (*_spellings(name), f"compat.v1.{name}"):
        for part in _parts(spelled):
            if part in MISSING:
                return Note("missing", MISSING[part].format(name=name.rpartition(".")[2]))
            if part in MODEL:
                return Note("model", MODEL[part].format(name=name.rpartition(".")[2]))
    space, _, last = name.rpartition(".")
    if last in public(f"compat.v1.{space}" if space else "compat.v1"):
        return Note("missing", f"it is TensorFlow 1's: tf.compat.v1.{name}")
    near = get_close_matches(last, public(space), 1, 0.8)
    return Note("missing", f"did you mean tf.{space}{'.' if space else ''}{near[0]}?" if near else _NUMPY)


def of_present(name: str) -> Note | None:
    """The note for a name that `feedline.tf` has; None if it is as in TensorFlow.

    >>> from feedline.tf.notes import of_present
    >>> of_present("function").text
    'without effect: the function is called as it is'
    >>> of_present("cast")
    """
    for spelled in _spellings(name):
        for part in _parts(spelled):
            if part in DIFFERS:
                return Note("differs", DIFFERS[part]) if DIFFERS[part] else None
    return None


def explained(name: str) -> str:
    """The message for a name that is missing.

    >>> from feedline.tf.notes import explained
    >>> explained("GradientTape")
    "feedline.tf has no tf.GradientTape; gradients are the training framework's: torch.autograd, jax.grad"
    """
    return f"feedline.tf has no tf.{name}; {of_missing(name).text}"


def _spellings(name: str) -> list[str]:
    """A name of TensorFlow 1, and the same of TensorFlow 2; or the other way: scripts for TensorFlow 1 say `tf.X`."""
    first = name.startswith("compat.v1.")
    return [name, name.removeprefix("compat.v1.") if first else f"compat.v1.{name}"]


def _parts(name: str) -> list[str]:
    """A name and the namespaces it is in, the innermost first."""
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(len(parts), 0, -1)]
