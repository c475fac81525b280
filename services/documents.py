"""Documents of other formats than markdown: their files stored, and the run that makes works of them submitted."""

from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, NamedTuple

from schemas.chains import stages_of
from schemas.errors import DocumentReaderMissingError
from schemas.settings.resolve import EffectiveSettings
from services.new_runs import PlannedRun, Submitted, submit_run
from services.work_files import WorkFile
from stages.queries.templates import OF_DOCUMENTS
from store import originals
from store.corpora.corpora import StoredCorpus
from store.database import Connection, Database
from store.questions import templates
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun


class ImportedDocuments(NamedTuple):
    """What became of documents."""

    unchanged: int
    """Files that the works of the corpus were converted from already."""
    submitted: Submitted | None
    """None when nothing was to be converted."""


async def import_documents(
    database: Database, corpus: StoredCorpus, files: Iterable[WorkFile], settings: EffectiveSettings
) -> ImportedDocuments:
    """Store files, read one after the other, and submit a job for each that is new or changed.

    A file that cannot be read fails its own job.
    """
    async with database.connection() as connection:
        known = await originals.imported(connection, corpus.id)
        asked_by = await document_templates(connection)
    async with originals.importing(database):
        return await _import(database, corpus, files, settings, known, asked_by)


async def _import(
    database: Database,
    corpus: StoredCorpus,
    files: Iterable[WorkFile],
    settings: EffectiveSettings,
    known: Mapping[str, str],
    asked_by: Mapping[str, int],
) -> ImportedDocuments:
    inputs: list[Mapping[str, Any]] = []
    unchanged = 0
    for file in files:
        named = await database.once(originals.keep, file.content)
        if known.get(file.source_path) == named and not file.fields:
            unchanged += 1
            continue
        inputs.append(
            {
                "corpus_id": corpus.id,
                "original": named,
                "name": file.name,
                "source_path": file.source_path,
                "given": dict(file.fields),
                "templates": dict(asked_by),
            }
        )
    if not inputs:
        return ImportedDocuments(unchanged, None)
    run = _run(corpus, inputs, settings)
    return ImportedDocuments(unchanged, await submit_run(database, PlannedRun(run), always_new=True))


async def document_templates(connection: Connection) -> dict[str, int]:
    """The active version of each template by which a model decides about documents, by tag."""
    return {tag: (await templates.get(connection, tag)).version for tag in OF_DOCUMENTS}


def asks_model(settings: EffectiveSettings) -> bool:
    """Whether a language model repairs headings or selects sections."""
    return "model" in (settings.run.ragq.repair_by, settings.run.ragq.select_by)


def require_readers() -> None:
    """Raise DocumentReaderMissingError unless the packages that read documents are installed."""
    if find_spec("pypandoc") is None or find_spec("pypdfium2") is None:
        raise DocumentReaderMissingError


def _run(corpus: StoredCorpus, inputs: Sequence[Mapping[str, Any]], settings: EffectiveSettings) -> NewRun:
    cut_for = [corpus.backend, corpus.model, corpus.dimension, corpus.chunk_tokens]
    stages = stages_of("work", "document")
    return NewRun(
        kind="work",
        profile=settings.profile,
        settings=settings.snapshot(),
        settings_hash=content_hash([*cut_for, settings.run.values()]),
        request={"corpus": corpus.name, "documents": len(inputs), "profile_source": settings.profile_source},
        # The name of a file may say what nobody else may know: a number stands for it outside of the database.
        jobs=[
            NewJob(mode="document", subject=str(number), inputs=dict(one), stages=stages)
            for number, one in enumerate(inputs, start=1)
        ],
    )
