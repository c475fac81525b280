"""Stage `consolidate` of a query: adjacent chunks become one passage."""

from schemas.values.corpora import CorpusChunk
from schemas.values.queries import ConsolidatedContext, RerankedChunks, ValidatedChunks
from stages.queries.consolidate import consolidate_chunks
from stages.queries.works import WorkText
from store.corpora import chunks, works
from store.database import Connection
from workers.work import Result, Work


async def run(work: Work) -> Result[ConsolidatedContext]:
    """From the stored markdown of the works, as it was when the chunks were ranked."""
    preset = work.preset.consolidation
    validated = await work.output(ValidatedChunks)
    if not preset.enabled:
        count = len(validated.chunks)
        return Result(ConsolidatedContext(original_count=count, consolidated_count=0, groups=(), dropped_short=0))
    hashes = (await work.output(RerankedChunks)).work_hashes
    involved = {chunk.work_id: hashes[chunk.work_id] for chunk in validated.chunks}
    ids = [chunk.chunk_id for chunk in validated.chunks]

    async def read(connection: Connection) -> tuple[dict[int, CorpusChunk], dict[int, WorkText]]:
        return await chunks.around(connection, ids), await works.unchanged_texts(connection, involved)

    parents, texts = await work.database.with_retry(read)
    return Result(
        consolidate_chunks(
            validated.chunks,
            parents=parents,
            works=texts,
            work_hashes=hashes,
            coverage_threshold=preset.coverage_threshold,
            line_gap=preset.line_gap,
            min_content_length=preset.min_content_length,
            enrich_from_md=preset.enrich_from_md,
        )
    )
