"""Two trainers of Ray Train share a pool of feedline's workers; one of them is killed, and training goes on exactly.

Each trainer reads its shard of the records. The functions run in the pool, on any machine of the cluster. A checkpoint
of Ray Train holds the model and the position of each trainer's iterator, a few kilobytes. When a trainer dies, Ray
Train starts both again from the last checkpoint, and no record is used twice or left out.

    python examples/ray_train.py
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import feedline as fl

TRAINERS, FEATURES = 2, 8


def write_records(folder: Path, rows: int) -> list[str]:
    """Rows of a linear function, with their number."""
    rng = np.random.default_rng(0)
    truth = np.arange(1.0, FEATURES + 1)
    names = [str(folder / f"rows-{i}.tfrecord") for i in range(4)]
    for i, name in enumerate(names):
        with fl.io.TFRecordWriter(name) as writer:
            for number in range(i, rows, len(names)):
                x = rng.normal(size=FEATURES)
                writer.write(np.array([number, *x, x @ truth], np.float64).tobytes())
    return names


def decoded(record: bytes) -> dict[str, Any]:
    """A record as features, target and number."""
    row = np.frombuffer(record)
    return {"number": np.int64(row[0]), "x": row[1:-1].astype(np.float32), "y": row[-1:].astype(np.float32)}


def train(config: dict[str, Any]) -> None:
    """The loop of one trainer."""
    import ray.train
    import ray.train.torch
    import torch

    context = ray.train.get_context()
    rank, trainers = context.get_world_rank(), context.get_world_size()
    model = ray.train.torch.prepare_model(torch.nn.Linear(FEATURES, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    pool = fl.RayWorkers(count=2, num_cpus=0.5, name=config["pool"])
    ds = fl.TFRecordDataset(config["files"]).shuffle(500, seed=1).shard(trainers, rank)
    ds = ds.map(decoded).batch(config["batch"], drop_remainder=True).distribute(pool)
    it, used = iter(ds), np.empty(0, np.int64)

    checkpoint = ray.train.get_checkpoint()
    if checkpoint is not None:
        with checkpoint.as_directory() as folder:
            model.load_state_dict(torch.load(f"{folder}/model.pt"))
            it.restore(Path(folder, f"position-{rank}").read_bytes())
            used = np.load(f"{folder}/used-{rank}.npy")

    for step, batch in enumerate(it, len(used) // config["batch"]):
        if step == config["die_at"] and rank == 1 and checkpoint is None:
            os.kill(os.getpid(), signal.SIGKILL)
        loss = torch.nn.functional.mse_loss(model(torch.from_numpy(batch["x"])), torch.from_numpy(batch["y"]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        used = np.concatenate([used, batch["number"]])
        if step % config["save_every"] == config["save_every"] - 1:
            with tempfile.TemporaryDirectory() as folder:
                if rank == 0:
                    torch.save(model.state_dict(), f"{folder}/model.pt")
                Path(folder, f"position-{rank}").write_bytes(it.save())
                np.save(f"{folder}/used-{rank}.npy", used)
                made = ray.train.Checkpoint.from_directory(folder)
                ray.train.report({"loss": loss.item(), "step": step}, checkpoint=made)
    it.close()


def main(rows: int = 4000, batch: int = 50, save_every: int = 5, die_at: int = 12) -> tuple[float, list[int]]:
    """Trains, and gives the last loss and the numbers of all records used."""
    import ray
    import ray.train
    import ray.train.torch

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = {
            "files": write_records(folder, rows), "batch": batch, "save_every": save_every, "die_at": die_at,
            "pool": f"trainers-{os.getpid()}",
        }
        trainer = ray.train.torch.TorchTrainer(
            train,
            train_loop_config=config,
            scaling_config=ray.train.ScalingConfig(num_workers=TRAINERS, resources_per_worker={"CPU": 1}),
            run_config=ray.train.RunConfig(
                name="example", storage_path=name, failure_config=ray.train.FailureConfig(max_failures=2)
            ),
        )
        result = trainer.fit()
        with result.checkpoint.as_directory() as kept:
            used = [int(n) for rank in range(TRAINERS) for n in np.load(f"{kept}/used-{rank}.npy")]
            sizes = [os.path.getsize(f"{kept}/position-{rank}") for rank in range(TRAINERS)]
        once = sorted(used) == list(range(rows))
        print(f"loss {result.metrics['loss']:.4f}; one trainer was killed; every record used once: {once}")
        print(f"positions of {sizes[0]:,} and {sizes[1]:,} bytes")
        return float(result.metrics["loss"]), used


if __name__ == "__main__":
    import ray

    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    ray.init(address="local", num_cpus=4, include_dashboard=False, log_to_driver=False, logging_level="error")
    loss, used = main()
    ray.shutdown()
    sys.exit(0 if loss < 0.01 and len(set(used)) == len(used) else 1)
