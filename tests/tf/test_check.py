import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import feedline.tf as tf
from feedline.tf import notes
from feedline.tf.check import Checked, check_notebook, check_source, report, run

SCRIPT = """
import tensorflow as tf
import tensorflow_datasets as tfds
from tensorflow import keras
from tensorflow.keras import layers
from tensorflow import data as tfd
import tensorflow_addons as tfa

L = tf.keras.layers
AUTOTUNE = tf.data.AUTOTUNE


def parse(line):
    x = tf.nn.dilation2d(tf.cast(line, tf.float32))
    return tfa.image.rotate(x, 1), tf.random.uniform([2], minval=1)


def hidden(tfd, tf=None):
    return tfd.foo, tf.bar


ds = tfd.TFRecordDataset("a").map(parse, num_parallel_calls=AUTOTUNE).with_nothing()
ds = ds.batch(2, drop_remainder=True)
model = keras.Sequential([layers.Dense(3), L.Conv2D(3, 3)])
train = tfds.load("mnist", split="train")
with tf.GradientTape() as tape:
    pass
"""


def kinds(checked: Checked) -> dict[str, str]:
    return {f.name: f.kind for f in checked.findings}


def test_a_script() -> None:
    checked = check_source(SCRIPT, "train.py")
    assert kinds(checked) == {
        "tensorflow_addons": "missing",
        "tf.data.Dataset.with_nothing": "missing",
        "tf.nn.dilation2d": "missing",
        "tf.random.uniform": "differs",
        "tfds.load": "differs",
        "tf.GradientTape": "model",
        "tf.keras.Sequential": "model",
        "tf.keras.layers": "model",
        "tf.keras.layers.Conv2D": "model",
        "tf.keras.layers.Dense": "model",
        "tf.cast": "runs",
        "tf.data.AUTOTUNE": "runs",
        "tf.data.Dataset.batch": "runs",
        "tf.data.Dataset.map": "runs",
        "tf.data.TFRecordDataset": "runs",
        "tf.float32": "runs",
    }
    by_name = {f.name: f for f in checked.findings}
    assert by_name["tf.nn.dilation2d"].note == "scipy.ndimage.grey_dilation takes tensors"
    assert [p.line for p in by_name["tf.nn.dilation2d"].places] == [14]
    assert [i.instead for i in checked.imports] == [
        "import feedline.tf as tf",
        "from feedline import tfds",
        "import keras",
        "from keras import layers",
        "from feedline.tf import data as tfd",
    ]


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("import tensorflow", "import feedline.tf as tensorflow"),
        ("import tensorflow.compat.v1 as tf", "import feedline.tf.compat.v1 as tf"),
        ("from tensorflow.compat import v1 as tf", "from feedline.tf.compat import v1 as tf"),
        ("import tensorflow.keras.layers as l", "import keras.layers as l"),
        ("from tensorflow import io, keras", "from feedline.tf import io; import keras"),
        ("from tensorflow.keras.utils import pad_sequences", "from feedline.tf.keras.utils import pad_sequences"),
        (
            "from keras.utils import image_dataset_from_directory as f, to_categorical",
            "from feedline.keras.utils import image_dataset_from_directory as f",
        ),
        ("from tensorflow_datasets import as_numpy", "from feedline.tfds import as_numpy"),
    ],
)
def test_imports(line: str, instead: str) -> None:
    assert [i.instead for i in check_source(line).imports] == [instead]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import tensorflow.compat.v1 as tf; tf.gfile.Exists('a')", {"tf.compat.v1.gfile.Exists": "runs"}),
        ("import tensorflow as tf; tf.gfile.Exists('a')", {"tf.gfile.Exists": "differs"}),
        ("import tensorflow as tf; tf.image.resize(x, [1, 2], nothing=1)", {"tf.image.resize(nothing=)": "missing"}),
        ("from tensorflow import image; image.resize", {"tf.image.resize": "runs"}),
        ("from tensorflow.image import resize as r; r(x, 1)", {"tf.image.resize": "runs"}),
        ("from tensorflow.python.ops import array_ops; array_ops.x", {"tf.python.ops.array_ops.x": "missing"}),
        ("import keras; keras.utils.pad_sequences", {"keras.utils.pad_sequences": "runs"}),
        ("import keras; keras.layers.Dense(3)", {}),
        ("import tensorflow as tf; tf.keras.utils.to_categorical(x)", {"tf.keras.utils.to_categorical": "model"}),
        ("import feedline.tf as tf; tf.cast(1, 'int64')", {"tf.cast": "runs"}),
        ("def f():\n    import tensorflow as tf\n    return tf.zeros(3)", {"tf.zeros": "runs"}),
        ("import tensorflow as tf\nx: tf.Tensor = f()", {"tf.Tensor": "runs"}),
        ("import numpy as tf; tf.cast", {}),
        ("it = d.make_one_shot_iterator()", {"tf.data.Dataset.make_one_shot_iterator": "differs"}),
        (
            "import tensorflow.compat.v1 as tf; d.make_one_shot_iterator()",
            {"tf.compat.v1.data.Dataset.make_one_shot_iterator": "runs"},
        ),
        ("import tensorflow.compat.v2 as tf; tf.enable_v2_behavior()", {"tf.enable_v2_behavior": "runs"}),
        ("import tensorflow.compat.v2 as tf; tf.keras.layers.Dense", {"tf.keras.layers.Dense": "model"}),
        ("import tensorflow as tf; tf.layers.dense(x, 3)", {"tf.layers.dense": "model"}),
        ("import tensorflow_datasets.public_api as tfds; tfds.load('a')", {"tfds.load": "differs"}),
    ],
)
def test_names(code: str, expected: dict[str, str]) -> None:
    found = kinds(check_source(code))
    assert expected.items() <= found.items()
    assert bool(found) == bool(expected)


