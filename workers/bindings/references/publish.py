"""Stage `publish` of a transcript: the last of a run makes the whole index visible, in the same transaction."""

from schemas.errors import InputChangedError
from schemas.values.references import EmbeddedChunks, FinishedBatch
from store.database import Connection
from store.references import index_runs
from workers.work import Result, Work


async def run(work: Work) -> Result[FinishedBatch]:
    """Finish this transcript; publish when all others are finished too, or have failed and may be left out."""
    run_id = work.claim.run_id
    index = await work.database.with_retry(lambda connection: index_runs.by_run(connection, run_id))
    if index is None:
        raise InputChangedError(f"Run r{run_id} has no index to publish.")
    embedded = await work.output(EmbeddedChunks)

    async def publish(connection: Connection) -> None:
        await index_runs.publish_when_complete(connection, run_id)

    return Result(FinishedBatch(index_id=index.id, chunks=embedded.vectors), effect=publish)
