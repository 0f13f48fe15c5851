"""Small input pipelines in the styles of public ones. Each makes a dataset with the module `tf`, which is TensorFlow or
feedline.tf; `folder` is empty.

`RANDOM` are those that draw numbers which depend on the library: of these, shapes, dtypes and ranges are compared.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from tests.public import data

Pipeline = Callable[[Any, Path], Any]
PIPELINES: dict[str, Pipeline] = {}
RANDOM: set[str] = set()
CLOSE: dict[str, float] = {}
"""How far floats may be off, relative to the largest, where sums are formed in another order."""


def pipeline(random: bool = False, close: float = 0.0) -> Callable[[Pipeline], Pipeline]:
    """Registers a pipeline."""

    def register(function: Pipeline) -> Pipeline:
        PIPELINES[function.__name__] = function
        if random:
            RANDOM.add(function.__name__)
        if close:
            CLOSE[function.__name__] = close
        return function

    return register


# Images


MEAN, DEVIATION = [0.485 * 255, 0.456 * 255, 0.406 * 255], [0.229 * 255, 0.224 * 255, 0.225 * 255]


def parsed_image(tf: Any, record: Any) -> tuple[Any, Any]:
    features = {
        "image/encoded": tf.io.FixedLenFeature((), tf.string, default_value=""),
        "image/class/label": tf.io.FixedLenFeature([], tf.int64, default_value=-1),
    }
    found = tf.io.parse_single_example(record, features)
    return found["image/encoded"], tf.cast(found["image/class/label"], tf.int32) - 1


@pipeline(close=1e-5)
def imagenet_eval(tf: Any, folder: Path) -> Any:
    size, padding = 24, 8

    def centre(encoded: Any) -> Any:
        shape = tf.io.extract_jpeg_shape(encoded)
        height, width = shape[0], shape[1]
        ratio = size / (size + padding)
        side = tf.cast(ratio * tf.cast(tf.minimum(height, width), tf.float32), tf.int32)
        top, left = ((height - side) + 1) // 2, ((width - side) + 1) // 2
        window = tf.stack([top, left, side, side])
        image = tf.io.decode_and_crop_jpeg(encoded, window, channels=3)
        return tf.image.resize([image], [size, size], method=tf.image.ResizeMethod.BICUBIC)[0]

    def prepare(record: Any) -> Any:
        encoded, label = parsed_image(tf, record)
        image = centre(encoded)
        image -= tf.constant(MEAN, shape=[1, 1, 3], dtype=image.dtype)
        image /= tf.constant(DEVIATION, shape=[1, 1, 3], dtype=image.dtype)
        return {"image": image, "label": label}

    files = tf.data.Dataset.from_tensor_slices(data.write_images(tf, folder))
    ds = files.interleave(tf.data.TFRecordDataset, cycle_length=2).cache()
    ds = ds.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).batch(4, drop_remainder=False)
    return ds.prefetch(10)


@pipeline(random=True)
def imagenet_train(tf: Any, folder: Path) -> Any:
    def crop(encoded: Any) -> Any:
        box = tf.constant([0.0, 0.0, 1.0, 1.0], dtype=tf.float32, shape=[1, 1, 4])
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(encoded),
            bounding_boxes=box,
            min_object_covered=0.1,
            aspect_ratio_range=(3 / 4, 4 / 3),
            area_range=(0.08, 1.0),
            max_attempts=10,
            use_image_if_no_bounding_boxes=True,
        )
        y, x, _ = tf.unstack(begin)
        height, width, _ = tf.unstack(size)
        return tf.io.decode_and_crop_jpeg(encoded, tf.stack([y, x, height, width]), channels=3)

    def prepare(record: Any) -> Any:
        encoded, label = parsed_image(tf, record)
        image = tf.image.resize(crop(encoded), [16, 16])
        image = tf.image.random_flip_left_right(image)
        return tf.reshape(image, [16, 16, 3]) / 255.0, label

    ds = tf.data.TFRecordDataset(data.write_images(tf, folder)).repeat(2).shuffle(16, seed=0)
    return ds.map(prepare, num_parallel_calls=tf.data.AUTOTUNE).batch(3, drop_remainder=True)


@pipeline(close=1e-5)
def preprocessing_strings(tf: Any, folder: Path) -> Any:
    """Preprocessing written as a string: `decode|resize(16)|value_range(-1,1)|onehot(4)|keep(image,labels)`."""
    ops: dict[str, Any] = {
        "decode": lambda: (
            lambda d: {**d, "image": tf.image.decode_image(d["image"], channels=3, expand_animations=False)}
        ),
        "resize": lambda n: lambda d: {**d, "image": tf.image.resize(d["image"], [int(n)] * 2)},
        "value_range": lambda a, b: (
            lambda d: {
                **d,
                "image": float(a)
                + tf.clip_by_value(tf.cast(d["image"], tf.float32) / 255.0, 0, 1) * (float(b) - float(a)),
            }
        ),
        "onehot": lambda n: lambda d: {**d, "labels": tf.one_hot(d["labels"], int(n), on_value=0.9, off_value=0.1)},
        "keep": lambda *keys: lambda d: {k: v for k, v in d.items() if k in keys},
    }

    def built(text: str) -> Callable[[Any], Any]:
        steps = []
        for part in text.split("|"):
            name, arguments = re.fullmatch(r"(\w+)(?:\((.*)\))?", part).groups()  # type: ignore[union-attr]
            steps.append(ops[name](*(arguments.split(",") if arguments else [])))
        return lambda d: functools.reduce(lambda x, f: f(x), steps, d)

    def rename(record: Any) -> Any:
        encoded, label = parsed_image(tf, record)
        return {"image": encoded, "labels": label, "id": tf.strings.as_string(label)}

    pp = built("decode|resize(16)|value_range(-1,1)|onehot(4)|keep(image,labels)")
    return tf.data.TFRecordDataset(data.write_images(tf, folder)).map(lambda r: pp(rename(r))).batch(2)


@pipeline()
def segmentation(tf: Any, folder: Path) -> Any:
    names = []
    for i in range(4):
        image, mask = folder / f"image_{i}.png", folder / f"mask_{i}.png"
        image.write_bytes(tf.io.encode_png(data.pixels(i)).numpy())
        mask.write_bytes(tf.io.encode_png(data.pixels(i)[..., :1] // 86 + 1).numpy())
        names.append((str(image), str(mask)))

    def load(image: Any, mask: Any) -> Any:
        pixels = tf.io.decode_png(tf.io.read_file(image), channels=3)
        pixels = tf.image.convert_image_dtype(tf.image.resize(pixels, (16, 20)) / 255.0, "uint8")
        label = tf.io.decode_png(tf.io.read_file(mask), channels=1)
        label = tf.image.resize(label, (16, 20), method="nearest")
        return pixels, tf.cast(label, "uint8") - 1

    images, masks = zip(*names, strict=True)
    return tf.data.Dataset.from_tensor_slices((list(images), list(masks))).map(load).batch(3)


@pipeline(random=True)
def contrastive_views(tf: Any, folder: Path) -> Any:
    """Two augmented views of each image: crops, colours, blur."""

    def jitter(image: Any, strength: float = 0.5) -> Any:
        def brightness(x: Any) -> Any:
            factor = tf.random.uniform([], tf.maximum(1.0 - strength, 0), 1.0 + strength)
            return tf.clip_by_value(x * factor, 0.0, 1.0)

        def apply(i: Any, x: Any) -> Any:
            return tf.switch_case(
                i,
                [
                    lambda: brightness(x),
                    lambda: tf.image.random_contrast(x, 1 - strength, 1 + strength),
                    lambda: tf.image.random_saturation(x, 1 - strength, 1 + strength),
                    lambda: tf.image.random_hue(x, 0.1),
                ],
            )

        order = tf.random.shuffle(tf.range(4))
        for i in range(4):
            image = tf.clip_by_value(apply(order[i], image), 0.0, 1.0)
        return image

    def blur(image: Any, size: int = 3) -> Any:
        sigma = tf.random.uniform([], 0.1, 2.0, dtype=tf.float32)
        x = tf.cast(tf.range(-(size // 2), size // 2 + 1), tf.float32)
        weights = tf.exp(-tf.pow(x, 2.0) / (2.0 * tf.pow(sigma, 2.0)))
        weights /= tf.reduce_sum(weights)
        down = tf.tile(tf.reshape(weights, [size, 1, 1, 1]), [1, 1, 3, 1])
        along = tf.reshape(down, [1, size, 3, 1])
        image = tf.expand_dims(image, axis=0)
        for kernel in (down, along):
            image = tf.nn.depthwise_conv2d(image, kernel, strides=[1, 1, 1, 1], padding="SAME")
        return tf.squeeze(image, axis=0)

    def maybe(function: Any, x: Any, p: float) -> Any:
        chosen = tf.less(tf.random.uniform([], 0, 1), tf.cast(p, tf.float32))
        return tf.cond(chosen, lambda: function(x), lambda: x)

    def view(image: Any) -> Any:
        image = tf.image.resize(tf.image.random_crop(image, [24, 24, 3]), [16, 16])
        image = tf.image.random_flip_left_right(image)
        image = maybe(jitter, image, 0.8)
        image = maybe(lambda x: tf.tile(tf.image.rgb_to_grayscale(x), [1, 1, 3]), image, 0.2)
        return tf.reshape(maybe(blur, image, 0.5), [16, 16, 3])

    images = np.stack([data.pixels(0)] * 5).astype(np.float32) / 255
    ds = tf.data.Dataset.from_tensor_slices(images)
    return ds.map(lambda image: tf.concat([view(image), view(image)], -1)).batch(2)


@pipeline()
def stateless_augmentation(tf: Any, folder: Path) -> Any:
    """Augmentation by seeds: every number is fixed."""

    def augment(image: Any, label: Any, seed: Any) -> Any:
        image = tf.image.resize_with_crop_or_pad(image, 36, 44)
        seeds = tf.random.experimental.stateless_split(seed, num=3)
        image = tf.image.stateless_random_crop(image, size=[28, 32, 3], seed=seeds[0])
        image = tf.image.stateless_random_flip_left_right(image, seed=seeds[1])
        image = tf.image.stateless_random_brightness(tf.cast(image, tf.float32), max_delta=50.0, seed=seeds[2])
        return tf.cast(tf.clip_by_value(image, 0, 255), tf.uint8), label, seeds[2]

    images = np.stack([data.pixels(1)] * 6)
    counter = tf.data.Dataset.counter()
    ds = tf.data.Dataset.zip(
        (tf.data.Dataset.from_tensor_slices((images, np.arange(6))), tf.data.Dataset.zip((counter, counter)))
    )
    return ds.map(lambda pair, seed: augment(*pair, tf.stack(seed))).batch(3)


@pipeline(close=1e-6)
def cut_out(tf: Any, folder: Path) -> Any:
    """Rectangles of noise, by stateless seeds."""

    def cut(image: Any, label: Any, number: Any) -> Any:
        seed = tf.stack([tf.cast(number, tf.int32), 7])
        height, width = tf.shape(image)[0], tf.shape(image)[1]
        y = tf.random.stateless_uniform([], seed, 0, height, tf.int32)
        x = tf.random.stateless_uniform([], seed + 1, 0, width, tf.int32)
        rows, columns = tf.range(height)[:, tf.newaxis], tf.range(width)[tf.newaxis, :]
        inside = (tf.abs(rows - y) < 6) & (tf.abs(columns - x) < 6)
        noise = tf.random.stateless_normal(tf.shape(image), seed + 2)
        image = tf.where(inside[..., tf.newaxis], noise, tf.image.convert_image_dtype(image, tf.float32))
        return image, tf.one_hot(label, 3), tf.reduce_sum(tf.cast(inside, tf.int32))

    ds = tf.data.Dataset.from_tensor_slices((np.stack([data.pixels(2)] * 3), [0, 1, 2]))
    return ds.enumerate().map(lambda n, pair: cut(*pair, n)).batch(3)


@pipeline(random=True)
def mix_up(tf: Any, folder: Path) -> Any:
    def mixed(one: Any, two: Any) -> Any:
        (x1, y1), (x2, y2) = one, two
        size = tf.shape(x1)[0]
        a, b = tf.random.gamma([size], 0.4), tf.random.gamma([size], 0.4)
        share = a / (a + b)
        wide = tf.reshape(share, (size, 1))
        return x1 * wide + x2 * (1 - wide), y1 * wide + y2 * (1 - wide)

    x = np.linspace(0, 1, 60, dtype=np.float32).reshape(20, 3)
    y = np.eye(4, dtype=np.float32)[np.arange(20) % 4]
    one, two = (tf.data.Dataset.from_tensor_slices((x, y)).shuffle(100, seed=i).batch(5) for i in (1, 2))
    return tf.data.Dataset.zip((one, two)).map(mixed, num_parallel_calls=tf.data.AUTOTUNE)


@pipeline(close=1e-6)
def detection_boxes(tf: Any, folder: Path) -> Any:
    """Boxes in corners to centres, clipped, padded per batch, and one target map per image."""
    rng = np.random.RandomState(0)
    rows = []
    for i in range(5):
        boxes = np.sort(rng.uniform(-5, 45, (i + 1, 2, 2)), axis=1).reshape(-1, 4)
        feature = {"boxes": data.floats(tf, boxes.ravel()), "classes": data.ints(tf, rng.randint(0, 3, i + 1))}
        rows.append(feature)
    path = data.write_records(tf, folder / "boxes", rows)

    def parse(record: Any) -> Any:
        found = tf.io.parse_single_example(
            record, {"boxes": tf.io.VarLenFeature(tf.float32), "classes": tf.io.VarLenFeature(tf.int64)}
        )
        boxes = tf.reshape(tf.sparse.to_dense(found["boxes"]), [-1, 4])
        boxes = tf.clip_by_value(boxes, 0.0, 40.0)
        centres = tf.concat([(boxes[..., :2] + boxes[..., 2:]) / 2.0, boxes[..., 2:] - boxes[..., :2]], axis=-1)
        classes = tf.cast(found["classes"].values, tf.int32)
        cell = tf.cast(centres[:, :2] // 10, tf.int32)
        target = tf.tensor_scatter_nd_max(tf.zeros([5, 5], tf.int32) - 1, cell, classes)
        return centres, classes, target

    ds = tf.data.TFRecordDataset(path).map(parse)
    return ds.padded_batch(2, padded_shapes=([None, 4], [None], [5, 5]), padding_values=(0.0, -1, -1))


# Text


@pipeline()
def tokens_to_features(tf: Any, folder: Path) -> Any:
    """Token ids trimmed, closed by an end mark, shifted, and padded, feature by feature."""
    lengths, pad, end = {"inputs": 8, "targets": 5}, 0, 1
    words = tf.constant(data.WORDS)
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(words, tf.range(2, len(data.WORDS) + 2)), default_value=99
    )
    text = data.sentences(9)

    def tokenize(example: Any) -> Any:
        return {k: table.lookup(tf.strings.split(v)) for k, v in example.items()}

    def trim(example: Any) -> Any:
        return {k: tf.concat([v[: lengths[k] - 1], [end]], 0) for k, v in example.items()}

    def to_model(example: Any) -> Any:
        targets = example["targets"]
        shifted = tf.concat([tf.zeros([1], targets.dtype), targets[:-1]], 0)
        made = {
            "encoder_input_tokens": example["inputs"],
            "decoder_input_tokens": shifted,
            "decoder_target_tokens": targets,
            "decoder_loss_weights": tf.cast(tf.not_equal(targets, pad), tf.int32),
        }
        sizes = {k: lengths["inputs" if k.startswith("enc") else "targets"] for k in made}
        return {k: tf.pad(v, [[0, sizes[k] - tf.shape(v)[0]]], constant_values=pad) for k, v in made.items()}

    ds = tf.data.Dataset.from_tensor_slices({"inputs": text, "targets": text[::-1]})
    return ds.map(tokenize).filter(lambda e: tf.size(e["inputs"]) > 2).map(trim).map(to_model).batch(3)


@pipeline()
def span_corruption(tf: Any, folder: Path) -> Any:
    """Spans of tokens replaced by marks, by a stateless seed for each example."""

    def noise(tokens: Any, seed: Any) -> Any:
        drawn = tf.random.stateless_uniform(tf.shape(tokens), seed)
        mask = drawn < 0.3
        first = tf.logical_and(mask, tf.logical_not(tf.pad(mask[:-1], [[1, 0]])))
        mark = 1000 - tf.cumsum(tf.cast(first, tokens.dtype))
        kept = tf.where(first, mark, tokens)
        inputs = tf.boolean_mask(kept, tf.logical_or(first, tf.logical_not(mask)))
        targets = tf.boolean_mask(tokens, mask)
        return {"inputs": inputs, "targets": tf.concat([targets, [1]], 0)}

    ds = tf.data.Dataset.range(6).map(lambda n: (tf.range(n * 10, n * 10 + 14), tf.stack([n, n + 1])))
    ds = ds.map(lambda tokens, seed: noise(tokens, seed))
    return ds.padded_batch(2, padded_shapes={"inputs": [None], "targets": [None]})


@pipeline()
def masked_language_model(tf: Any, folder: Path) -> Any:
    """Examples of fixed length in files; int64 becomes int32; the masked positions give the labels."""
    length, masked = 12, 3
    rng = np.random.RandomState(1)
    rows = [
        {
            "input_ids": data.ints(tf, rng.randint(5, 90, length)),
            "input_mask": data.ints(tf, [1] * (length - i % 4) + [0] * (i % 4)),
            "masked_lm_positions": data.ints(tf, np.sort(rng.choice(length, masked, replace=False))),
            "masked_lm_weights": data.floats(tf, [1.0] * masked),
        }
        for i in range(7)
    ]
    paths = [data.write_records(tf, folder / f"part-{i}", rows[i::2]) for i in range(2)]
    names = {
        "input_ids": tf.io.FixedLenFeature([length], tf.int64),
        "input_mask": tf.io.FixedLenFeature([length], tf.int64),
        "masked_lm_positions": tf.io.FixedLenFeature([masked], tf.int64),
        "masked_lm_weights": tf.io.FixedLenFeature([masked], tf.float32),
    }

    def decode(record: Any) -> Any:
        example = tf.io.parse_single_example(record, names)
        for name in list(example):
            if example[name].dtype == tf.int64:
                example[name] = tf.cast(example[name], tf.int32)
        labels = tf.gather(example["input_ids"], example["masked_lm_positions"])
        hidden = tf.tensor_scatter_nd_update(
            example["input_ids"], example["masked_lm_positions"][:, None], tf.fill([masked], 103)
        )
        return {**example, "input_ids": hidden}, labels

    files = tf.data.Dataset.from_tensor_slices(tf.constant(paths))
    ds = files.interleave(tf.data.TFRecordDataset, cycle_length=2, block_length=2).repeat(2)
    return ds.map(decode, num_parallel_calls=2).batch(4, drop_remainder=True)


@pipeline()
def translation(tf: Any, folder: Path) -> Any:
    path = folder / "pairs.txt"
    text = data.sentences(8)
    path.write_text("\n".join(f"{a}.\tThe {b}!" for a, b in zip(text, text[::-1], strict=True)) + "\n")
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(
            tf.constant(["[pad]", "[start]", "[end]", *data.WORDS]), tf.range(len(data.WORDS) + 3, dtype=tf.int64)
        ),
        num_oov_buckets=2,
    )

    def clean(text: Any) -> Any:
        text = tf.strings.lower(text)
        text = tf.strings.regex_replace(text, r"([?.!,])", r" \1 ")
        return tf.strings.strip(tf.strings.regex_replace(text, r"[^ a-z?.!,]", ""))

    def ids(text: Any) -> Any:
        words = tf.concat([["[start]"], tf.strings.split(clean(text)), ["[end]"]], 0)
        return table.lookup(words)

    def pair(line: Any) -> Any:
        source, target = tf.unstack(tf.strings.split(line, "\t"), num=2)
        source, target = ids(source), ids(target)
        return (source, target[:-1]), target[1:]

    ds = tf.data.TextLineDataset(str(path)).map(pair)
    return ds.padded_batch(3, padded_shapes=(([None], [None]), [None]))


@pipeline()
def reviews(tf: Any, folder: Path) -> Any:
    """Reviews: markup removed, split into a ragged tensor, cut, made dense, and looked up."""
    lines = [f"{s.title()}<br />It's {i}!" for i, s in enumerate(data.sentences(10))]
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(data.WORDS), tf.range(1, len(data.WORDS) + 1, dtype=tf.int64)),
        0,
    )

    def prepare(texts: Any, labels: Any) -> Any:
        texts = tf.strings.substr(texts, 0, 40)
        texts = tf.strings.regex_replace(texts, rb"<br\s*/?>", b" ")
        texts = tf.strings.lower(tf.strings.regex_replace(texts, b"[^a-zA-Z']", b" "))
        words = tf.strings.split(texts)
        return table.lookup(words.to_tensor(default_value=b"<pad>")), words.row_lengths(), labels

    ds = tf.data.Dataset.from_tensor_slices((lines, np.arange(10) % 2))
    return ds.batch(4).map(prepare).prefetch(1)


@pipeline()
def characters(tf: Any, folder: Path) -> Any:
    """A text as characters, in windows whose targets are one further."""
    text = " ".join(data.sentences(12))
    symbols = sorted(set(text))
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(symbols), tf.range(len(symbols), dtype=tf.int64)), -1
    )
    ids = table.lookup(tf.strings.unicode_split(text, "UTF-8"))
    ds = tf.data.Dataset.from_tensor_slices(ids).batch(21, drop_remainder=True)
    ds = ds.map(lambda chunk: (chunk[:-1], chunk[1:]))
    return ds.shuffle(50, seed=4).batch(3, drop_remainder=True)


@pipeline()
def length_buckets(tf: Any, folder: Path) -> Any:
    ds = tf.data.Dataset.from_tensor_slices(data.sentences(24))
    ds = ds.map(lambda line: {"text": tf.strings.split(line), "n": tf.strings.length(line)})
    return ds.bucket_by_sequence_length(
        lambda e: tf.shape(e["text"])[0],
        bucket_boundaries=[4, 7],
        bucket_batch_sizes=[4, 3, 2],
        pad_to_bucket_boundary=False,
    )


# Tables and series


@pipeline(close=1e-6)
def csv_reader(tf: Any, folder: Path) -> Any:
    """Interleaved CSV files, their numbers standardized."""
    names = data.write_csv(folder)
    mean, deviation = np.linspace(4, 6, 8).astype(np.float32), np.linspace(1, 3, 8).astype(np.float32)

    def preprocess(line: Any) -> Any:
        defaults = [0.0] * 8 + [tf.constant([], dtype=tf.float32)]
        fields = tf.io.decode_csv(line, record_defaults=defaults)
        return (tf.stack(fields[:-1]) - mean) / deviation, tf.stack(fields[-1:])

    ds = tf.data.Dataset.list_files(names, seed=42)
    ds = ds.interleave(lambda path: tf.data.TextLineDataset(path).skip(1), cycle_length=3, num_parallel_calls=None)
    ds = ds.map(preprocess).shuffle(20, seed=42)
    return ds.batch(8).prefetch(1)


@pipeline(close=1e-6)
def csv_columns(tf: Any, folder: Path) -> Any:
    """Columns by name: some numbers packed into one tensor, one as categories."""
    path = folder / "people.csv"
    rows = [f"{i % 2},{20 + i},{7.5 * i:.2f},{'male' if i % 3 else 'female'}" for i in range(12)]
    path.write_text("survived,age,fare,sex\n" + "\n".join(rows) + "\n")

    def pack(features: Any, label: Any) -> Any:
        numbers = tf.stack([tf.cast(features.pop(name), tf.float32) for name in ("age", "fare")], axis=-1)
        female = tf.cast(tf.equal(features.pop("sex"), "female"), tf.float32)
        return {"numeric": (numbers - 20.0) / 10.0, "female": female}, label

    ds = tf.data.experimental.make_csv_dataset(
        str(path), batch_size=5, label_name="survived", num_epochs=1, shuffle=False, na_value="?"
    )
    return ds.map(pack)


@pipeline()
def series_windows(tf: Any, folder: Path) -> Any:
    past, future = 6, 2
    series = np.sin(np.arange(40) / 3).astype(np.float32) + np.arange(40, dtype=np.float32) / 10
    ds = tf.data.Dataset.from_tensor_slices(tf.expand_dims(series, axis=-1))
    ds = ds.window(past + future, shift=3, drop_remainder=True)
    ds = ds.flat_map(lambda window: window.batch(past + future))
    ds = ds.map(lambda w: (w[:past], w[-future:, 0])).shuffle(8, seed=3)
    return ds.batch(4)


@pipeline()
def click_features(tf: Any, folder: Path) -> Any:
    """Sparse features of files: hashed, crossed, counted, made dense."""
    rows = [
        {
            "user": data.strings(tf, [b"u%d" % (i % 3)]),
            "items": data.strings(tf, [b"i%d" % j for j in range(i % 4)]),
            "when": data.ints(tf, [1_500_000_000 + 7_200 * i]),
        }
        for i in range(9)
    ]
    path = data.write_records(tf, folder / "clicks", rows)
    features = {
        "user": tf.io.FixedLenFeature([], tf.string),
        "items": tf.io.VarLenFeature(tf.string),
        "when": tf.io.FixedLenFeature([], tf.int64),
    }

    def prepare(batch: Any) -> Any:
        items = tf.sparse.to_dense(batch["items"], default_value="")
        hashed = tf.strings.to_hash_bucket_fast(items, 50)
        users = tf.tile(batch["user"][:, None], [1, tf.shape(items)[1]])
        crossed = tf.strings.join([users, items], separator="_")
        hour = tf.math.floormod(batch["when"] // 3600, 24)
        count = tf.reduce_sum(tf.cast(tf.not_equal(items, ""), tf.int32), axis=1)
        return {
            "user": tf.strings.to_hash_bucket_strong(batch["user"], 10, [1, 2]),
            "items": tf.where(tf.equal(items, ""), -tf.ones_like(hashed), hashed),
            "crossed": tf.strings.to_hash_bucket_fast(crossed, 100),
            "hour": tf.one_hot(hour // 6, 4, dtype=tf.int32),
            "count": count,
        }

    ds = tf.data.TFRecordDataset(path).batch(4)
    return ds.map(lambda records: prepare(tf.io.parse_example(records, features)))


@pipeline()
def multi_hot_labels(tf: Any, folder: Path) -> Any:
    terms = tf.ragged.constant([["cv", "lg"], ["ml"], ["lg", "ml", "cv"], ["xx"], ["cv"]])
    vocabulary = tf.constant(["cv", "lg", "ml"])
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(vocabulary, tf.range(1, 4)), 0)
    ds = tf.data.Dataset.from_tensor_slices((["a", "b", "c", "d", "e"], terms))

    def encode(text: Any, labels: Any) -> Any:
        found = table.lookup(labels)
        return text, tf.reduce_max(tf.one_hot(found, depth=4), axis=0)

    return ds.map(encode).batch(2)


@pipeline()
def weighted_sources(tf: Any, folder: Path) -> Any:
    """Rare and frequent classes drawn by weights, with a fixed seed."""
    ds = tf.data.Dataset.range(60).map(lambda x: (x, tf.cast(x % 6 == 0, tf.int32)))
    rare = ds.filter(lambda x, label: label == 1).repeat()
    often = ds.filter(lambda x, label: tf.equal(label, 0)).repeat()
    both = tf.data.Dataset.sample_from_datasets([rare, often], weights=[0.5, 0.5], seed=5)
    return both.batch(6).take(4)


# Sequences of other kinds


@pipeline(close=1e-4)
def speech(tf: Any, folder: Path) -> Any:
    """Words by the name of their folder, as spectrograms of one second."""
    for n, word in enumerate(("yes", "no")):
        (folder / word).mkdir()
        for i in range(3):
            data.write_wav(folder / word / f"{i}.wav", 0.5 + 0.3 * i, 200 + 150 * n + 40 * i)
    commands = tf.constant(["no", "yes"])

    def load(path: Any) -> Any:
        audio, _ = tf.audio.decode_wav(tf.io.read_file(path), desired_channels=1)
        audio = tf.squeeze(audio, axis=-1)[:4000]
        audio = tf.concat([audio, tf.zeros([4000] - tf.shape(audio), dtype=tf.float32)], 0)
        label = tf.strings.split(path, "/")[-2]
        return audio, tf.argmax(label == commands)

    def spectrogram(audio: Any, label: Any) -> Any:
        found = tf.abs(tf.signal.stft(audio, frame_length=255, frame_step=128))
        return found[..., tf.newaxis], label

    files = sorted(str(p) for p in folder.glob("*/*.wav"))
    ds = tf.data.Dataset.from_tensor_slices(files).map(load, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.map(spectrogram).batch(3)


@pipeline()
def episodes(tf: Any, folder: Path) -> Any:
    """Episodes of steps as datasets of datasets: transitions of n steps, with the discounted reward."""

    def episode(n: Any) -> Any:
        count = n + 3
        steps = tf.data.Dataset.range(count).map(
            lambda t: {
                "observation": tf.cast(tf.stack([n, t]), tf.float32),
                "action": tf.cast(t % 2, tf.int32),
                "reward": tf.cast(t, tf.float32),
                "is_last": tf.equal(t, count - 1),
            }
        )
        return {"steps": steps, "episode_id": n}

    def transitions(one: Any) -> Any:
        windows = one["steps"].window(3, shift=1, stride=1, drop_remainder=True)
        batches = windows.flat_map(lambda w: tf.data.Dataset.zip({k: v.batch(3) for k, v in w.items()}))
        return batches.map(
            lambda w: {
                "first": w["observation"][0],
                "last": w["observation"][-1],
                "action": w["action"][0],
                "reward": tf.reduce_sum(w["reward"] * tf.constant([1.0, 0.5, 0.25])),
                "done": tf.reduce_any(w["is_last"]),
            }
        )

    return tf.data.Dataset.range(3).map(episode).flat_map(transitions).batch(4)


@pipeline()
def video_frames(tf: Any, folder: Path) -> Any:
    """Sequences of frames with features of each frame, dequantized and padded."""
    rows = []
    for i in range(4):
        frames = [np.arange(6, dtype=np.uint8) * (i + 1) + 10 * f for f in range(i + 1)]
        lists = {"rgb": tf.train.FeatureList(feature=[data.strings(tf, [f.tobytes()]) for f in frames])}
        context = {"id": data.strings(tf, [b"video %d" % i]), "labels": data.ints(tf, range(i))}
        rows.append(
            tf.train.SequenceExample(
                context=tf.train.Features(feature=context), feature_lists=tf.train.FeatureLists(feature_list=lists)
            ).SerializeToString()
        )
    path = str(folder / "videos")
    with tf.io.TFRecordWriter(path) as writer:
        for row in rows:
            writer.write(row)

    def parse(record: Any) -> Any:
        context, lists = tf.io.parse_single_sequence_example(
            record,
            context_features={"id": tf.io.FixedLenFeature([], tf.string), "labels": tf.io.VarLenFeature(tf.int64)},
            sequence_features={"rgb": tf.io.FixedLenSequenceFeature([], dtype=tf.string)},
        )
        frames = tf.reshape(tf.cast(tf.io.decode_raw(lists["rgb"], tf.uint8), tf.float32), [-1, 6])
        scaled = frames * (4.0 / 255.0) + (4.0 / 512.0 - 2.0)
        labels = tf.cast(tf.sparse.to_dense(tf.sparse.reset_shape(context["labels"], [5])), tf.int32)
        count = tf.minimum(tf.shape(scaled)[0], 3)
        padded = tf.concat([scaled[:3], tf.zeros([3 - count, 6])], 0)
        return context["id"], padded, labels, count

    return tf.data.TFRecordDataset(path).map(parse).batch(2)


@pipeline()
def molecules(tf: Any, folder: Path) -> Any:
    """Graphs of differing size as ragged tensors, merged into one graph per batch."""
    atoms = tf.ragged.constant([[1, 2], [3], [4, 5, 6], [7]], dtype=tf.int32)
    pairs = tf.ragged.constant(
        [[[0, 1], [1, 0]], [[0, 0]], [[0, 1], [1, 2], [2, 0]], [[0, 0]]], ragged_rank=1, dtype=tf.int64
    )

    def merge(graph: Any, label: Any) -> Any:
        features, edges = graph
        count = features.row_lengths()
        edge_count = edges.row_lengths()
        which = tf.repeat(tf.range(tf.shape(count)[0]), tf.cast(count, tf.int32))
        offset = tf.cumsum(count, exclusive=True)
        shift = tf.repeat(offset, edge_count)
        flat = edges.merge_dims(outer_axis=0, inner_axis=1)
        flat = flat.to_tensor() if hasattr(flat, "to_tensor") else flat
        return (features.merge_dims(0, 1), flat + shift[:, None], which), label

    ds = tf.data.Dataset.from_tensor_slices(((atoms, pairs), [0, 1, 0, 1]))
    return ds.batch(2).map(merge)


@pipeline()
def generated_frames(tf: Any, folder: Path) -> Any:
    """A generator with a signature, and pairs of frames."""

    def frames() -> Any:
        for i in range(7):
            yield np.full((4, 5), i, np.uint8), f"frame {i}"

    signature = (tf.TensorSpec(shape=(4, 5), dtype=tf.uint8), tf.TensorSpec(shape=(), dtype=tf.string))
    ds = tf.data.Dataset.from_generator(frames, output_signature=signature)
    later = ds.skip(1)
    pairs = tf.data.Dataset.zip((ds, later))

    def difference(one: Any, two: Any) -> Any:
        image = tf.cast(two[0], tf.int16) - tf.cast(one[0], tf.int16)
        image.set_shape([4, 5])
        return image, tf.strings.join([one[1], two[1]], separator=" > ")

    return pairs.map(difference).batch(4, drop_remainder=True)


@pipeline(close=1e-6)
def estimator_input(tf: Any, folder: Path) -> Any:
    """An `input_fn` of TensorFlow 1."""
    tf1 = tf.compat.v1
    files = data.write_images(tf, folder)

    def parse(serialized: Any) -> Any:
        features = {
            "image/encoded": tf1.FixedLenFeature((), tf.string, ""),
            "image/class/label": tf1.FixedLenFeature([], tf.int64, -1),
        }
        parsed = tf1.parse_single_example(serialized, features)
        image = tf1.image.decode_jpeg(parsed["image/encoded"], 3)
        image = tf1.to_float(tf1.image.resize_images(image, [12, 14], method=tf1.image.ResizeMethod.BILINEAR))
        image = tf1.image.resize_image_with_crop_or_pad(image, 10, 10)
        image.set_shape([10, 10, 3])
        image = tf1.div(tf1.subtract(image, 128.0), 128.0)
        label = tf1.to_int32(parsed["image/class/label"])
        return {"image": image, "flat": tf1.reduce_mean(image, reduction_indices=[0, 1], keep_dims=False)}, label

    def input_fn(batch_size: int) -> Any:
        ds = tf1.data.Dataset.from_tensor_slices(files)
        ds = ds.apply(tf1.data.experimental.parallel_interleave(tf1.data.TFRecordDataset, cycle_length=2, sloppy=False))
        ds = ds.apply(
            tf1.data.experimental.map_and_batch(map_func=parse, batch_size=batch_size, num_parallel_batches=1)
        )
        return ds.prefetch(2)

    return input_fn(4)
