"""Text of varying length: tokens, buckets of similar length, and padded batches.

Padding is wasted work. Buckets reduce it, and batches of short texts can be larger. The model is a PyTorch classifier
on the mean of word embeddings, without the padding.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import feedline as fl

GOOD, BAD = ["good", "great", "fine", "lovely"], ["bad", "poor", "dull", "awful"]
PLAIN = [f"word{i}" for i in range(200)]
VOCABULARY = {word: i + 1 for i, word in enumerate([*GOOD, *BAD, *PLAIN])}  # 0 is the padding
BOUNDARIES = [8, 16, 32, 64]
SIZES = [256, 128, 64, 32, 16]


def invented(count: int, seed: int) -> tuple[list[str], Any]:
    """Made-up reviews of different lengths, and whether they are positive."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 2, count)
    texts = []
    for label in labels:
        words = list(rng.choice(PLAIN, int(rng.lognormal(2.3, 0.9)) + 1))
        for _ in range(1 + len(words) // 8):
            words[rng.integers(len(words))] = str(rng.choice(GOOD if label else BAD))
        texts.append(" ".join(words))
    return texts, labels


def tokens(text: bytes, label: Any) -> tuple[Any, Any]:
    """The word ids of a text."""
    return np.array([VOCABULARY[word] for word in text.decode().split()], np.int64), label


def bucketed(texts: list[str], labels: Any) -> Any:
    """Batches of texts of similar length."""
    return (
        fl.Dataset.from_tensor_slices((texts, labels))
        .shuffle(len(texts), seed=1)
        .map(tokens, num_parallel_calls=fl.AUTOTUNE)
        .bucket_by_sequence_length(lambda text, label: len(text), BOUNDARIES, SIZES)
        .prefetch(fl.AUTOTUNE)
    )


def padded_only(texts: list[str], labels: Any) -> Any:
    """The same without buckets, for comparison."""
    return fl.Dataset.from_tensor_slices((texts, labels)).map(tokens).padded_batch(64, ([None], []))


def padding(batches: Any) -> float:
    """The share of padding in all batches."""
    found = [(np.count_nonzero(text == 0), text.size) for text, _ in batches]
    empty, size = np.sum(found, axis=0)
    return float(empty / size)


class MeanOfWords(torch.nn.Module):
    """A classifier on the mean of word embeddings."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = torch.nn.Embedding(len(VOCABULARY) + 1, 16, padding_idx=0)
        self.output = torch.nn.Linear(16, 1)

    def forward(self, text: torch.Tensor) -> torch.Tensor:
        length = (text != 0).sum(dim=1, keepdim=True)
        return self.output(self.embedding(text).sum(dim=1) / length).squeeze(1)


def main(count: int = 20_000, epochs: int = 4) -> tuple[float, float, list[float]]:
    """Trains; returns the share of padding without and with buckets, and the accuracy during each epoch."""
    torch.manual_seed(0)
    texts, labels = invented(count, seed=0)
    train = bucketed(texts, labels)
    without, with_buckets = padding(padded_only(texts, labels)), padding(train)
    print(f"padding: {without:.0%} of a batch without buckets, {with_buckets:.0%} with them")
    model = MeanOfWords()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    accuracies = []
    for epoch in range(epochs):
        right = 0
        for text, label in train.to_torch():
            scores = model(text)
            optimizer.zero_grad()
            torch.nn.functional.binary_cross_entropy_with_logits(scores, label.float()).backward()
            optimizer.step()
            right += int(((scores > 0) == (label == 1)).sum())
        accuracies.append(right / count)
        print(f"epoch {epoch + 1}/{epochs}: accuracy {accuracies[-1]:.1%}")
    return without, with_buckets, accuracies


if __name__ == "__main__":
    main()
