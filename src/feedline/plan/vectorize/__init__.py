"""Vectorized execution of users' functions: one run for many rows, with the results of one call per row.

    plan/bytecode  reads bytecode, in one form for all versions of Python
    proof     analyses a function's code: that it has no side effects, and what it reads from outside
    registry  the functions that such code may call, and their forms for columns
    binding   makes a program of a proven function: its code, with the registered forms of what it calls
    program   `Program` runs it for the rows of a block, and tells the spec of the results
    rows      `RowValues`, which stands for one value per row while a program runs
    arrays    NumPy's functions for such values
    image_program  `ImageProgram`, the values of native programs for image files

A function is analysed once. If its code only computes, and everything it calls is in the registry, it has no side
effects, and calling it once with `RowValues` in place of an element gives the results for all rows. Plain arithmetic on
columns of scalars needs no `RowValues`: NumPy's operators are elementwise. With specs in place of columns, the same run
gives the spec of what a parser returns.

Anything a `RowValues` cannot stand for, such as an `if` that depends on data, ends the attempt, and the function is
called row by row from then on. If a run fails for another reason, a smaller block is tried, and at last single rows, so
that the error is that of the first bad row. A parser tells itself how many rows it could process.

Results are the same to the last bit: only operations that NumPy rounds exactly are vectorized. (NumPy warns of integer
overflow only for scalars, so there are no such warnings.)

**Native programs.** Decoded images differ in size, so no column can hold them, and a call per row would hold the
interpreter. Functions that are registered with `register_native` give an `ImageProgram` instead: the files, and steps.
What the user's function does with them adds steps (`decode_jpeg → resize [224, 224] → uint8`), and a kernel runs the
program row by row, in several threads, straight into the column of the results. Whether all steps have a kernel is
found when the function is given, by running it with values that stand for any (`UNKNOWN`); if not, it is called row by
row like any other. A row that the kernel refuses, a damaged file for instance, is called by itself.

Where more plugs in:

- A second maker (tracing a function with symbolic tensors) is a function beside `binding.program_of`. It gives a
  `Program` what it has recorded, as a callable that takes `RowValues`; for specs, the registry gives specs.

`Function` and the operators know only `Program` and `ColumnResults`.
"""

from __future__ import annotations

from feedline.plan.vectorize.binding import (
    makes_side_effect_free_datasets,
    program_of,
    same_for_all_datasets,
    why_not_native,
)
from feedline.plan.vectorize.image_program import DecodeJpeg, ImageProgram
from feedline.plan.vectorize.program import ColumnResults, Place, Program, Traced
from feedline.plan.vectorize.registry import (
    ColumnForm,
    register,
    register_form,
    register_native,
    register_source,
    register_values,
    row_by_row,
)
from feedline.plan.vectorize.rows import RowValues, Unsupported

__all__ = [
    "ColumnForm",
    "ColumnResults",
    "DecodeJpeg",
    "ImageProgram",
    "Place",
    "Program",
    "RowValues",
    "Traced",
    "Unsupported",
    "makes_side_effect_free_datasets",
    "program_of",
    "register",
    "register_form",
    "register_native",
    "register_source",
    "register_values",
    "row_by_row",
    "same_for_all_datasets",
    "why_not_native",
]
