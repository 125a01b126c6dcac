"""``relvec completion``: what a shell needs to complete words."""

import rich_click as click
from click.shell_completion import get_completion_class

_SHELLS = ("bash", "zsh", "fish")


@click.command(epilog='Example: eval "$(relvec completion bash)"')
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options, files and columns.

    Put the example into ~/.bashrc, the same with zsh into ~/.zshrc; for fish write
    relvec completion fish | source into ~/.config/fish/config.fish.
    """
    kind = get_completion_class(shell)
    assert kind is not None
    root = context.find_root()
    made = kind(root.command, {}, "relvec", "_RELVEC_COMPLETE")
    click.echo(made.source())
