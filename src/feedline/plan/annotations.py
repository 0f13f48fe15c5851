"""Types in the signatures of public functions; imported by type checkers only.

`T` is the type of an element. After `map` it is the function's declared return type, before conversion to an element: a
`str` becomes bytes, an `int` a NumPy integer.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeAlias, TypeVar, TypeVarTuple

import numpy as np
from numpy.typing import NDArray

from feedline.structure.ragged import RaggedTensor
from feedline.structure.sparse import SparseTensor
from feedline.structure.types import DType

if TYPE_CHECKING:
    from feedline.data.dataset import Dataset

T = TypeVar("T")
R = TypeVar("R")
K = TypeVar("K")
V = TypeVar("V")
S = TypeVar("S", bound=np.generic)
Ts = TypeVarTuple("Ts")
Leaf = TypeVar(
    "Leaf",
    bound="np.generic | NDArray[Any] | str | bytes | complex | RaggedTensor | SparseTensor | Dataset[Any]",
)

Integer: TypeAlias = SupportsIndex | np.floating[Any] | np.bool
"""Values that `arguments.integer` accepts."""

AnyDType: TypeAlias = DType | np.dtype[Any] | type[Any] | str
"""Values that `as_dtype` accepts."""

Filename: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Filenames: TypeAlias = "Filename | Sequence[Filename | Sequence[Filename]] | NDArray[Any] | Dataset[Any]"
"""File names for readers: a name, a list or an array of names, or a dataset of them."""
