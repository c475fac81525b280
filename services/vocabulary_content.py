"""Vocabularies imported and deleted, alike by commands, REST and pages."""

from collections.abc import Mapping
from typing import NamedTuple

from schemas.errors import Refused
from schemas.values.tags import Vocabulary
from services.tags import vocabulary_of_name
from stages.files.problems import ProblemsFound
from stages.reports.numbers_in_words import counted
from stages.tags.vocabulary_files import FILES, parse_vocabulary
from stages.texts.plain_ids import is_plain_id
from store.database import Connection
from store.vocabularies import vocabularies


class ImportedVocabulary(NamedTuple):
    """A vocabulary that was stored, and how much is in it."""

    id: int
    tags: int
    aliases: int
    documents: int
    rated: int
    """Tags with a rating."""
    unknown_ratings: int
    """Ratings of tags that the vocabulary does not have, which were left out."""

    @property
    def warning(self) -> str | None:
        """What was left out; None if nothing was."""
        if not self.unknown_ratings:
            return None
        return f"{counted(self.unknown_ratings, 'rating')} left out: the vocabulary does not have the tag."


def read_vocabulary(name: str, files: Mapping[str, bytes]) -> Vocabulary:
    """The vocabulary in files by name; needs no database.

    Raises Refused for a name that a vocabulary cannot have and for files of other names, and ProblemsFound.
    """
    if not is_plain_id(name):
        raise Refused(
            "A vocabulary's name has 1 to 64 letters, digits, dots, colons, hyphens and underscores; "
            "give it another name (--name)."
        )
    if not files.keys() <= {*FILES}:
        raise Refused(f"The files of a vocabulary are {', '.join(FILES)}; give these, and no other.")
    found, problems = parse_vocabulary(files)
    if problems:
        raise ProblemsFound(problems, of="vocabulary")
    return found


async def keep_vocabulary(connection: Connection, name: str, vocabulary: Vocabulary) -> ImportedVocabulary:
    """Store a vocabulary in place of an older one of its name; jobs that were submitted with that one keep it."""
    vocabulary_id = await vocabularies.keep(connection, name, vocabulary)
    return ImportedVocabulary(
        vocabulary_id,
        len(vocabulary.tags),
        len(vocabulary.aliases),
        len(vocabulary.documents),
        sum(tag.nsfw_probability is not None for tag in vocabulary.tags),
        vocabulary.unknown_ratings,
    )


async def delete_vocabulary(connection: Connection, name: str) -> None:
    """Delete a vocabulary with its models, and what older runs kept of its earlier imports.

    Results of runs stay; their jobs cannot be computed again. Raises Refused when there is none, and while
    unfinished jobs use it.
    """
    await vocabulary_of_name(connection, name)
    users = await vocabularies.delete(connection, name)
    if users:
        runs = ", ".join(f"r{run_id}" for run_id in users)
        raise Refused(
            f"Unfinished jobs use vocabulary '{name}': {runs}. Wait until they have finished, or end them: "
            f"`ragq cancel r{users[0]}`."
        )
