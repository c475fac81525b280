"""Groups of commands, imported when they are called, which suggest what another word means."""

from typing import Any

import click
from click.exceptions import NoSuchCommand


class OtherWordsGroup(click.Group):
    """A group with other words for its commands: they are refused, with the command that is meant."""

    def __init__(self, *args: Any, other_words: dict[str, str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.other_words = other_words
        """Another word, in small letters -> the command; several with commas between."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the first argument names."""
        try:
            return super().resolve_command(ctx, args)
        except NoSuchCommand as error:
            meant = self.other_words.get(error.command_name.lower())
            if meant is None:
                raise NoSuchCommand(error.command_name, possibilities=self.list_commands(ctx), ctx=ctx) from None
            choices = " or ".join(f"'{ctx.command_path} {one}'" for one in meant.split(", "))
            message = f"{error.message} Did you mean {choices}?"
            raise NoSuchCommand(error.command_name, message, ctx=ctx) from None
