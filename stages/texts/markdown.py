"""Markdown of people and models, parsed in time that grows with its length."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token

_LONGEST_INLINE: Final = 10_000


def commonmark(options: Mapping[str, Any] = MappingProxyType({})) -> MarkdownIt:
    """A parser of CommonMark. A paragraph or heading of more than 10,000 characters is text without markup.

    The library's time for one paragraph grows with the square of its length, for a run of asterisks for example.
    """
    made = MarkdownIt("commonmark", dict(options))
    made.core.ruler.at("inline", _inline)
    return made


def _inline(state: StateCore) -> None:
    for token in state.tokens:
        if token.type != "inline":
            continue
        token.children = []
        if len(token.content) <= _LONGEST_INLINE:
            state.md.inline.parse(token.content, state.md, state.env, token.children)
        else:
            token.children = [Token("text", "", 0, content=token.content)]
