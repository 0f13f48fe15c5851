"""A PyTorch loop with a custom loss, a custom metric, modified gradients and two optimizers.

A wide and deep model: the linear part, from input to output, is trained with SGD, the deep part with Adam. `to_torch`
yields tensors that share their memory with the batches.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import feedline as fl


class WideAndDeep(torch.nn.Module):
    """A linear part and a deep part, added up."""

    def __init__(self, features: int, hidden: int = 32) -> None:
        super().__init__()
        self.wide = torch.nn.Linear(features, 1)
        self.deep = torch.nn.Sequential(
            torch.nn.Linear(features, hidden), torch.nn.ReLU(), torch.nn.Linear(hidden, 1, bias=False)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (self.wide(x) + self.deep(x)).squeeze(1)


def huber(predicted: torch.Tensor, wanted: torch.Tensor, threshold: float = 1.0) -> torch.Tensor:
    """The Huber loss: quadratic for small errors, linear for large ones, so that outliers matter less."""
    error = (predicted - wanted).abs()
    return torch.where(error < threshold, error**2 / 2, threshold * (error - threshold / 2)).mean()


class ShareWithin:
    """A streaming metric: the share of predictions whose error is below a tolerance."""

    def __init__(self, tolerance: float) -> None:
        self.tolerance, self.good, self.seen = tolerance, 0, 0

    def update(self, predicted: torch.Tensor, wanted: torch.Tensor) -> None:
        self.good += int(((predicted - wanted).abs() < self.tolerance).sum())
        self.seen += len(wanted)

    def result(self) -> float:
        return self.good / max(1, self.seen)


def centred(gradient: torch.Tensor) -> torch.Tensor:
    """The gradient of a weight matrix minus the mean of each row, which stabilizes training."""
    return gradient - gradient.mean(dim=1, keepdim=True) if gradient.ndim > 1 else gradient


def wild_data(rows: int, features: int, seed: int) -> tuple[Any, Any]:
    """A nonlinear function, with one outlier in fifty values."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((rows, features)).astype(np.float32)
    y = x @ np.linspace(-1, 1, features, dtype=np.float32) + np.abs(x[:, 0]) + np.maximum(x[:, 1], 0)
    y[rng.random(rows) < 0.02] += 50
    return x, y.astype(np.float32)


def main(rows: int = 20_000, features: int = 8, epochs: int = 5) -> list[tuple[float, float]]:
    """Trains; returns the loss and the metric of each epoch."""
    torch.manual_seed(0)
    train = (
        fl.Dataset.from_tensor_slices(wild_data(rows, features, seed=1))
        .shuffle(rows, seed=2)
        .batch(64, drop_remainder=True)
        .prefetch(fl.AUTOTUNE)
    )
    model = WideAndDeep(features)
    optimizers = [
        torch.optim.SGD(model.wide.parameters(), lr=0.05),
        torch.optim.Adam(model.deep.parameters(), lr=0.005),
    ]
    history = []
    for epoch in range(epochs):
        metric, losses = ShareWithin(0.25), []
        for x, y in train.to_torch():
            predicted = model(x)
            loss = huber(predicted, y)
            loss.backward()
            for parameter in model.parameters():
                parameter.grad = centred(parameter.grad)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            for optimizer in optimizers:
                optimizer.step()
                optimizer.zero_grad()
            losses.append(loss.item())
            metric.update(predicted.detach(), y)
        history.append((float(np.mean(losses)), metric.result()))
        print(f"epoch {epoch + 1}/{epochs}: loss {history[-1][0]:.3f}, {history[-1][1]:.1%} within 0.25")
    return history


if __name__ == "__main__":
    main()
