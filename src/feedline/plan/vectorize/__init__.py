"""Vectorized execution of users' functions: one run for many rows, with the results of one call per row.

    proof     analyses a function's code: that it has no side effects, and what it reads from outside
    registry  the functions that such code may call, and their versions for many rows
    rows      `RowValues`, which stands for one value per row while the function runs
    arrays    NumPy's functions for such values
    execute   runs the function
    elementwise  functions that can be called with whole columns directly
    parse_calls  functions that only call a feedline parser, which gets the whole column

A function is analysed once. If its code only computes, and everything it calls is in the registry, it has no side
effects, and calling it once with `RowValues` in place of an element gives the results for all rows. Anything a
`RowValues` cannot stand for, such as an `if` that depends on data, ends the attempt, and the function is called row by
row from then on. If a run fails for another reason, the block is processed row by row, so that the error is that of the
first bad row.

Results are the same to the last bit: only operations that NumPy rounds exactly are vectorized. (NumPy warns of integer
overflow only for scalars, so there are no such warnings.)
"""

from __future__ import annotations

from feedline.plan.vectorize.execute import VectorizedFunction, makes_side_effect_free_datasets, vectorized
from feedline.plan.vectorize.registry import register, register_source, register_values, row_by_row
from feedline.plan.vectorize.rows import RowValues

__all__ = [
    "RowValues",
    "VectorizedFunction",
    "makes_side_effect_free_datasets",
    "register",
    "register_source",
    "register_values",
    "row_by_row",
    "vectorized",
]
