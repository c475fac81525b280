"""A corpus embedded by another model beside its own, compared, taken over in one step, and given back."""

import shlex
from functools import partial
from typing import Final, NamedTuple

from schemas.errors import Refused
from schemas.settings.resolve import EffectiveSettings
from services.corpora import corpus_of_name, embedder_settings, new_chunk_tokens, plan_corpus
from services.new_runs import PlannedRun, Submitted, submit_run
from store.corpora import chunk_search, copies, corpora
from store.corpora.corpora import StoredCorpus
from store.database import Connection, Database

_SUFFIX: Final = "-copy"


class Reembedded(NamedTuple):
    """A copy that another model embeds."""

    of: StoredCorpus
    copy: StoredCorpus
    works: int
    """That were new to it."""
    submitted: Submitted | None
    """None where nothing waits for a vector."""


async def reembed(database: Database, name: str, settings: EffectiveSettings) -> Reembedded:
    """Make the copy of a corpus, or let it follow its corpus, and embed what it lacks with the model of `settings`.

    Raises Refused for a copy that another model embeds, and for the model of the corpus itself.
    """
    async with database.connection() as connection:
        of = await corpus_of_name(connection, name)
        found = await copies.copy_of(connection, of.id)
        copy = await (_made(connection, of, settings) if found is None else corpora.corpus(connection, found.corpus_id))
        works = await copies.follow(connection, of.id, copy.id)
        run = await plan_corpus(connection, copy, settings)
    submitted = None if run is None else await submit_run(database, PlannedRun(run), always_new=True)
    return Reembedded(of, copy, works, submitted)


async def follow(database: Database, of: StoredCorpus, settings: EffectiveSettings) -> Reembedded | None:
    """Let the copy of a corpus have its works too, embedded by the model of the copy; None without a copy."""
    async with database.connection() as connection:
        found = await copies.copy_of(connection, of.id)
        if found is None:
            return None
        model = embedder_settings(await corpora.corpus(connection, found.corpus_id))
    return await reembed(database, of.name, settings.with_values({name: str(value) for name, value in model.items()}))


async def _made(connection: Connection, of: StoredCorpus, settings: EffectiveSettings) -> StoredCorpus:
    if all(settings.run.values()[name] == value for name, value in embedder_settings(of).items()):
        raise Refused(f"Corpus '{of.name}' is embedded by {of.model} already. Name another model with --model.")
    if await corpora.find(connection, of.name + _SUFFIX) is not None:
        command = f"ragq corpus delete {shlex.quote(of.name + _SUFFIX)}"
        raise Refused(f"There is a corpus '{of.name}{_SUFFIX}' that is no copy of it. `{command}` deletes it.")
    run = settings.run
    async with connection.transaction():
        copy = await corpora.make(
            connection,
            of.name + _SUFFIX,
            backend=run.embedding.backend,
            model=run.model.embedding_model,
            dimension=run.embedding.dimension,
            embeds_headings=of.embeds_headings,
            chunk_tokens=of.chunk_tokens,
            reads_tokens=new_chunk_tokens(run.embedding.backend, run.model.embedding_model, None).reads,
            language=of.language,
        )
        await copies.link(connection, copy, of)
    return copy


async def switch(database: Database, name: str, *, back: bool = False) -> StoredCorpus:
    """Let a corpus take the vectors and the model of its copy, or with `back` its old ones again. The corpus then.

    Searches are exact for as long as the index of a large corpus is built again. Raises Refused without a copy, when it
    is so already, and unless the copy has a vector for each chunk of the corpus.
    """
    async with database.connection() as connection:
        of = await corpus_of_name(connection, name)
        copy = await copies.copy_of(connection, of.id)
        if copy is None:
            command = f"ragq index reembed --corpus {shlex.quote(name)} --model MODEL"
            raise Refused(f"Corpus '{name}' has no copy. `{command}` makes one.")
        if copy.has_old_vectors is not back:
            state = "searched by the vectors of its copy already" if not back else "searched by its own vectors already"
            raise Refused(f"Corpus '{name}' is {state}.")
        await copies.follow(connection, of.id, copy.corpus_id)
        await copies.refuse_unless_embedded(connection, of.id, copy.corpus_id)
        indexed = [
            one
            for one in (of.id, copy.corpus_id)
            if (found := await chunk_search.find_index(connection, one)) is not None and found.has_index
        ]
    for one in indexed:
        await database.with_retry(partial(chunk_search.drop_index, corpus_id=one), in_session=True)
    try:
        await database.once(copies.exchange, of.id, copy.corpus_id)
    finally:
        for one in indexed:
            await database.with_retry(partial(chunk_search.build_index, corpus_id=one), in_session=True)
    return await database.once(corpora.corpus, of.id)
