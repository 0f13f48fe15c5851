"""The modules that have the kernels in plain NumPy."""

from __future__ import annotations

import importlib
import pkgutil

from feedline import kernels

REFERENCES = tuple(
    importlib.import_module(f"feedline.kernels.{module.name}")
    for module in pkgutil.iter_modules(kernels.__path__)
    if module.name.startswith("reference")
)
