"""`tf.flags` and `tf.app` of TensorFlow 1, in scripts of their own: flags are global."""

import subprocess
import sys
from pathlib import Path

import pytest

import feedline.tf as tf
from feedline.tf.check import check_source

SCRIPT = """
import feedline.tf.compat.v1 as tf

flags = tf.flags
assert tf.app.flags is flags
FLAGS = flags.FLAGS
flags.DEFINE_string("input_file", None, "where to read")
flags.DEFINE_bool(flag_name="do_lower_case", default_value=True, docstring="lower case")
flags.DEFINE_integer("size", 5, "how many")
flags.DEFINE_list("layers", "1,2", "which")
print(FLAGS.is_parsed(), "size" in FLAGS, "sizes" in FLAGS, __file__ in FLAGS.flags_by_module_dict())
"""
MAIN = """
def main(rest):
    FLAGS.size += 1
    print(rest[1:], FLAGS.input_file, FLAGS.do_lower_case, FLAGS.size, FLAGS["size"].value, FLAGS.layers)

if __name__ == "__main__":
    flags.mark_flag_as_required("input_file")
    tf.app.run()
"""


def run(path: Path, text: str, *arguments: str) -> tuple[int, list[str], str]:
    path.write_text(text)
    done = subprocess.run([sys.executable, str(path), *arguments], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines(), done.stderr


def test_main_with_flags(tmp_path: Path) -> None:
    status, printed, _ = run(
        tmp_path / "a.py", SCRIPT + MAIN, "--input_file=x", "--nodo_lower_case", "rest", "--size=7", "--unknown=1"
    )
    assert status == 0
    assert printed == ["False True False True", "['rest', '--unknown=1'] x False 8 8 ['1', '2']"]


def test_required_flag(tmp_path: Path) -> None:
    status, _, errors = run(tmp_path / "a.py", SCRIPT + MAIN)
    assert status != 0 and "Flag --input_file must have a value other than None" in errors


def test_reading_a_flag_parses_the_command_line(tmp_path: Path) -> None:
    status, printed, _ = run(tmp_path / "a.py", SCRIPT + "print(FLAGS.size, FLAGS.is_parsed())", "--size", "3")
    assert status == 0 and printed[1:] == ["3 True"]


def test_without_absl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "absl.flags", None)
    monkeypatch.setitem(sys.modules, "absl.app", None)
    with pytest.raises(ImportError, match=r"tf.compat.v1.flags is that of the package absl-py: pip install absl-py"):
        tf.compat.v1.flags.DEFINE_string("x", "", "")
    with pytest.raises(ImportError, match=r"pip install absl-py"):
        _ = tf.compat.v1.flags.FLAGS.x
    with pytest.raises(ImportError, match=r"pip install absl-py"):
        tf.compat.v1.app.run(print)


def test_check_does_not_list_each_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    text = """
import tensorflow as tf
flags = tf.flags
FLAGS = flags.FLAGS
flags.DEFINE_integer('size', 5, '')
tf.app.flags.FLAGS.size, FLAGS.size
tf.app.run()
"""
    names = {"tf.flags", "tf.flags.FLAGS", "tf.flags.DEFINE_integer", "tf.app.flags.FLAGS", "tf.app.run"}
    assert {f.name: f.kind for f in check_source(text).findings} == dict.fromkeys(names, "differs")
    monkeypatch.setitem(sys.modules, "absl.flags", None)
    found = check_source(text.replace("tensorflow", "tensorflow.compat.v1")).findings
    assert {f.note for f in found} == {"needs the package absl-py: pip install absl-py"}
    assert {f.name.replace("compat.v1.", "") for f in found} == names
