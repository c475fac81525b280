"""Stage `retrieve` of a participant: the nearest references per item."""

from schemas.errors import InputChangedError
from schemas.values.participants import EmbeddedEvidence, RetrievedReferences
from stages.participants.retrieve import retrieve_references
from stages.participants.splits import ids_hash
from store.references import chunk_scores
from workers.work import Result, Work


async def run(work: Work) -> Result[RetrievedReferences]:
    """All items in one round trip; the participants of the run's own split are left out."""
    embedded = await work.output(EmbeddedEvidence)
    index_id: int = work.claim.inputs["index_id"]
    work.read["index"] = index_id
    excluded: list[int] = work.claim.inputs["excluded"]
    if excluded:
        work.read["excluded"] = ids_hash(excluded)
    retrieved = await retrieve_references(
        embedded,
        await work.vectors(EmbeddedEvidence),
        search=work.references,
        index_id=index_id,
        participant_id=work.number_in_index,
        excluded=excluded,
        candidates=work.settings.ragq.retrieve_candidates,
        tagged_only=work.settings.embedding.enable_item_tag_filter,
        score_source=work.settings.embedding.reference_score_source,
    )
    # After the search: scores that were stored during it are noticed too.
    await _refuse_other_scores(work, index_id)
    return Result(retrieved)


async def _refuse_other_scores(work: Work, index_id: int) -> None:
    submitted_on = work.claim.inputs.get("chunk_scores")
    if submitted_on is None:
        return
    found = await work.database.with_retry(lambda connection: chunk_scores.scored_by(connection, index_id))
    if found != submitted_on:
        raise InputChangedError(
            f"The chunks of reference index {index_id} were scored anew since run r{work.claim.run_id} was submitted; "
            "submit it again, so that all its participants see the same scores."
        )
