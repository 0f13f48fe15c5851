"""Datasets, reports and errors in a notebook that is executed."""

from __future__ import annotations

import re
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

CELLS = {
    "start": "import numpy as np, feedline as fl\ncalls = []",
    "images": "fl.Dataset.from_tensor_slices(np.arange(6144, dtype=np.uint8).reshape(2, 32, 32, 3)).batch(2)",
    "plan": "def load(x):\n    calls.append(x)\n    return x * 2\n\nds = fl.Dataset.range(100).map(load).batch(4)\nds",
    "explain": "ds.explain()",
    "calls": "len(calls)",
    "preview": "ds.preview(2)",
    "report": "ds.profile(steps=5)",
    "monitor": "for _ in ds.take(3).monitor():\n    pass",
    "trouble": (
        "def helper(x):\n    raise ValueError(f'no {x}')\n\ndef bad(x):\n    return helper(x)\n\n"
        "for x in fl.Dataset.range(3).map(bad):\n    pass"
    ),
    "full": (
        "options = fl.Options()\noptions.full_tracebacks = True\n"
        "for x in fl.Dataset.range(3).map(bad).with_options(options):\n    pass"
    ),
    "ours": "def parse(x):\n    return fl.io.decode_png(x)\n\nlist(fl.Dataset.from_tensors(b'no image').map(parse))",
    "traced": "import feedline.tf as tf\ntf.data.Dataset.range(4).map(lambda x: tf.reshape(x, [7]))",
}


@pytest.fixture(scope="module")
def outputs() -> dict[str, Any]:
    """The output of each cell: a dict of forms, or the text of its traceback."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in CELLS.values()])
    client = NotebookClient(notebook, timeout=300, startup_timeout=300, kernel_name="python3", allow_errors=True)
    client.execute()
    found: dict[str, Any] = {}
    for name, cell in zip(CELLS, notebook.cells, strict=True):
        for output in cell.outputs:
            if output.output_type == "error":
                found[name] = re.sub(r"\x1b\[[\d;]*m", "", "\n".join(output.traceback))
            elif "data" in output:
                found[name] = output.data
    return found


def test_a_dataset_shows_its_plan_and_its_first_elements(outputs: dict[str, Any]) -> None:
    html = outputs["images"]["text/html"]
    assert "fl-plan" in html and html.count("data:image/png;base64,") == 2 and "uint8[2, 32, 32, 3]" in html


def test_functions_are_named_by_their_cell_and_not_called(outputs: dict[str, Any]) -> None:
    html = outputs["plan"]["text/html"]
    assert "In[3], line 1" in html and "fl-preview" not in html and "ds.preview()" not in html
    assert re.search(r"\d{6,}\.py", html) is None
    assert "fl-plan" in outputs["explain"]["text/html"] and "In[3], line 1" in outputs["explain"]["text/plain"]
    assert outputs["calls"]["text/plain"] == "0"


def test_elements_and_reports_are_drawn(outputs: dict[str, Any]) -> None:
    assert "fl-preview" in outputs["preview"]["text/html"]
    html = outputs["report"]["text/html"]
    assert "fl-report" in html and "2 map (load)" in html and "Timeline" in html
    assert "fl-report" in outputs["monitor"]["text/html"]


def test_an_error_of_a_function_has_its_frames_only(outputs: dict[str, Any]) -> None:
    text = outputs["trouble"]
    assert "helper" in text and "In[9], line 2" in text and "In[9], line 4 'bad'" in text
    assert "feedline/engine" not in text and "data/iterator.py" not in text
    assert "feedline/engine" in outputs["full"]


@pytest.mark.parametrize(("cell", "line"), [("ours", "In[11], line 2, in parse(x)"), ("traced", "In[12], line 2")])
def test_what_a_function_has_called_says_it_in_its_message(cell: str, line: str, outputs: dict[str, Any]) -> None:
    assert line in outputs[cell] and "File " not in outputs[cell] and "map at step 2" in outputs[cell], outputs[cell]
