"""Stage `embed` of a participant: one vector per item with evidence."""

from schemas.errors import EmbeddingArtifactMismatchError
from schemas.values.participants import EmbeddedEvidence, ExtractedEvidence
from stages.number_formats import refuse_mixture
from stages.participants.embed import embed_evidence
from store.references import references
from workers.work import Result, Work


async def run(work: Work) -> Result[EmbeddedEvidence]:
    """All items with evidence in one call, by the same weights as the reference index."""
    settings = work.settings.embedding
    extracted = await work.output(ExtractedEvidence)
    embedder = work.reusing_embedder(settings.dimension)
    embedded = await embed_evidence(
        extracted,
        embedder=embedder,
        dimension=settings.dimension,
        timeout_s=settings.query_embed_timeout_seconds,
        min_evidence_chars=settings.min_evidence_chars,
        batch=settings.enable_batch_query_embedding,
        truncate=work.settings.ragq.long_texts == "truncate",
    )
    # An index that was imported from files may not name the weights; its model's name was compared at submission.
    built_with = work.claim.inputs["index_model_digest"]
    if embedded.evidence.items and built_with is not None and embedded.evidence.model_digest != built_with:
        raise EmbeddingArtifactMismatchError(
            f"The weights of {embedded.evidence.model} are {embedded.evidence.model_digest[:12] or 'unknown'}, and the "
            f"reference index was built with {built_with[:12] or 'unknown'}; build the index again on this model."
        )
    if embedded.evidence.items:
        made_with = await work.database.with_retry(
            lambda connection: references.model_dtypes(connection, work.claim.inputs["index_id"])
        )
        refuse_mixture(embedded.evidence.dtype, made_with, what="The reference index")
    return Result(embedded.evidence, embedded.vectors, texts=embedder.texts)
