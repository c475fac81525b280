"""Arguments of the form NAME=VALUE."""

from typing import Any

import click


class Assignment(click.ParamType[tuple[str, str]]):
    """A text of the form NAME=VALUE, as a pair."""

    name = "NAME=VALUE"

    def __init__(self, example: str = "EMBEDDING_TOP_K_REFERENCES=3") -> None:
        self._example = example

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> tuple[str, str]:
        if isinstance(value, tuple):
            return value
        name, equals, text = value.partition("=")
        if not (name and equals):
            self.fail(f"{value!r} is not of the form NAME=VALUE, such as {self._example}.", param, ctx)
        return name, text
