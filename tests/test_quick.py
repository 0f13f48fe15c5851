"""Which tests `make quick` takes."""

from __future__ import annotations

from tests.quick import fitting, own_tests, ranked


def test_a_module_concerns_its_own_test_first_and_then_those_who_use_it() -> None:
    found = ranked(["src/feedline/ops/take.py"])
    assert found["tests/ops/test_take.py"] == 0
    assert found["tests/test_house.py::test_examples_run[feedline.ops.take]"] == 0
    assert found["tests/test_referee.py"] == 1
    assert found["tests/optimize/test_noop_elimination.py"] == 2
    assert list(found.values()) == sorted(found.values())
    assert len(found) < 60


def test_what_is_no_module() -> None:
    assert ranked(["tests/ops/test_take.py"]) == {"tests/ops/test_take.py": 0}
    assert ranked(["CONTRIBUTING.md"]) == {"tests/test_contributing.py": 0}
    assert ranked(["src/kernels/csv.cc"]) == {"tests/kernels": 0}
    assert "tests/ops/test_take.py" in ranked(["tests/harness.py"])
    assert ranked(["LICENSE", "tests/ops/test_gone.py"]) == {}


def test_own_tests() -> None:
    assert own_tests("feedline.io.csv.decode") == ["tests/io/csv/test_decode.py"]
    assert "tests/io/tfrecord/test_reader.py" in own_tests("feedline.io.tfrecord")
    assert own_tests("feedline.ops.nothing") == own_tests("feedline") == []


def test_what_fits() -> None:
    tests = {"far": 3, "near": 0, "slow": 1, "quick": 1}
    took = {"far": 5.0, "near": 10.0, "slow": 30.0, "quick": 1.0}
    assert fitting(tests, took, 45) == (["near", "quick", "slow"], ["far"])
    assert fitting(tests, took, 12) == (["near", "quick"], ["slow", "far"])
    assert fitting(tests, took, 1)[0] == ["near"]
    assert fitting({}, took, 1) == ([], [])
