"""Corpora: made, deleted, embedded in batches of one job each, and embedded by another model beside its own."""

import re
import shlex
from collections.abc import Iterable
from functools import partial
from typing import Any, Final

from schemas.chains import stages_of
from schemas.errors import Refused
from schemas.full_text import AUTO, DICTIONARIES, LANGUAGES, SIMPLE
from schemas.settings.resolve import EffectiveSettings
from schemas.suggestions import did_you_mean
from schemas.values.documents import CorpusView, StoredCorpus
from schemas.values.requests import ImportRequest
from services.new_runs import Submitted, submit_run
from stages.reports.words import counted
from store.corpora import chunk_search, corpora, keeping, works
from store.corpora.corpora import corpus_of_name
from store.database import Connection, Database
from store.questions import queries, query_runs
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun

DEFAULT_TOKENS: Final = 192
"""Of a chunk in a new corpus, whose embedder reads as many. Chosen by measuring, see docs/benchmarks.md."""
FEWEST_TOKENS: Final = 32


def new_chunk_tokens(backend: str, model: str, wanted: int | None) -> tuple[int, int | None]:
    """The most tokens of a chunk in a corpus that this model embeds, `wanted` or what was found to be the best, and
    the most tokens of a text that the model reads.

    Words, 0, where the tokens cannot be counted; None where it is not known what the model reads. Raises Refused for a
    number of tokens that cannot be counted, or that the model does not read.
    """
    from adapters.cutting import measure_of, uncountable

    measure = measure_of(backend, model, embeds_headings=True)
    if measure is None:
        if wanted:
            raise uncountable(backend, model)
        return 0, None
    reads = measure.reads
    if wanted is None:
        return DEFAULT_TOKENS if reads is None else min(DEFAULT_TOKENS, reads), reads
    if wanted and (wanted < FEWEST_TOKENS or (reads is not None and wanted > reads)):
        most = "" if reads is None else f" to {reads}, which {model} reads"
        raise Refused(f"Chunks of {wanted} tokens cannot be made; it is a number from {FEWEST_TOKENS}{most}, or 0.")
    return wanted, reads


_NAME: Final = re.compile(r"[^\W_][\w .-]{0,99}")


async def corpus_for_import(
    connection: Connection, request: ImportRequest, settings: EffectiveSettings
) -> StoredCorpus:
    """The corpus of a request, made as it says and with these settings if it does not exist.

    A new corpus without a language, or with `auto`, gets that of the first works that are stored. Raises Refused when
    the corpus exists and embeds by other settings than these or has chunks of another size or another language, for a
    copy, for an unknown language or an unusable name, and as `new_chunk_tokens` does.
    """
    name, wanted = request.corpus, language_named(request.language)
    found = await corpora.find(connection, name)
    if found is None:
        if not _NAME.fullmatch(name):
            raise Refused(
                "A corpus cannot have this name; a name has 1 to 100 characters: letters, digits, spaces, '.', '-' and "
                "'_', and begins with a letter or a digit."
            )
        embedder = _embedder(settings)
        chunk_tokens, reads_tokens = new_chunk_tokens(embedder["backend"], embedder["model"], request.chunk_tokens)
        found = await corpora.make(
            connection,
            name,
            **embedder,
            embeds_headings=request.embed_headings is not False,
            chunk_tokens=chunk_tokens,
            reads_tokens=reads_tokens,
            language=wanted,
        )
    elif found.copy_of_id is not None:
        of = (await corpora.corpus(connection, found.copy_of_id)).name
        raise Refused(f"Corpus '{name}' is the copy of '{of}' and follows it. Import into '{of}'.")
    # Another import may have made it meanwhile, or taken its language.
    refuse_differences(found, settings, request)
    if wanted is not None and found.language is None:
        found = await corpora.take_language(connection, found.id, wanted)
        refuse_differences(found, settings, request)
    return found


def language_named(text: str | None) -> str | None:
    """The language of a name or code, such as `german` or `de`; None for `auto` and None. Raises Refused for others."""
    name = (text or AUTO).strip().lower()
    if name == AUTO:
        return None
    codes = {code: language for language, code in LANGUAGES.items() if language != SIMPLE}
    if name not in LANGUAGES and name not in codes:
        raise Refused(
            f"'{name[:50]}' is not a language that a corpus can have.{did_you_mean(name[:50], LANGUAGES)} There are "
            f"{', '.join(DICTIONARIES)}; {SIMPLE}, without a dictionary, for any other; and {AUTO}, which finds it."
        )
    return codes.get(name, name)