def test_a_variable_that_is_no_longer_a_dataset() -> None:
    code = "import tensorflow as tf\nds = tf.data.Dataset.range(3)\nds = next(iter(ds))\nds.numpy(), ds.map(len)"
    assert kinds(check_source(code)) == {"tf.data.Dataset.map": "runs", "tf.data.Dataset.range": "runs"}


@pytest.mark.parametrize(
    "code",
    ["ds.make_one_shot_iterator().get_next()", "ds.reduce(0, f).numpy()", "ds.take(3).cardinality().numpy()"],
)
def test_what_is_no_dataset_has_other_methods(code: str) -> None:
    found = kinds(check_source(f"import tensorflow as tf\nds = tf.data.Dataset.range(3)\n{code}"))
    assert set(found.values()) <= {"runs", "differs"}


def test_a_notebook() -> None:
    source = ["%matplotlib inline\n", "!pip install tensorflow\n", "import tensorflow as tf\n", "tf.cast?\n"]
    cells = [
        {"cell_type": "markdown", "source": "# tf.foo"},
        {"cell_type": "code", "source": source},
        {"cell_type": "code", "source": "%%bash\ntf.foo"},
        {"cell_type": "code", "source": "x = (\n"},
        {"cell_type": "code", "source": "\ntf.zeros(3)"},
    ]
    checked = check_notebook(json.dumps({"cells": cells}))
    assert [(f.name, [str(p) for p in f.places]) for f in checked.findings] == [("tf.zeros", ["4:2"])]
    assert len(checked.problems) == 1 and checked.problems[0].startswith("line 3:1 is not Python: ")
    wrong = '{"cells": [{"cell_type": "code", "source": 3}]}'
    for odd in ("", "[]", "[" * 100_000, '{"cells": 3}', '{"cells": [{}]}', wrong):
        assert check_notebook(odd).problems[0].startswith("not a notebook")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text("import tensorflow as tf\ntf.cast(1, tf.int64)")
    bad.write_bytes(b"\xff\xfe not python (")
    assert run([str(good)]) == 0
    capsys.readouterr()
    assert run([str(good), str(bad), str(tmp_path / "none.py")]) == 2
    shown = capsys.readouterr()
    assert "is not Python" in shown.out and "none.py" in shown.err
    good.write_text(SCRIPT)
    assert run([str(good)], as_json=True) == 1
    made = json.loads(capsys.readouterr().out)
    assert made["summary"] == {"missing": 3, "differs": 2, "model": 5, "runs": 6}
    assert made["files"][0]["findings"][0]["places"] == [{"line": 15, "cell": None}]
    command = [sys.executable, "-m", "feedline.tf", "check", str(good)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1 and "16 names: 6 run, 2 differ, 3 missing, 5 of the model" in done.stdout


def test_names_of_files_do_not_reach_the_terminal_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    odd = tmp_path / "\x1b[2Jé.py"
    odd.write_text("import tensorflow as tf")
    assert run([str(odd), f"{odd}x"]) == 2
    said = capsys.readouterr()
    assert "\\x1b[2Jé.py: 0 names" in said.out and "\x1b" not in said.out + said.err


def test_many_places_are_cut_short() -> None:
    text = "import tensorflow as tf\n" + "tf.device\n" * 20
    assert "tf.device  lines 2, 3, 4, 5, 6, 7, 8, 9 and 12 more" in report(check_source(text))


def present(name: str) -> bool:
    found: object = tf
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is not None


@pytest.mark.parametrize("name", [n for n in notes.MISSING | notes.MODEL if "." in n])
def test_notes_for_missing_names_are_of_missing_names(name: str) -> None:
    namespaces = {"compat.v1.train", "keras.preprocessing", "keras.utils"}
    assert name in namespaces or not present(name)


@pytest.mark.parametrize("name", notes.DIFFERS)
def test_notes_for_names_that_are_here_are_of_such_names(name: str) -> None:
    assert present(name)


def test_what_notes_recommend_is_here() -> None:
    for name, note in {**notes.MISSING, **notes.MODEL, **notes.DIFFERS}.items():
        for said in re.findall(r"\btf\.((?:\w+\.)*\w+)", note):
            assert present(said), f"the note for {name} recommends tf.{said}"
