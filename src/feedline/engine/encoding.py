"""States as plain values, and back.

A state is a NamedTuple of values, or a class with `save` and `load`. Values are what JSON has, plus bytes, arrays,
blocks, exceptions and nested runs. Live objects (an open generator) are left out: the node reopens them from the rest
of its state. Rows with provenance are stored as their provenance only.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from feedline import errors
from feedline.engine import rollback
from feedline.engine.allowed_files import AllowedFiles
from feedline.engine.input import RecomputableRow, pull_recomputable
from feedline.engine.run import Run, RunSnapshot
from feedline.engine.state_validation import check_block, check_counts, check_fields, check_saved, damaged
from feedline.engine.step_slots import StepSlots, name_of, ops_above, step_slots, with_buffers
from feedline.errors import DataLossError, FailedPreconditionError, OpError
from feedline.io.elements import form
from feedline.io.reader import RecordReader
from feedline.io.record_file import RecordFile, any_changed, rows_at
from feedline.io.unchanged import check_unchanged
from feedline.plan.dataset_base import DatasetBase, dataset, in_memory
from feedline.plan.fingerprint import own_digest
from feedline.plan.function import Function
from feedline.plan.node import Node
from feedline.plan.row_calls import RowFailed
from feedline.plan.row_wise import RowWise, epochs_of, recompute
from feedline.plan.states import Closable, LivePosition, NamedFields, SavableState, can_load
from feedline.plan.traits.checkpoint import HasRecipe, InMemory, Reloads, steps_of, written_op
from feedline.plan.traits.schedule import OpensChildren
from feedline.plan.traits.seeds import generator_of, seeds_drawn
from feedline.provenance.codec import packed, unpacked
from feedline.provenance.identity import Expected
from feedline.provenance.rows import Provenance
from feedline.random.seeds import M, SeedGenerator
from feedline.structure.block import Block, Bytes, Objects, object_array
from feedline.structure.datasets import Datasets
from feedline.structure.nest import LEAF, Tree, flatten, has_tf_flatten
from feedline.structure.optional import Optional
from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.spec import DatasetSpec, OptionalSpec
from feedline.structure.types import as_dtype

SMALL = 1 << 12
"""The states to recompute a row from may always take this many bytes, since the size of a dataset in a row is unknown.
"""


def outline(plan: Node) -> list[str]:
    """The operators of a plan, inputs first."""
    return [n.op for n in plan.walk()]


def generators(plan: Node) -> list[Any]:
    """The seed generators of a plan, each once."""
    return _distinct(map(generator_of, plan.walk()))


def counters(plan: Node) -> list[Any]:
    """The iteration counters of a plan, each once: seed generators, and the epochs of user functions."""
    return [*generators(plan), *_distinct(map(epochs_of, plan.walk()))]


def _distinct(found: Iterable[Any]) -> list[Any]:
    return list({id(g): g for g in found if g is not None}.values())


def counts(run: Run, states: list[Any]) -> list[Any]:
    """The values that the counters had at `states`, without what the run has counted since."""
    later: dict[int, int] = {}
    for node, now, then in zip(run.nodes, run.states, states, strict=True):
        if now is None or now is then:
            continue
        earlier = {} if then is None else {id(g): n for g, n in seeds_drawn(node, then)}
        for generator, n in seeds_drawn(node, now):
            seeds = (n - earlier.get(id(generator), 0)) * (2 if generator.reshuffle else 1)
            later[id(generator)] = later.get(id(generator), 0) + seeds
        epochs = epochs_of(node)
        if epochs is not None and now.draws is not None and (then is None or then.draws is not None):
            later[id(epochs)] = 1 if then is None else now.draws[1] - then.draws[1]
    found = []
    for counter in counters(run.plan):
        count = counter.count - later.get(id(counter), 0)
        drawn = isinstance(counter, SeedGenerator) and max(counter.seed, counter.seed2) > M
        found.append([count, counter.seed, counter.seed2] if drawn else [count])
    return found


def count(plan: Node, counts: list[Any]) -> None:
    """Sets the iteration counters of a plan."""
    check_counts(counts)
    for counter, (number, *seeds) in zip(counters(plan), counts, strict=False):
        counter.count = number
        if seeds:  # the saving process drew them from the operating system: later epochs must use the same
            counter.seed, counter.seed2 = seeds


def encode(value: object) -> Any:
    """`value` as JSON; a type that JSON does not have becomes a dict with one key that names it (see `_ENCODERS`)."""
    if value is None or (isinstance(value, (bool, int, float, str)) and not isinstance(value, np.generic)):
        return value
    for kind, coded in _ENCODERS:
        if isinstance(value, kind):
            return coded(value)
    raise FailedPreconditionError(f"a {type(value).__name__} cannot be part of a saved iterator state")


def _encode_state(value: NamedFields) -> Any:
    usual, fields = value._field_defaults, value._asdict().items()
    return {"state": {k: encode(v) for k, v in fields if k not in usual or not _is_default(v, usual[k])}}


def _encode_error(value: Exception) -> Any:
    text = str(value) if isinstance(value, OpError) else f"{type(value).__name__}: {value}"
    return {"error": [_op_error(type(value)), text]}


def _encode_run(value: Run) -> Any:
    with value.held() as states:
        coded = [encode(s) for s in states]
        return {"run": [encode(value.key), outline(value.plan), coded, counts(value, states)]}


def _encode_optional(value: Optional) -> Any:
    if value.has_value():
        return {"optional": encode(Block.of_elements([value.get_value()]))}
    raise FailedPreconditionError("an empty optional in a shuffle or window buffer cannot be saved")


def _encode_reader(value: RecordReader) -> Any:
    return None if value.file is None else _encode_file(value.file.name, value.file.mark())


def _encode_file(name: bytes, mark: Any) -> Any:
    return {"file": [base64.b64encode(name).decode(), mark]}


def _op_error(kind: type[Exception]) -> str:
    """The name of TensorFlow's error class for an exception, which may have a class of the user's own."""
    known: list[type] = [c for c in errors.op_class(kind).__mro__ if getattr(errors, c.__name__, None) is c]
    return known[0].__name__


def _is_default(value: object, usual: object) -> bool:
    return value is usual or (type(value) is type(usual) and isinstance(value, (int, str, tuple)) and value == usual)


def encode_step(nodes: list[Node], states: list[Any], site: StepSlots) -> dict[str, Any]:
    """The state of a step, and the states of the buffers directly above it."""
    above = [(nodes[i], states[i]) for i in site.above]
    waiting = [[n.op, encode(s)] for n, s in above if s is not None and s != n.State()]
    return {"op": name_of(nodes[site.slot]), "state": encode(states[site.slot]), "waiting": waiting}


def _encode_block(block: Block) -> Any:
    """The provenance of the rows, if they have one and the files are unchanged; or the states to recompute the row
    from, if that is smaller; else the rows themselves.
    """
    if isinstance(block, RecomputableRow):
        steps = [encode_step(block.nodes, block.states, site) for site in step_slots(block.nodes)]
        if len(json.dumps(steps)) < max(SMALL, block.nbytes):
            return {"again": steps}
    if block.provenance is not None and block.n:
        plain = packed(block.provenance.numbers())
        if not block.columns or not any_changed(plain):
            lineage = [[written_op(n), n.position, own_digest(n)] for n in block.provenance.lineage]
            return {"made": [plain, lineage]} if lineage else {"places": plain}
    return {"block": [_encode_tree(block.tree), block.n, [_encode_column(c) for c in block.columns]]}


def _encode_dataset(plan: Node) -> Any:
    if isinstance(plan, InMemory):
        return encode(plan.block)
    recipe = plan.recipe() if isinstance(plan, HasRecipe) else None
    if recipe is not None:
        return {"recipe": [plan.op, encode(recipe)]}
    raise FailedPreconditionError(
        f"a buffer holds a dataset made by a function ({plan.op}), which cannot be saved; save before it "
        "is buffered, or flatten it with flat_map first"
    )


def _encode_array(array: np.ndarray[Any, Any], scalar: bool) -> Any:
    if array.dtype.kind == "O":
        items = [base64.b64encode(v).decode() for v in array.ravel().tolist()]
        return {"strings": [list(array.shape), items]}
    narrow = _narrowest(array)
    raw = base64.b64encode(np.ascontiguousarray(array, narrow).tobytes()).decode()
    return {"array": [as_dtype(array.dtype).name, list(array.shape), raw, scalar, as_dtype(narrow).name]}


def _narrowest(array: np.ndarray[Any, Any]) -> np.dtype[Any]:
    """The smallest type that holds the values: row numbers are int64 but seldom need it."""
    given: np.dtype[Any] = array.dtype
    if given != np.int64 or not array.size:
        return given
    low, high = int(array.min()), int(array.max())
    fitting = (np.dtype(t) for t in (np.uint8, np.uint16, np.uint32) if low >= 0 and high <= np.iinfo(t).max)
    return next(fitting, given)


def _encode_column(column: object) -> Any:
    if isinstance(column, Bytes):
        column = column.objects()
    if not isinstance(column, Objects):
        return encode(column)
    # The spec cannot be derived from the rows: those of ragged tensors are plain arrays, and there may be none.
    return {"objects": [[encode(v) for v in column.items], _encode_spec(column.spec)]}


def _encode_spec(spec: object) -> Any:
    if not isinstance(spec, (DatasetSpec, OptionalSpec)):
        return form.spec_described(spec)
    leaves, tree = flatten(spec.element_spec)
    inside = [_encode_tree(tree), [_encode_spec(leaf) for leaf in leaves]]
    if isinstance(spec, OptionalSpec):
        return {"optional": inside}
    dims = spec.dataset_shape.dims
    return {"dataset": [*inside, None if dims is None else list(dims)]}


def _encode_tree(tree: Tree) -> Any:
    if tree.kind is None:
        return None
    name = f"{tree.kind.__module__}:{tree.kind.__qualname__}"
    fixed = [] if tree.fixed is None else [encode(tree.fixed)]
    return [name, [encode(k) for k in tree.keys], [_encode_tree(c) for c in tree.children], *fixed]


_ENCODERS: tuple[tuple[type, Callable[[Any], Any]], ...] = (
    (bytes, lambda value: {"b": base64.b64encode(value).decode()}),
    (np.ndarray, lambda value: _encode_array(value, False)),
    (np.generic, lambda value: _encode_array(np.asarray(value), True)),
    (Block, _encode_block),
    (Expected, lambda value: _encode_file(value.name, value.mark)),
    (RunSnapshot, lambda v: {"run": [encode(v.key), outline(v.plan), [encode(s) for s in v.states], []]}),
    (NamedFields, _encode_state),
    (tuple, lambda value: {"tuple": [encode(v) for v in value]}),
    (list, lambda value: [encode(v) for v in value]),
    (dict, lambda value: {"dict": [[encode(k), encode(v)] for k, v in value.items()]}),
    (Exception, _encode_error),
    (Run, _encode_run),
    (RaggedTensor, lambda value: {"ragged": [encode(value.values), encode(value.row_splits)]}),
    (SparseTensor, lambda v: {"sparse": [encode(v.indices), encode(v.values), encode(v.dense_shape)]}),
    (Optional, _encode_optional),
    (Datasets, lambda value: {"datasets": [encode(v) for v in value]}),
    (DatasetBase, lambda value: {"dataset": _encode_dataset(value._plan)}),
    (SavableState, lambda value: {"saved": encode(value.save())}),
    (RecordReader, _encode_reader),
    (LivePosition, lambda value: encode(value.saved_position())),
    (Closable, lambda value: None),
)
"""How values are encoded: by the first class that they have."""


class StateDecoder:
    """The inverse of `encode`. If `strict`, files must be unchanged. `allowed_files` decides which files a state may
    refer to.
    """

    def __init__(self, strict: bool = True) -> None:
        self.strict = strict
        self.lineage_nodes: list[Node] = []
        self.allowed_files = AllowedFiles()

    def enter(self, run: Run) -> None:
        """Makes `run` the one whose states are decoded next."""
        run.restored = True
        rollback.note(run.plan)
        self.lineage_nodes += run.nodes
        self.allowed_files.plans.append(run.plan)

    def rows(self, read: Provenance, node: Node) -> Block:
        """The rows in a state of `node` that were read from these locations."""
        return rows_at(read)

    def made(self, read: Provenance, lineage: list[Any], node: Node) -> Block:
        """The rows in a state of `node`, recomputed by its lineage from those at these locations."""
        rows = rows_at(read)
        for entry in lineage:
            name, position, digest = entry
            found = self._lineage_node(name, position, digest, node)
            try:
                rows = recompute(found, rows)
            except RowFailed as failed:
                raise FailedPreconditionError(
                    f"{found.op} (step {found.position}) cannot recompute the rows that it had made when the state "
                    f"was saved: {failed.error}"
                ) from failed.error
        return rows

    def _file(self, recipe: tuple[Any, ...], name: bytes, mark: list[Any]) -> RecordFile:
        """The file that rows were read from. Raises if the plan does not read it, or it has changed."""
        self.allowed_files.check_file(recipe, name)
        if self.strict:
            check_unchanged(name, mark)
        return RecordFile.current(recipe, name, mark)

    def _lineage_node(self, name: str, position: int, digest: str, holder: Node) -> RowWise:
        """The node that made rows that `holder` holds. Steps of the same code are told apart by their positions; if the
        code has changed since, it is the node now at that position.
        """
        below = list(holder.walk())
        named = [n for n in (*below, *self.lineage_nodes) if isinstance(n, RowWise) and written_op(n) == name]
        same = [n for n in named if own_digest(n) == digest] or named
        found = [n for n in same if n.position == position]
        if not found and same is not named:
            found = same
            if any(_functions(n) != _functions(same[0]) for n in same):
                raise FailedPreconditionError(
                    f"the state holds rows made by {name} (step {position}), and this dataset has several such steps, "
                    "all at other places; restore it into the dataset that it was saved from"
                )
        if not found:
            raise FailedPreconditionError(
                f"the state holds rows made by {name} (step {position}), which this dataset does not have"
            )
        return found[0]

    def fill(self, run: Run, steps: list[dict[str, Any]]) -> None:
        """Restores the states of a plan's steps into a run of it, and the result specs into its functions."""
        for site, step in zip(step_slots(run.nodes), steps, strict=True):
            state = run.states[site.slot] = self.state(step["state"], run.nodes[site.slot], run)
            waiting = list(step["waiting"])
            for slot in site.above:
                node = run.nodes[slot]
                held = next((w for w in waiting if w[0] == node.op), None)
                fresh = None if state is None else node.State()
                run.states[slot] = fresh if held is None else self.state(held[1], node, run)
                if held is not None:
                    waiting.remove(held)
            for name, (_, _, results) in step.get("functions", {}).items():
                like = self.value(results, run.nodes[site.slot], run)
                function = getattr(run.nodes[site.slot], name, None)
                if like is not None and isinstance(function, Function):
                    function.results = like

    def _again(self, steps: Any, node: Node, run: Run) -> Block:
        """Recomputes a row of the input of `node` from these states."""
        plan = node.inputs[0] if len(node.inputs) == 1 else node
        forms = isinstance(steps, list) and all(isinstance(s, dict) and s.keys() == _AGAIN for s in steps)
        if not forms or [s["op"] for s in steps] != [name_of(n) for n in steps_of(plan)]:
            raise damaged(f"step {node.position}, {node.op}: an element was not made by the steps of its input")
        below = with_buffers(Run(plan, run.prepare), [{"steps": steps}])
        self.fill(below, steps)
        try:
            row = pull_recomputable(below.root)
            while row is not None and not row.n:
                row = pull_recomputable(below.root)
        except Exception as e:
            raise FailedPreconditionError(f"{_not_recomputable(node)}: {e}") from e
        finally:
            below.close()
        if row is None:
            raise FailedPreconditionError(f"{_not_recomputable(node)}: its input ends before it")
        return row

    def state(self, value: object, node: Node, run: Run) -> Any:
        """The state of `node`, from its encoded form."""
        if isinstance(value, dict) and "state" in value:
            fields = {k: self.value(v, node, run) for k, v in value["state"].items()}
            if not fields.keys() <= set(node.State._fields):
                raise FailedPreconditionError(
                    f"step {node.position}, {node.op}: the state has fields that the step does not have as it runs "
                    "here; restore it with the options it was saved with"
                )
            state = node.State(**fields)
            check_fields(state, f"step {node.position}, {node.op}")
            self.allowed_files.check_state(node, state)
            return node.loaded(state) if isinstance(node, Reloads) else state
        if isinstance(value, dict) and "saved" in value and can_load(node.State):
            saved = self.value(value["saved"], node, run)
            check_saved(saved, node.State.Saved, f"step {node.position}, {node.op}")
            state = node.State.load(saved)
            return node.loaded(state) if isinstance(node, Reloads) else state
        if value is not None:
            raise damaged(f"step {node.position}, {node.op}: its state is not a state of that step")
        return None

    def value(self, value: Any, node: Node, run: Run) -> Any:
        """The inverse of `encode`, for a value in the state of `node`."""
        if isinstance(value, list):
            return [self.value(v, node, run) for v in value]
        if not isinstance(value, dict):
            return value
        ((kind, got),) = value.items()
        if kind not in _DECODERS:
            raise DataLossError(f"the iterator state holds {kind!r}, which this feedline does not support")
        return _DECODERS[kind](self, got, node, run)

    def _array(self, got: Any, node: Node, run: Run) -> Any:
        dtype, shape, raw, scalar, narrow = got
        stored = np.frombuffer(base64.b64decode(raw), as_dtype(narrow).dtype)
        array = stored.astype(as_dtype(dtype).dtype).reshape(shape)
        return array[()] if scalar and not array.ndim else array

    def _strings(self, got: Any, node: Node, run: Run) -> Any:
        shape, items = got
        return object_array([base64.b64decode(v) for v in items]).reshape(shape)

    def _block(self, got: Any, node: Node, run: Run) -> Block:
        tree, n, columns = got
        leaves = [self._column(c, node, run) for c in columns]
        block = Block(leaves, n, self._tree(tree, node, run))
        check_block(block)
        return block

    def _expected(self, got: Any, node: Node, run: Run) -> Expected:
        name = base64.b64decode(got[0])
        self.allowed_files.check_name(node, name)
        if self.strict:
            check_unchanged(name, got[1])
        return Expected(name, got[1])

    def _error(self, got: Any, node: Node, run: Run) -> OpError:
        error: Any = getattr(errors, got[0], None)
        known = isinstance(error, type) and issubclass(error, OpError)
        made: OpError = (error if known else errors.UnknownError)(str(got[1]))
        return made

    def _values(self, got: Any, node: Node, run: Run) -> list[Any]:
        return [self.value(v, node, run) for v in got]

    def _mapping(self, got: Any, node: Node, run: Run) -> dict[Any, Any]:
        return {self.value(k, node, run): self.value(v, node, run) for k, v in got}

    def _dataset(self, got: Any, node: Node, run: Run) -> DatasetBase[Any]:
        if "recipe" in got:
            op, values = got["recipe"][0], self.value(got["recipe"][1], node, run)
            self.allowed_files.check_folder(values)
            return dataset(HasRecipe.by_op[op].from_recipe(values))
        return dataset(in_memory(self.value(got, node, run)))

    def _run(self, got: Any, node: Node, run: Run) -> Run:
        key = self.value(got[0], node, run)
        if key is not None:
            self.allowed_files.check_row(node, key)
        if not isinstance(node, OpensChildren):
            raise damaged(f"step {node.position}, {node.op}: its state holds a nested dataset, which it never opens")
        child = run.nested(node.child(key), key, node)
        saved = run.prepare.restored(child.plan, ops_above(child.plan, got[1]))
        child = child if saved is child.plan else child.duplicate(saved)
        if outline(child.plan) != got[1]:
            raise FailedPreconditionError(
                f"the function of {node.op} returned a different dataset than when the state was saved: "
                f"{' → '.join(outline(child.plan))} instead of {' → '.join(got[1])}"
            )
        self.enter(child)
        count(child.plan, got[3])
        child.states[:] = [self.state(s, n, child) for s, n in zip(got[2], child.nodes, strict=True)]
        return child

    def _column(self, value: object, node: Node, run: Run) -> Any:
        if isinstance(value, dict) and "objects" in value:
            coded, spec = value["objects"]
            return Objects([self.value(v, node, run) for v in coded], self._spec(spec, node, run))
        return self.value(value, node, run)

    def _spec(self, value: object, node: Node, run: Run) -> Any:
        if not isinstance(value, dict):
            return form.decode_spec(value)
        ((kind, (tree, leaves, *shape)),) = value.items()
        element_spec = self._tree(tree, node, run).unflatten([self._spec(leaf, node, run) for leaf in leaves])
        return DatasetSpec(element_spec, *shape) if kind == "dataset" else OptionalSpec(element_spec)

    def _tree(self, value: Any, node: Node, run: Run) -> Tree:
        if value is None:
            return LEAF
        name, keys, children, *fixed = value
        kind = _class_of(name)
        below = tuple(self._tree(child, node, run) for child in children)
        metadata = self.value(fixed[0], node, run) if fixed else None
        return Tree(kind, tuple(self.value(k, node, run) for k in keys), below, metadata)


