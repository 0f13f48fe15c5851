"""JPEG files decoded and resized to 224 x 224 by the library's own operations, in batches of 64."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from typing import Any

from bench.versus.jobs import Epochs, Job, Work

BATCH, SIDE = 64, 224

WORKS = [
    Work(
        "jpeg",
        "JPEG 375 x 500 decoded and resized to 224 x 224 by the library's own operations",
        "images/s",
        data="jpeg",
        reads={
            **{"limit_threads": "tfrecord", "feedline": "tfrecord", "tf": "tfrecord"},
            **{"spdl": "files", "mlx": "files", "dali": "files"},
        },
        note="limit: decoded by simplejpeg on bare threads, not resized",
    )
]


def feedline(job: Job) -> Iterable[Any]:
    import feedline as fl

    def prepare(record: Any) -> Any:
        return fl.image.resize(fl.io.decode_jpeg(record, channels=3), [SIDE, SIDE]).astype(fl.uint8)

    ds = fl.TFRecordDataset(job.files, num_parallel_reads=fl.AUTOTUNE).repeat().shuffle(1024, seed=1)
    ds = ds.map(prepare, num_parallel_calls=fl.AUTOTUNE)
    return ds.batch(BATCH, num_parallel_calls=fl.AUTOTUNE).prefetch(fl.AUTOTUNE)


def tf(job: Job) -> Iterable[Any]:
    import tensorflow as tf

    def prepare(record: Any) -> Any:
        return tf.cast(tf.image.resize(tf.io.decode_jpeg(record, channels=3), [SIDE, SIDE]), tf.uint8)

    ds = tf.data.TFRecordDataset(job.files).repeat().shuffle(1024, seed=1)
    ds = ds.map(prepare, num_parallel_calls=tf.data.AUTOTUNE)
    return ds.batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE).as_numpy_iterator()


def spdl(job: Job) -> Iterable[Any]:
    import spdl.io
    from spdl.pipeline import PipelineBuilder

    def paths() -> Iterator[list[str]]:
        files = job.files
        while True:
            random.shuffle(files)
            yield from (files[i : i + BATCH] for i in range(0, len(files), BATCH))

    def load(batch: list[str]) -> Any:
        scale = f"scale=width={SIDE}:height={SIDE}:flags=bilinear,format=pix_fmts=rgb24"
        buffer = spdl.io.load_image_batch(batch, width=None, height=None, pix_fmt=None, filter_desc=scale)
        return spdl.io.to_numpy(buffer)

    builder = PipelineBuilder().add_source(paths()).pipe(load, concurrency=job.cores).add_sink(4)
    pipeline = builder.build(num_threads=job.cores, max_failures=0)
    pipeline.start()
    return pipeline


def mlx(job: Job) -> Iterable[Any]:
    import mlx.data as dx

    files = dx.buffer_from_vector([{"image": path.encode()} for path in job.files])

    def epoch() -> Iterable[Any]:
        ds = files.shuffle().to_stream().load_image("image").image_resize("image", SIDE, SIDE)
        return ds.batch(BATCH).prefetch(8, job.cores)

    return Epochs(epoch)


def dali(job: Job) -> Iterable[Any]:
    from bench.versus.dali import arrays
    from nvidia.dali import fn, pipeline_def, types

    @pipeline_def(batch_size=BATCH, num_threads=job.cores, device_id=None)
    def pipeline() -> Any:
        data, _ = fn.readers.file(files=job.files, random_shuffle=True, initial_fill=1024)
        image = fn.decoders.image(data, device="cpu", output_type=types.RGB)
        return fn.resize(image, resize_x=SIDE, resize_y=SIDE, interp_type=types.INTERP_LINEAR, antialias=False)

    return arrays(pipeline())
