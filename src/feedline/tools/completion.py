"""`feedline completion`: the code that makes a shell complete commands, options and file names."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from feedline.tools.cli import COMPLETE
from feedline.tools.shared.command import command

SHELLS = ("bash", "zsh", "fish")


@command(
    'eval "$(feedline completion bash)"      # in ~/.bashrc',
    'eval "$(feedline completion zsh)"       # in ~/.zshrc',
    "feedline completion fish | source       # in config.fish",
    json=False,
)
@click.argument("shell", type=click.Choice(SHELLS))
def completion(shell: str) -> int:
    """Print the code that makes a shell complete commands, options and file names."""
    kind = get_completion_class(shell)
    assert kind is not None
    context = click.get_current_context().find_root()
    made = kind(context.command, {}, "feedline", COMPLETE)
    click.echo(made.source_template % made.source_vars())
    return 0
