"""A group whose commands are imported when they are called, so that its list of things is quick."""

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

import click

from cli.other_words import OtherWordsGroup


class LazyGroup(OtherWordsGroup):
    """A group of commands that are defined elsewhere, beside those that are added to it."""

    def __init__(
        self, *args: Any, elsewhere: Mapping[str, str], other_words: dict[str, str] | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, other_words=other_words or {}, **kwargs)
        self.elsewhere = elsewhere
        """Command -> where it is defined, as in `cli.index_tags:tags_command`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, sorted."""
        return sorted({*self.commands, *self.elsewhere})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of a name; None when there is none."""
        if cmd_name not in self.elsewhere:
            return super().get_command(ctx, cmd_name)
        command = resolve_name(self.elsewhere[cmd_name])
        assert isinstance(command, click.Command)
        return command
