"""Files imported into a corpus: markdown at once, other formats by the stages of a document."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from services.corpora import AS_IT_IS, CorpusOptions
from services.documents import ImportedDocuments, asks_model, import_documents
from services.work_files import ReadWork, WorkFile
from services.work_imports import ImportedWorks, import_works
from store import originals
from store.corpora import corpora
from store.database import Database
from store.runs.runs import Report, ignored


class ImportedFiles(NamedTuple):
    """What became of files."""

    works: ImportedWorks
    documents: ImportedDocuments | None
    """None where all files are markdown."""
    refused: Sequence[str] = ()
    """Of each file that cannot be a work its name, and why."""
    latin1: Sequence[str] = ()
    """The names of files of text that are not UTF-8, and were read as Latin-1."""

    @property
    def has_changes(self) -> bool:
        """Whether a work is new or replaced, or may be once its document is converted."""
        return self.works.has_changes or (self.documents is not None and self.documents.submitted is not None)


async def import_files(
    database: Database,
    corpus: str,
    works: Sequence[ReadWork],
    documents: Iterable[WorkFile] | None,
    settings: EffectiveSettings,
    *,
    options: CorpusOptions = AS_IT_IS,
    embeds: bool = True,
    by_stages: bool = False,
    report: Report = ignored,
) -> ImportedFiles:
    """Import works of markdown, and submit the run that makes works of documents, which are read one after the other.

    Markdown goes through the stages too: with `by_stages`, when a model is to decide about headings, and a file that
    did so before. `report` takes how many works are stored so far. Raises Refused for documents that are not to be
    embedded, and what the import of works raises.
    """
    if documents is not None and not embeds:
        raise Refused("Only markdown is imported without embedding; import the other files with it.")
    staged, plain = await divided(database, corpus, works, settings, by_stages=by_stages)
    if staged:
        if not embeds:
            raise Refused("Markdown that goes through the stages of a document is embedded; import it with the others.")
        documents = chain((work.file for work in staged), documents or ())
    imported = await import_works(
        database,
        corpus,
        plain,
        settings,
        options=options,
        embeds=embeds,
        report=report,
    )
    if documents is None:
        return ImportedFiles(imported, None)
    return ImportedFiles(imported, await import_documents(database, imported.corpus, documents, settings))


async def divided(
    database: Database, name: str, works: Sequence[ReadWork], settings: EffectiveSettings, *, by_stages: bool
) -> tuple[Sequence[ReadWork], Sequence[ReadWork]]:
    """The works that go through the stages of a document, and those that do not."""
    if by_stages or asks_model(settings):
        return works, ()
    async with database.connection() as connection:
        found = await corpora.find(connection, name)
        known = {} if found is None else await originals.imported(connection, found.id)
    return (
        [work for work in works if work.source_path in known],
        [work for work in works if work.source_path not in known],
    )
