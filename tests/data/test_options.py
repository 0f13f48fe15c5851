from __future__ import annotations

import copy
import logging
import pickle
from typing import Any

import pytest

from feedline.data.options import (
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    OptimizationOptions,
    Options,
    ServiceOptions,
    ThreadingOptions,
)

GROUPS = {
    "autotune": (
        AutotuneOptions,
        ["autotune_algorithm", "cpu_budget", "enabled", "initial_parallelism", "min_parallelism", "ram_budget"],
    ),
    "experimental_distribute": (DistributeOptions, ["auto_shard_policy", "num_devices"]),
    "experimental_optimization": (
        OptimizationOptions,
        [
            *("apply_default_optimizations", "filter_fusion", "filter_parallelization", "inject_prefetch"),
            *("map_and_batch_fusion", "map_and_filter_fusion", "map_fusion", "map_parallelization"),
            *("noop_elimination", "parallel_batch", "seq_interleave_prefetch", "shuffle_and_repeat_fusion"),
        ],
    ),
    "experimental_service": (ServiceOptions, ["pinned"]),
    "threading": (ThreadingOptions, ["max_intra_op_parallelism", "private_threadpool_size"]),
}
PLAIN = [
    *("dataset_name", "deterministic", "experimental_deterministic", "experimental_external_state_policy"),
    *("experimental_slack", "experimental_symbolic_checkpoint", "experimental_warm_start", "framework_type"),
]


OWN = {"": ["full_tracebacks"], "autotune": ["allow_processes", "frozen"], "threading": ["call_timeout"]}
"""Options that TensorFlow does not have."""


def public(options: Any) -> list[str]:
    return sorted(n for n in dir(options) if not n.startswith("_") and not callable(getattr(options, n)))


def test_names_and_defaults_are_tensorflows() -> None:
    options = Options()
    assert public(options) == sorted([*GROUPS, *PLAIN, *OWN[""], "experimental_threading"])
    assert {name: getattr(options, name) for name in PLAIN} == dict.fromkeys(PLAIN)
    for name, (kind, fields) in GROUPS.items():
        group = getattr(options, name)
        assert type(group) is kind
        assert public(group) == sorted([*fields, *OWN.get(name, ())])
        defaults = dict.fromkeys(fields)
        if kind is DistributeOptions:
            defaults["auto_shard_policy"] = AutoShardPolicy.AUTO
        assert {field: getattr(group, field) for field in fields} == defaults


def test_every_option_is_documented() -> None:
    for kind in (Options, *(group for group, _ in GROUPS.values())):
        for name in public(kind):
            doc = getattr(kind, name).__doc__
            assert doc
            assert doc.endswith(".")


def test_enums() -> None:
    assert [(p.name, p.value) for p in AutoShardPolicy] == [
        *(("OFF", -1), ("AUTO", 0), ("FILE", 1), ("DATA", 2), ("HINT", 3)),
    ]
    assert [a.name for a in AutotuneAlgorithm] == [
        *("DEFAULT", "HILL_CLIMB", "GRADIENT_DESCENT", "MAX_PARALLELISM", "STAGE_BASED"),
    ]
    assert [(p.name, p.value) for p in ExternalStatePolicy] == [("WARN", 0), ("IGNORE", 1), ("FAIL", 2)]


def test_set_and_read() -> None:
    options = Options()
    options.deterministic = False
    options.threading.private_threadpool_size = 3
    options.autotune = AutotuneOptions()
    options.autotune.autotune_algorithm = AutotuneAlgorithm.STAGE_BASED
    options.framework_type = ["torch"]
    assert options.deterministic is False
    assert options.threading.private_threadpool_size == 3
    assert options.autotune.autotune_algorithm is AutotuneAlgorithm.STAGE_BASED
    assert options.framework_type == ["torch"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("deterministic", "yes"),
        ("deterministic", 1),
        ("deterministic", None),
        ("threading", 5),
        ("autotune", None),
        ("framework_type", ("torch",)),
        ("dataset_name", b"x"),
        ("experimental_deterministic", 1),
        ("experimental_external_state_policy", 2),
    ],
)
def test_wrong_types(name: str, value: Any) -> None:
    with pytest.raises(TypeError, match=r"must be of type .*, got"):
        setattr(Options(), name, value)


def test_type_error_says_what() -> None:
    with pytest.raises(TypeError) as error:
        Options().deterministic = "yes"  # type: ignore[assignment]
    assert str(error.value) == "Options.deterministic must be of type bool, got 'yes' of type str"
    with pytest.raises(TypeError):
        Options().experimental_distribute.auto_shard_policy = 1  # type: ignore[assignment]
    with pytest.raises(TypeError):
        Options().autotune.cpu_budget = 2.0  # type: ignore[assignment]
    with pytest.raises(TypeError):
        Options(deterministic=True)  # type: ignore[call-arg]


