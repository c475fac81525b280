"""Stage `retrieve`: the nearest references per item."""

from schemas.values.participants import EmbeddedEvidence
from stages.participants.retrieve import retrieve_references
from workers.stage_task import define_stage
from workers.work import Result, Work


async def retrieve_of_participant(work: Work) -> Result:
    """All items in one round trip; the tested participant is left out."""
    embedded = await work.output("embed", EmbeddedEvidence)
    index_id: int = work.claim.inputs["index_id"]
    work.read["index"] = index_id
    return Result(
        await retrieve_references(
            embedded,
            await work.vectors("embed"),
            search=work.references,
            index_id=index_id,
            participant_id=work.participant_id,
            candidates=work.settings.ragq.retrieve_candidates,
            tagged_only=work.settings.embedding.enable_item_tag_filter,
            score_source=work.settings.embedding.reference_score_source,
        )
    )


define_stage("retrieve", participant=retrieve_of_participant)
