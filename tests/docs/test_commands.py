"""Every `ragq` command of the documentation exists with the options that it is shown with."""

import click

from cli.main import cli
from tests.docs.blocks import blocks_of, pages


def check(arguments: list[str]) -> None:
    """Raises UsageError for a command or an option that does not exist."""
    command: click.Command = cli
    context = click.Context(cli, info_name="ragq")
    while isinstance(command, click.Group) and not arguments[0].startswith("-"):
        _, found, arguments = command.resolve_command(context, arguments)
        assert found is not None
        command, context = found, click.Context(found, parent=context)
    command.make_parser(context).parse_args(list(arguments))


def test_its_commands_exist() -> None:
    for block in (block for page in pages() for block in blocks_of(page)):
        for arguments in block.calls("ragq"):
            check(arguments)