async def values_for_import(connection: Connection, name: str) -> dict[str, str]:
    """The settings that an import into a corpus needs, by name: those it was made with; none for a new corpus."""
    found = await corpora.find(connection, name)
    return {} if found is None else {key: str(value) for key, value in found.embedder.items()}


def corpus_loss(corpus: CorpusView) -> str:
    """What is deleted with a corpus, in words."""
    of_works = f"{counted(corpus.works, 'work')} with {counted(corpus.chunks, 'chunk')}"
    return f"{of_works}, and {counted(corpus.questions, 'question')} with {counted(corpus.answers, 'answer')}"


def embedding_loss(corpus: CorpusView) -> str:
    """How many chunks of a corpus are longer than its embedder reads, in words."""
    reads = "" if corpus.reads_tokens is None else f"the {corpus.reads_tokens} tokens that "
    if not corpus.cut:
        return f"no chunk is longer than {reads}the embedder reads"
    cut = f"{corpus.cut:,} of {corpus.searchable + corpus.waiting:,} chunks {'is' if corpus.cut == 1 else 'are'}"
    return f"{cut} longer than {reads}the embedder reads"


async def delete_corpus(connection: Connection, corpus_id: int) -> None:
    """Delete a corpus: its works, chunks and vectors, and every question asked of it with all that was computed. Needs
    a connection outside of a transaction. Raises DomainError without such a corpus, and StageRunningError while a stage
    of one of its questions runs; nothing is deleted then."""
    await corpora.corpus(connection, corpus_id)
    async with connection.transaction():
        for query_id in await queries.hold_corpus(connection, corpus_id):
            await query_runs.delete_query(connection, query_id)
        await corpora.delete(connection, corpus_id)
    await chunk_search.drop_index(connection, corpus_id)


async def remove_works(connection: Connection, corpus_id: int, work_ids: Iterable[int]) -> None:
    """Remove works of a corpus, all or none. Raises DomainError without such a corpus, and Refused with every number
    that is no work of it."""
    await corpora.corpus(connection, corpus_id)
    async with connection.transaction():
        ids = sorted(set(work_ids))
        if missing := [str(one) for one in ids if not await works.remove(connection, corpus_id, one)]:
            raise Refused(
                f"Nothing was removed: corpus {corpus_id} has no work with each of these numbers: "
                f"{', '.join(missing)}. They may be removed already.",
                slug="work-missing",
            )
    await corpora.drop_unused(connection)


def _embedder(settings: EffectiveSettings) -> dict[str, Any]:
    run = settings.run
    return {"backend": run.embedding.backend, "model": run.model.embedding_model, "dimension": run.embedding.dimension}


def refuse_differences(corpus: StoredCorpus, settings: EffectiveSettings, request: ImportRequest | None = None) -> None:
    """Raise Refused, naming every difference, when a corpus was made with other values than these."""
    now = settings.run.values()
    values: list[tuple[str, object, object]] = [(name, made, now[name]) for name, made in corpus.embedder.items()]
    if request is not None:
        asked = [
            ("embed_headings", corpus.embeds_headings, request.embed_headings),
            ("chunk_tokens", corpus.chunk_tokens, request.chunk_tokens),
            ("language", corpus.language, language_named(request.language)),
        ]
        values += [(name, made, wanted) for name, made, wanted in asked if None not in (made, wanted)]
    differences = [f"  {name}: made with {made}, now {wanted}" for name, made, wanted in values if made != wanted]
    if differences:
        raise Refused(
            f"Corpus '{corpus.name}' does not fit this import or run:\n"
            + "\n".join(differences)
            + "\nSet the values it was made with, or import its works into a new corpus."
        )


async def plan_corpus(connection: Connection, corpus: StoredCorpus, settings: EffectiveSettings) -> NewRun | None:
    """The run that embeds what waits in a corpus and is on no other run's way; None when nothing does."""
    refuse_differences(corpus, settings)
    due = await corpora.waiting(connection, corpus.id)
    if not due:
        return None
    size = settings.run.ragq.corpus_batch_chunks
    batches = [due[start : start + size] for start in range(0, len(due), size)]
    # Only what the vectors depend on: another judge model is no reason to embed again.
    made_with = [corpus.backend, corpus.model, corpus.dimension, corpus.embeds_headings]
    return NewRun(
        kind="index",
        profile=settings.profile,
        settings=settings.snapshot(),
        settings_hash=content_hash(made_with),
        request={"corpus": corpus.name, "chunks": len(due), "profile_source": settings.profile_source},
        jobs=[
            NewJob(
                mode="corpus",
                subject=str(number),
                inputs={"corpus_id": corpus.id, "chunk_ids": batch},
                stages=stages_of("index", "corpus"),
            )
            for number, batch in enumerate(batches, start=1)
        ],
    )


