"""Every `ragq` command of the documentation exists with the options that it is shown with."""

import click
import pytest

from cli.main import cli
from tests.docs.blocks import Block, blocks_of, pages

BLOCKS = [block for page in pages() for block in blocks_of(page)]


def check(arguments: list[str]) -> None:
    """Raises UsageError for a command or an option that does not exist."""
    command: click.Command = cli
    context = click.Context(cli, info_name="ragq")
    while isinstance(command, click.Group) and not arguments[0].startswith("-"):
        _, found, arguments = command.resolve_command(context, arguments)
        assert found is not None
        command, context = found, click.Context(found, parent=context)
    command.make_parser(context).parse_args(list(arguments))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page.name}:{block.text[:30]!r}")
def test_its_commands_exist(block: Block) -> None:
    for arguments in block.calls("ragq"):
        check(arguments)
