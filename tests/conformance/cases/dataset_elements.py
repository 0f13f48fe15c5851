"""Datasets as elements: in lists, slices, batches; and components that are None."""

import numpy as np
from harness import cases


def R(d, n):
    return d.Dataset.range(n)


def W(d, n):
    return R(d, n).window(2)


MADE = {
    "tensors": lambda d: d.Dataset.from_tensors(R(d, 2)), "tensors_tuple": lambda d: d.Dataset.from_tensors((R(d, 2), 5)), "tensors_list_unbatch": lambda d: d.Dataset.from_tensors([R(d, 2), R(d, 3)]).unbatch(), "tensors_list_slices": lambda d: d.Dataset.from_tensors([R(d, 2), R(d, 3)]).flat_map(d.Dataset.from_tensor_slices),
    "slices": lambda d: d.Dataset.from_tensor_slices([R(d, 2), R(d, 3)]), "slices_one": lambda d: d.Dataset.from_tensor_slices([R(d, 2)]), "slices_dict": lambda d: d.Dataset.from_tensor_slices({"a": [R(d, 2), R(d, 3)], "b": [1, 2]}), "slices_flat": lambda d: d.Dataset.from_tensor_slices([R(d, 2), R(d, 3)]).flat_map(lambda x: x), "slices_nested": lambda d: d.Dataset.from_tensor_slices([[R(d, 2), R(d, 1)], [R(d, 3), R(d, 0)]]).unbatch(), "slices_of_dicts": lambda d: d.Dataset.from_tensor_slices([R(d, n).map(lambda x: {"a": x}) for n in (2, 3)]).flat_map(lambda x: x),
    "slices_bare": lambda d: d.Dataset.from_tensor_slices(R(d, 2)), "slices_mixed": lambda d: d.Dataset.from_tensor_slices([R(d, 2), d.Dataset.from_tensors("a")]), "slices_odd": lambda d: d.Dataset.from_tensor_slices([R(d, 2), 3]), "slices_uneven": lambda d: d.Dataset.from_tensor_slices(([R(d, 2), R(d, 3)], [1])),
    "list": lambda d: d.experimental.from_list([R(d, 2), R(d, 3)]), "list_flat": lambda d: d.experimental.from_list([R(d, 2), R(d, 3)]).flat_map(lambda x: x), "list_batch": lambda d: d.experimental.from_list([R(d, 2), R(d, 3)]).batch(2).unbatch().flat_map(lambda x: x),
    "batch_unbatch": lambda d: W(d, 8).batch(2).unbatch(), "batch_short": lambda d: W(d, 6).batch(2).unbatch(), "batch_slices": lambda d: W(d, 8).batch(2).flat_map(d.Dataset.from_tensor_slices), "batch_batch": lambda d: W(d, 8).batch(2).batch(2).unbatch().unbatch(), "batch_tuple": lambda d: d.Dataset.zip((W(d, 4), R(d, 2))).batch(2).unbatch(), "batch_map": lambda d: W(d, 8).batch(2).map(lambda v: v).unbatch(), "batch_rebatch": lambda d: W(d, 8).batch(2).rebatch(3).unbatch(), "batch_ragged": lambda d: W(d, 8).ragged_batch(3).unbatch(), "batch_shuffle": lambda d: W(d, 8).batch(1).shuffle(9, seed=3).unbatch(), "batch_cache": lambda d: W(d, 8).batch(2).cache().repeat(2).unbatch(), "map_and_batch": lambda d: R(d, 4).apply(d.experimental.map_and_batch(lambda x: d.Dataset.range(2), 2)).unbatch(),
    "unbatch_one": lambda d: W(d, 6).unbatch(), "padded": lambda d: W(d, 6).padded_batch(2), "padded_shapes": lambda d: W(d, 6).padded_batch(2, padded_shapes=[]), "padded_tuple": lambda d: d.Dataset.zip((W(d, 4), R(d, 2))).padded_batch(2), "unique": lambda d: W(d, 4).unique(), "sparse_batch": lambda d: W(d, 4).sparse_batch(2, [3]),
    "none_batch": lambda d: d.Dataset.from_tensors((1, None)).repeat(3).batch(2), "none_padded": lambda d: d.Dataset.from_tensors((1, None)).repeat(3).padded_batch(2), "none_padded_shapes": lambda d: d.Dataset.from_tensors(([1], None)).padded_batch(2, padded_shapes=([2], None)), "none_padded_values": lambda d: d.Dataset.from_tensors(([1], None)).padded_batch(2, padding_values=(7, 8)), "none_unbatch": lambda d: d.Dataset.from_tensors(([1, 2], None)).unbatch(), "none_slices": lambda d: d.Dataset.from_tensor_slices(([1, 2], None)), "none_ragged": lambda d: d.Dataset.from_tensors(([1], None)).repeat(3).ragged_batch(2), "none_concatenate": lambda d: d.Dataset.from_tensors((1, None)).concatenate(d.Dataset.from_tensors((2, 3))),
}


@cases("dataset_elements/made", sorted(MADE))
def _(d, xp, io, tmp, k):
    return MADE[k](d)


@cases("dataset_elements/flat_map_of_many", ["batch"])
def _(d, xp, io, tmp, k):
    return xp.elements(W(d, 8).batch(2).flat_map(lambda v: v))


@cases("dataset_elements/numpy", ["tensors", "slices", "list", "batch_unbatch", "slices_flat"])
def _(d, xp, io, tmp, k):
    return [xp.attempt(lambda: list(MADE[k](d).as_numpy_iterator()))]


SPARSE = {"in_order": [[0, 1], [1, 0]], "rows_out_of_order": [[1, 0], [0, 0]], "out_of_order_in_a_row": [[0, 1], [0, 0]], "twice": [[0, 1], [0, 1]], "outside": [[0, 0], [0, 9]], "row_outside": [[0, 0], [9, 0]]}


@cases("dataset_elements/sparse", sorted(SPARSE))
def _(d, xp, io, tmp, k):
    def made():
        return d.Dataset.from_tensors(xp.sparse(SPARSE[k], [1, 2], [3, 4]))

    ways = [made, lambda: d.Dataset.from_tensor_slices(xp.sparse(SPARSE[k], [1, 2], [3, 4])), lambda: made().unbatch(), lambda: made().repeat(2).batch(2), lambda: made().repeat(2).batch(2).unbatch(), lambda: made().rebatch(2)]
    return [xp.attempt(lambda: list(w())) for w in ways]


@cases("dataset_elements/from_sparse_tensor_slices", [k for k in sorted(SPARSE) if "outside" not in k])
def _(d, xp, io, tmp, k):
    return xp.attempt(lambda: xp.elements(xp.v1.data.Dataset.from_sparse_tensor_slices(xp.sparse(SPARSE[k], [1, 2], [3, 4]))))


@cases("dataset_elements/sparse_vector", ["slices", "unbatch", "v1"])
def _(d, xp, io, tmp, k):
    s = xp.sparse([[0], [2]], [1, 2], [3])
    if k == "v1":
        return xp.elements(xp.v1.data.Dataset.from_sparse_tensor_slices(s))
    return d.Dataset.from_tensor_slices(s) if k == "slices" else d.Dataset.from_tensors(s).unbatch()
