"""`python -m feedline` is the command `feedline`."""

from __future__ import annotations

import sys

from feedline.tools.cli import main

if __name__ == "__main__":
    sys.exit(main())
