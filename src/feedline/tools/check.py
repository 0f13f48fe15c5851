"""`feedline check`: the names of TensorFlow in scripts and notebooks, and what each is in `feedline.tf`."""

from __future__ import annotations

import click

from feedline.tf.check import run
from feedline.tools.shared.command import command


@command("feedline check train.py", "feedline check train.py notebook.ipynb --json")
@click.argument("scripts", nargs=-1, required=True, metavar="SCRIPT...")
def check(scripts: tuple[str, ...], as_json: bool) -> int:
    """List the TensorFlow names in scripts and notebooks, and what feedline.tf has for each.

    A name runs, differs, is missing, or belongs to the model; notes say how it differs, and what to write instead.
    The scripts are not run. The exit status is 1 if a name of the input pipeline is missing.
    """
    return run(scripts, as_json)