_SUFFIX: Final = "-copy"


async def reembed(
    database: Database, name: str, settings: EffectiveSettings
) -> tuple[StoredCorpus, int, Submitted | None]:
    """Make the copy of a corpus, or let it follow its corpus, and embed what it lacks with the model of `settings`. The
    copy, how many works were new to it, and the run; None where nothing waits for a vector. Raises Refused for a copy
    that another model embeds, and for the model of the corpus itself."""
    async with database.connection() as connection:
        of = await corpus_of_name(connection, name)
        copy = await corpora.copy_of(connection, of.id) or await _made(connection, of, settings)
        works = await keeping.follow(connection, of.id, copy.id)
        run = await plan_corpus(connection, copy, settings)
    submitted = None if run is None else await submit_run(database, run, always_new=True)
    return copy, works, submitted


async def follow(database: Database, of: StoredCorpus, settings: EffectiveSettings) -> str | None:
    """Let the copy of a corpus have its works too, embedded by the model of the copy: what it got, in words; None
    without a copy."""
    async with database.connection() as connection:
        copy = await corpora.copy_of(connection, of.id)
    if copy is None:
        return None
    values = {name: str(value) for name, value in copy.embedder.items()}
    _, _, submitted = await reembed(database, of.name, settings.with_values(values))
    run = "" if submitted is None else f", which r{submitted.run_id} embeds by {copy.model}"
    return f"'{copy.name}' has them too{run}."


async def _made(connection: Connection, of: StoredCorpus, settings: EffectiveSettings) -> StoredCorpus:
    if all(settings.run.values()[name] == value for name, value in of.embedder.items()):
        raise Refused(f"Corpus '{of.name}' is embedded by {of.model} already. Name another model with --model.")
    if await corpora.find(connection, of.name + _SUFFIX) is not None:
        command = f"ragq corpus delete {shlex.quote(of.name + _SUFFIX)}"
        raise Refused(f"There is a corpus '{of.name}{_SUFFIX}' that is no copy of it. `{command}` deletes it.")
    embedder = _embedder(settings)
    return await corpora.make(
        connection,
        of.name + _SUFFIX,
        **embedder,
        embeds_headings=of.embeds_headings,
        chunk_tokens=of.chunk_tokens,
        reads_tokens=new_chunk_tokens(embedder["backend"], embedder["model"], None)[1],
        language=of.language,
        copy_of_id=of.id,
    )


async def switch(database: Database, name: str, *, back: bool = False) -> StoredCorpus:
    """Let a corpus take the vectors and the model of its copy, or with `back` its old ones again. The corpus then.
    Searches are exact for as long as the index of a large corpus is built again. Raises Refused without a copy, when it
    is so already, and unless the copy has a vector for each chunk of the corpus."""
    async with database.connection() as connection:
        of = await corpus_of_name(connection, name)
        copy = await corpora.copy_of(connection, of.id)
        if copy is None:
            command = f"ragq index reembed --corpus {shlex.quote(name)} --model MODEL"
            raise Refused(f"Corpus '{name}' has no copy. `{command}` makes one.")
        if copy.has_old_vectors is not back:
            state = "searched by the vectors of its copy already" if not back else "searched by its own vectors already"
            raise Refused(f"Corpus '{name}' is {state}.")
        await keeping.follow(connection, of.id, copy.id)
        await keeping.refuse_unless_embedded(connection, of.id, copy.id)
        indexed = [row["id"] for row in await chunk_search.searched(connection, [of.id, copy.id]) if row["has_index"]]
    for one in indexed:
        await database.with_retry(partial(chunk_search.drop_index, corpus_id=one), in_session=True)
    try:
        await database.once(keeping.exchange, of.id, copy.id)
    finally:
        for one in indexed:
            await database.with_retry(partial(chunk_search.build_index, corpus_id=one), in_session=True)
    return await database.once(corpora.corpus, of.id)
