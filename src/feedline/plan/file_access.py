"""What nodes say of the files that they may open: a checkpoint must not make them open others."""

from __future__ import annotations

from typing import Any


class OpensFiles:
    """A node that opens the files which its input names."""

    def named_in(self, state: Any) -> list[bytes]:
        """The names of files in a state."""
        raise TypeError(f"{type(self).__name__} has no names")

    def reads_as(self, name: bytes) -> Any:
        """How it reads a file, as `io.record_locations` keeps it; None where the file cannot be opened."""
        raise TypeError(f"{type(self).__name__} opens nothing")


class OpensPlans:
    """A node that runs plans which a function of the user's makes of the rows of its input, `child(row)`."""


class OpensFolders:
    """A node that reads the files of a saved dataset."""

    def gives(self, values: object) -> bool:
        """True where it gives datasets that have this recipe."""
        raise TypeError(f"{type(self).__name__} gives no datasets")
