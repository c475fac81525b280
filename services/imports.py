"""Files imported into a corpus: markdown at once, other formats by the stages of a document, each as its own job."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

from pydantic import Field

from schemas.chains import stages_of
from schemas.errors import DocumentError, DuplicateWorkError, WorkFileError, WorkFilesError
from schemas.settings.resolve import EffectiveSettings
from schemas.values.base import Value, can_be_stored
from schemas.values.documents import Bibliography, StoredCorpus
from schemas.values.requests import ImportRequest
from services.corpora import corpus_for_import, follow, plan_corpus
from services.new_runs import Submitted, submit_run
from stages.corpora.blocks import MarkdownDocument, passage, read_markdown
from stages.corpora.works import bibliography
from stages.documents.outline import DocumentFormat, format_of
from stages.queries.templates import OF_DOCUMENTS
from stages.texts.languages import language_of
from store.corpora import corpora
from store.corpora.keeping import ImportOutcome, keep
from store.database import Connection, Database
from store.questions import presets
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun


class WorkFile(NamedTuple):
    """A file that is to become a work."""

    name: str
    """Shown in messages. Without its suffix the title of a work that has no other."""
    content: bytes
    source_path: str
    """Identifies the work: another file of the same source replaces it."""
    fields: Mapping[str, Any] = {}
    """Fields of Bibliography that override the front matter."""

    @property
    def text(self) -> str:
        """The content of a file of text. Raises WorkFileError for one that is not UTF-8."""
        try:
            return self.content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise WorkFileError(self.name, f"byte {error.start} is not UTF-8; save it as UTF-8.") from None


ReadMarkdown = tuple[Bibliography, MarkdownDocument]
"""What a file of markdown is, before it is cut."""

Refusals = list[tuple[int, WorkFileError]]
"""Files that cannot be works, each with its place among the files of an import, from 0."""


def readable(
    files: Iterable[WorkFile | WorkFileError], refused: Refusals
) -> Iterator[tuple[WorkFile, ReadMarkdown | None]]:
    """The files that can be works, each when it is its turn, those of markdown with what was read. Every other file is
    noted in `refused`: one that was not read, is empty, of no known format, or of the source of one before it, and
    every file of text that is not UTF-8, has no text, or has front matter that cannot be used."""
    named: set[str] = set()
    for place, file in enumerate(files):
        try:
            if isinstance(file, WorkFileError):
                raise file
            if file.source_path in named:
                raise WorkFileError(
                    file.name,
                    "another file of this import has the same name, which identifies the work; rename one, or send "
                    "both with their folders (teas/tea.md).",
                )
            named.add(file.source_path)
            read = _read(file)
        except WorkFileError as error:
            refused.append((place, error))
        else:
            yield file, read


def _read(file: WorkFile) -> ReadMarkdown | None:
    if not file.content:
        raise WorkFileError(file.name, "is empty.")
    try:
        form = format_of(file.content, file.name)
    except DocumentError as error:
        raise WorkFileError(file.name, f"{error.problem}.") from None
    if form not in (DocumentFormat.MARKDOWN, DocumentFormat.TEXT, DocumentFormat.RST):
        return None
    text = file.text
    if form is not DocumentFormat.MARKDOWN:
        return None
    if "\0" in text:
        raise WorkFileError(file.name, "holds a NUL character; is it text at all?")
    document = read_markdown(text)
    described = bibliography(document, given=file.fields, file_name=file.name)
    if not all(can_be_stored(str(text)) for text in (file.source_path, *described.model_dump().values())):
        raise WorkFileError(file.name, "its name or its front matter has a character that no text has; remove it.")
    if not any(passage(document.lines, block.start_line, block.end_line).strip() for block in document.blocks):
        raise WorkFileError(file.name, "holds no text.")
    return described, document


class ImportedFile(Value):
    """What became of one file."""

    file_name: str = Field(repr=False, examples=["tea.md"])
    outcome: ImportOutcome | Literal["refused"] = Field(examples=["new"])
    """`refused` has the text of another work of the corpus."""
    work_id: int = Field(examples=[7])
    """The work that has the text."""
    title: str = Field(repr=False, examples=["Tea"])
    """Of that work."""


class Imported(Value):
    """What an import led to."""

    corpus_id: int = Field(examples=[1])
    corpus: str = Field(examples=["default"])
    files: tuple[ImportedFile, ...]
    waiting: int = Field(examples=[3])
    """Chunks of the corpus that wait for their vectors."""
    run_id: int | None = Field(examples=[12])
    """The run that embeds them; null when no chunk was left to embed."""
    jobs: int = Field(examples=[1])
    documents_run_id: int | None = Field(examples=[13])
    """The run that makes works of files of other formats than markdown, one job for each; null without such a file."""
    documents: int = Field(examples=[2])
    """Files that it converts."""
    unchanged_documents: int = Field(examples=[0])
    """Files of such formats that were imported before as they are."""
    language: str | None = Field(examples=["english"])
    """Of the corpus."""
    refused: tuple[str, ...] = Field(exclude=True, repr=False)
    """Each file that cannot be a work, or repeats one, and why."""
    submitted: tuple[Submitted, ...] = Field(exclude=True)
    """The runs."""
    copied: str | None = Field(exclude=True)
    """What the copy of the corpus got, in words; None without a copy."""

    @property
    def outcomes(self) -> Counter[str]:
        """How many files had each outcome."""
        return Counter(file.outcome for file in self.files)

    @property
    def has_changes(self) -> bool:
        """Whether a work is new or replaced, or may be once its document is converted."""
        is_changed = any(file.outcome in (ImportOutcome.NEW, ImportOutcome.REPLACED) for file in self.files)
        return is_changed or self.documents_run_id is not None


async def import_files(
    database: Database,
    request: ImportRequest,
    files: Iterable[WorkFile | WorkFileError],
    settings: EffectiveSettings,
    *,
    later: Iterable[WorkFile | WorkFileError] = (),
    is_whole: bool = False,
    report: Callable[[int, int], None] = lambda stored, of: None,
) -> Imported:
    """Import works of markdown, and submit the run that makes works of documents.

    `later` are documents that are read one after the other: all of them may be more than memory has. Markdown goes
    through the stages of a document too: where the request says so, when a model is to decide about headings, and a
    file that did so before. A file that cannot be a work is refused by itself; with `is_whole`, and where none is left,
    nothing is imported, and WorkFilesError raised. `report` takes how many works are stored, of how many. Raises what
    `corpus_for_import` and `cutting` raise.
    """
    refused: Refusals = []
    read = await asyncio.to_thread(lambda: [*readable(files, refused)])
    if refused and (is_whole or not (read or later)):
        raise WorkFilesError(dict(refused))
    async with database.connection() as connection:
        corpus = await corpus_for_import(connection, request, settings)
        known = await corpora.imported(connection, corpus.id)
    by_stages = request.by_stages or "model" in (settings.run.ragq.repair_by, settings.run.ragq.select_by)
    works: list[tuple[WorkFile, ReadMarkdown]] = []
    documents: list[WorkFile] = []
    for file, markdown in read:
        if markdown is None or by_stages or file.source_path in known:
            documents.append(file)
        else:
            works.append((file, markdown))
    if works and corpus.language is None:
        found = await asyncio.to_thread(language_of, [file.text for file, _ in works])
        corpus = await database.once(corpora.take_language, corpus.id, found)
    kept = await _keep_works(database, corpus, works, report) if works else []
    async with database.connection() as connection:
        run = await plan_corpus(connection, corpus, settings)
        waiting = (await corpora.view(connection, corpus.id)).waiting
    # Chunks that wait are never the work of an older run, even when the request is equal.
    embeds = None if run is None else await submit_run(database, run, always_new=True)
    copied = await follow(database, corpus, settings)
    converts, unchanged = None, 0
    if documents or later:
        rest = (file for file, _ in readable(later, refused))
        converts, unchanged = await _submit_documents(database, corpus, chain(documents, rest), known, settings)
    repeated = [
        f"{file.file_name}: the same text is work {file.work_id} already, '{file.title}'."
        for file in kept
        if file.outcome == "refused"
    ]
    return Imported(
        corpus_id=corpus.id,
        corpus=corpus.name,
        files=tuple(kept),
        waiting=waiting,
        run_id=None if embeds is None else embeds.run_id,
        jobs=0 if embeds is None else embeds.jobs,
        documents_run_id=None if converts is None else converts.run_id,
        documents=0 if converts is None else converts.jobs,
        unchanged_documents=unchanged,
        language=corpus.language,
        refused=(*repeated, *(str(error) for _, error in refused)),
        submitted=tuple(one for one in (embeds, converts) if one is not None),
        copied=copied,
    )


async def _keep_works(
    database: Database,
    corpus: StoredCorpus,
    works: Sequence[tuple[WorkFile, ReadMarkdown]],
    report: Callable[[int, int], None],
) -> list[ImportedFile]:
    """Store each work in a transaction of its own. One whose text another work has is refused, by itself."""
    from adapters.cutting import cutting

    cut = cutting(corpus)
    kept: list[ImportedFile] = []
    for file, (described, document) in works:
        title, source = described.title, file.source_path
        chunks = await asyncio.to_thread(cut, document, title)
        try:
            work_id, outcome = await database.once(
                keep, corpus.id, described, chunks, source_path=source, markdown=file.text
            )
        except DuplicateWorkError as error:
            became: dict[str, Any] = {"outcome": "refused", "work_id": error.work_id, "title": error.title}
        else:
            became = {"outcome": outcome, "work_id": work_id, "title": title}
        kept.append(ImportedFile(file_name=source, **became))
        report(len(kept), len(works))
    return kept


async def _submit_documents(
    database: Database,
    corpus: StoredCorpus,
    files: Iterable[WorkFile],
    known: Mapping[str, str],
    settings: EffectiveSettings,
) -> tuple[Submitted | None, int]:
    """Store files, read one after the other, and submit a job for each that is new or changed; how many are not. A file
    that cannot be read fails its own job."""
    templates = await database.once(document_templates)
    jobs: list[NewJob] = []
    unchanged = 0
    async with corpora.importing(database):
        for file in files:
            named = await database.once(corpora.keep_original, file.content)
            if known.get(file.source_path) == named and not file.fields:
                unchanged += 1
                continue
            inputs = {
                "corpus_id": corpus.id,
                "original": named,
                "name": file.name,
                "source_path": file.source_path,
                "given": dict(file.fields),
                "templates": templates,
            }
            # The name of a file may say what nobody else may know: a number stands for it outside of the database.
            subject = str(len(jobs) + 1)
            jobs.append(NewJob(mode="document", subject=subject, inputs=inputs, stages=stages_of("work", "document")))
        if not jobs:
            return None, unchanged
        cut_for = [corpus.backend, corpus.model, corpus.dimension, corpus.chunk_tokens]
        run = NewRun(
            kind="work",
            profile=settings.profile,
            settings=settings.snapshot(),
            settings_hash=content_hash([*cut_for, settings.run.values()]),
            request={"corpus": corpus.name, "documents": len(jobs), "profile_source": settings.profile_source},
            jobs=jobs,
        )
        return await submit_run(database, run, always_new=True), unchanged


async def document_templates(connection: Connection) -> dict[str, int]:
    """The active version of each template by which a model decides about documents, by tag."""
    return {tag: (await presets.template(connection, tag)).version for tag in OF_DOCUMENTS}
