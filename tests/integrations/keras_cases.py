"""What `to_keras` must do with any backend: `KERAS_BACKEND=jax python keras_cases.py` runs all of it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

import feedline as fl
import feedline.tf as tf
from feedline.errors import InvalidArgumentError, InvalidTypeError

# Keras itself is imported under the same rule as everything else: a warning is an error.
warnings.simplefilter("error")
warnings.filterwarnings("ignore", category=DeprecationWarning, module="keras")

import keras  # noqa: E402

D = fl.Dataset
X = np.random.default_rng(0).random((40, 3)).astype(np.float32)
Y = X @ np.array([[1.0], [2.0], [-1.0]], np.float32)
ds = D.from_tensor_slices((X, Y)).batch(8)


def model() -> Any:
    keras.utils.set_random_seed(0)
    made = keras.Sequential([keras.Input((3,)), keras.layers.Dense(1)])
    made.compile("sgd", "mse")
    return made


class Steps(keras.callbacks.Callback):
    """Notes what the progress bar is told."""

    def on_train_begin(self, logs: Any = None) -> None:
        self.total = self.params["steps"]


def raised(function: Callable[[], Any], kind: type[Exception]) -> str:
    try:
        function()
    except kind as e:
        return str(e)
    raise AssertionError(f"{kind.__name__} was not raised")


def fit_evaluate_predict() -> None:
    mine, theirs, steps = model(), model(), Steps()
    got = mine.fit(ds.to_keras(), epochs=3, validation_data=ds.to_keras(), verbose=0, callbacks=[steps]).history
    want = theirs.fit(X, Y, batch_size=8, epochs=3, shuffle=False, validation_data=(X, Y), verbose=0).history
    np.testing.assert_allclose(got["loss"], want["loss"], rtol=1e-5)
    np.testing.assert_allclose(got["val_loss"], want["val_loss"], rtol=1e-3)  # of batches of 32 there
    assert steps.total == 5
    np.testing.assert_allclose(mine.evaluate(ds.to_keras(), verbose=0), got["val_loss"][-1], rtol=1e-5)
    np.testing.assert_allclose(mine.predict(ds.to_keras(), verbose=0), theirs.predict(X, verbose=0), rtol=1e-4)
    np.testing.assert_allclose(mine.predict(ds.map(lambda x, y: x).to_keras(), verbose=0), mine.predict(X, verbose=0))


def sample_weights() -> None:
    weights = np.arange(40, dtype=np.float32)
    weighted = D.from_tensor_slices((X, Y, weights)).batch(8)
    got = model().fit(weighted.to_keras(), verbose=0).history["loss"]
    want = model().fit(X, Y, sample_weight=weights, batch_size=8, shuffle=False, verbose=0).history["loss"]
    np.testing.assert_allclose(got, want, rtol=1e-5)


def structures() -> None:
    a, b = keras.Input((3,), name="a"), keras.Input((3,), name="b")
    two = keras.Model({"a": a, "b": b}, keras.layers.Dense(1)(a + b))
    two.compile("sgd", "mse")
    named = D.from_tensor_slices(({"a": X, "b": X}, Y)).batch(8).cache()  # cached batches are read-only
    losses = two.fit(named.to_keras(), epochs=3, verbose=0).history["loss"]
    assert losses[2] < losses[0]


def epochs_of_a_shuffle() -> None:
    seen: list[int] = []
    order = D.range(6).shuffle(6, seed=1)
    wanted = [[int(x) for x in order] for _ in range(2)]

    def row(i: Any) -> Any:
        seen.append(int(i))
        return X[int(i)], Y[int(i)]

    model().fit(D.range(6).shuffle(6, seed=1).map(row).batch(2).to_keras(), epochs=2, verbose=0)
    assert [seen[:6], seen[6:]] == wanted  # Keras' look at a first batch has cost nothing
    seen.clear()
    one = D.range(6).shuffle(6, seed=1).map(row).batch(6).to_keras()  # a single batch is shuffled anew, too
    model().fit(one, epochs=2, verbose=0)
    assert sorted(seen[:6]) == sorted(seen[6:12]) == list(range(6))
    assert seen[-6:] != seen[-12:-6]


def without_end() -> None:
    endless, steps = ds.repeat(), Steps()
    trained = model()
    losses = trained.fit(endless.to_keras(), steps_per_epoch=7, epochs=2, verbose=0, callbacks=[steps]).history["loss"]
    assert len(losses) == 2
    assert steps.total == 7
    trained.evaluate(endless.to_keras(), steps=3, verbose=0)
    assert trained.predict(endless.to_keras(), steps=3, verbose=0).shape == (24, 1)
    trained.fit(ds.to_keras(), validation_data=endless.to_keras(), validation_steps=2, verbose=0)
    for call in (
        lambda: trained.fit(endless.to_keras(), verbose=0),
        lambda: trained.evaluate(endless.to_keras(), verbose=0),
        lambda: trained.predict(endless.to_keras(), verbose=0),
        lambda: trained.fit(ds.to_keras(), validation_data=endless.to_keras(), verbose=0),
    ):
        assert "the dataset is infinite" in raised(call, InvalidArgumentError)


def steps_go_on_in_the_next_epoch() -> None:
    seen: list[float] = []
    counted = D.range(6).map(lambda i: (seen.append(int(i)), (X[int(i)], Y[int(i)]))[1]).batch(1)
    model().fit(counted.to_keras(), steps_per_epoch=3, epochs=2, verbose=0)
    assert seen[:6] == [0, 1, 2, 3, 4, 5]


def unknown_length() -> None:
    some = ds.filter(lambda x, y: bool(np.all(x < 2)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Your input ran out of data")
        losses = model().fit(some.to_keras(), epochs=2, verbose=0).history["loss"]
    np.testing.assert_allclose(losses, model().fit(ds.to_keras(), epochs=2, verbose=0).history["loss"], rtol=1e-5)
    told = some.apply(fl.experimental.assert_cardinality(5))
    assert told.to_keras().num_batches == 5
    model().fit(told.to_keras(), epochs=2, verbose=0)


def bad_input() -> None:
    trained = model()
    strings = D.from_tensor_slices({"x": X, "name": ["a"] * 40}).batch(8)
    assert "to_keras: the leaf $.name holds strings" in raised(strings.to_keras, InvalidTypeError)
    late = ds.map(lambda x, y: (x, str(len(x)))).to_keras()
    assert "the leaf $[1] holds strings" in raised(lambda: trained.fit(late, verbose=0), InvalidTypeError)
    rows = D.from_tensor_slices((X, Y[:, 0]))
    assert "add batch(n) at the end" in raised(rows.to_keras, InvalidArgumentError)
    later = rows.map(lambda x, y: (x, float(y))).to_keras()  # its spec is known only once it runs
    assert "add batch(n) at the end" in raised(lambda: model().fit(later, verbose=0), InvalidArgumentError)
    text = raised(lambda: trained.fit(ds.to_keras(), class_weight={0: 1.0}, verbose=0), InvalidArgumentError)
    assert "class_weight is not applied to a dataset" in text
    for beside in ({"y": Y}, {"sample_weight": Y[:, 0]}):
        for call in (trained.fit, trained.evaluate):
            text = raised(partial(call, ds.to_keras(), **beside, verbose=0), InvalidArgumentError)
            assert f"to_keras: {next(iter(beside))} is not used with a dataset" in text
    for nothing in (ds.take(0), ds.filter(lambda x, y: bool(np.all(x > 2)))):
        for call in (model().fit, model().evaluate, model().predict):
            text = raised(partial(call, nothing.to_keras(), verbose=0), InvalidArgumentError)
            assert "to_keras: the dataset has no batches" in text
    for given in (ds, tf.data.Dataset.range(3)):
        for call in (trained.fit, trained.evaluate, trained.predict):
            assert raised(partial(call, given, verbose=0), ValueError).startswith("to_keras() is missing: write")
    assert f"{ds}" == str(ds) and f"{ds:>300}" == str(ds).rjust(300)


CASES = (
    *(fit_evaluate_predict, sample_weights, structures, epochs_of_a_shuffle, without_end),
    *(steps_go_on_in_the_next_epoch, unknown_length, bad_input),
)

if __name__ == "__main__":
    for case in CASES:
        case()
        print(case.__name__)
