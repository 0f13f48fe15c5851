"""The sources of random pipelines: text, element type, and maximum number of elements."""

from __future__ import annotations

import random
from dataclasses import replace

from tests.differential.element_types import Leaf, Type, size_of

ENDLESS = 1 << 40
Source = tuple[str, Type, int]


class Sources:
    """Makes random sources."""

    dice: random.Random

    def calls(self) -> str:
        """Arguments of a parallel step."""
        n = self.dice.choice((None, None, 1, 2, 4, -1))
        if n is None:
            return ""
        return f", num_parallel_calls={n}" + (", deterministic=True" if self.dice.random() < 0.2 else "")

    def made_source(self) -> Source:
        makers = (
            self.range_, self.range_, self.slices, self.slices, self.slices, self.tensors, self.generator, self.random_,
            self.text_lines, self.records, self.fixed, self.csv, self.ragged, self.sparse, self.from_list, self.counter,
            self.files_in_turn, self.examples, self.csv_table, self.features, self.sparse_slices,
        )  # fmt: skip
        return self.dice.choice(makers)()

    def range_(self) -> Source:
        n = self.dice.choice((0, 1, 3, 7, 10, 20))
        if self.dice.random() < 0.3:
            start, step = self.dice.randint(-5, 5), self.dice.choice((1, 2, 3, -1))
            return f"d.Dataset.range({start}, {start + n * step}, {step})", Leaf("int64"), n
        if self.dice.random() < 0.15:
            dtype = self.dice.choice(("int32", "float32", "float64"))
            return f"d.Dataset.range({n}, output_type=xp.{dtype})", Leaf(dtype), n
        return f"d.Dataset.range({n})", Leaf("int64"), n

    def array(self, n: int) -> tuple[str, Leaf]:
        shape = self.dice.choice(((), (), (2,), (3,), (2, 2), (2,), (), (), (3,), (0,)))
        dtype = self.dice.choice(("int64", "int32", "float32", "float64", "string", "bool", "uint8"))
        size = n * (size_of(shape) or 0)
        whole = f"({', '.join(map(str, (n, *shape)))},)"
        if dtype == "string":
            if shape not in ((), (2,)):
                shape, whole, size = (), f"({n},)", n
            if shape == (2,):
                size = 2 * n
            text = f"np.array([b's%d' % (i % 9) for i in range({size})], dtype=object).reshape{whole}"
            return text, Leaf("string", shape)
        if dtype == "bool":
            return f"(np.arange({size}) % 3 == 0).reshape{whole}", Leaf("bool", shape)
        return f"(np.arange({size}) % 11).astype(np.{dtype}).reshape{whole}", Leaf(dtype, shape)

    def slices(self) -> Source:
        n = self.dice.choice((1, 3, 7, 10, 20))
        arrays = [self.array(n) for _ in range(self.dice.choice((1, 1, 2, 3)))]
        text, kind = self.structured(arrays)
        return f"d.Dataset.from_tensor_slices({text})", kind, n

    def structured(self, parts: list[tuple[str, Leaf]]) -> tuple[str, Type]:
        """A structure of expressions."""
        texts, kinds = [t for t, _ in parts], [k for _, k in parts]
        form = self.dice.random()
        if len(parts) == 1 and form < 0.7:
            return texts[0], kinds[0]
        if form < 0.45 and len(parts) > 1:
            return f"({', '.join(texts)})", tuple(kinds)
        if form < 0.75 or len(parts) == 1:
            keys = ["x", "y", "a"][: len(parts)]
            inside = ", ".join(f"{k!r}: {t}" for k, t in zip(keys, texts, strict=True))
            return f"{{{inside}}}", dict(zip(keys, kinds, strict=True))
        inner = f"{{'x': {texts[0]}}}"
        return f"({inner}, {', '.join(texts[1:])},)", ({"x": kinds[0]}, *kinds[1:])

    def tensors(self) -> Source:
        arrays = []
        for _ in range(self.dice.choice((1, 2))):
            n = self.dice.choice((1, 4))
            array, kind = self.array(n)
            arrays.append((array, replace(kind, shape=(n, *kind.shape))))  # all rows are one element
        text, whole = self.structured(arrays)
        return f"d.Dataset.from_tensors({text})", whole, 1

    def generator(self) -> Source:
        n = self.dice.choice((0, 1, 5, 12))
        form = self.dice.choice(("scalar", "vector", "tuple", "nested", "text"))
        spec = "xp.TensorSpec({}, xp.{})".format
        if form == "scalar":
            return (
                f"d.Dataset.from_generator(lambda: iter(range({n})), output_signature={spec('()', 'int32')})",
                Leaf("int32"),
                n,
            )
        if form == "vector":
            text = f"lambda: (np.arange(i % 4, dtype=np.int64) for i in range({n}))"
            return (
                f"d.Dataset.from_generator({text}, output_signature={spec('(None,)', 'int64')})",
                Leaf("int64", (None,)),
                n,
            )
        if form == "tuple":
            text = f"lambda: ((i, [i, 2.5]) for i in range({n}))"
            signature = f"({spec('()', 'int64')}, {spec('(2,)', 'float32')})"
            return (
                f"d.Dataset.from_generator({text}, output_signature={signature})",
                (Leaf("int64"), Leaf("float32", (2,))),
                n,
            )
        if form == "nested":
            text = f"lambda: (({{'x': i}}, i % 3) for i in range({n}))"
            signature = f"({{'x': {spec('()', 'int64')}}}, {spec('()', 'int64')})"
            return (
                f"d.Dataset.from_generator({text}, output_signature={signature})",
                ({"x": Leaf("int64")}, Leaf("int64")),
                n,
            )
        text = f"lambda: ('t%d' % (i * 7) for i in range({n}))"
        return f"d.Dataset.from_generator({text}, output_signature={spec('()', 'string')})", Leaf("string"), n

    def random_(self) -> Source:
        n = self.dice.randint(1, 12)
        again = self.dice.choice(("", ", rerandomize_each_iteration=True", ", rerandomize_each_iteration=False"))
        return (
            f"d.Dataset.random(seed={self.dice.randint(1, 99)}{again}).take({n}).map(lambda e: e % 1000)",
            Leaf("int64"),
            n,
        )

    def text_lines(self) -> Source:
        names = self.dice.choice(
            (
                "data + '/lines-0'",
                "[data + '/lines-0', data + '/lines-1']",
                "[data + '/lines-%d' % i for i in range(3)]",
            )
        )
        more = self.dice.choice(("", "", ", num_parallel_reads=2", ", buffer_size=16"))
        return f"d.TextLineDataset({names}{more})", Leaf("string"), 26

    def records(self) -> Source:
        names = self.dice.choice(("data + '/records-1'", "[data + '/records-%d' % i for i in range(4)]"))
        more = self.dice.choice(("", "", ", num_parallel_reads=3", ", num_parallel_reads=1"))
        text = f"d.TFRecordDataset({names}{more})"
        if self.dice.random() < 0.2:
            text = "d.TFRecordDataset(data + '/records.gz', compression_type='GZIP')"
        return text, Leaf("string", numeric=True), 26

    def files_in_turn(self) -> Source:
        cycle, length = self.dice.choice((1, 2, 3, 4)), self.dice.choice((1, 2, 5))
        calls = self.dice.choice(("", f", num_parallel_calls={cycle}", ", num_parallel_calls=-1"))
        listed = self.dice.choice((
            "d.Dataset.from_tensor_slices([data + '/records-%d' % i for i in range(4)])",
            "d.Dataset.list_files(data + '/records-?', shuffle=False)",
            f"d.Dataset.list_files(data + '/records-?', seed={self.dice.randint(1, 9)})",
        ))  # fmt: skip
        text = f"{listed}.interleave(d.TFRecordDataset, cycle_length={cycle}, block_length={length}{calls})"
        return text, Leaf("string", numeric=True), 26

    def fixed(self) -> Source:
        more = self.dice.choice(("", ", header_bytes=4", ", footer_bytes=2", ", header_bytes=1, footer_bytes=1"))
        return f"d.FixedLengthRecordDataset([data + '/fixed'], 6{more})", Leaf("string"), 9

    def csv(self) -> Source:
        if self.dice.random() < 0.5:
            text = "d.experimental.CsvDataset(data + '/table.csv', [xp.int64, xp.float32, xp.string], header=True)"
            return text, (Leaf("int64"), Leaf("float32"), Leaf("string")), 12
        defaults = "[xp.const([0]), xp.const(['?'], dtype=xp.string)]"
        text = f"d.experimental.CsvDataset(data + '/table.csv', {defaults}, header=True, select_cols=[0, 2])"
        return text, (Leaf("int32"), Leaf("string")), 12

    def examples(self) -> Source:
        features = "{'x': io.FixedLenFeature([], np.int64), 'v': io.FixedLenFeature([2], np.float32)}"
        kind: Type = {"v": Leaf("float32", (2,)), "x": Leaf("int64")}
        if self.dice.random() < 0.4:
            features = "{'x': io.FixedLenFeature([], np.int64), 'r': io.RaggedFeature(np.int64)}"
            kind = {"r": Leaf("int64", (None,), "dense"), "x": Leaf("int64")}
        text = (
            f"d.TFRecordDataset(data + '/examples').map(lambda e: io.parse_single_example(e, {features}){self.calls()})"
        )
        return text, kind, 15

    def ragged(self) -> Source:
        if self.dice.random() < 0.5:
            text = "d.Dataset.from_tensor_slices(xp.ragged([[1, 2], [], [3], [4, 5, 6]], dtype=xp.int64))"
            return text, Leaf("int64", (None,), "ragged"), 4
        text = "d.Dataset.from_tensor_slices(xp.ragged([[[1], [2, 3]], [], [[4]]], dtype=xp.int32))"
        return text, Leaf("int32", (None, None), "ragged"), 3

    def sparse(self) -> Source:
        text = (
            "d.Dataset.from_tensor_slices(xp.sparse([[0, 0], [1, 2], [3, 1]], np.array([5, 6, 7], np.int64), [4, 3]))"
        )
        return text, Leaf("int64", (3,), "sparse"), 4

    def from_list(self) -> Source:
        n = self.dice.choice((1, 4, 9))
        return f"d.experimental.from_list([(i, 'w%d' % i) for i in range({n})])", (Leaf("int32"), Leaf("string")), n

    def counter(self) -> Source:
        start, step = self.dice.randint(0, 5), self.dice.choice((1, 2))
        return f"d.Dataset.counter({start}, {step})", Leaf("int64"), ENDLESS

    def csv_table(self) -> Source:
        n = self.dice.choice((2, 5))
        label, kind = self.dice.choice((("", ()), (", label_name='name'", ("name",))))
        columns: dict[str, Type] = {
            "number": Leaf("int32", (None,)),
            "part": Leaf("float32", (None,)),
            "name": Leaf("string", (None,)),
        }
        text = f"d.experimental.make_csv_dataset(data + '/table.csv', {n}{label}, num_epochs=1, shuffle=False)"
        inputs: Type = {k: v for k, v in columns.items() if k not in kind}
        return text, (inputs, columns["name"]) if kind else inputs, 6

    def features(self) -> Source:
        n = self.dice.choice((2, 4))
        features = "{'x': io.FixedLenFeature([], np.int64), 'v': io.FixedLenFeature([2], np.float32)}"
        seed = self.dice.choice(("shuffle=False", f"shuffle=True, shuffle_seed={self.dice.randint(1, 9)}"))
        text = (
            f"d.experimental.make_batched_features_dataset(data + '/examples', {n}, {features}, num_epochs=1, {seed})"
        )
        return text, {"v": Leaf("float32", (None, 2)), "x": Leaf("int64", (None,))}, 8

    def sparse_slices(self) -> Source:
        text = "d.Dataset.from_tensor_slices((xp.sparse([[0, 1], [2, 0]], np.array([1.5, 2.5]), [3, 2]), np.arange(3)))"
        return text, (Leaf("float64", (2,), "sparse"), Leaf("int64")), 3
