"""Sources and steps with rare arguments; few random pipelines have one."""

from __future__ import annotations

from collections.abc import Callable

from tests.differential.element_types import Leaf, Type, leaves, mapped
from tests.differential.sources import ENDLESS, Source
from tests.differential.steps import Steps

IN_TURN = "reader_func=lambda shards: shards.flat_map(lambda x: x)"


class RareArguments(Steps):
    """Makes sources, and adds steps, with rare arguments."""

    def source_with_arguments(self) -> Source:
        makers = (
            self.generator_of_types, self.typed_counter, self.csv_columns, self.csv_batches, self.labelled_features,
            self.buffered_files,
        )  # fmt: skip
        return self.dice.choice(makers)()

    def step_with_arguments(self) -> None:
        """Adds a step that fits the elements."""
        steps: list[Callable[[], bool]] = [
            self.zip_without_tuple, self.row_splits, self.window_sizes, self.logged_errors, self.saved_shards,
            self.snapshot_shards, self.buffered_interleave, self.parallel_batches, self.kinds_of_calls, self.named,
            self.padded_parts, self.shuffle_all, self.resample_unknown, self.sample_again, self.ordered_interleave,
        ]  # fmt: skip
        self.dice.shuffle(steps)
        for step in steps:
            if step():
                return

    # Sources.

    def generator_of_types(self) -> Source:
        n = self.dice.choice((0, 1, 5, 12))
        if self.dice.random() < 0.5:
            text = f"lambda n: iter(range(n)), output_types=xp.int32, output_shapes=(), args=({n},)"
            return f"d.Dataset.from_generator({text})", Leaf("int32"), n
        text = f"lambda: ((i, [i, 2.5]) for i in range({n})), output_types=(xp.int64, xp.float32)"
        kind = (Leaf("int64"), Leaf("float32", (2,)))
        return f"d.Dataset.from_generator({text}, output_shapes=((), (2,)))", kind, n

    def typed_counter(self) -> Source:
        dtype, step = self.dice.choice(("int32", "int64", "float32")), self.dice.choice((1, 2, -1))
        return f"d.Dataset.counter(start=1, step={step}, dtype=xp.{dtype})", Leaf(dtype), ENDLESS

    def csv_columns(self) -> Source:
        strings = "xp.const(['?'], dtype=xp.string)"
        options: list[tuple[str, str, Type]] = [
            ("[xp.int64, xp.string]", "exclude_cols=[1]", (Leaf("int64"), Leaf("string"))),
            (
                f"[xp.int32, xp.float64, {strings}]",
                "na_value='name1'",
                (Leaf("int32"), Leaf("float64"), Leaf("string")),
            ),
            ("[xp.string]", "field_delim=';'", (Leaf("string"),)),
            ("[xp.string]", "buffer_size=8, use_quote_delim=False, select_cols=[2]", (Leaf("string"),)),
        ]
        defaults, more, kind = self.dice.choice(options)
        return f"d.experimental.CsvDataset(data + '/table.csv', {defaults}, header=True, {more})", kind, 12

    def csv_batches(self) -> Source:
        n, seed = self.dice.choice((2, 5)), self.dice.randint(1, 9)
        number, part, name = Leaf("int32", (None,)), Leaf("float32", (None,)), Leaf("string", (None,))
        whole: Type = {"number": number, "part": part, "name": name}
        options: list[tuple[str, Type]] = [
            (
                "column_defaults=[xp.int64, xp.float64, xp.string], shuffle=False",
                {"number": Leaf("int64", (None,)), "part": Leaf("float64", (None,)), "name": name},
            ),
            ("select_columns=['number', 'name'], shuffle=False", {"number": number, "name": name}),
            ("column_names=['a', 'b', 'c'], shuffle=False", {"a": number, "b": part, "c": name}),
            ("na_value='name1', num_rows_for_inference=2, shuffle=False", whole),
            (f"shuffle_buffer_size=5, shuffle_seed={seed}", whole),
            ("prefetch_buffer_size=1, num_parallel_reads=2, shuffle=False", whole),
            ("ignore_errors=True, use_quote_delim=False, shuffle=False", whole),
        ]
        more, kind = self.dice.choice(options)
        return f"d.experimental.make_csv_dataset(data + '/table.csv', {n}, num_epochs=1, {more})", kind, 6

    def labelled_features(self) -> Source:
        n = self.dice.choice((2, 4))
        features = "{'x': io.FixedLenFeature([], np.int64), 'v': io.FixedLenFeature([2], np.float32)}"
        drop = self.dice.random() < 0.3
        size = n if drop else None
        more = self.dice.choice((
            "shuffle=False, reader_num_threads=2", "shuffle=False, parser_num_threads=2, prefetch_buffer_size=1",
            f"shuffle_buffer_size=4, shuffle_seed={self.dice.randint(1, 9)}", "shuffle=False",
        ))  # fmt: skip
        more += ", drop_final_batch=True" if drop else ""
        kind: Type = {"v": Leaf("float32", (size, 2)), "x": Leaf("int64", (size,))}
        if self.dice.random() < 0.6:
            more, kind = f"label_key='x', {more}", ({"v": Leaf("float32", (size, 2))}, Leaf("int64", (size,)))
        files = f"data + '/examples', {n}, {features}"
        return f"d.experimental.make_batched_features_dataset({files}, num_epochs=1, {more})", kind, 8

    def buffered_files(self) -> Source:
        buffer = f"buffer_size={self.dice.choice((5, 16))}, name='files'"
        texts: tuple[Source, ...] = (
            ("d.TFRecordDataset([data + '/records-%d' % i for i in range(4)]", Leaf("string", numeric=True), 26),
            ("d.FixedLengthRecordDataset([data + '/fixed'] * 2, 6, 0, 2, num_parallel_reads=2", Leaf("string"), 18),
            ("d.TextLineDataset([data + '/lines-0'] * 2, num_parallel_reads=2", Leaf("string"), 8),
        )
        text, kind, n = self.dice.choice(texts)
        return f"{text}, {buffer})", kind, n

    # Steps: each returns whether it fits the elements.

    def zip_without_tuple(self) -> bool:
        if len(leaves(self.type)) > 2:
            return False
        self.add(self.dice.choice(("d.Dataset.zip(ds, ds.skip(1))", "d.Dataset.zip(datasets=(ds, ds), name='pairs')")))
        self.type = (self.type, self.type)
        return True

    def rewritten(self, step: Callable[[], None], old: str, new: str) -> bool:
        """Adds a common step with one more argument; returns False if it does not fit."""
        begun = len(self.lines)
        step()
        if len(self.lines) == begun or old not in self.lines[-1]:
            return False
        head, _, tail = self.lines[-1].rpartition(old)
        self.lines[-1] = head + new + tail
        return True

    def row_splits(self) -> bool:
        return self.rewritten(self.ragged_batch, ")", ", row_splits_dtype=xp.int32)")

    def window_sizes(self) -> bool:
        return self.rewritten(self.group_by_window, "window_size=", "window_size_func=lambda k: k + ")

    def logged_errors(self) -> bool:
        return self.rewritten(self.ignore_errors, ")", "log_warning=True)")

    def shards(self) -> str:
        taken, value = self.some_integer()
        return f"shard_func=lambda {taken}: {value} % 2"

    def saved_shards(self) -> bool:
        if any(leaf.kind != "dense" for leaf in leaves(self.type)):
            return False
        self.finite()
        self.files += 1
        path = f"tmp + '/saved-{self.files}'"
        pressed, sharded = self.dice.choice(("", ", compression='GZIP'")), self.dice.random() < 0.5
        self.lines.append(f"ds.save({path}{pressed}{f', {self.shards()}' if sharded else ''})")
        self.add(f"d.Dataset.load({path}, ds.element_spec{pressed}, {IN_TURN})")
        return True

    def snapshot_shards(self) -> bool:
        if any(leaf.kind != "dense" for leaf in leaves(self.type)):
            return False
        self.finite()
        self.files += 1
        more = self.dice.choice((
            ", compression='GZIP'", ", compression=None", f", {IN_TURN}, {self.shards()}",
            ", compression='SNAPPY'",
        ))  # fmt: skip
        self.add(f"ds.snapshot(tmp + '/snapshot-{self.files}'{more})")
        return True

    def buffered_interleave(self) -> bool:
        more = self.dice.choice((", buffer_output_elements=1", ", prefetch_input_elements=2", ", sloppy=False"))
        return self.rewritten(self.parallel_interleave, "))", f"{more}))")

    def parallel_batches(self) -> bool:
        more = self.dice.choice((", num_parallel_batches=2", ", drop_remainder=True", ", num_parallel_calls=2"))
        return self.rewritten(self.map_and_batch, "))", f"{more}))")

    def kinds_of_calls(self) -> bool:
        more = self.dice.choice((", synchronous=True", ", use_unbounded_threadpool=True, num_parallel_calls=2"))
        begun = len(self.lines)
        self.map_()
        if "num_parallel_calls" not in self.lines[begun]:
            self.lines[begun] = f"{self.lines[begun][:-1]}{more})"
        return True

    def named(self) -> bool:
        step = self.dice.choice(
            (self.take, self.skip, self.shard, self.batch, self.shuffle, self.prefetch, self.filter_)
        )
        return self.rewritten(step, ")", ", name='a_step')")

    def padded_parts(self) -> bool:
        """Widths and padding for each component."""
        found = leaves(self.type)
        if any(leaf.kind != "dense" for leaf in found) or not any(leaf.shape for leaf in found):
            return False
        if any("make_csv_dataset(" in line for line in self.lines):
            return False  # it returns ordered dicts

        def width(leaf: Leaf) -> str:
            return f"[{', '.join(str(self.dice.choice((None, None, 40))) for _ in leaf.shape)}]"

        def value(leaf: Leaf) -> str:
            values = {"string": "'?'", "bool": "True", "float32": "-1.0"}
            return values.get(leaf.dtype, f"np.{leaf.dtype}(9)")

        n = self.dice.choice((2, 3))
        text = f"ds.padded_batch({n}, padded_shapes={_text(self.type, width)}"
        text += f", padding_values={_text(self.type, value)}" if self.dice.random() < 0.6 else ""
        self.add(text + self.dice.choice((")", ", drop_remainder=True)")))
        self.batched(None, n)
        self.type = mapped(self.type, lambda leaf: Leaf(leaf.dtype, tuple(None for _ in leaf.shape)))
        return True

    def shuffle_all(self) -> bool:
        self.finite()
        self.add(f"ds.shuffle(d.UNKNOWN_CARDINALITY, seed={self.dice.randint(1, 99)})")
        return True

    def resample_unknown(self) -> bool:
        return self.rewritten(self.rejection_resample, "initial_dist=[0.6, 0.4], ", "")

    def sample_again(self) -> bool:
        seed = self.dice.randint(1, 99)
        more = self.dice.choice((
            "rerandomize_each_iteration=True", "rerandomize_each_iteration=False",
            "weights=d.Dataset.from_tensors([0.3, 0.7]).repeat()", "weights=[1.0, 0.0], stop_on_empty_dataset=True",
        ))  # fmt: skip
        self.finite()
        self.add(f"d.Dataset.sample_from_datasets([ds, ds.skip(1)], seed={seed}, {more})")
        self.n = min(ENDLESS, self.n * 2)
        return True

    def ordered_interleave(self) -> bool:
        self.finite()
        taken, body, kind = self.inner()
        more = self.dice.choice(("num_parallel_calls=2, deterministic=True", "block_length=2, name='turns'"))
        self.add(f"ds.interleave(lambda {taken}: {body}, cycle_length=2, {more})")
        self.type, self.n = kind, min(ENDLESS, self.n * 5)
        return True


def _text(kind: Type, each: Callable[[Leaf], str]) -> str:
    """An expression of this structure."""
    if isinstance(kind, Leaf):
        return each(kind)
    if isinstance(kind, dict):
        return "{" + ", ".join(f"{key!r}: {_text(part, each)}" for key, part in kind.items()) + "}"
    return "(" + "".join(f"{_text(part, each)}, " for part in kind) + ")"
