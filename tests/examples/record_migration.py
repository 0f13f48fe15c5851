"""Records the result of the TensorFlow program in `examples/migrate_tf_data.py`:
`python -m tests.examples.record_migration PYTHON`, where PYTHON is an interpreter that has TensorFlow.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.examples.scripts import before_migration, example

RECORDED = Path(__file__).with_name("migrate_tf_data.json")
RECORD = """
import json, sys
leaves = [[(str(leaf.dtype), leaf.tolist()) for leaf in batch] for batch in batches(sys.argv[1]).as_numpy_iterator()]
json.dump({"tensorflow": tf.__version__, "batches": leaves}, sys.stdout)
"""


def main(tensorflow_python: str) -> None:
    """Writes `migrate_tf_data.json`."""
    program = before_migration()
    with tempfile.TemporaryDirectory() as folder:
        pattern = example("migrate_tf_data").write_records(folder, records=120, shards=5)
        start = [tensorflow_python, "-c", program + RECORD, pattern]
        done = subprocess.run(start, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    RECORDED.write_text(json.dumps({"program": program.splitlines(), **found}, indent=None) + "\n")
    print(f"{len(found['batches'])} batches of TensorFlow {found['tensorflow']}")


if __name__ == "__main__":
    main(sys.argv[1])
