"""How long a GPU waits for its input: `python bench/gpu/train.py [--rounds N]`. Needs a GPU, torch and simplejpeg.

Trains convolutional nets in bfloat16 on generated JPEG images in TFRecord files: images of 256 x 320, random crops of
224 x 224 and flips, batches of 256, pixels sent as bytes and converted on the GPU. The share of time that the GPU waits
is 1 - a / b, where `a` is the time of a step whose batch is already on the GPU and `b` the time of a step.

    feedline     to_torch(device="cuda") with threads, with --processes also a `map` with workers="process"; and as the
                 dataset of a DataLoader, with as many workers
    DataLoader   a map-style dataset that finds the records by an index; pinned memory, persistent workers, the next
                 batch copied ahead on a separate stream; with each of the given numbers of workers

Both call the same function on an image, which decodes it with simplejpeg. They alternate in one process; medians of the
rounds are printed. Workers that are not being measured are idle.
"""

from __future__ import annotations

import argparse
import glob
import itertools
import json
import os
import random
import statistics
import struct
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import simplejpeg
import torch
from torch import nn
from torch.nn import functional

import feedline as fl

HEIGHT, WIDTH, CROP, BATCH, SHARDS = 256, 320, 224, 256, 16
KEPT: dict[str, Any] = {"pin_memory": True, "persistent_workers": True, "prefetch_factor": 4}
FEATURES = {"image": fl.io.FixedLenFeature([], fl.string), "label": fl.io.FixedLenFeature([], fl.int64)}


