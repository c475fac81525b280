"""Stage `embed`: vectors for the evidence of a participant, the chunks of a transcript, those of a corpus,
the texts of a question, phrases, or the tags of a vocabulary."""

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.participants import ExtractedEvidence
from schemas.values.references import ChunkedTranscript, EmbeddedChunks
from stages.participants.embed import embed_evidence
from stages.vectors import unit_rows
from workers.bindings.corpora.embed import embed_of_corpus
from workers.bindings.queries.embed import embed_of_query
from workers.bindings.tags.embed import embed_of_tags
from workers.bindings.vocabularies.embed import build_of_vocabulary
from workers.stage_task import by_mode, define_stage
from workers.work import Result, Work


async def embed_of_participant(work: Work) -> Result:
    """All items with evidence in one call, by the same weights as the reference index."""
    settings = work.settings.embedding
    extracted = await work.output("extract", ExtractedEvidence)
    embedded = await embed_evidence(
        extracted,
        embedder=work.embedder,
        dimension=settings.dimension,
        timeout_s=settings.query_embed_timeout_seconds,
        min_evidence_chars=settings.min_evidence_chars,
        batch=settings.enable_batch_query_embedding,
    )
    # An index that was imported from files may not name the weights; its model's name was compared at submission.
    built_with = work.claim.inputs["index_model_digest"]
    if embedded.evidence.items and built_with is not None and embedded.evidence.model_digest != built_with:
        raise EmbeddingArtifactMismatchError(
            f"The weights of {embedded.evidence.model} are {embedded.evidence.model_digest[:12] or 'unknown'}, and the "
            f"reference index was built with {built_with[:12] or 'unknown'}; build the index again on this model."
        )
    return Result(embedded.evidence, embedded.vectors)


async def embed_of_references(work: Work) -> Result:
    """The windows of one transcript; any bad vector fails the job."""
    settings = work.settings.embedding
    texts = [chunk.text for chunk in (await work.output("chunk", ChunkedTranscript)).chunks]
    matrix = await work.embedder.embed_batch(texts, timeout_s=settings.query_embed_timeout_seconds)
    vectors = unit_rows(matrix, rows=len(texts), dimension=settings.dimension)
    digest = await work.embedder.digest()
    return Result(
        EmbeddedChunks(
            model=work.embedder.name, model_digest=digest, dimension=settings.dimension, vectors=len(vectors)
        ),
        vectors,
    )


define_stage(
    "embed",
    participant=embed_of_participant,
    query=embed_of_query,
    tags=embed_of_tags,
    index=by_mode({"references": embed_of_references, "corpus": embed_of_corpus, "tags": build_of_vocabulary}),
)
