"""Sub-commands: help with examples, and the options that all of them have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

DEBUG = click.Option(["--debug"], is_flag=True, help="Show the traceback of an error.", expose_value=False)
JSON = click.Option(["--json", "as_json"], is_flag=True, help="Print JSON.")


class Tool(click.Command):
    """A sub-command. `examples` are command lines, shown in its help; the tests run them."""

    def __init__(self, *args: Any, examples: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.examples = examples

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Writes the examples."""
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")


def command(
    *examples: str, json: bool = True, name: str | None = None
) -> Callable[[Callable[..., int]], Tool]:
    """Makes a sub-command of a function that returns the exit status. Its docstring is the help."""

    def make(function: Callable[..., int]) -> Tool:
        short = (function.__doc__ or "").strip().partition("\n")[0].rstrip(".")
        made = click.command(
            name or function.__name__.strip("_"), cls=Tool, examples=examples, short_help=short
        )(function)
        made.params += [JSON, DEBUG] if json else [DEBUG]
        return made

    return make
