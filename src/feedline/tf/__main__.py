"""`python -m feedline.tf`: tools for scripts that were written for TensorFlow."""

from __future__ import annotations

import sys

from feedline.tf.check import main

if __name__ == "__main__":
    sys.exit(main())
