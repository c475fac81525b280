"""The options of `ragq submit` for phrases."""

import click

from cli.files import Rows
from schemas.errors import Refused
from services.tags import TagsRequest, phrase_sets
from stages.texts.characters import can_be_stored


def tags_request(
    *, phrases: Rows, vocabulary: str | None, allow_nsfw: bool, context_tags: str | None, until: str | None
) -> TagsRequest:
    """Phrase sets to find tags for. Raises UsageError without a vocabulary, and ProblemsFound for the file."""
    if vocabulary is None:
        raise click.UsageError("--phrases goes with --vocabulary NAME: whose tags to find.")
    if context_tags is not None and not can_be_stored(context_tags):
        raise Refused("--context-tags has characters that Postgres cannot store; remove them.")
    return TagsRequest(
        phrase_sets=phrase_sets(
            phrases.content, file=phrases.file, of="file of phrases", context_tags=context_tags or ""
        ),
        vocabulary=vocabulary,
        allow_nsfw_tags=allow_nsfw,
        until=until,
    )
