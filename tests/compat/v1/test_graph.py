from __future__ import annotations

import subprocess
import sys
import threading

import pytest

import feedline as fl
from feedline.compat import v1
from feedline.compat.v1.graph import inside_function, seeding
from feedline.random import seeds


def order(dataset: v1.data.Dataset) -> list[int]:
    with v1.Session() as session:
        element = dataset.make_one_shot_iterator().get_next()
        return [int(session.run(element)) for _ in range(5)]


def seedless() -> v1.data.Dataset:
    return v1.data.Dataset.range(5).shuffle(5)


def pair(dataset: v1.data.Dataset) -> tuple[int, int]:
    return dataset._plan.generator.seed, dataset._plan.generator.seed2


def test_importing_feedline_imports_no_compat():
    code = "import sys, feedline; assert 'feedline.compat' not in sys.modules; feedline.compat.v1.Session().close()"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_seedless_operators_are_numbered_per_graph():
    for _ in range(2):
        with v1.Graph().as_default():
            v1.set_random_seed(7)
            assert [pair(seedless()), pair(seedless())] == [(7, 0), (7, 1)]
            assert pair(v1.data.Dataset.range(5).shuffle(5, seed=3)) == (7, 3)
            assert pair(seedless()) == (7, 2)


def test_setting_the_seed_again_does_not_restart_the_numbers():
    v1.set_random_seed(7)
    seedless()
    v1.set_random_seed(8)
    assert pair(seedless()) == (8, 1)


def test_a_graph_knows_nothing_of_the_global_seed_and_the_other_way_round():
    fl.random.set_seed(5)
    assert pair(v1.data.Dataset.range(3).shuffle(3, seed=2)) == (87654321, 2)
    v1.set_random_seed(7)
    assert pair(seedless()) == (7, 0)
    eager = fl.Dataset.range(3).shuffle(3)._plan.generator
    fl.random.set_seed(5)
    again = fl.Dataset.range(3).shuffle(3)._plan.generator
    assert eager == again


def test_graphs_do_not_share_seeds():
    other = v1.Graph()
    with other.as_default():
        v1.set_random_seed(1)
    assert (other.seed, v1.get_default_graph().seed) == (1, None)
    v1.set_random_seed(None)
    assert v1.get_default_graph().seed is None


def test_a_seed_must_be_an_integer():
    with pytest.raises(TypeError):
        v1.set_random_seed("a")


def test_datasets_made_by_functions_use_the_graphs_seed():
    v1.set_random_seed(5)
    first, second = (
        order(v1.data.Dataset.range(1).flat_map(lambda x: v1.data.Dataset.range(5).shuffle(5))) for _ in range(2)
    )
    assert first == second == order(v1.data.Dataset.range(1).window(1).flat_map(lambda w: five().shuffle(5)))


def five() -> fl.Dataset:
    return fl.Dataset.range(5)


def test_seeds_in_force_are_put_back_whatever_the_order():
    before = seeds._global
    graphs = [seeds._Global(1), seeds._Global(2)]
    outer, inner = seeding(graphs[0]), seeding(graphs[1])
    outer.__enter__()
    inner.__enter__()
    assert seeds._global is graphs[1]
    outer.__exit__(None, None, None)  # as two threads may do it
    assert seeds._global is graphs[1]
    inner.__exit__(None, None, None)
    assert seeds._global is before


def test_the_default_graph_is_one_per_thread(graph: v1.Graph):
    seen = []
    thread = threading.Thread(target=lambda: seen.append(v1.get_default_graph()))
    thread.start()
    thread.join()
    assert seen[0] is not graph


def test_the_default_graph_cannot_be_reset_within_another():
    with pytest.raises(fl.errors.FailedPreconditionError, match="as_default"):
        v1.reset_default_graph()


def test_names_are_unique(graph: v1.Graph):
    names = [graph.unique_name(n) for n in ("a", "a_1", "a", "a")]
    assert len(set(names)) == 4
    assert names[:2] == ["a", "a_1"]


def test_inside_function_is_true_for_functions_on_elements_only():
    seen = []

    def note(x):
        seen.append(inside_function())
        return x

    list(v1.data.Dataset.range(2).map(note))
    assert seen == [True, True]
    assert not inside_function()