def write(folder: str, images: int) -> None:
    """Smooth noise as JPEG, about 30 KB each."""
    torch.manual_seed(0)

    def encoded(image: Any) -> bytes:
        return simplejpeg.encode_jpeg(np.ascontiguousarray(image), quality=90)

    with ThreadPoolExecutor(16) as pool:
        for shard in range(SHARDS):
            small = torch.rand(images // SHARDS, 3, HEIGHT // 8, WIDTH // 8, device="cuda")
            large = functional.interpolate(small, size=(HEIGHT, WIDTH), mode="bicubic").clamp(0, 1) * 235
            large = large + 20 * torch.rand_like(large)
            pixels = large.to(torch.uint8).permute(0, 2, 3, 1).cpu().numpy()
            with fl.io.TFRecordWriter(os.path.join(folder, f"{shard:02d}.tfrecord")) as out:
                for number, data in enumerate(pool.map(encoded, pixels)):
                    feature = {
                        "image": fl.train.Feature(bytes_list=fl.train.BytesList(value=[data])),
                        "label": fl.train.Feature(int64_list=fl.train.Int64List(value=[number % 100])),
                    }
                    example = fl.train.Example(features=fl.train.Features(feature=feature))
                    out.write(example.SerializeToString())


def picture(data: bytes) -> Any:
    """A random crop of a JPEG file, flipped at random."""
    pixels = simplejpeg.decode_jpeg(data)
    top, left = random.randrange(HEIGHT - CROP), random.randrange(WIDTH - CROP)
    pixels = pixels[top : top + CROP, left : left + CROP]
    return np.ascontiguousarray(pixels[:, ::-1] if random.random() < 0.5 else pixels)


def dataset(folder: str, calls: int | None, workers: str = "thread") -> Any:
    """The pipeline of the guide."""

    def load(record: Any) -> Any:
        example = fl.io.parse_single_example(record, FEATURES)
        return picture(example["image"]), example["label"]

    files = fl.Dataset.list_files(os.path.join(folder, "*.tfrecord"), seed=1)
    ds = files.interleave(fl.TFRecordDataset, cycle_length=SHARDS, num_parallel_calls=calls)
    ds = ds.shuffle(4096).repeat().map(load, num_parallel_calls=calls, workers=workers)
    return ds.batch(BATCH, drop_remainder=True)


def feedline(folder: str, workers: str) -> Iterator[Any]:
    """feedline in this process, or with calls in worker processes."""
    return iter(dataset(folder, fl.AUTOTUNE, workers).prefetch(fl.AUTOTUNE).to_torch(device="cuda"))


def feedline_in(folder: str, workers: int) -> Iterator[Any]:
    """feedline in the workers of a DataLoader, each of which reads its shard."""
    batches = dataset(folder, None).to_torch()
    return ahead(torch.utils.data.DataLoader(batches, batch_size=None, **KEPT, num_workers=workers))


class Records(torch.utils.data.Dataset):  # type: ignore[misc]
    """Random access to the records of TFRecord files."""

    def __init__(self, folder: str) -> None:
        self.files = sorted(glob.glob(os.path.join(folder, "*.tfrecord")))
        self.places: list[tuple[int, int, int]] = []
        self.opened: dict[int, int] = {}
        for number, name in enumerate(self.files):
            with open(name, "rb") as file:
                at, size = 0, os.path.getsize(name)
                while at < size:
                    file.seek(at)
                    (length,) = struct.unpack("<Q", file.read(8))
                    self.places.append((number, at + 12, length))
                    at += length + 16

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Any:
        number, at, length = self.places[index]
        if number not in self.opened:
            self.opened[number] = os.open(self.files[number], os.O_RDONLY)
        example = fl.io.parse_single_example(os.pread(self.opened[number], length, at), FEATURES)
        return torch.from_numpy(picture(example["image"])), int(example["label"])


def data_loader(folder: str, workers: int) -> Iterator[Any]:
    """The same without feedline."""
    records = Records(folder)
    # Drawn with replacement, so that no epoch ends: at the end its workers would run dry.
    order = torch.utils.data.RandomSampler(records, replacement=True, num_samples=10_000_000)
    return ahead(torch.utils.data.DataLoader(records, BATCH, sampler=order, **KEPT, num_workers=workers))


def ahead(loader: Any) -> Iterator[Any]:
    """The batches of a loader, each copied to the GPU while the one before is used."""
    stream, current = torch.cuda.Stream(), torch.cuda.current_stream()
    waiting = None
    for host in loader:
        with torch.cuda.stream(stream):
            there = [t.to("cuda", non_blocking=True) for t in host]
        ready, waiting = waiting, there
        if ready is not None:
            current.wait_stream(stream)
            for tensor in ready:
                tensor.record_stream(current)
            yield ready


def block(channels: int, wider: int) -> nn.Sequential:
    """A block that halves height and width."""
    layers = [nn.Conv2d(channels, wider, 3, 2, 1, bias=False), nn.BatchNorm2d(wider), nn.ReLU()]
    layers += [nn.Conv2d(wider, wider, 3, 1, 1, bias=False), nn.BatchNorm2d(wider), nn.ReLU()]
    return nn.Sequential(*layers)


class Training:
    """A net of five blocks, its loss and its optimizer."""

    def __init__(self, width: int) -> None:
        sizes = [3, *(width * 2**i for i in range(5))]
        blocks = [block(a, b) for a, b in itertools.pairwise(sizes)]
        self.net = nn.Sequential(*blocks, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(sizes[-1], 100))
        self.net = self.net.cuda().to(memory_format=torch.channels_last)
        self.optimizer = torch.optim.SGD(self.net.parameters(), lr=0.01, momentum=0.9)

    def step(self, batch: Any) -> None:
        """One training step, which the GPU has not finished when this returns."""
        x, y = batch
        x = (x.permute(0, 3, 1, 2).to(torch.bfloat16) - 128) / 64
        with torch.autocast("cuda", torch.bfloat16):
            loss = functional.cross_entropy(self.net(x), y.long())
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()


def milliseconds(training: Training, batches: Iterator[Any], steps: int) -> float:
    """Milliseconds per step, measured between two synchronizations of the GPU."""
    for _ in range(3):
        training.step(next(batches))
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(steps):
        training.step(next(batches))
    torch.cuda.synchronize()
    return (time.perf_counter() - start) / steps * 1e3


def warm(batches: Iterator[Any], steps: int) -> None:
    """Reads batches without using them, until AUTOTUNE has settled."""
    for _ in range(steps):
        next(batches)


def main() -> int:
    """Runs the rounds and prints a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=60)
    parser.add_argument("--workers", default="2,4,8,12,16")
    parser.add_argument("--inside", default="8,16", help="numbers of workers of a DataLoader of feedline's")
    parser.add_argument("--widths", default="48,96,192", help="channels of the first layer, one net for each")
    parser.add_argument("--processes", action="store_true", help="feedline with worker processes too")
    parser.add_argument("--json", help="a file for all figures")
    args = parser.parse_args()
    widths = [int(w) for w in args.widths.split(",")]
    with tempfile.TemporaryDirectory() as folder:
        write(folder, args.images)
        size = sum(os.path.getsize(f) for f in glob.glob(os.path.join(folder, "*"))) / args.images / 1e3
        print(f"{args.images} pictures of {size:.0f} KB", flush=True)
        makers: dict[str, Callable[[], Iterator[Any]]] = {}
        for k in args.workers.split(","):
            makers[f"DataLoader {k}"] = lambda k=k: data_loader(folder, int(k))
        for k in args.inside.split(",") if args.inside else []:
            makers[f"feedline inside {k}"] = lambda k=k: feedline_in(folder, int(k))
        makers["feedline threads"] = lambda: feedline(folder, "thread")
        if args.processes:
            makers["feedline processes"] = lambda: feedline(folder, "process")
        nets = {w: Training(w) for w in widths}
        found: dict[str, dict[int, list[float]]] = {n: {w: [] for w in widths} for n in ["resident", *makers]}
        resident = next(data_loader(folder, 2))
        for number in range(args.rounds):
            for w, net in nets.items():
                found["resident"][w].append(milliseconds(net, itertools.repeat(resident), args.steps))
            for name, make in makers.items():
                # One at a time: an idle one would have batches ready whose cost is not measured.
                batches = make()
                warm(batches, args.steps // 2)
                for w, net in nets.items():
                    found[name][w].append(milliseconds(net, batches, args.steps))
                getattr(batches, "close", lambda: None)()
                del batches
                print(number, name, [f"{found[name][w][-1]:.1f}" for w in widths], flush=True)
    print(f"\n{'':<20}" + "".join(f"{'net of ' + str(w):>24}" for w in widths))
    for name, by_width in found.items():
        line = f"{name:<20}"
        for w, times in by_width.items():
            mine, alone = statistics.median(times), statistics.median(found["resident"][w])
            line += f"{mine:10.1f} ms {max(0.0, 1 - alone / mine):6.1%} wait"
        print(line)
    if args.json:
        with open(args.json, "w") as out:
            json.dump(found, out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
