"""`feedline explain`: the plan of a dataset in a script."""

from __future__ import annotations

from feedline.tools.shared.command import command
from feedline.tools.shared.output import console, print_json, shown
from feedline.tools.shared.scripts import dataset_argument, loaded


@command(
    "feedline explain train.py:dataset",
    "feedline explain train.py:make_dataset      # a function that returns one",
)
@dataset_argument
def explain(script: str, as_json: bool) -> int:
    """Show the plan of a dataset in a script: as written, as it runs, and why.

    The script is run, except for what is under `if __name__ == "__main__"`. Files are read only as far as the
    element_spec needs it.
    """
    dataset = loaded(script)
    spec = dataset.element_spec
    text = str(dataset.explain())
    if as_json:
        print_json({"plan": text.splitlines(), "element_spec": str(spec), "elements": int(dataset.cardinality())})
    else:
        console().print(shown_lines(text), soft_wrap=True)
    return 0


def shown_lines(text: str) -> object:
    """Lines as they are, with control characters as escapes."""
    from rich.text import Text

    return Text("\n").join(shown(line) for line in text.splitlines())
