"""Corpus runs: chunks that wait for a vector, embedded in batches of one job each."""

from schemas.chains import stages_of
from schemas.errors import CorpusUnknownError, Refused
from schemas.settings.resolve import EffectiveSettings
from store.corpora import corpora
from store.corpora.corpora import StoredCorpus
from store.database import Connection
from store.runs.chain import content_hash
from store.runs.runs import NewJob, NewRun


async def corpus_for_import(
    connection: Connection,
    name: str,
    settings: EffectiveSettings,
    *,
    embeds_headings: bool | None,
    keeps_token_vectors: bool | None = None,
) -> StoredCorpus:
    """The corpus of a name, made with these settings if it does not exist. An option that is None takes what it has.

    Raises Refused when the corpus exists and embeds by other settings than these, and when vectors of tokens
    are to be kept that a server cannot give.
    """
    run = settings.run
    if keeps_token_vectors and run.embedding.backend != "huggingface":
        raise Refused(
            f"EMBEDDING_BACKEND={run.embedding.backend} gives one vector per text and none per token; keep vectors of "
            "tokens with EMBEDDING_BACKEND=huggingface, or leave --keep-token-vectors out."
        )
    found = await corpora.make(
        connection,
        name,
        backend=run.embedding.backend,
        model=run.model.embedding_model,
        dimension=run.embedding.dimension,
        embeds_headings=embeds_headings is not False,
        keeps_token_vectors=keeps_token_vectors is True,
    )
    refuse_other_embedder(found, settings)
    if embeds_headings is not None and embeds_headings is not found.embeds_headings:
        has = "with" if found.embeds_headings else "without"
        raise Refused(
            f"Corpus '{name}' embeds its chunks {has} their headings; import into a new corpus for the other."
        )
    if keeps_token_vectors is not None and keeps_token_vectors is not found.keeps_token_vectors:
        keeps = "keeps" if found.keeps_token_vectors else "does not keep"
        raise Refused(f"Corpus '{name}' {keeps} vectors of tokens; import into a new corpus for the other.")
    return found


async def corpus_of_name(connection: Connection, name: str) -> StoredCorpus:
    """The corpus of a name. Raises CorpusUnknownError, naming those that exist, when it does not exist."""
    found = await corpora.find(connection, name)
    if found is None:
        raise CorpusUnknownError(name, [corpus.name for corpus in await corpora.all_corpora(connection)])
    return found


def embedder_settings(corpus: StoredCorpus) -> dict[str, str | int]:
    """The values that a corpus was embedded with, by the names of their settings."""
    return {
        "EMBEDDING_BACKEND": corpus.backend,
        "MODEL_EMBEDDING_MODEL": corpus.model,
        "EMBEDDING_DIMENSION": corpus.dimension,
    }


def refuse_other_embedder(corpus: StoredCorpus, settings: EffectiveSettings) -> None:
    """Raise Refused, naming every difference, when a corpus was embedded by other settings than these."""
    now = settings.run.values()
    differences = [
        f"  {name}: made with {made}, now {now[name]}"
        for name, made in embedder_settings(corpus).items()
        if made != now[name]
    ]
    if differences:
        raise Refused(
            f"Corpus '{corpus.name}' does not fit the settings of this run:\n"
            + "\n".join(differences)
            + "\nSet the values it was made with, or import its works into a new corpus."
        )


async def plan_corpus(connection: Connection, corpus: StoredCorpus, settings: EffectiveSettings) -> NewRun | None:
    """The run that embeds what waits in a corpus and is on no other run's way; None when nothing does."""
    refuse_other_embedder(corpus, settings)
    due = await corpora.waiting(connection, corpus.id)
    if not due:
        return None
    size = settings.run.ragq.corpus_batch_chunks
    batches = [due[start : start + size] for start in range(0, len(due), size)]
    return NewRun(
        kind="index",
        profile=settings.profile,
        settings=settings.snapshot(),
        # Only what the vectors depend on: another judge model is no reason to embed again.
        settings_hash=content_hash(
            [corpus.backend, corpus.model, corpus.dimension, corpus.embeds_headings, corpus.keeps_token_vectors]
        ),
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
