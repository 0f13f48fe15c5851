"""Rare sources and steps; few random pipelines have one."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from tests.differential.element_types import Leaf, Type, leaves
from tests.differential.sources import ENDLESS, Source
from tests.differential.steps import Steps

UNCOUNTED = (  # steps without a cardinality
    r"filter|flat_map|interleave|unbatch|window|group_by|bucket|while|unique|ignore_errors|rebatch|resample|"
    r"(choose|sample)_from|from_generator|Dataset\(|snapshot|cache\(tmp|load|make_csv|list_files"
)
BY_NUMBER = r"range|from_tensor_slices|from_tensors|map|batch|take|skip|shard|concatenate|prefetch|repeat|cache"
OLD_NAMES = {"enumerate": "enumerate_dataset"}  # names in tf.data.experimental that differ


class Rare(Steps):
    """Makes rare sources, and adds rare steps."""

    def rare_source(self) -> Source:
        makers = (self.sql, self.listed_files, self.parsed_examples, self.old_counter, self.old_random)
        return self.dice.choice(makers)()

    def rare_step(self) -> None:
        """Adds a rare step that fits the elements."""
        steps: list[Callable[[], bool]] = [
            self.pad_to_cardinality, self.shuffle_and_repeat, self.sparse_rows, self.bucket_options, self.by_number,
            self.single_element, self.index_table, self.table, self.written_records, self.old_form, self.old_form,
        ]  # fmt: skip
        self.dice.shuffle(steps)
        for step in steps:
            if step():
                return

    # Sources.

    def sql(self) -> Source:
        integer = self.dice.choice(("int64", "int32"))
        columns = {"number": integer, "part": "float64", "name": "string"}
        chosen = self.dice.sample(list(columns), self.dice.choice((1, 2, 3)))
        rest = self.dice.choice(("", " where number > 6", " where number > 99", " order by name, number desc"))
        query = f"select {', '.join(chosen)} from t{rest}"
        types = "".join(f"xp.{columns[name]}, " for name in chosen)
        text = f"d.experimental.SqlDataset('sqlite', data + '/table.db', '{query}', ({types}))"
        return text, tuple(Leaf(columns[name]) for name in chosen), 12

    def listed_files(self) -> Source:
        """The last parts of the names, since the folder differs in each run."""
        patterns = {
            "data + '/records-?'": 3, "[data + '/lines-*', data + '/records-[12]']": 2, "data + '/*'": 2,
            "data + '/nothing-*'": 0.5,
        }  # fmt: skip
        pattern = self.dice.choices(list(patterns), list(patterns.values()))[0]
        seed = self.dice.randint(1, 99)
        more = [", shuffle=False", f", seed={seed}", f", shuffle=True, seed={seed}"]
        if self.lines:  # there is a global seed
            more.append("")
        text = f"d.Dataset.list_files({pattern}{self.dice.choice(more)}).map(lambda e: xp.substr(e, -7, 7))"
        return text, Leaf("string"), 12

    def parsed_examples(self) -> Source:
        n, drop = self.dice.choice((2, 4)), self.dice.random() < 0.4
        size = n if drop else None
        features: dict[str, tuple[str, Leaf]] = {
            "r": self.dice.choice((
                ("io.RaggedFeature(np.int64)", Leaf("int64", (size, None), "ragged")),
                ("io.VarLenFeature(np.int64)", Leaf("int64", (size, None), "sparse")),
                ("io.FixedLenSequenceFeature([], np.int64, allow_missing=True)", Leaf("int64", (size, None))),
            )),
            "v": ("io.FixedLenFeature([2], np.float32)", Leaf("float32", (size, 2))),
            "x": ("io.FixedLenFeature([], np.int64)", Leaf("int64", (size,))),
            "z": ("io.FixedLenFeature([], xp.string, default_value='?')", Leaf("string", (size,))),
        }  # fmt: skip
        chosen = sorted(self.dice.sample(list(features), self.dice.choice((1, 2, 3))))
        inside = ", ".join(f"'{key}': {features[key][0]}" for key in chosen)
        calls = self.dice.choice(("", "", ", num_parallel_calls=2", ", num_parallel_calls=-1, deterministic=True"))
        text = (
            f"d.TFRecordDataset(data + '/examples').batch({n}{', drop_remainder=True' if drop else ''})"
            f".apply(d.experimental.parse_example_dataset({{{inside}}}{calls}))"
        )
        return text, {key: features[key][1] for key in chosen}, 8

    def old_counter(self) -> Source:
        return f"d.experimental.Counter({self.dice.randint(0, 5)}, {self.dice.choice((1, 3))})", Leaf("int64"), ENDLESS

    def old_random(self) -> Source:
        n = self.dice.randint(1, 12)
        text = f"d.experimental.RandomDataset(seed={self.dice.randint(1, 99)}).take({n}).map(lambda e: e % 1000)"
        return text, Leaf("int64"), n

    # Steps: each returns whether it fits the elements.

    def short(self) -> None:
        if self.n > 40:
            self.take(self.dice.choice((5, 12, 30)))

    def pad_to_cardinality(self) -> bool:
        uncounted = any(re.search(UNCOUNTED, line) for line in self.lines)
        if uncounted or any(None in leaf.shape or leaf.kind != "dense" for leaf in leaves(self.type)):
            return False
        self.short()
        source, kind = (
            ("ds", self.type) if isinstance(self.type, dict) else ("d.Dataset.zip({'x': ds})", {"x": self.type})
        )
        self.n += self.dice.choice((0, 1, 5))
        key = self.dice.choice(("", ", mask_key='real'"))
        self.add(f"{source}.apply(d.experimental.pad_to_cardinality({self.n}{key}))")
        self.type = {**kind, "real" if key else "valid": Leaf("bool")}
        return True

    def shuffle_and_repeat(self) -> bool:
        self.finite()
        n, count = self.dice.choice((1, 2, 5, 50)), self.dice.choice((1, 2, 2, 3, 3, None, None, 0))
        counted = "" if count is None else f", count={count}"
        self.add(f"ds.apply(d.experimental.shuffle_and_repeat({n}{counted}, seed={self.dice.randint(0, 99)}))")
        if count is None:
            self.take(self.dice.choice((12, 25, 40)))
        self.n = min(ENDLESS, 40 if count is None else count * self.n)
        return True

    def rows_of(self, only: Type) -> tuple[str, Leaf] | None:
        """The dataset with a row of numbers or strings for each element, if possible."""
        if not isinstance(only, Leaf) or only.kind != "dense" or not (only.is_number or only.is_string):
            return None
        if only.shape:
            return "ds", only
        if only.is_int:
            return "ds.map(lambda e: xp.range(e % 5))", replace(only, shape=(None,))
        return ("ds.map(lambda e: xp.split_words(e))", replace(only, shape=(None,))) if only.is_string else None

    def sparse_rows(self) -> bool:
        found = self.rows_of(self.type)
        if found is None:
            return False
        text, rows = found
        n = self.dice.choice((1, 2, 3))
        sizes: list[int | None] = [self.dice.choice((50, 50, None, 3)) for _ in rows.shape]
        self.add(text + self.dice.choice((
            f".sparse_batch({n}, row_shape={sizes})", f".apply(d.experimental.dense_to_sparse_batch({n}, {sizes}))"
        )))  # fmt: skip
        self.batched(None, n)
        self.type = replace(rows, shape=(None, *sizes), kind="sparse")
        return True

    def bucket_options(self) -> bool:
        found = self.rows_of(self.type)
        if found is None:
            return False
        self.finite()
        text, rows = found
        values = {"string": "'?'", "float32": "-1.0", "float64": "np.float64(-1)"}
        value = values.get(rows.dtype, f"np.{rows.dtype}(9)")
        bounds, sizes = self.dice.choice(
            (("[2, 4]", "[2, 2, 3]"), ("[1, 2, 3, 4, 5]", "[2, 3, 2, 3, 2, 2]"), ("[30]", "[3, 1]"))
        )
        more = self.dice.choice((
            ", pad_to_bucket_boundary=True", ", no_padding=True", ", no_padding=True, drop_remainder=True",
            ", pad_to_bucket_boundary=True, drop_remainder=True", f", padding_values={value}",
            f", padded_shapes={[None] * len(rows.shape)}, pad_to_bucket_boundary=True",
            f", padded_shapes={[None] * len(rows.shape)}, padding_values={value}",
        ))  # fmt: skip
        call = f"bucket_by_sequence_length(lambda e: xp.shape(e)[0], {bounds}, {sizes}{more})"
        self.add(text + self.dice.choice((f".{call}", f".apply(d.experimental.{call})")))
        self.type = replace(rows, shape=(None, *(None for _ in rows.shape)))
        return True

    def sizes_are_known(self) -> bool:
        """Whether the type of a single element is no more specific than that of the dataset."""
        return all(leaf.kind != "ragged" and None not in leaf.shape for leaf in leaves(self.type))

    def single_element(self) -> bool:
        if not self.sizes_are_known():
            return False
        form = self.dice.choice(("ds.take(1)", "ds.take(1)", "ds", "ds.take(9).batch(9)"))
        text = self.dice.choice((f"{form}.get_single_element()", f"d.experimental.get_single_element({form})"))
        self.add(f"d.Dataset.from_tensors({text})")
        if form.endswith("batch(9)"):
            self.batched(min(9, self.n), 9)
        self.n = 1
        return True

    def by_number(self) -> bool:
        names = re.findall(r"\.(\w+)\(", re.sub(r"lambda .*|np\.\w+\(|xp\.\w+\(", "", "\n".join(self.lines)))
        if not self.sizes_are_known() or not all(re.fullmatch(BY_NUMBER, name) for name in names):
            return False
        self.finite()
        self.add(f"d.Dataset.from_tensors(d.experimental.at(ds, {self.dice.randint(0, 4)}))")
        self.n = 1
        return True

    def key(self) -> str | None:
        """The dtype of elements that can be keys of a table."""
        only = self.type
        if isinstance(only, Leaf) and only.kind == "dense" and only.shape == () and only.dtype in ("int64", "string"):
            return f"xp.{only.dtype}"
        return None

    def index_table(self) -> bool:
        key = self.key()
        if key is None:
            return False
        self.finite()
        more = self.dice.choice(("", ", num_oov_buckets=2", ", default_value=-7", ", num_oov_buckets=1, vocab_size=3"))
        keys = self.dice.choice(("ds.unique()", "ds.unique().take(3)"))
        self.lines.append(f"t = d.experimental.index_table_from_dataset({keys}{more}, key_dtype={key})")
        self.add(f"ds.map(lambda e: t.lookup(e){self.calls()})")
        self.type = Leaf("int64")
        return True

    def table(self) -> bool:
        key = self.key()
        if key is None:
            return False
        self.finite()
        value, kind = self.dice.choice((("i", Leaf("int64")), ("xp.cast(i, xp.float32)", Leaf("float32"))))
        more = self.dice.choice((", default_value=-1", f", default_value=-1, vocab_size={self.dice.choice((1, 9))}"))
        pairs = f"ds.unique().take(4).enumerate().map(lambda i, e: (e, {value}))"
        self.lines.append(f"t = d.experimental.table_from_dataset({pairs}{more}, key_dtype={key})")
        self.add(f"ds.map(lambda e: t.lookup(e){self.calls()})")
        self.type = kind
        return True

    def written_records(self) -> bool:
        only = self.type
        if not (isinstance(only, Leaf) and only.shape == () and (only.is_string or only.is_int)):
            return False
        self.finite()
        self.files += 1
        text = "ds" if only.is_string else "ds.map(lambda e: xp.as_string(e))"
        self.lines.append(f"d.experimental.TFRecordWriter(tmp + '/records-{self.files}').write({text})")
        self.add(f"d.TFRecordDataset(tmp + '/records-{self.files}')")
        self.type = replace(only, dtype="string", numeric=only.is_int or only.numeric)
        return True

    def old_form(self) -> bool:
        """A common step by its name in tf.data.experimental."""
        step = self.dice.choice((
            self.unique, self.unbatch, self.scan, self.take_while, self.group_by_window, self.ignore_errors,
            self.rejection_resample, self.enumerate_, self.sample, self.choose, self.snapshot, self.saved,
        ))  # fmt: skip
        begun = len(self.lines)
        step()
        new = [_old(line) for line in self.lines[begun:]]
        made = self.lines[begun:] != new
        self.lines[begun:] = new
        return made


def _old(line: str) -> str:
    line = re.sub(r"d\.Dataset\.(choose_from_datasets|sample_from_datasets|load)\(", r"d.experimental.\1(", line)
    line = re.sub(r"^ds\.save\(", "d.experimental.save(ds, ", line)
    names = "unique|unbatch|scan|take_while|group_by_window|ignore_errors|rejection_resample|enumerate|snapshot"
    found = re.fullmatch(rf"ds = ds\.({names})\((.*)\)", line)
    return f"ds = ds.apply(d.experimental.{OLD_NAMES.get(found[1], found[1])}({found[2]}))" if found else line
