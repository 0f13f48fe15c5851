"""Which files a node may open: a checkpoint must not make it open others."""

from __future__ import annotations

from typing import Any


class OpensFiles:
    """A node that opens the files named by its input."""

    def named_in(self, state: Any) -> list[bytes]:
        """The file names in a state."""
        raise TypeError(f"{type(self).__name__} must define named_in")

    def reads_as(self, name: bytes) -> Any:
        """How the node reads a file, the recipe of its reader; None if the file cannot be opened."""
        raise TypeError(f"{type(self).__name__} must define reads_as")


class OpensPlans:
    """A node that runs nested plans, `child(row)`, that a user's function makes from the rows of its input."""


class OpensFolders:
    """A node that reads the files of a saved dataset."""

    def gives(self, values: object) -> bool:
        """Whether the node gives datasets with this recipe."""
        raise TypeError(f"{type(self).__name__} must define gives")
