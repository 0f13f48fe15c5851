"""What stands in the signatures of public functions; imported by type checkers only.

An element has the type that `T` stands for. After `map` that is what the function says it returns, before it becomes an
element: a `str` is handed out as bytes, an `int` as one of NumPy's integers.
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
"""What `arguments.integer` takes."""

AnyDType: TypeAlias = DType | np.dtype[Any] | type[Any] | str
"""What `as_dtype` takes."""

Filename: TypeAlias = str | bytes | os.PathLike[str] | os.PathLike[bytes]
Filenames: TypeAlias = "Filename | Sequence[Filename | Sequence[Filename]] | NDArray[Any] | Dataset[Any]"
"""What readers take: a name, a list or an array of names, or a dataset of them."""
