from pathlib import Path
from typing import Any

import numpy as np
import pytest

import feedline.tf as tf
from feedline.errors import InvalidArgumentError


@pytest.fixture(autouse=True)
def _unseeded() -> object:
    yield
    tf.random.set_seed(None)


def drawn(parallel: int | None = None) -> list[float]:
    tf.random.set_seed(7)
    ds = tf.data.Dataset.range(20).map(
        lambda x: tf.random.uniform([]) + tf.cast(x, tf.float32) * 0 + tf.random.normal([], seed=3), parallel
    )
    return [x.numpy().item() for x in ds]


def test_elements_draw_the_same_numbers_in_any_thread() -> None:
    assert drawn() == drawn() == drawn(4)
    assert len(set(drawn())) == 20


def test_epochs_differ() -> None:
    tf.random.set_seed(1)
    ds = tf.data.Dataset.range(5).map(lambda x: tf.random.uniform([]))
    assert [x.numpy() for x in ds] != [x.numpy() for x in ds]


def test_calls_outside_of_functions_go_on() -> None:
    tf.random.set_seed(5)
    first = [tf.random.uniform([], seed=2).numpy() for _ in range(3)]
    tf.random.set_seed(5)
    assert [tf.random.uniform([], seed=2).numpy() for _ in range(3)] == first and len(set(first)) == 3


def test_distributions() -> None:
    tf.random.set_seed(9)
    x = tf.random.normal([20000], 3.0, 2.0).numpy()
    assert abs(x.mean() - 3) < 0.1 and abs(x.std() - 2) < 0.1
    x = tf.random.uniform([20000], 2, 7, tf.int32).numpy()
    assert set(x) == {2, 3, 4, 5, 6} and abs(np.mean(x) - 4) < 0.1
    x = tf.random.gamma([20000], 2.0, 4.0).numpy()
    assert abs(x.mean() - 0.5) < 0.05
    x = tf.random.poisson([20000], 3.0).numpy()
    assert abs(x.mean() - 3) < 0.1
    x = tf.random.categorical(np.log([[0.5, 0.25, 0.25]]), 20000).numpy()
    assert abs((x == 0).mean() - 0.5) < 0.02
    assert sorted(tf.random.shuffle(tf.range(50)).numpy()) == list(range(50))


def test_crops_and_flips_are_inside() -> None:
    tf.random.set_seed(3)
    image = np.arange(300).reshape(10, 10, 3)
    seen = {tf.image.random_crop(image, [4, 4, 3]).numpy()[0, 0, 0] for _ in range(60)}
    assert len(seen) > 10
    flips = {tf.image.random_flip_left_right(image).numpy()[0, 0, 0] for _ in range(30)}
    assert flips == {0, 27}
    for _ in range(20):
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            [50, 60, 3], tf.zeros([1, 0, 4]), use_image_if_no_bounding_boxes=True
        )
        top, left, tall, wide = *begin.numpy()[:2], *size.numpy()[:2]
        assert top >= 0 and top + tall <= 50 and left >= 0 and left + wide <= 60


def test_numbers_drawn_up_to_a_tensor_are_indices() -> None:
    x = tf.constant([5.0, 7.0])
    ds = tf.data.Dataset.range(4).map(lambda _: x[tf.random.uniform([], 0, tf.shape(x)[0], dtype=tf.int32)])
    assert {float(v) for v in ds} <= {5.0, 7.0}
    assert x[tf.random.uniform([], 1, tf.constant(2), dtype=tf.int32)].numpy() == 7


def test_generators_draw_in_datasets_as_in_tensorflow() -> None:
    """The numbers are those that TensorFlow 2.21 draws; the state goes on from one epoch to the next."""
    rng = tf.random.Generator.from_seed(123, alg="philox")

    def drawn(x: tf.Tensor) -> Any:
        seed = rng.make_seeds(1)[:, 0]
        return x, tf.random.stateless_uniform([2], seed), rng.uniform([], 0, 1000, tf.int32)

    ds = tf.data.Dataset.range(2).map(drawn)
    assert ds.element_spec[1:] == (tf.TensorSpec([2], tf.float32), tf.TensorSpec([], tf.int32))
    assert rng.state.numpy().tolist() == [123, 0, 0]
    first, second = list(ds), list(ds)
    assert [int(e[2]) for e in first + second] == [37, 929, 257, 17]
    np.testing.assert_allclose(first[0][1].numpy(), [0.02796042, 0.77933514], 1e-6)
    assert rng.state.numpy().tolist() == [123 + 4 * 512, 0, 0]


def test_generators_are_saved_and_refuse_other_states(tmp_path: Path) -> None:
    rng = tf.random.Generator.from_seed(5)
    saved = tf.train.Checkpoint(rng=rng).save(str(tmp_path / "at"))
    expected = rng.normal([3]).numpy().tolist()
    tf.train.Checkpoint(rng=rng).restore(saved)
    assert rng.normal([3]).numpy().tolist() == expected
    with pytest.raises(InvalidArgumentError, match="has 3 numbers, got 2"):
        tf.random.Generator.from_state([1, 2], "philox")
    with pytest.raises(ValueError, match="either copy_from, or state"):
        tf.random.Generator()
    with pytest.raises(InvalidArgumentError, match="alg must be 'philox'"):
        tf.random.Generator.from_seed(1, "other")
