import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import feedline.tf as tf
from feedline.tf import names


@pytest.mark.parametrize("path", sorted(names.NAMES))
def test_every_name_is_there(path: str) -> None:
    module = importlib.import_module(f"feedline.tf.{path}" if path else "feedline.tf")
    for name in names.public(path):
        assert name in dir(module)
        if name != "newaxis":
            assert getattr(module, name) is not None


def test_ways_to_import() -> None:
    code = """
import feedline.tf.compat.v1 as tf1
from feedline.tf import data, math
from feedline.tf.math import add
import feedline.tf.data.experimental
import feedline.tf as tf
assert tf.math.add is add is math.add and tf.data is data
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_nothing_heavy_is_imported() -> None:
    code = """
import sys, feedline
before = set(sys.modules)
import feedline.tf as tf
new = {m for m in set(sys.modules) - before if not m.startswith("feedline.tf.")}
assert new == {"feedline.tf"}, new
assert "feedline.tf.math_ops" not in sys.modules
tf.reduce_sum([1, 2])
assert not {"tensorflow", "torch", "jax", "scipy"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_missing_names_say_so() -> None:
    with pytest.raises(AttributeError, match=r"feedline.tf has no tf.GradientTape; gradients are"):
        _ = tf.GradientTape
    with pytest.raises(AttributeError, match=r"feedline.tf has no tf.nn.conv2d; this is model code"):
        _ = tf.nn.conv2d
    with pytest.raises(AttributeError, match=r"feedline.tf has no tf.foo; compute it with NumPy"):
        _ = tf.foo
    with pytest.raises(AttributeError, match=r"no tf.image.resise; did you mean tf.image.resize\?"):
        _ = tf.image.resise
    with pytest.raises(AttributeError, match=r"no tf.to_float; it is TensorFlow 1's: tf.compat.v1.to_float"):
        _ = tf.to_float
    with pytest.raises(AttributeError, match=r"no tf.app; it is TensorFlow 1's: tf.compat.v1.app"):
        _ = tf.app
    assert not hasattr(tf, "foo") and not hasattr(tf.math, "__wrapped__")


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("from feedline.tf.keras import layers", "no tf.keras.layers; import keras with the torch or JAX backend"),
        ("from feedline.tf.keras.layers import Dense", "no tf.keras.layers; import keras"),
        ("import feedline.tf.keras.layers", "no tf.keras.layers; import keras"),
        ("from feedline.tf import GradientTape", "no tf.GradientTape; gradients are the training framework's"),
        ("from feedline.tf.io import gfile, read_fil", r"no tf.io.read_fil; did you mean tf.io.read_file\?"),
        ("from feedline.tf.compat.v1 import layers", "no tf.compat.v1.layers; models are the training framework's"),
    ],
)
def test_imports_of_missing_names_say_so(line: str, says: str) -> None:
    with pytest.raises(ImportError, match=says):
        exec(line)


def test_imports_elsewhere_are_as_ever() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'feedline\.foo'"):
        importlib.import_module("feedline.foo")
    with pytest.raises(ImportError, match="cannot import name 'nothing'"):
        exec("from feedline.tf.math_ops import nothing")
    assert importlib.util.find_spec("feedline.foo") is None


def _coverage() -> Any:
    path = Path(__file__).parents[2] / "docs" / "make" / "tf_coverage.py"
    spec = importlib.util.spec_from_file_location("tf_coverage", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_what_public_pipelines_use_is_there() -> None:
    assert _coverage().coverage() >= 0.97


def test_fl_points_to_tf() -> None:
    import feedline as fl

    with pytest.raises(AttributeError, match=r"feedline has no cast; feedline.tf has: import feedline.tf as tf"):
        _ = fl.cast
    with pytest.raises(AttributeError, match="module 'feedline' has no attribute 'foo'"):
        _ = fl.foo


def test_versions_and_spellings() -> None:
    assert tf.__version__ == tf.compat.v1.__version__ == tf.version.VERSION == tf.compat.v1.VERSION == "2.21.0"
    assert tf.compat.v1.bfloat16 == tf.bfloat16 and tf.compat.forward_compatible(2020, 1, 1)
    assert tf.compat.v1.ragged.RaggedTensorValue([1, 2], [0, 2]).to_list() == [[1, 2]]
    assert tf.types.experimental.TensorLike is not None


def test_messages_have_the_line_of_the_caller(caplog: pytest.LogCaptureFixture) -> None:
    logging = tf.compat.v1.logging
    with caplog.at_level("INFO", logger="tensorflow"):
        logging.info("a %s", "b")
        logging.log(logging.INFO, "c")
        logging.vlog(logging.INFO, "d")
        logging.log_if(logging.INFO, "e", True)
        logging.log_every_n(logging.INFO, "f", 1)
        logging.log_first_n(logging.INFO, "g", 1)
    assert [r.getMessage() for r in caplog.records] == ["a b", "c", "d", "e", "f", "g"]
    assert {r.filename for r in caplog.records} == {Path(__file__).name}
