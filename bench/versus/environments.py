"""The environment of each peer: pinned packages, in a virtual environment that is created on first use."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "build" / "versus"


@dataclass(frozen=True)
class Peer:
    """A library that is compared."""

    label: str
    environment: str
    distribution: str
    """The package whose installation is weighed."""
    link: str = ""


PEERS = {
    "feedline": Peer("feedline", "feedline", "feedline"),
    "tf": Peer("tf.data", "tf", "tensorflow-cpu", "https://www.tensorflow.org/guide/data_performance"),
    "grain": Peer("Grain", "grain", "grain", "https://google-grain.readthedocs.io"),
    "torch": Peer("torch DataLoader", "torch", "torch", "https://docs.pytorch.org/docs/stable/data.html"),
    "torchdata": Peer("torchdata", "torch", "torchdata", "https://meta-pytorch.org/data"),
    "spdl": Peer("SPDL", "spdl", "spdl", "https://facebookresearch.github.io/spdl"),
    "mlx": Peer("mlx-data", "mlx", "mlx-data", "https://ml-explore.github.io/mlx-data"),
    "wds": Peer("webdataset", "torch", "webdataset", "https://github.com/webdataset/webdataset"),
    "hf": Peer("HF datasets", "torch", "datasets", "https://huggingface.co/docs/datasets/use_with_pytorch"),
    "litdata": Peer("LitData", "torch", "litdata", "https://github.com/Lightning-AI/litdata"),
    "streaming": Peer("Streaming", "streaming", "mosaicml-streaming", "https://docs.mosaicml.com/projects/streaming"),
    "ray": Peer("Ray Data", "ray", "ray", "https://docs.ray.io/en/latest/data/data.html"),
    "dali": Peer("DALI", "dali", "nvidia-dali-cuda120", "https://docs.nvidia.com/deeplearning/dali"),
    "limit": Peer("limit", "limits", ""),
}
"""The part of an implementation's name before the first underscore names its peer."""

IMAGES = "simplejpeg==1.9.0"
TORCH = "torch==2.13.0"
REQUIREMENTS = {
    "tf": ["tensorflow-cpu==2.21.0", IMAGES],
    "grain": ["grain==0.2.18", IMAGES],
    "torch": [
        *(TORCH, "torchdata==0.11.0", "webdataset==1.0.2", "datasets==5.2.0", "litdata==0.2.76"),
        *("protobuf==7.36.2", IMAGES),
    ],
    "spdl": ["spdl==0.8.0", IMAGES],
    "mlx": ["mlx-data==0.1.0", IMAGES],
    "streaming": [TORCH, "torchvision==0.28.0", "mosaicml-streaming==0.13.0", IMAGES],
    "ray": ["ray[data]==2.60.0", "aiohttp==3.14.5", IMAGES],
    "dali": ["nvidia-dali-cuda120==2.4.0"],
    "limits": ["numpy==2.4.6", "crc32c==2.9.post0", "isal==1.8.0", IMAGES],
    "plot": ["matplotlib==3.11.2"],
}
"""The packages of each environment. CPU builds are enough: nothing here uses a GPU (DALI has only CUDA builds, which
decode on the CPU too)."""


def peer_name(implementation: str) -> str:
    """The peer that an implementation belongs to: `torch_workers` to `torch`."""
    return implementation.partition("_")[0]


def label(implementation: str) -> str:
    """The implementation as tables and charts show it."""
    peer, _, variant = implementation.partition("_")
    if peer == "limit":
        return f"limit: {variant}"
    return f"{PEERS[peer].label} ({variant})" if variant else PEERS[peer].label


class Interpreters:
    """The interpreter of each environment: given ones, the running one for feedline, and those that pip creates."""

    def __init__(self, given: dict[str, str], install: bool = True) -> None:
        self._given = given
        self._install = install

    def find(self, peer: str) -> str | None:
        """The interpreter of a peer; creates its environment if necessary. None if that is not wanted or fails."""
        environment = PEERS[peer].environment
        if found := self._given.get(peer) or self._given.get(environment):
            return found
        if environment == "feedline":
            return sys.executable
        return self.environment(environment) or (sys.executable if peer == "limit" else None)

    def environment(self, name: str) -> str | None:
        """The interpreter of an environment by its name."""
        if name in self._given:
            return self._given[name]
        folder = FOLDER / "envs" / name
        python, stamp = folder / "bin" / "python", folder / ".installed"
        pinned = "\n".join(REQUIREMENTS[name])
        if stamp.exists() and stamp.read_text() == pinned:
            return str(python)
        if not self._install:
            return None
        print(f"== environment: {name} ({', '.join(REQUIREMENTS[name])})", flush=True)
        venv.create(folder, with_pip=True, clear=True)
        command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *REQUIREMENTS[name]]
        if subprocess.run(command).returncode != 0:
            print(f"   not installed: {name} is left out", flush=True)
            return None
        stamp.write_text(pinned)
        return str(python)