def _functions(node: Node) -> list[Function]:
    """The users' functions among the arguments of a node."""
    values = (getattr(node, f.name) for f in dataclasses.fields(node))
    return [v for v in values if isinstance(v, Function)]


_AGAIN = {"op", "state", "waiting"}


def _not_recomputable(node: Node) -> str:
    return f"the element that {node.op} (step {node.position}) was called with cannot be recomputed"


_STRUCTURES = ("builtins", "collections", "__main__")
"""The standard modules whose classes may be the structure of an element."""


def _class_of(name: str) -> type:
    module, _, path = name.partition(":")
    found: Any = sys.modules.get(module)
    for part in path.split("."):
        found = getattr(found, part, None)
    # Only classes that can be the structure of an element: building an element calls the class.
    fields = hasattr(found, "__dataclass_fields__") or hasattr(found, "__attrs_attrs__")
    ours = module in _STRUCTURES or module.partition(".")[0] not in sys.stdlib_module_names
    own = isinstance(found, type) and has_tf_flatten(found)
    if not ours or not isinstance(found, type) or not (fields or own or issubclass(found, (tuple, Mapping))):
        raise FailedPreconditionError(
            f"the iterator state needs the class {name}, which is not imported here, or not a structure"
        )
    return found


_DECODERS: dict[str, Callable[[StateDecoder, Any, Node, Run], Any]] = {
    "b": lambda decoder, got, node, run: base64.b64decode(got),
    "array": StateDecoder._array,
    "strings": StateDecoder._strings,
    "block": StateDecoder._block,
    "places": lambda decoder, got, node, run: decoder.rows(unpacked(got, decoder._file), node),
    "made": lambda decoder, got, node, run: decoder.made(unpacked(got[0], decoder._file), got[1], node),
    "again": StateDecoder._again,
    "file": StateDecoder._expected,
    "tuple": lambda decoder, got, node, run: tuple(decoder._values(got, node, run)),
    "dict": StateDecoder._mapping,
    "error": StateDecoder._error,
    "ragged": lambda decoder, got, node, run: RaggedTensor.from_row_splits(*decoder._values(got, node, run)),
    "sparse": lambda decoder, got, node, run: SparseTensor(*decoder._values(got, node, run)),
    "optional": lambda decoder, got, node, run: Optional.from_value(decoder.value(got, node, run).element(0)),
    "datasets": lambda decoder, got, node, run: Datasets(decoder._values(got, node, run)),
    "dataset": StateDecoder._dataset,
    "run": StateDecoder._run,
}
"""How values are decoded, by the key that names their type."""
