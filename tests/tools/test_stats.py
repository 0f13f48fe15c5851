from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from tests.tools.data import NAMES, damage, many, output, run

import feedline as fl
from feedline.tools.shared.sketches import KEPT, FrequentValues, GrowingHistogram, Moments


@pytest.mark.parametrize("kind", NAMES)
def test_every_format(kind: str, pets: dict[str, Path]) -> None:
    said = json.loads(output("stats", "--json", pets[kind]))
    assert said["records"] == 3
    age = said["features"]["age"]
    if kind == "tar":
        assert age["length"]["max"] == 1
    else:
        assert (age["value"]["min"], age["value"]["mean"], age["value"]["max"]) == (3, 5, 7)
    assert said["features"]["name"]["length"]["min"] == 3
    assert "weight" in output("stats", pets[kind])


def test_distributions(tmp_path: Path) -> None:
    path = tmp_path / "numbers.tfrecord"
    rng = np.random.default_rng(1)
    data = {"x": rng.normal(5, 2, 50_000).astype(np.float32), "label": rng.integers(0, 3, 50_000)}
    fl.io.write_examples(path, {**data, "word": [b"yes" if i % 5 else b"no" for i in range(50_000)]})
    said = json.loads(output("stats", "--json", path))["features"]
    assert said["x"]["value"]["mean"] == pytest.approx(data["x"].mean(), rel=1e-4)
    assert said["x"]["value"]["std"] == pytest.approx(data["x"].std(), rel=1e-4)
    assert sum(said["x"]["histogram"]["counts"]) == 50_000
    assert said["word"]["frequent"] == [{"value": "yes", "count": 40_000}, {"value": "no", "count": 10_000}]
    assert sum(one["count"] for one in said["label"]["frequent"]) == 50_000
    shown = output("stats", path)
    assert "█" in shown
    assert "yes 40,000" in shown
    few = json.loads(output("stats", "--json", "--records", 10, "--features", "label", path))
    assert (few["records"], list(few["features"])) == (10, ["label"])


def test_damage(tmp_path: Path) -> None:
    (path,) = many(tmp_path, 1, 10)
    damage(path, 100)
    said = run("stats", path)
    assert said.returncode == 1
    assert said.stdout.decode().startswith("9 records in 1 file")
    assert "is corrupt" in said.stderr.decode()


def test_a_histogram_grows_in_both_directions() -> None:
    histogram = GrowingHistogram()
    for values in ([0.0, 1.0], [1e6], [-1e9], [np.nan, np.inf], [0.5]):
        histogram.add(np.array(values))
    assert histogram.counts.sum() == 5
    assert histogram.start <= -1e9 < histogram.start + 64 * histogram.width
    assert len(histogram.bars(-1e9, 1e6, 10)) == 10
    same = GrowingHistogram()
    same.add(np.full(10, 3.0))
    assert same.bars(3.0, 3.0, 10) == "█"


@pytest.mark.parametrize("values", [np.arange(2000), np.arange(2000) / 2, np.arange(30_000), np.arange(1, 4)])
def test_an_even_distribution_is_drawn_as_one(values: np.ndarray) -> None:
    histogram = GrowingHistogram()
    for part in np.array_split(values, 5):
        histogram.add(part)
    assert histogram.bars(values[0], values[-1], 10) == "█" * 10


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("values", [[1.7e308, -1.7e308, 0], [1.7e308] * 3, [1e-320, 2e-320], [5, 1.7e308, -1e-320]])
@pytest.mark.parametrize("parts", [1, 3])
def test_extreme_numbers(values: list[float], parts: int) -> None:
    histogram, moments = GrowingHistogram(), Moments()
    for part in np.array_split(np.array(values), parts):
        histogram.add(part)
        moments.add(part)
    assert histogram.counts.sum() == len(values)
    assert "█" in histogram.bars(min(values), max(values), 10)
    assert min(values) <= moments.mean <= max(values) and not np.isnan(moments.deviation)


def test_numbers_near_the_largest_are_no_error(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("x,y\n1.7e308,1\n-1.7e308,2\n1.6e308,3\n")
    assert "1.7e+308" in output("stats", tmp_path / "a.csv")
    assert json.loads(output("stats", tmp_path / "a.csv", "--json"))["features"]["x"]["value"]["std"] == "Infinity"


def test_moments_in_pieces_are_those_of_all() -> None:
    values = np.random.default_rng(2).normal(1e6, 3, 1000)
    moments = Moments()
    for part in np.array_split(values, 7):
        moments.add(part)
    assert moments.mean == pytest.approx(values.mean())
    assert moments.deviation == pytest.approx(values.std())


def test_frequent_values_are_bounded_and_not_missed() -> None:
    sketch = FrequentValues()
    for start in range(0, 20_000, 1000):
        sketch.add([*range(start, start + 1000), *[-1] * 100])
    assert len(sketch) <= KEPT
    (value, count), *_ = sketch.most_common(3)
    assert value == -1
    assert 2000 - sketch.error <= count <= 2000
