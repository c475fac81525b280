"""An option of a few values, which suggests the nearest one to a mistyped value."""

from typing import Any, TypeVar

import click

from schemas.suggestions import did_you_mean

Value = TypeVar("Value")


class Choice(click.Choice[Value]):
    """One of these values."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """All values, and the one that was probably meant."""
        known = [self.normalize_choice(choice, ctx) for choice in self.choices]
        return super().get_invalid_choice_message(value, ctx) + did_you_mean(str(value), known)
