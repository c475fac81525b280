"""Stage `extract` of a transcript: what its participant said about each item, for scores by neighbours."""

from schemas.values.participants import ExtractedEvidence
from workers.bindings.participants.extract import by_similarity
from workers.work import Result, Work


async def run(work: Work) -> Result[ExtractedEvidence]:
    """The utterances nearest to each item, whatever the extractor of the settings."""
    return Result(await by_similarity(work, (await work.transcript()).text))