def test_unknown_options() -> None:
    options = Options()
    with pytest.raises(AttributeError, match="Options has no option no_such_option; it has autotune, deterministic"):
        options.no_such_option = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError):
        options.no_such_option  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError):
        options.threading.size = 1  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="cannot be deleted"):
        del options.deterministic


def test_deprecated_names(caplog: pytest.LogCaptureFixture) -> None:
    options = Options()
    with caplog.at_level(logging.WARNING):
        options.experimental_deterministic = False
        assert options.experimental_deterministic is options.deterministic is False
        assert caplog.records == []
        options.experimental_threading.private_threadpool_size = 3
        options.experimental_threading = options.threading
    assert options.threading.private_threadpool_size == 3
    assert [r.getMessage() for r in caplog.records] == [
        "options.experimental_threading is deprecated, use options.threading"
    ] * 2
    assert repr(options) == "Options(deterministic=False, threading=ThreadingOptions(private_threadpool_size=3))"


def test_equality() -> None:
    a, b = Options(), Options()
    assert a == b
    assert a.threading.private_threadpool_size is None  # a look creates the group, and that makes no difference
    a.experimental_distribute.auto_shard_policy = AutoShardPolicy.AUTO
    assert a == b
    a.autotune.enabled = True
    assert a != b
    b.autotune.enabled = True
    assert a == b
    assert a != ThreadingOptions()
    assert a != 5
    with pytest.raises(TypeError, match="unhashable"):
        hash(a)


def test_merge() -> None:
    a, b = Options(), Options()
    a.deterministic = False
    a.threading.private_threadpool_size = 2
    a.autotune.enabled = False
    a.framework_type = ["x"]
    b.deterministic = True
    b.threading.max_intra_op_parallelism = 4
    b.framework_type = ["y"]
    before = copy.copy(a), copy.copy(b)
    merged = a.merge(b)
    assert merged.deterministic is True
    assert merged.threading.private_threadpool_size == 2
    assert merged.threading.max_intra_op_parallelism == 4
    assert merged.autotune.enabled is False
    assert merged.framework_type == ["x", "y"]
    merged.threading.private_threadpool_size = 9
    merged.autotune.cpu_budget = 1
    assert (a, b) == before
    assert Options().merge(a) == a.merge(Options()) == a
    with pytest.raises(TypeError, match="Options cannot be merged with a ThreadingOptions"):
        a.merge(ThreadingOptions())  # type: ignore[arg-type]


def test_merge_keeps_a_value_against_a_default() -> None:
    a, b = Options(), Options()
    a.experimental_distribute.auto_shard_policy = AutoShardPolicy.DATA
    b.experimental_distribute.auto_shard_policy = AutoShardPolicy.AUTO
    assert a.merge(b).experimental_distribute.auto_shard_policy is AutoShardPolicy.DATA


def test_merge_tells_of_changes(caplog: pytest.LogCaptureFixture) -> None:
    a, b = Options(), Options()
    a.deterministic, b.deterministic = False, True
    with caplog.at_level(logging.WARNING):
        a.merge(b)
    assert [r.getMessage() for r in caplog.records] == ["the option deterministic is changed from False to True"]


def test_frozen() -> None:
    options = Options()
    options.threading.private_threadpool_size = 2
    frozen = options.frozen()
    assert frozen == options
    for change in (
        lambda: setattr(frozen, "deterministic", True),
        lambda: setattr(frozen.threading, "private_threadpool_size", 3),
        lambda: setattr(frozen.experimental_service, "pinned", True),  # a group nobody has looked at before
        lambda: setattr(frozen, "experimental_deterministic", True),
    ):
        with pytest.raises(ValueError, match=r"pass them to dataset\.with_options"):
            change()
    options.threading.private_threadpool_size = 5
    assert frozen.threading.private_threadpool_size == 2
    merged = frozen.merge(options)
    merged.threading.private_threadpool_size = 7
    merged.autotune.enabled = True


def test_copies_are_independent_and_pickle() -> None:
    options = Options()
    options.threading.private_threadpool_size = 2
    options.framework_type = ["x"]
    options.experimental_distribute.auto_shard_policy = AutoShardPolicy.FILE
    for made in (copy.copy(options), copy.deepcopy(options), pickle.loads(pickle.dumps(options))):
        assert made == options
        made.threading.private_threadpool_size = 3
        made.framework_type.append("y")
        assert options.threading.private_threadpool_size == 2
        assert options.framework_type == ["x"]


def test_repr_shows_what_is_set() -> None:
    assert repr(Options()) == "Options()"
    options = Options()
    options.experimental_distribute.auto_shard_policy = AutoShardPolicy.OFF
    options.dataset_name = "x"
    assert repr(options) == (
        "Options(experimental_distribute=DistributeOptions(auto_shard_policy=AutoShardPolicy.OFF), dataset_name='x')"
    )
