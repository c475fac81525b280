"""The options of `ragq submit` for phrases."""

import click

from cli.row_files import Rows
from schemas.errors import Refused
from schemas.values.tags import PhraseSet
from services.tags import TagsRequest
from stages.files.problems import ProblemsFound
from stages.tags.phrase_file import parse_phrase_sets
from stages.texts.storable import can_be_stored


def tags_request(
    *, phrases: Rows, vocabulary: str | None, allow_nsfw: bool, context_tags: str | None, until: str | None
) -> TagsRequest:
    """Phrase sets to find tags for. Raises UsageError without a vocabulary, and ProblemsFound for the file."""
    if vocabulary is None:
        raise click.UsageError("--phrases goes with --vocabulary NAME: whose tags to find.")
    return TagsRequest(
        phrase_sets=[_with_context(one, context_tags) for one in _read(phrases)],
        vocabulary=vocabulary,
        allow_nsfw_tags=allow_nsfw,
        until=until,
    )


def _read(phrases: Rows) -> tuple[PhraseSet, ...]:
    found, problems = parse_phrase_sets(phrases.content, file=phrases.file)
    if problems:
        raise ProblemsFound(problems, of="file of phrases", consequence="nothing was submitted")
    return found


def _with_context(one: PhraseSet, context_tags: str | None) -> PhraseSet:
    if context_tags is None:
        return one
    if not can_be_stored(context_tags):
        raise Refused("--context-tags has characters that Postgres cannot store; remove them.")
    given = tuple(tag.strip() for tag in context_tags.split(",") if tag.strip())
    return one.model_copy(update={"context_tags": (*one.context_tags, *given)})
