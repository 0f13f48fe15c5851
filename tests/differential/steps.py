"""The common steps of random pipelines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from tests.differential.element_types import Leaf, Type, arguments, leaf_names, leaves, mapped
from tests.differential.expressions import Expressions
from tests.differential.sources import ENDLESS


class Steps(Expressions):
    """Adds steps to `lines`, and tracks the element type."""

    lines: list[str]
    n: int  # maximum number of elements
    files: int

    def add(self, text: str) -> None:
        self.lines.append(f"ds = {text}")

    def step(self) -> None:
        if isinstance(self.type, tuple) and len(self.type) > 6:
            return
        steps: dict[Callable[[], None], float] = {
            self.map_: 6, self.filter_: 3, self.batch: 4, self.padded_batch: 2, self.ragged_batch: 1, self.unbatch: 2,
            self.shuffle: 3, self.repeat: 2, self.take: 1.5, self.skip: 1.5, self.shard: 1, self.window: 1.5,
            self.flat_map: 2, self.interleave: 3, self.cache: 1.5, self.prefetch: 2, self.enumerate_: 1, self.zip_: 1.5,
            self.concatenate: 1.5, self.scan: 1, self.take_while: 0.7, self.unique: 0.7, self.bucket: 0.7,
            self.group_by_window: 0.7, self.ignore_errors: 0.7, self.sample: 0.7, self.choose: 0.7, self.rebatch: 0.7,
            self.options: 0.7, self.assert_cardinality: 0.3, self.rejection_resample: 0.4, self.cache_file: 0.3,
            self.snapshot: 0.2, self.sparse_batch: 0.4, self.apply: 0.4,
            self.counted: 0.4,
            self.saved: 0.2, self.reduced: 0.3, self.map_and_batch: 0.3, self.dense_to_ragged: 0.3,
            self.padded_more: 0.5,
            self.parallel_interleave: 0.3, self.repeated: 0.5,
        }  # fmt: skip
        self.dice.choices(list(steps), list(steps.values()))[0]()

    def map_(self) -> None:
        taken, found = arguments(self.type)
        parts = [self.changed(name, leaf) for name, leaf in found]
        if self.dice.random() < 0.3 and len(parts) < 4:
            parts.append(self.changed(*self.dice.choice(found)))
        if self.dice.random() < 0.2 and len(parts) > 1:
            parts.pop(self.dice.randrange(len(parts)))
        if self.dice.random() < 0.1:
            parts.append(
                self.dice.choice(
                    (
                        ("7", Leaf("int32")),
                        ("1.5", Leaf("float32")),
                        ("'s'", Leaf("string")),
                        ("np.arange(3)", Leaf("int64", (3,))),
                    )
                )
            )
        parts = parts[:4]
        if len(parts) == 4:
            text, kind = f"({', '.join(t for t, _ in parts)})", tuple(k for _, k in parts)
        else:
            text, kind = self.structured(parts)
        self.add(f"ds.map(lambda {taken}: {text}{self.calls()})")
        self.type = kind

    def predicate(self) -> str:
        taken, value = self.some_integer()
        test = self.dice.choice(
            (f"{value} % 3 != 1", f"{value} < {self.dice.randint(2, 12)}", f"xp.equal({value} % 2, 0)", f"{value} > -1")
        )
        return f"lambda {taken}: {test}"

    def finite(self) -> None:
        """Makes the dataset finite, for steps that read everything or drop elements."""
        if self.n >= ENDLESS:
            self.take(self.dice.choice((5, 12, 30)))

    def filter_(self) -> None:
        self.finite()
        self.add(f"ds.filter({self.predicate()})")

    def batch(self) -> None:
        n, drop = self.dice.choice((1, 2, 3, 4, 7)), self.dice.random() < 0.4
        if any(None in leaf.shape and leaf.kind == "dense" for leaf in leaves(self.type)) and self.dice.random() < 0.7:
            return self.padded_batch()
        more = ", drop_remainder=True" if drop else ""
        self.add(f"ds.batch({n}{more}{self.calls()})")
        self.batched(n if drop else None, n)

    def batched(self, size: int | None, n: int) -> None:
        self.type = mapped(self.type, lambda leaf: replace(leaf, shape=(size, *leaf.shape)))
        if self.n < ENDLESS:
            self.n = -(-self.n // n)

    def padded_batch(self) -> None:
        if any(leaf.kind != "dense" for leaf in leaves(self.type)):
            return
        n, drop = self.dice.choice((2, 3, 5)), self.dice.random() < 0.4
        self.add(f"ds.padded_batch({n}{', drop_remainder=True' if drop else ''})")
        self.batched(n if drop else None, n)

    def shapes_are_clear(self) -> bool:
        """Whether both libraries know the same shapes: feedline does not know those of function results."""
        if not any("lambda" in line for line in self.lines):
            return True
        return not any(leaf.kind == "dense" and leaf.shape and None not in leaf.shape for leaf in leaves(self.type))

    def ragged_batch(self) -> None:
        if any(leaf.kind == "sparse" for leaf in leaves(self.type)) or not self.shapes_are_clear():
            return
        n, drop = self.dice.choice((2, 3, 5)), self.dice.random() < 0.4
        self.add(f"ds.ragged_batch({n}{', drop_remainder=True' if drop else ''})")
        size = n if drop else None
        becomes = {True: "ragged", False: "dense"}
        self.type = mapped(
            self.type,
            lambda leaf: replace(
                leaf, shape=(size, *leaf.shape), kind=becomes[leaf.kind == "ragged" or None in leaf.shape]
            ),
        )
        if self.n < ENDLESS:
            self.n = -(-self.n // n)

    def sparse_batch(self) -> None:
        only = self.type
        if not (isinstance(only, Leaf) and only.kind == "dense" and len(only.shape) == 1 and only.is_number):
            return
        n = self.dice.choice((2, 3))
        self.add(f"ds.apply(d.experimental.dense_to_sparse_batch({n}, [50]))")
        self.type = replace(only, shape=(None, 50), kind="sparse")
        if self.n < ENDLESS:
            self.n = -(-self.n // n)

    def unbatch(self) -> None:
        if any(
            not leaf.shape or leaf.kind == "sparse" or (len(leaf.shape) < 2 and leaf.kind == "ragged")
            for leaf in leaves(self.type)
        ):
            return
        firsts = {leaf.shape[0] for leaf in leaves(self.type)}
        if len(firsts) > 1:
            return
        self.add("ds.unbatch()")

        def inner(leaf: Leaf) -> Leaf:
            return replace(leaf, shape=leaf.shape[1:])

        self.type = mapped(self.type, inner)
        self.n = min(ENDLESS, self.n * 7)

    def shuffle(self) -> None:
        each = self.dice.choice(("", "", ", reshuffle_each_iteration=False", ", reshuffle_each_iteration=True"))
        n: object = self.dice.choice((1, 2, 4, 10, 100))
        if self.dice.random() < 0.15:
            self.finite()
            n = "ds.cardinality()" if self.dice.random() < 0.3 else 100
        self.add(f"ds.shuffle({n}, seed={self.dice.randint(0, 99)}{each})")

    def repeat(self) -> None:
        n = self.dice.choice((0, 1, 2, 3, None, -1)) if self.dice.random() < 0.5 else 2
        self.add("ds.repeat()" if n is None else f"ds.repeat({n})")
        self.n = ENDLESS if n in (None, -1) and self.n else min(ENDLESS, self.n * max(0, n or 0))
        if n in (None, -1):
            self.take(self.dice.choice((12, 25, 40)))

    def take(self, n: int | None = None) -> None:
        n = self.dice.choice((0, 1, 4, 9, 15, -1)) if n is None else n
        self.add(f"ds.take({n})")
        self.n = self.n if n < 0 else min(self.n, n)

    def skip(self) -> None:
        self.add(f"ds.skip({self.dice.choice((0, 1, 2, 5, -1) if self.n < ENDLESS else (0, 1, 4))})")

    def shard(self) -> None:
        n = self.dice.choice((1, 2, 3))
        self.add(f"ds.shard({n}, {self.dice.randrange(n)})")

    def window(self) -> None:
        if not all(isinstance(part, Leaf) for part in (self.type if isinstance(self.type, tuple) else (self.type,))):
            return
        size, shift, stride = (
            self.dice.choice((2, 3, 5)),
            self.dice.choice((None, 1, 2, 4)),
            self.dice.choice((1, 1, 2)),
        )
        drop = self.dice.random() < 0.5
        text = f"ds.window({size}, shift={shift}, stride={stride}, drop_remainder={drop})"
        taken, found = arguments(self.type)
        if any(None in leaf.shape for _, leaf in found):
            inner = [name for name, _ in found]
            kind = self.type
        else:
            inner = [f"{name}.batch({size})" for name, _ in found]
            kind = mapped(self.type, lambda leaf: replace(leaf, shape=(None, *leaf.shape)))
        body = inner[0] if len(inner) == 1 and isinstance(self.type, Leaf) else f"d.Dataset.zip(({', '.join(inner)},))"
        self.add(f"{text}.flat_map(lambda {taken}: {body})")
        self.type = kind
        self.n = min(ENDLESS, self.n * 3)

    def inner(self) -> tuple[str, str, Type]:
        """A function from an element to a dataset."""
        taken, found = arguments(self.type)
        name, leaf = self.dice.choice(found)
        value = self.integer(name, leaf)
        form = self.dice.choice(("range", "tensors", "slices", "both", "shuffled", "nested"))
        if form == "slices" and leaf.kind == "dense" and leaf.shape:
            return taken, f"d.Dataset.from_tensor_slices({name})", replace(leaf, shape=leaf.shape[1:])
        if form == "tensors":
            return taken, f"d.Dataset.from_tensors({name}).repeat({self.dice.choice((1, 2, 3))})", leaf
        if form == "both":
            return (
                taken,
                f"d.Dataset.zip((d.Dataset.range({value} % 4), d.Dataset.from_tensors({name}).repeat(3)))",
                (Leaf("int64"), leaf),
            )
        if form == "shuffled":
            return (
                taken,
                f"d.Dataset.range(5).shuffle(5, seed={self.dice.randint(1, 9)}).map(lambda z: z + {value})",
                Leaf("int64"),
            )
        if form == "nested":
            return taken, f"d.Dataset.range({value} % 3).flat_map(lambda z: d.Dataset.range(z + 1))", Leaf("int64")
        return taken, f"d.Dataset.range({value} % 5).map(lambda z: z * 10 + {value})", Leaf("int64")

    def flat_map(self) -> None:
        self.finite()
        taken, body, kind = self.inner()
        self.add(f"ds.flat_map(lambda {taken}: {body})")
        self.type, self.n = kind, min(ENDLESS, self.n * 5)

    def interleave(self) -> None:
        self.finite()
        taken, body, kind = self.inner()
        cycle, length = self.dice.choice((1, 2, 3, 5)), self.dice.choice((1, 2, 3))
        calls = self.dice.choice(
            ("", "", f", num_parallel_calls={self.dice.randint(1, cycle)}", ", num_parallel_calls=-1")
        )
        self.add(f"ds.interleave(lambda {taken}: {body}, cycle_length={cycle}, block_length={length}{calls})")
        self.type, self.n = kind, min(ENDLESS, self.n * 5)

    def cache(self) -> None:
        self.finite()
        self.add("ds.cache()")

    def cache_file(self) -> None:
        self.finite()
        self.files += 1
        self.add(f"ds.cache(tmp + '/cache-{self.files}')")

    def snapshot(self) -> None:
        self.finite()
        self.files += 1
        self.add(f"ds.snapshot(tmp + '/snapshot-{self.files}')")

    def prefetch(self) -> None:
        self.add(f"ds.prefetch({self.dice.choice((0, 1, 2, 5, -1))})")

    def enumerate_(self) -> None:
        self.add("ds.enumerate()" if self.dice.random() < 0.6 else f"ds.enumerate(start={self.dice.randint(1, 9)})")
        self.type = (Leaf("int64"), self.type)

    def zip_(self) -> None:
        text, kind, n = self.made_source()
        if self.dice.random() < 0.5:
            self.add(f"d.Dataset.zip((ds, {text}))")
            self.type = (self.type, kind)
        else:
            self.add(f"d.Dataset.zip({{'x': {text}, 'b': ds}})")
            self.type = {"b": self.type, "x": kind}
        self.n = min(self.n, n)

    def concatenate(self) -> None:
        self.finite()
        other = self.dice.choice(("ds", "ds.take(2)", "ds.skip(1)", f"ds.shuffle(5, seed={self.dice.randint(1, 9)})"))
        self.add(f"ds.concatenate({other})")
        self.n = min(ENDLESS, self.n * 2)

    def scan(self) -> None:
        taken, value = self.some_integer()
        arguments_ = f"({taken})" if isinstance(self.type, tuple) else taken
        if isinstance(self.type, tuple):
            taken, value = "t", self.integer(*self.dice.choice(leaf_names("t", self.type)))
            arguments_ = "t"
        self.add(f"ds.scan(np.int64({self.dice.randint(0, 5)}), lambda s, {arguments_}: (s + {value}, s))")
        self.type = Leaf("int64")

    def take_while(self) -> None:
        self.add(f"ds.take_while({self.predicate()})")

    def unique(self) -> None:
        only = self.type
        self.finite()
        if (
            isinstance(only, Leaf)
            and only.kind == "dense"
            and only.shape == ()
            and only.dtype in ("int32", "int64", "string")
        ):
            self.add("ds.unique()")

    def bucket(self) -> None:
        found = leaves(self.type)
        if any(leaf.kind != "dense" or not leaf.shape for leaf in found):
            return
        self.finite()
        taken, names = arguments(self.type)
        more = self.dice.choice(("", ", drop_remainder=True", ", pad_to_bucket_boundary=False"))
        body = f"xp.shape({self.dice.choice(names)[0]})[0]"
        self.add(
            f"ds.bucket_by_sequence_length(lambda {taken}: {body}, "
            f"bucket_boundaries=[2, 4], bucket_batch_sizes=[2, 2, 3]{more})"
        )
        self.type = mapped(self.type, lambda leaf: replace(leaf, shape=(None, *(None for _ in leaf.shape))))

    def group_by_window(self) -> None:
        if any(None in leaf.shape or leaf.kind != "dense" for leaf in leaves(self.type)):
            return
        self.finite()
        taken, value = self.some_integer()
        n = self.dice.choice((2, 3))
        self.add(
            f"ds.group_by_window(key_func=lambda {taken}: {value} % 3, "
            f"reduce_func=lambda k, w: w.batch({n}), window_size={n})"
        )
        self.batched(None, n)

    def ignore_errors(self) -> None:
        self.add("ds.ignore_errors()")

    def sample(self) -> None:
        self.finite()
        seed = self.dice.randint(1, 99)
        weights = self.dice.choice(("", ", weights=[0.3, 0.7]", ", stop_on_empty_dataset=True"))
        self.add(f"d.Dataset.sample_from_datasets([ds, ds.take(3)]{weights}, seed={seed})")
        self.n = min(ENDLESS, self.n * 2)

    def choose(self) -> None:
        self.finite()
        n = self.dice.choice((3, 8, 20))
        more = self.dice.choice(("", ", stop_on_empty_dataset=False"))
        self.add(f"d.Dataset.choose_from_datasets([ds, ds.skip(2)], d.Dataset.range({n}).map(lambda i: i % 2){more})")
        self.n = min(ENDLESS, self.n * 2)

    def rebatch(self) -> None:
        if any(not leaf.shape or None in leaf.shape[1:] or leaf.kind != "dense" for leaf in leaves(self.type)):
            return
        if len({leaf.shape[0] for leaf in leaves(self.type)}) > 1:
            return
        n = self.dice.choice((2, 3, "[1, 2]", "[3, 2]"))
        drop = self.dice.random() < 0.3
        self.add(f"ds.rebatch({n}{', drop_remainder=True' if drop else ''})")
        self.type = mapped(self.type, lambda leaf: replace(leaf, shape=(None, *leaf.shape[1:])))
        self.n = min(ENDLESS, self.n * 7)

    def options(self) -> None:
        self.lines.append("o = d.Options()")
        self.lines.append(
            self.dice.choice(
                (
                    "o.deterministic = True",
                    "o.experimental_optimization.map_and_batch_fusion = False",
                    "o.autotune.enabled = False",
                    "o.threading.private_threadpool_size = 2",
                    "o.experimental_optimization.apply_default_optimizations = False",
                )
            )
        )
        self.add("ds.with_options(o)")

    def assert_cardinality(self) -> None:
        n = self.n if self.n < ENDLESS and self.dice.random() < 0.7 else self.dice.choice((3, -1))
        self.add(f"ds.apply(d.experimental.assert_cardinality({n if n >= 0 else 'd.INFINITE_CARDINALITY'}))")

    def rejection_resample(self) -> None:
        if any(leaf.kind != "dense" for leaf in leaves(self.type)):
            return  # TensorFlow treats ragged elements as dense from here on
        self.finite()
        taken, value = self.some_integer()
        self.add(
            f"ds.rejection_resample(lambda {taken}: xp.cast({value} % 2, xp.int32), target_dist=[0.5, 0.5], "
            f"initial_dist=[0.6, 0.4], seed={self.dice.randint(1, 99)})"
        )
        self.type = (Leaf("int32"), self.type)

    def saved(self) -> None:
        if any(leaf.kind != "dense" for leaf in leaves(self.type)):
            return
        self.finite()
        self.files += 1
        self.lines.append(f"ds.save(tmp + '/saved-{self.files}')")
        self.add(f"d.Dataset.load(tmp + '/saved-{self.files}')")

    def reduced(self) -> None:
        """Sums by key."""
        self.finite()
        taken, value = self.some_integer()
        if isinstance(self.type, tuple):
            return
        key = f"lambda {taken}: {value} % 3"
        reducer = f"d.experimental.Reducer(lambda k: np.int64(0), lambda s, {taken}: s + {value}, lambda s: s * 2)"
        self.add(f"ds.apply(d.experimental.group_by_reducer({key}, {reducer}))")
        self.type, self.n = Leaf("int64"), 3

    def map_and_batch(self) -> None:
        only = self.type
        if not (isinstance(only, Leaf) and only.is_number and None not in only.shape):
            return
        n = self.dice.choice((2, 3))
        self.add(f"ds.apply(d.experimental.map_and_batch(lambda e: e + 1, {n}))")
        self.batched(None, n)

    def dense_to_ragged(self) -> None:
        only = self.type
        if isinstance(only, Leaf) and only.kind == "dense" and only.shape and self.shapes_are_clear():
            n = self.dice.choice((2, 3))
            self.add(f"ds.apply(d.experimental.dense_to_ragged_batch({n}))")
            kind = "ragged" if None in only.shape else "dense"
            self.type = replace(only, shape=(None, *only.shape), kind=kind)

    def padded_more(self) -> None:
        only = self.type
        if not (isinstance(only, Leaf) and only.kind == "dense" and len(only.shape) == 1):
            return
        value = {"string": "'?'", "bool": "True", "float32": "-1.0", "float64": "np.float64(-1)"}.get(only.dtype)
        value = value or f"np.{only.dtype}(9)"
        width = self.dice.choice((None, 30, 2))
        n = self.dice.choice((2, 3))
        self.add(f"ds.padded_batch({n}, padded_shapes=[{width}], padding_values={value})")
        self.batched(None, n)

    def parallel_interleave(self) -> None:
        self.finite()
        taken, body, kind = self.inner()
        cycle, length = self.dice.choice((1, 2, 3)), self.dice.choice((1, 2))
        text = (
            f"d.experimental.parallel_interleave(lambda {taken}: {body}, cycle_length={cycle}, block_length={length})"
        )
        self.add(f"ds.apply({text})")
        self.type, self.n = kind, min(ENDLESS, self.n * 5)

    def repeated(self) -> None:
        """Adds shuffle and repeat in either order, as in training loops."""
        self.finite()
        seed, n = self.dice.randint(0, 99), self.dice.choice((2, 5, 50))
        text = self.dice.choice((f"ds.shuffle({n}, seed={seed}).repeat(2)", f"ds.repeat(2).shuffle({n}, seed={seed})"))
        self.add(text)
        self.n = min(ENDLESS, 2 * self.n)

    def apply(self) -> None:
        self.add(f"ds.apply(lambda ds: ds.skip(1).take({self.dice.choice((2, 9))}))")

    def counted(self) -> None:
        """A dataset of one element, computed from all elements of another."""
        self.finite()
        taken, value = self.some_integer()
        start = "np.int64(0)"
        if isinstance(self.type, tuple):
            self.add(f"d.Dataset.from_tensors(ds.reduce({start}, lambda s, *t: s + 1))")
        else:
            self.add(f"d.Dataset.from_tensors(ds.reduce({start}, lambda s, {taken}: s + {value}))")
        self.type, self.n = Leaf("int64"), 1
